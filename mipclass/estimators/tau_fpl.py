"""TauFPLClassifier: rank positives above the worst negatives, then choose a threshold with a stated guarantee."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_random_state

from ..analysis.thresholds import (
    check_rate,
    clear_of_rounding,
    rank_threshold,
    umbrella_negatives_needed,
    umbrella_order,
    umbrella_threshold,
)
from ..arrays import Array
from ..checks import is_number, is_whole_number
from ..errors import InvalidInputError, warn
from ..modelling.data import check_largest, check_scales, largest_of_columns
from ..modelling.row_blocks import row_blocks
from ..models.false_positive import number_of_top
from ..protocol.run import Run
from .base import BinaryClassifier, as_part_of, limited
from .ranking_tau import RankingTauChoice, choose_ranking_tau
from .splits import distinct, merge, row_hashes, split
from .tau_ranking import KernelFeatures, Ranked, RankingTask, linear_scores, rank_raised, read_in_blocks

MERGE_ROWS = 10_000
"""Rows up to which equal points are merged first, so that weights and repetition agree to the last bit."""

BOOTSTRAP_SHARE = 0.632
"""Share of the distinct points that a bootstrap sample holds on average: 1 - 1/e."""

NO_RANKING = "none: no ranking was found (w = 0 is optimal for every ranking_tau tried), and nothing is called positive"
"""What a fit promises whose every ranking collapsed."""


class TauFPLClassifier(BinaryClassifier):
    """Few false positives: tau-FPL (Zhang et al. 2018) with thresholds that say what they promise.

    The score w.x minimises  (1/m) sum_i [1 - w.x_i + T(w)]_+^2 + (R/2)|w|^2  over the positives, T(w) the mean of the
    k = ceil(ranking_tau * n) largest scores of the n negatives. A point is positive iff its score is > threshold.

    Parameters
    ----------
    tau : tolerated false-positive rate, in (0, 1).
    ranking_tau : the tau of the ranking: "auto" chooses among tau, 2 tau, 4 tau ... the one that finds most positives at rate tau on
        held-out training points; None is `tau` itself; or a number. A ranking that collapses (w = 0 is optimal) is no ranking:
        its tau is doubled until there is one, with a warning.
    R : weight of the penalty, > 0.
    threshold : "oob" (out-of-bootstrap: thresholds of `n_rounds` splits, averaged with their scorers; controls the rate
        on average, and is never below the rank rule on all training negatives, so that equal negatives do not pass it
        together), "umbrella" (Tong, Feng and Li 2018: the rate exceeds tau with probability at most `delta`; holds out
        half of the negatives) or "train" (the rank rule on the training data; promises nothing for new data).
    delta : see "umbrella".
    n_rounds : splits of "oob".
    kernel : "linear", "rbf" or "precomputed".   gamma : of "rbf": a number, or "scale" for 1 / (n_features * X.var()).
    solver : "lbfgs" or "fista" (points of weight one). Kernels use "fista", and "lbfgs" where weights are not whole numbers.
    tolerance : relative duality gap at which each ranking problem is solved.   max_iter : its iterations at most.
    class_weight : factors of the sample weights by label, "balanced" or None. The loss is a mean over positives and the rate a
        share of negatives, so that they hardly matter here.
    time_limit : seconds for the whole fit, at most half of them for the choice of ranking_tau; the rounds finished by then are used.
    n_jobs : rounds at a time, through joblib.   progress : a line on stderr.   random_state : seed of the splits.

    Attributes
    ----------
    threshold_ : the threshold on the score; `intercept_` is its negative.
    guarantee_ : what the threshold promises, in words.
    coef_ : (1, n_features), linear kernel only.   dual_coef_ : weights of the training points, other kernels.
    ranking_tau_ : the tau that was used for the ranking.
    ranking_taus_ : list of (candidate, true-positive rate on held-out points) that were compared; empty without a choice.
    k_ : how many negatives the ranking averages.   n_iter_ : iterations of `result_`.
    result_ : the Result of the ranking problem ("oob": of the last round). results_ : of all rounds. Its claim is "none" where no tau
        ranks, which a warning tells; then nothing is called positive.

    Notes
    -----
    Equal points always stay on one side of a split of "oob". The umbrella counts every held-out negative of positive
    weight once. X may be a Dask array, a memory map or float32: rows are then read block by block (linear kernel only).

    Examples
    --------
    >>> import numpy as np
    >>> from mipclass import TauFPLClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 200)
    >>> X = rng.normal(size=(400, 2)) + 3.0 * y[:, None]
    >>> clf = TauFPLClassifier(tau=0.05, threshold="umbrella", random_state=0).fit(X, y)
    >>> bool(clf.predict(X)[y == 0].mean() <= 0.05)
    True
    """

    _sparse = True
    coef_: Array
    dual_coef_: Array
    threshold_: float

    def __init__(
        self,
        tau: float = 0.05,
        ranking_tau: float | str | None = "auto",
        R: float = 1e-3,
        threshold: str = "oob",
        delta: float = 0.05,
        n_rounds: int = 10,
        *,
        kernel: str = "linear",
        gamma: float | str = "scale",
        solver: str = "lbfgs",
        tolerance: float = 1e-3,
        max_iter: int = 2000,
        class_weight: Mapping[Any, float] | str | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.tau = tau
        self.ranking_tau = ranking_tau
        self.R = R
        self.threshold = threshold
        self.delta = delta
        self.n_rounds = n_rounds
        self.kernel = kernel
        self.gamma = gamma
        self.solver = solver
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    # -- fitting --------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TauFPLClassifier:
        """Learn the score and its threshold.

        A weight of zero equals removal. Integer weights equal repetition with threshold="oob" and "train"; beyond 10,000 rows the two
        rankings agree within `tolerance`. With threshold="umbrella" integer weights do not equal repetition: every held-out row counts
        once, whatever its weight, because the guarantee needs negatives that were drawn independently, and copies were not. Weights count in
        the ranking then, and copies of a point spoil the guarantee.
        """
        self._check_parameters()
        with limited(self.time_limit) as run:
            return self._fit(X, y, sample_weight, run)

    def _fit(self, X: Any, y: Any, sample_weight: Any, run: Run) -> TauFPLClassifier:
        if self.kernel == "linear" and read_in_blocks(X):
            X, y, weights = self._validate_blocks(X, y, sample_weight)
        else:
            X, y, weights = self._validate(X, y, sample_weight)
            check_scales(X, self._names(), free_units=False)
        weights = self._weighted(y, weights, self.class_weight)
        y_pm1 = self._signs(y)
        for sign, label in ((-1.0, self.classes_[0]), (1.0, self.classes_[1])):
            if not weights[y_pm1 == sign].any():
                raise ValueError(f"all samples of class {label!r} have weight zero; a classifier needs two classes.")
        n, rows = X.shape[0], np.flatnonzero(weights > 0)
        if self.kernel == "precomputed":
            X, y_pm1, weights, rows = self._distinct_columns(X, y_pm1, weights)
        elif len(rows) < n and not read_in_blocks(X):
            X, y_pm1, weights = X[rows], y_pm1[rows], weights[rows]
        weighable = self.kernel == "rbf" or (self.kernel == "linear" and self.solver == "lbfgs")
        if weighable and X.shape[0] <= MERGE_ROWS and self.threshold != "umbrella":
            X, y_pm1, weights = merge(X, y_pm1, weights)
        gram = self._fit_kernel(X)
        whole = (weights == np.round(weights)).all()
        features = None if gram is None or whole else KernelFeatures.of(gram)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        task = RankingTask(
            X=X, gram=gram, features=features, y_pm1=y_pm1, weights=weights, R=self.R, solver=self.solver,
            tolerance=self.tolerance, max_iter=self.max_iter, progress=self.progress, base_seed=seed, run=run,
            until=time.time() + run.seconds_left(),
        )  # fmt: skip
        self._fit_task(task)
        if self.kernel == "precomputed":
            of_rows = np.zeros((1, n))
            of_rows[0, rows] = self.dual_coef_[0]
            self.dual_coef_ = of_rows
        if gram is None and not read_in_blocks(X):
            self._read(X, y_pm1, self.coef_[0], float(self.intercept_[0]))
        return self

    def _fit_task(self, task: RankingTask) -> None:
        """Fit the scorer and its threshold by the rule that `threshold` names."""
        total = float(task.weights[task.negatives].sum())
        if self.tau * total < 1.0:
            warn(
                f"{total:g} negatives are fewer than 1/{self.tau:g}: a ranking with this tau looks at the single worst "
                "negative (k = 1), and the threshold lies above all negatives it sees."
            )
        fit = {"train": self._fit_train, "oob": self._fit_oob, "umbrella": self._fit_umbrella}[self.threshold]
        scorer, self.threshold_ = fit(task)
        self.k_ = number_of_top(self.ranking_tau_, total)
        self.intercept_ = np.array([-self.threshold_])
        self.n_iter_ = max(1, self.result_.iterations or 0)
        if task.gram is None:
            self.coef_ = scorer.reshape(1, -1)
        else:
            self.dual_coef_ = scorer.reshape(1, -1)

    def _choose_tau(self, task: RankingTask, weights: Array) -> RankingTauChoice:
        """The tau to rank with: given, or chosen on held-out points among those of positive weight."""
        if self.ranking_tau == "auto":
            return choose_ranking_tau(task, weights, self.tau)
        return RankingTauChoice(float(self.tau if self.ranking_tau is None else self.ranking_tau))

    def _adopt(self, choice: RankingTauChoice, rankings: list[Ranked]) -> bool:
        """Keep the rankings' results and the tau that was used; warn where it is not the one asked for. Whether there is a ranking."""
        found = [ranked for ranked in rankings if not ranked.collapsed]
        self.ranking_taus_ = choice.compared
        self.ranking_tau_ = max(ranked.tau for ranked in found or rankings)
        self.results_ = [ranked.result for ranked in rankings]
        self.result_ = as_part_of(self.results_[-1], choice.results + self.results_)
        if not found:
            # w = 0 is a proven optimum of the ranking problem and yet no ranking, so nothing is claimed.
            self.result_ = replace(self.result_, claim="none")
            self.guarantee_ = NO_RANKING
            warn(
                f"no ranking was found: w = 0 is optimal for every ranking_tau tried, from {choice.tau:g} to {self.ranking_tau_:g}. "
                "Positives and negatives have the same mean as far as this score can tell, and nothing is called positive. Use "
                "other features or kernel='rbf'."
            )
        elif self.ranking_tau_ > choice.tau:
            warn(
                f"the ranking with ranking_tau={choice.tau:g} collapsed: w = 0 is optimal, because the mean of the positives cannot be "
                f"told from an average of that share of the negatives. It was raised to {self.ranking_tau_:g} (ranking_tau_); "
                "ranking_tau='auto' compares several values on held-out points."
            )
        return bool(found)

    def _fit_train(self, task: RankingTask) -> tuple[Array, float]:
        """One ranking of all points; the threshold is the rank rule on the same points."""
        choice = self._choose_tau(task, task.weights)
        ranked = rank_raised(task, task.weights, choice.tau)
        if not self._adopt(choice, [ranked]):
            return ranked.weights, 0.0
        scores = task.scores(ranked.weights)
        neg = task.negatives
        b = clear_of_rounding(rank_threshold(scores[neg], self.tau, task.weights[neg]), scores)
        self.guarantee_ = (
            f"false-positive rate <= {self.tau:g} on the training data (rank rule); none for new data, where it is "
            "usually higher"
        )
        return ranked.weights, b

    def _fit_oob(self, task: RankingTask) -> tuple[Array, float]:
        """Scorers of unit norm and their thresholds on held-out negatives, averaged over random splits."""
        kept = np.flatnonzero(task.weights > 0)
        hashes = row_hashes(task.X)[kept]
        labels = task.y_pm1[kept]
        if len(np.unique(hashes[labels < 0])) < 2:
            warn(
                "threshold='oob' needs two different negatives to hold one out; the rank rule on the training data is "
                "used instead."
            )
            return self._fit_train(task)
        choice = self._choose_tau(task, task.weights)
        rounds = self._run_rounds(task, kept, hashes, labels, choice.tau)
        if not self._adopt(choice, [ranked for ranked, _ in rounds]):
            return np.zeros_like(rounds[0][0].weights), 0.0
        stopped = None if task.run is None else task.run.stop()
        if len(rounds) < self.n_rounds and stopped is not None:
            self.result_ = replace(self.result_, status=stopped, claim="heuristic")
        used = [(ranked, b) for ranked, b in rounds if ranked.norm > 0.0]
        if not used:  # the time was up at the first steps of every round
            self.guarantee_ = NO_RANKING
            return np.zeros_like(rounds[0][0].weights), 0.0
        self.guarantee_ = (
            f"false-positive rate about {self.tau:g} on average over training samples (out-of-bootstrap, "
            f"{len(used)} rounds); single samples may exceed it"
        )
        scorer = np.mean([ranked.weights / ranked.norm for ranked, _ in used], axis=0)
        averaged = float(np.mean([b / ranked.norm for ranked, b in used]))
        # Equal negatives are held out together or not at all. Rounds that train on a large group of them choose a threshold without
        # it, and the average may lie just below their score; the rank rule of the averaged scorer knows the whole group.
        scores = task.scores(scorer)
        neg = task.negatives
        at_least = clear_of_rounding(rank_threshold(scores[neg], self.tau, task.weights[neg]), scores)
        return scorer, max(averaged, at_least)

    def _run_rounds(
        self, task: RankingTask, kept: NDArray[np.intp], hashes: NDArray[np.uint64], labels: Array, tau: float
    ) -> list[tuple[Ranked, float]]:
        """The scorer and threshold of each round; a tau that the first round raises is raised for all."""

        def one(here: RankingTask, r: int, tau: float) -> tuple[Ranked, float]:
            first, rest = split(hashes, labels, BOOTSTRAP_SHARE, here.base_seed + r)
            inside = np.zeros(len(here.weights))
            inside[kept[first]] = here.weights[kept[first]]
            ranked = rank_raised(here, inside, tau, r)
            out = kept[rest][here.y_pm1[kept[rest]] < 0]
            scores = here.scores(ranked.weights)
            return ranked, clear_of_rounding(rank_threshold(scores[out], self.tau, here.weights[out]), scores)

        rounds = [one(task, 0, tau)]
        tau = rounds[0][0].tau
        if self.n_jobs not in (None, 1):
            from joblib import Parallel, delayed

            apart = task._replace(run=None)
            return rounds + list(
                Parallel(n_jobs=self.n_jobs)(delayed(one)(apart, r, tau) for r in range(1, self.n_rounds))
            )
        for r in range(1, self.n_rounds):
            if task.stopped:
                break
            rounds.append(one(task, r, tau))
        return rounds

    def _fit_umbrella(self, task: RankingTask) -> tuple[Array, float]:
        """One ranking without the held-out negatives; the threshold is an order statistic of their scores."""
        neg = task.negatives
        needed = umbrella_negatives_needed(self.tau, self.delta)
        held = max(needed, len(neg) // 2)
        if held > len(neg) - 1:
            umbrella_order(len(neg) - 1, self.tau, self.delta)  # raises, and says how many are needed
        # Rows are drawn one by one here: the guarantee needs held-out negatives that are exchangeable with new ones.
        out = np.random.default_rng(task.base_seed).permutation(neg)[:held]
        inside = task.weights.copy()
        inside[out] = 0.0
        choice = self._choose_tau(task, inside)
        ranked = rank_raised(task, inside, choice.tau)
        if not self._adopt(choice, [ranked]):
            return ranked.weights, 0.0
        scores = task.scores(ranked.weights)
        order = umbrella_order(held, self.tau, self.delta)
        self.guarantee_ = (
            f"P(false-positive rate > {self.tau:g}) <= {self.delta:g} over samples, for new data of the same "
            f"distribution (umbrella: order statistic {order} of {held} held-out negatives)"
        )
        return ranked.weights, clear_of_rounding(umbrella_threshold(scores[out], self.tau, self.delta), scores)

    # -- checking -------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_rate("tau", self.tau)
        check_rate("delta", self.delta)
        if isinstance(self.ranking_tau, str) and self.ranking_tau != "auto":
            raise InvalidInputError(
                f"ranking_tau must be 'auto', None or a number in (0, 1); got {self.ranking_tau!r}."
            )
        if self.ranking_tau is not None and self.ranking_tau != "auto":
            check_rate("ranking_tau", self.ranking_tau)
        choices = {
            "threshold": ("oob", "umbrella", "train"),
            "kernel": ("linear", "rbf", "precomputed"),
            "solver": ("lbfgs", "fista"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                shown = ", ".join(map(repr, allowed))
                raise InvalidInputError(f"{name} must be one of {shown}; got {getattr(self, name)!r}.")
        if not is_whole_number(self.n_rounds) or self.n_rounds < 1:
            raise InvalidInputError(f"n_rounds must be a whole number >= 1; got {self.n_rounds!r}.")
        if not is_number(self.tolerance) or not self.tolerance > 0:
            raise InvalidInputError(f"tolerance must be a number > 0; got {self.tolerance!r}.")

    def _validate_blocks(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Array]:
        """As `_validate`, reading X block by block."""
        largest = np.zeros(X.shape[1])
        for rows, block in row_blocks(X):
            if not np.isfinite(block).all():
                raise ValueError(f"Input X contains NaN or infinity in rows {rows.start} to {rows.stop - 1}.")
            largest = np.maximum(largest, largest_of_columns(block))
        placeholder = np.zeros((X.shape[0], 1))
        _, y, weights = self._validate(placeholder, np.asarray(y), sample_weight)
        self.n_features_in_ = int(X.shape[1])
        check_largest(largest, self._names(), free_units=False)
        return X, y, weights

    def _distinct_columns(self, K: Any, y_pm1: Array, weights: Array) -> tuple[Any, Array, Array, NDArray[np.intp]]:
        """A kernel matrix, labels and weights of the points of positive weight, and their rows; with splits, equal rows are one point.

        The fingerprint of a point is that of its row, in which the columns of other copies and of weight zero must not count.
        """
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"kernel='precomputed' needs a square kernel matrix; got shape {K.shape}.")
        rows = np.flatnonzero(weights > 0)
        if self.threshold != "umbrella":
            used = row_hashes(K if len(rows) == len(weights) else K[np.ix_(rows, rows)])
            hashes = np.zeros(len(weights), dtype=np.uint64)
            hashes[rows] = used
            rows, _, summed = distinct(hashes, y_pm1, weights)
        else:
            summed = weights[rows]
        return (K if len(rows) == len(weights) else K[np.ix_(rows, rows)]), y_pm1[rows], summed, rows

    def _fit_kernel(self, X: Any) -> Array | None:
        if self.kernel == "linear":
            return None
        self.X_fit_ = X
        if self.kernel == "precomputed":
            return np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        if self.gamma == "scale":
            square = X.multiply(X).mean() if hasattr(X, "toarray") else np.mean(X**2)
            variance = float(square - X.mean() ** 2)
            self.gamma_ = 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
        elif isinstance(self.gamma, int | float) and self.gamma > 0:
            self.gamma_ = float(self.gamma)
        else:
            raise InvalidInputError(f"gamma must be 'scale' or a number > 0; got {self.gamma!r}.")
        return np.asarray(pairwise_kernels(X, metric="rbf", gamma=self.gamma_))

    # -- using ----------------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Score minus threshold: positive where `classes_[1]` is predicted."""
        if hasattr(self, "coef_") and read_in_blocks(X) and X.shape[1] == self.n_features_in_:
            return linear_scores(X, self.coef_[0]) - self.threshold_
        X = self._check_new(X)
        if hasattr(self, "coef_"):
            return linear_scores(X, self.coef_[0]) - self.threshold_
        K = X if self.kernel == "precomputed" else pairwise_kernels(X, self.X_fit_, metric="rbf", gamma=self.gamma_)
        return np.asarray(K @ self.dual_coef_[0], dtype=np.float64) - self.threshold_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
