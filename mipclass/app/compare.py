"""The package's methods and scikit-learn's baselines on one data set, under nested cross-validation.

Outer folds measure; inner folds, inside each training part, choose hyper-parameters. Every method sees the same folds and
columns standardised on the training part. Training errors are those of a fit to all rows; next to them stands the proven
lower bound on the errors of any linear rule. Compositions, the 0-1 loss under side constraints, are fitted in the units of
the data, as `mipclass fit` does, and have bounds of their own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from ..arrays import Array
from ..errors import InvalidInputError, MipclassWarning
from ..estimators.outlier_path import OutlierPathSVC
from ..estimators.polyhedral import PolyhedralClassifier
from ..estimators.rgd_tree import RGDTreeSVC
from ..estimators.tau_fpl import TauFPLClassifier
from ..estimators.zero_one import ZeroOneClassifier
from ..kernels.waiting import working_seconds
from ..modelling.data import check_data
from ..models.zero_one import zero_one
from ..protocol.result import Result
from ..solving.driver import solve
from .compositions import Composition

Grid = Mapping[str, Sequence[Any]]
INNER_FOLDS = 3
"""Folds inside each training part that choose the hyper-parameters."""


@dataclass(frozen=True)
class Contender:
    """A method with the grid from which the inner folds choose. `options` make `mipclass fit` take the side constraints of a composition."""

    make: Callable[[], Any]
    grid: Grid = field(default_factory=dict)
    ours: bool = True
    scaled: bool = True
    options: str = ""


def contenders(fpr: float) -> dict[str, Contender]:
    """name -> method. Steps are deterministic, so a comparison is reproducible."""
    C = (0.01, 0.1, 1.0, 10.0, 100.0)
    return {
        "0-1 loss": Contender(lambda: ZeroOneClassifier(random_state=0)),
        "polyhedral, h = 2": Contender(
            lambda: PolyhedralClassifier(n_hyperplanes=2, random_state=0), {"l1": (0.0, 0.01, 0.1)}
        ),
        "outlier path": Contender(lambda: OutlierPathSVC(), {"C": C[:4]}),
        "RGD-tree": Contender(lambda: RGDTreeSVC(random_state=0), {"outlier_fraction": (0.0, 0.1, 0.2, 0.3)}),
        f"tau-FPL, tau = {fpr:g}": Contender(lambda: TauFPLClassifier(tau=fpr, random_state=0)),
        "logistic regression": Contender(lambda: LogisticRegression(max_iter=1000), {"C": C}, ours=False),
        "linear SVM": Contender(lambda: LinearSVC(max_iter=20_000), {"C": C}, ours=False),
        "RBF SVM": Contender(lambda: SVC(), {"C": C}, ours=False),
    }


def composed(compositions: Sequence[Composition], time_limit: float) -> dict[str, Contender]:
    """name -> the 0-1 loss under side constraints, each fit proven within the time limit or stopped there."""

    def maker(composition: Composition) -> Callable[[], Any]:
        return lambda: ZeroOneClassifier(subject_to=composition.constraints, time_limit=time_limit, random_state=0)

    return {c.name: Contender(maker(c), scaled=False, options=c.options) for c in compositions}


@dataclass(frozen=True, eq=False)
class Row:
    """What was measured of one method. `options` are those of `mipclass fit` for the same side constraints."""

    name: str
    ours: bool
    training_errors: int
    test_errors: Array
    false_positive_rates: Array
    seconds: float
    chosen: tuple[str, ...]
    model: Any
    failure: str = ""
    options: str = ""

    @property
    def proof(self) -> Result | None:
        """The answer whose bound speaks of this row's training errors: that of a 0-1 loss; None for other methods."""
        method = _last(self.model)
        return method.result_ if isinstance(method, ZeroOneClassifier) else None

    @property
    def fewest(self) -> str:
        """The fewest training errors that rules of this kind can make, as far as that is proven; empty where nothing is known."""
        proof = self.proof
        if proof is None or proof.bound is None or proof.bound <= 0 < self.training_errors:
            return ""
        return f"{proof.bound:g}, proven" if proof.claim == "proven" else f"at least {proof.bound:g}"

    @property
    def most_often_chosen(self) -> str:
        """The hyper-parameters that most folds chose, the first of equals; empty when there is nothing to choose."""
        return max(dict.fromkeys(self.chosen), key=self.chosen.count) if any(self.chosen) else ""

    @property
    def test_error(self) -> float:
        """The mean error rate over the outer folds."""
        return float(self.test_errors.mean())

    @property
    def spread(self) -> float:
        """The standard deviation of the error rate over the outer folds; 0 with one fold."""
        return float(self.test_errors.std(ddof=1)) if len(self.test_errors) > 1 else 0.0


