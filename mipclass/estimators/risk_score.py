"""RiskScoreClassifier: few conditions with whole points, and a probability for every total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from ..analysis.score_card import ScoreCard, count_totals
from ..arrays import Array, Mask, Positions
from ..checks import is_number, is_whole_number, plain
from ..errors import InvalidInputError
from ..modelling.algebra import Constraint
from ..modelling.model import Model
from ..models.coefficient_constraints import Bounds, IntegerCoefficients, MaxFeatures, Monotone
from ..models.logistic import Logistic
from ..models.penalties import L2
from ..models.rate_constraints import RateParity
from ..protocol.result import Result
from ..protocol.run import Run
from ..solving.driver import solve_within
from ..solving.policy import Effort
from .base import BinaryClassifier, limited
from .conditions import Conditions

CALIBRATION_PENALTY = 1e-3
"""L2 penalty of the recalibration's slope about zero; it only matters where a fold is separated perfectly."""


class RiskScoreClassifier(BinaryClassifier):
    """Risk score: at most `max_features` conditions with whole points, and the probability that belongs to each total.

    Minimise sum_i c_i log(1 + exp(-y_i (w.z_i + b) / multiplier)) over whole w in a range, whole b and the multiplier, where z_i are
    the conditions of point i. The optimum is proven when `gap_` is zero (solver "lattice").

    Parameters
    ----------
    max_features : lines of the card at most; None for no limit.
    points : the range of points, a number k for -k..k or a pair (lowest, highest).
    thresholds : candidates for `x >= threshold` per real-valued column, at quantiles; the fit chooses among them. Columns of at most
        ten different whole numbers stay as they are. None takes all columns as they are.
    multiplier : None to choose the best one, or a number: how many points make one unit of log-odds.
    monotone : directions by column, such as {"age": +1}, by name or number.
    subject_to : further constraints, such as models.FalsePositiveRate(at_most=0.05).
    calibration_folds : None takes probabilities from the logistic model. A number k recalibrates them: cards are fitted without each
        of k folds in turn, and slope and shift of the log-odds are fitted to the held-out points. Each class needs at least k points
        of positive weight.
    class_weight : weights by class: a mapping, "balanced" or None. Probabilities are then of the weighted population.
    solver, options : "auto" or a solver's name, and its options.
    time_limit : seconds of the whole fit, or None for a fixed number of search steps (about a second). gap : relative gap to stop at.
    progress : a line on stderr. random_state : seed of the folds and the solver.

    Attributes
    ----------
    coef_, intercept_, multiplier_ : points of each candidate condition, offset, and units of score per unit of log-odds.
    condition_names_ : the candidate conditions in words. card_ : the ScoreCard; print it, or show it in a notebook.
    loss_, bound_, gap_ : logistic loss on the training data, proven lower bound, relative gap between the two.
    calibration_ : (slope, shift) of the log-odds. result_ : the solver's full answer.
    classes_, n_features_in_, feature_names_in_.

    Examples
    --------
    >>> from mipclass import RiskScoreClassifier
    >>> X = [[0, 1], [1, 1], [1, 0], [0, 0], [1, 1], [0, 0], [1, 0], [0, 1]]
    >>> card = RiskScoreClassifier(max_features=1).fit(X, [0, 1, 1, 0, 1, 0, 0, 1])
    >>> card.result_.claim, int((card.coef_ != 0).sum())
    ('proven', 1)
    """

    coef_: Array
    intercept_: Array
    multiplier_: float
    loss_: float
    bound_: float | None
    gap_: float | None

    def __init__(
        self,
        max_features: int | None = 5,
        points: int | tuple[int, int] = 5,
        *,
        thresholds: int | None = 9,
        multiplier: float | None = None,
        monotone: Mapping[Any, Any] | None = None,
        subject_to: Constraint | Sequence[Constraint] = (),
        calibration_folds: int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        solver: str = "auto",
        options: Mapping[str, Any] | None = None,
        time_limit: float | None = None,
        gap: float = 0.0,
        progress: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.max_features = max_features
        self.points = points
        self.thresholds = thresholds
        self.multiplier = multiplier
        self.monotone = monotone
        self.subject_to = subject_to
        self.calibration_folds = calibration_folds
        self.class_weight = class_weight
        self.solver = solver
        self.options = options
        self.time_limit = time_limit
        self.gap = gap
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RiskScoreClassifier:
        """Fit to points X and labels y of two kinds; a weight of 2 counts like two equal points."""
        with limited(self.time_limit) as run:
            return self._fit(X, y, sample_weight, run)

    def _fit(self, X: Any, y: Any, sample_weight: Any, run: Run) -> RiskScoreClassifier:
        X, y, weights = self._validate(X, y, sample_weight)
        self._check_parameters()
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        effective = self._weighted(y, weights, self.class_weight)
        conditions = self._conditions(X, effective)
        model = self._model(conditions, X, y, weights)
        folds = self._folds(y, effective > 0, random)
        self.result_ = self._solve(model, run, len(folds) + 1, seed)
        values = self.result_.values
        self.coef_ = np.asarray(values["w"], dtype=np.float64).reshape(1, -1)
        self.intercept_ = np.asarray(values["b"], dtype=np.float64).reshape(1)
        self.multiplier_ = _multiplier(model, values)
        self.condition_columns_, self.condition_thresholds_ = conditions.column, conditions.threshold
        self.zero_or_one_ = ((X == 0) | (X == 1)).all(axis=0)
        self.condition_names_ = conditions.names(self._feature_names())
        self.loss_, self.bound_, self.gap_ = model.recount(values), self.result_.bound, self.result_.gap
        self.calibration_ = self._calibrated(X, y, weights, folds, run, seed)
        totals = conditions.apply(X) @ self.coef_[0]
        self.totals_ = count_totals(totals, model.weights, y == self.classes_[1])
        return self

    def _check_parameters(self) -> None:
        for name, value, least in (
            ("thresholds", self.thresholds, 1),
            ("calibration_folds", self.calibration_folds, 2),
        ):
            if value is not None and (not is_whole_number(value) or value < least):
                raise InvalidInputError(f"{name} must be a whole number >= {least} or None; got {value!r}.")
        if self.multiplier is not None and (not is_number(self.multiplier) or not 0 < self.multiplier < np.inf):
            raise InvalidInputError(
                f"multiplier must be a positive number, or None to choose one; got {self.multiplier!r}."
            )

    def _feature_names(self) -> list[str]:
        return [str(name) for name in getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])]

    def _conditions(self, X: Array, weights: Array) -> Conditions:
        if self.thresholds is None:
            return Conditions.as_they_are(X.shape[1])
        return Conditions.at_quantiles(X, weights, int(self.thresholds))

    def _model(self, conditions: Conditions, X: Array, y: Any, weights: Array, rows: Positions | None = None) -> Model:
        """The declared problem in the conditions, of all points or of some rows."""
        low, high = self.points if isinstance(self.points, tuple) else (-self.points, self.points)
        constraints: list[Constraint] = [IntegerCoefficients(low, high, intercept=True)]
        if self.max_features is not None:
            constraints.append(MaxFeatures(self.max_features))
        constraints += self._signs_by_column(conditions)
        further = [self.subject_to] if isinstance(self.subject_to, Constraint) else list(self.subject_to)
        if rows is not None:
            X, y, weights = X[rows], y[rows], weights[rows]
            further = [_of_rows(constraint, rows) for constraint in further]
        constraints += further
        loss = Logistic(Logistic.FREE if self.multiplier is None else float(self.multiplier))
        return Model(
            conditions.apply(X), y, minimize=loss, subject_to=constraints, sample_weight=weights,
            class_weight=self.class_weight, feature_names=conditions.names(self._feature_names()),
            pos_label=self.classes_[1], name="risk_score",
        )  # fmt: skip

    def _signs_by_column(self, conditions: Conditions) -> list[Constraint]:
        """The constraints that the directions by column put on the conditions of each."""
        if not self.monotone:
            return []
        place: dict[Any, int] = {name: j for j, name in enumerate(self._feature_names())}
        place |= {j: j for j in range(self.n_features_in_)}
        unknown = [name for name in self.monotone if name not in place]
        if unknown:
            raise InvalidInputError(
                f"monotone names the column {plain(unknown[0])!r}; X has {', '.join(self._feature_names()[:12])}."
            )
        by_column = {place[name]: sign for name, sign in self.monotone.items()}
        return [Monotone({k: by_column[j] for k, j in enumerate(map(int, conditions.column)) if j in by_column})]

    def _solve(self, model: Model, run: Run, pieces: int, seed: int) -> Result:
        effort = Effort.SECOND if self.time_limit is None else Effort.PROOF
        result = solve_within(
            run, model, self.solver, pieces=pieces, effort=effort, gap=self.gap, seed=seed, progress=self.progress,
            options=self.options,
        )  # fmt: skip
        if not result.values:
            raise InvalidInputError(
                f"solver {result.solver!r} found no card: {result.status}. Loosen subject_to, allow more features or points, or raise "
                "time_limit."
            )
        return result

    # -- probabilities ------------------------------------------------------------------------------------------------

    def _folds(self, y: Any, counts: Mask, random: Any) -> list[tuple[Positions, Positions]]:
        """(kept, held) points of each fold, among those that count: points of weight zero play no part."""
        k = self.calibration_folds
        if k is None:
            return []
        points = np.flatnonzero(counts)
        for label in self.classes_:
            found = int((y[points] == label).sum())
            if found < k:
                fewer = f"Set calibration_folds to at most {found}, or to" if found >= 2 else "Set it to"
                raise InvalidInputError(
                    f"calibration_folds={k} needs at least {k} points of positive weight in each class; class {plain(label)!r} has {found}. "
                    f"{fewer} None (no recalibration), or add points of this class."
                )
        splits = StratifiedKFold(k, shuffle=True, random_state=random.randint(2**31 - 1)).split(points, y[points])
        return [(points[kept], points[held]) for kept, held in splits]

    def _calibrated(
        self, X: Array, y: Any, weights: Array, folds: list[tuple[Positions, Positions]], run: Run, seed: int
    ) -> tuple[float, float]:
        """Slope and shift of the log-odds that fit the held-out points of all folds best."""
        if not folds:
            return (1.0, 0.0)
        odds = np.zeros(len(y))
        for k, (kept, held) in enumerate(folds):
            conditions = self._conditions(X[kept], self._weighted(y[kept], weights[kept], self.class_weight))
            model = self._model(conditions, X, y, weights, kept)
            values = self._solve(model, run, len(folds) - k, seed).values
            odds[held] = (conditions.apply(X[held]) @ values["w"] + float(values["b"])) / _multiplier(model, values)
        held = np.sort(np.concatenate([held for _, held in folds]))
        fitted = Model(
            odds[held, None], y[held], minimize=Logistic() + CALIBRATION_PENALTY * L2(), subject_to=Bounds(w=(0.0, np.inf)),
            sample_weight=weights[held], class_weight=self.class_weight, pos_label=self.classes_[1],
        )  # fmt: skip
        values = solve_within(run, fitted, "newton", seed=seed).values
        return (float(values["w"][0]), float(values["b"]))

    def decision_function(self, X: Any) -> Array:
        """Total points plus offset; positive where the card predicts `classes_[1]`."""
        return np.asarray(self.total_points(X) + self.intercept_[0])

    def total_points(self, X: Any) -> Array:
        """The sum of points of each row, as one reads it off the card."""
        X = self._check_new(X)
        return np.asarray(self._conditions_of_fit().apply(X) @ self.coef_[0])

    def predict_proba(self, X: Any) -> Array:
        """The probabilities of `classes_[0]` and `classes_[1]` for each row."""
        totals = self.total_points(X)
        positive = self.card_.probability(totals)
        return np.column_stack([1.0 - positive, positive])

    @property
    def card_(self) -> ScoreCard:
        """The scorecard with its table of totals."""
        return self.card()

    def card(self, feature_names: Sequence[str] | None = None, positive: Any = None) -> ScoreCard:
        """The scorecard, with other names of the columns and of the positive class than those that `fit` saw."""
        names = self._conditions_of_fit().names(self._feature_names() if feature_names is None else list(feature_names))
        used = np.flatnonzero(self.coef_[0])
        order = used[np.argsort(-np.abs(self.coef_[0][used]), kind="stable")]
        return ScoreCard(
            conditions=tuple((names[k], int(self.coef_[0][k])) for k in order),
            per_unit=tuple(not self._is_yes_or_no(int(k)) for k in order),
            offset=float(self.intercept_[0]),
            multiplier=self.multiplier_,
            totals=self.totals_[:, 0],
            weights=self.totals_[:, 1],
            positives=self.totals_[:, 2],
            positive=self.classes_[1] if positive is None else positive,
            calibration=self.calibration_,
        )

    def _conditions_of_fit(self) -> Conditions:
        return Conditions(self.condition_columns_, self.condition_thresholds_)

    def _is_yes_or_no(self, k: int) -> bool:
        """Condition k is a comparison, or its column holds 0 and 1 only."""
        return not np.isnan(self.condition_thresholds_[k]) or bool(self.zero_or_one_[self.condition_columns_[k]])


def _of_rows(constraint: Any, rows: Positions) -> Any:
    """The constraint on a model of these rows: labels of groups are those of the rows."""
    if not isinstance(constraint, RateParity):
        return constraint
    labels: Any = np.asarray(constraint.groups_of_points)[rows]
    return RateParity(labels, constraint.at_most, constraint.rate)


def _multiplier(model: Model, values: Mapping[str, Any]) -> float:
    loss = model.term(Logistic)
    assert loss is not None
    return loss[1].multiplier_of(values)