@dataclass(frozen=True, eq=False)
class Comparison:
    """Rows for all methods, the search behind the bound, and the data.

    `classes` are the (negative, positive) labels; y holds 0 and 1 for them when the positive one was named.
    """

    rows: tuple[Row, ...]
    bound: Result
    X: Array
    y: NDArray[Any]
    classes: NDArray[Any]
    feature_names: tuple[str, ...]
    folds: int

    def called_outliers(self) -> dict[str, NDArray[np.bool_]]:
        """For each method that names outliers, which rows it names."""
        found = {}
        for row in self.rows:
            flags = getattr(_last(row.model), "outliers_", None) if row.model is not None else None
            if flags is not None and np.shape(flags) == (len(self.y),):
                found[row.name] = np.asarray(flags, dtype=bool)
        return found

    def weights(self) -> dict[str, Array]:
        """Weights on standardised columns of each linear rule, divided by the largest magnitude."""
        found = {}
        for row in self.rows:
            coefficients = getattr(_last(row.model), "coef_", None) if row.model is not None else None
            if coefficients is not None and np.size(coefficients) == self.X.shape[1]:
                is_scaled = isinstance(row.model.steps[0][1], StandardScaler)
                w = np.ravel(coefficients) * (1.0 if is_scaled else self.X.std(axis=0))
                found[row.name] = w / (float(np.abs(w).max()) or 1.0)
        return found


def compare(
    X: Any,
    y: Any,
    *,
    feature_names: Sequence[str] | None = None,
    positive: Any = None,
    fpr: float = 0.05,
    folds: int = 5,
    only: Sequence[str] | None = None,
    time_limit: float = 10.0,
    seed: int = 0,
    n_jobs: int | None = None,
    tell: Callable[[str], Any] | None = None,
    compositions: Sequence[Composition] = (),
) -> Comparison:
    """Run the comparison; `tell` is called with the name of each step.

    `positive` names the positive class; the larger label in sort order otherwise. `compositions` are compared whatever `only` names.
    `time_limit` is for the search behind the bound, and for each fit of a composition.
    """
    data = check_data(X, y, feature_names=feature_names, pos_label=positive)
    if hasattr(data.X, "toarray"):
        raise InvalidInputError("compare takes dense data; sparse columns cannot be standardised.")
    labels = np.asarray(y) if positive is None else (data.y_pm1 > 0).astype(np.int64)
    classes = np.unique(labels)
    smallest = int(min((labels == label).sum() for label in classes))
    if not 2 <= folds <= smallest:
        raise InvalidInputError(f"folds must be between 2 and {smallest}, the size of the smaller class; got {folds}.")
    chosen = contenders(fpr)
    if only is not None:
        unknown = [name for name in only if name not in chosen]
        if unknown:
            raise InvalidInputError(f"there is no method {unknown[0]!r}; there are {', '.join(chosen)}.")
        chosen = {name: chosen[name] for name in only}
    chosen |= composed(compositions, time_limit)
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(data.X, labels))
    rows = []
    for name, contender in chosen.items():
        if tell is not None:
            tell(name)
        rows.append(_measure(name, contender, data.X, labels, classes, splits, n_jobs))
    if tell is not None:
        tell("bound")
    bound = solve(zero_one(data.X, labels), time_limit=time_limit, seed=seed)
    return Comparison(tuple(rows), bound, data.X, labels, data.classes, data.feature_names, folds)


def _measure(
    name: str,
    contender: Contender,
    X: Array,
    y: NDArray[Any],
    classes: NDArray[Any],
    splits: Sequence[Any],
    n_jobs: int | None,
) -> Row:
    start = working_seconds()
    try:
        measured = Parallel(n_jobs=n_jobs)(delayed(_fold)(contender, X, y, classes, *split) for split in splits)
        model = _tuned(contender, X, y)
    except ValueError as err:
        nothing = np.full(len(splits), np.nan)
        seconds = working_seconds() - start
        return Row(
            name, contender.ours, -1, nothing, nothing, seconds, (), None, failure=str(err), options=contender.options
        )
    errors, rates, chosen = zip(*measured, strict=True)
    return Row(
        name=name,
        ours=contender.ours,
        training_errors=int(np.sum(model.predict(X) != y)),
        test_errors=np.array(errors),
        false_positive_rates=np.array(rates),
        seconds=working_seconds() - start,
        chosen=tuple(chosen),
        model=model,
        options=contender.options,
    )


def _fold(
    contender: Contender, X: Array, y: NDArray[Any], classes: NDArray[Any], train: Any, test: Any
) -> tuple[float, float, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MipclassWarning)  # of parts of the data; the fit to all rows may still warn
        model = _tuned(contender, X[train], y[train])
    wrong = model.predict(X[test]) != y[test]
    negative = y[test] == classes[0]
    step = _last(model)
    chosen = ", ".join(f"{key} = {step.get_params()[key]:g}" for key in contender.grid)
    return float(wrong.mean()), float(wrong[negative].mean()), chosen


def _tuned(contender: Contender, X: Array, y: NDArray[Any]) -> Any:
    """Scaler, if it takes one, and method, hyper-parameters chosen by the inner folds."""
    pipeline = make_pipeline(StandardScaler() if contender.scaled else "passthrough", contender.make())
    if not contender.grid:
        return pipeline.fit(X, y)
    step = pipeline.steps[-1][0]
    grid = {f"{step}__{key}": list(values) for key, values in contender.grid.items()}
    inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=0)
    search = GridSearchCV(pipeline, grid, cv=inner, error_score="raise", refit=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MipclassWarning)
        search.fit(X, y)
    return pipeline.set_params(**search.best_params_).fit(X, y)


def _last(model: Any) -> Any:
    return model.steps[-1][1] if isinstance(model, Pipeline) else model
