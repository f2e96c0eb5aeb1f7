"""RGDTreeSVC and RGDTreeOneClass: the widest margin once a share of the points may be left out (Ding & Xu 2015)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..arrays import Array, Mask
from ..checks import is_number
from ..errors import InvalidInputError
from ..modelling.model import Model
from ..models.outlier_svm import outlier_svm
from ..protocol.result import Claim, Result, Status
from ..protocol.run import Run
from ..solving.driver import solve_within
from .base import LinearClassifier, limited

Fraction = float | Mapping[Any, float]
"""A share of all points, or one for each label."""

WEIGHT_ROUNDING = 1e-12
"""Relative rounding error of a sum of weights."""

FIRST_STEPS, MOST_STEPS = 3, 1000
"""Newton steps of a soft margin under a time limit: those that show how long a step takes, and scikit-learn's own limit."""

SHORTEST = 1e-6
"""Seconds that a fit takes at least: the divisor of the time left."""

FACE_ROUNDING = 1e-10
"""Distance, relative to the largest score, by which the one-class threshold lies below the slab's face: support points lie
on the face itself, and rounding must not make them outliers."""


class RGDTreeSVC(LinearClassifier):
    """Linear classifier of the widest margin that leaves out a given share of the points, by random gradient descent trees.

    Minimise 1/2 w'w subject to y_i (w.x_i + b) >= 1 for all but floor(outlier_fraction * n) points. The trees find the
    points to leave out; exact maximum margins on the others follow (see mipclass.models.outlier_svm, solver "rgd-tree").

    Parameters
    ----------
    outlier_fraction : number in [0, 1) of all points, shared freely between the classes, or a mapping {label: number} of
        each class. A fraction below one point leaves none out.
    height, max_nodes, n_children, delta, mu : the tree: levels, nodes kept per level, children per node (None: from delta
        and mu), candidates for children beyond the outliers as a share of them, probability of missing a path of inliers.
    n_rounds : most boosting rounds; each tree grows from the best node so far, until the width is stable.
    n_restarts : independent beginnings; the widest slab wins.
    polish : True for exact maximum margins on the points that stay, False for the tree's own slab, or a QP backend's name.
    C : None for the maximum margin; a number for a soft margin (squared hinge, C of scikit-learn's LinearSVC) on the points
        that stay, for classes that overlap even without the outliers.
    reselect : with C, leave out anew the points that lie worst to the soft margin, as many as the tree left out (of each
        class, for a mapping), and fit again, until they stay the same.
    keep_tree : hand back the trees as a networkx DiGraph in `tree_`.
    time_limit : seconds for the whole fit, or None; with C half of them for the tree. progress : a line on stderr. random_state : seed.

    Attributes
    ----------
    coef_, intercept_ : the rule, in the user's units.
    outliers_ : boolean mask of the training points that were left out.
    margin_ : width of the slab between the points that stay; 2/|coef_| unless C is given (with reselect, of the points
        that stayed first). Not positive when no slab was found: then a warning was given and the rule is only the best direction seen.
    tree_margin_ : width before the exact last step.
    result_, classes_, n_features_in_, feature_names_in_, tree_.

    Examples
    --------
    >>> from mipclass import RGDTreeSVC
    >>> X, y = [[0.0], [1.0], [5.0], [6.0], [0.5]], [0, 0, 1, 1, 1]
    >>> clf = RGDTreeSVC(outlier_fraction=0.2).fit(X, y)
    >>> clf.outliers_.tolist(), float(clf.margin_)
    ([False, False, False, False, True], 4.0)
    """

    _sparse = True
    outliers_: Mask
    margin_: float
    tree_margin_: float
    tree_: Any

    def __init__(
        self,
        outlier_fraction: Fraction = 0.1,
        *,
        height: int = 10,
        max_nodes: int = 5,
        n_children: int | None = None,
        delta: float = 0.5,
        mu: float = 0.1,
        n_rounds: int = 10,
        n_restarts: int = 1,
        polish: bool | str = True,
        C: float | None = None,
        reselect: bool = False,
        keep_tree: bool = False,
        time_limit: float | None = None,
        progress: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.outlier_fraction = outlier_fraction
        self.height = height
        self.max_nodes = max_nodes
        self.n_children = n_children
        self.delta = delta
        self.mu = mu
        self.n_rounds = n_rounds
        self.n_restarts = n_restarts
        self.polish = polish
        self.C = C
        self.reselect = reselect
        self.keep_tree = keep_tree
        self.time_limit = time_limit
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RGDTreeSVC:
        """Fit to points X and labels y of two kinds; a weight of 2 counts like two equal points."""
        with limited(self.time_limit) as run:
            return self._fit(X, y, sample_weight, run)

    def _fit(self, X: Any, y: Any, sample_weight: Any, run: Run) -> RGDTreeSVC:
        X, y, weights = self._validate(X, y, sample_weight)
        _check_fraction(self.outlier_fraction)
        if self.C is not None and not self.C > 0:
            raise InvalidInputError(f"C must be a positive number or None; got {self.C!r}.")
        if self.reselect and self.C is None:
            raise InvalidInputError("reselect=True chooses outliers by the soft margin; give its C, e.g. C=1.0.")
        model = outlier_svm(X, y, _share(self.outlier_fraction), sample_weight=weights)
        self.result_ = _solve(self, model, run, 1 if self.C is None else 2)
        extra = self.result_.extra
        _set_slab(self, extra, len(y))
        if self.C is not None:
            before = stopped = run.stop()
            if before is None:
                stopped = self._fit_soft(X, y, weights, run)
            if stopped is not None:
                claim: Claim = "heuristic" if self.result_.values else "none"
                self.result_ = replace(self.result_, status=stopped, claim=claim)
            if before is None:
                return self
        if self.result_.values:
            self._set_rule(self.result_.values)
        else:
            a, c = extra["faces"]
            self._set_rule({"w": extra["direction"], "b": -(a + c) / 2})
        return self

    def _fit_soft(self, X: Any, y: Any, weights: Array, run: Run) -> Status | None:
        """The soft margin on the points that stay; with `reselect` until the points that are left out repeat. Why it stopped early."""
        groups = (
            [y == label for label in self.classes_]
            if isinstance(self.outlier_fraction, Mapping)
            else [np.ones(len(y), dtype=bool)]
        )
        leave = [float(weights[group & self.outliers_].sum()) for group in groups]
        seen: set[bytes] = set()
        while True:
            kept = ~self.outliers_
            soft = _soft_margin(self.C, X[kept], y[kept], weights[kept], run)
            self.coef_, self.intercept_ = soft.coef_, np.atleast_1d(soft.intercept_)
            seen.add(self.outliers_.tobytes())
            if soft.n_iter_ >= soft.max_iter and soft.max_iter < MOST_STEPS:
                return run.stop() or Status.TIME_LIMIT
            if not self.reselect:
                return None
            margins = self._signs(y) * soft.decision_function(X)
            worst = np.zeros(len(y), dtype=bool)
            for group, total in zip(groups, leave, strict=True):
                order = np.flatnonzero(group)[np.argsort(margins[group], kind="stable")]
                worst[order[np.cumsum(weights[order]) <= total * (1.0 + WEIGHT_ROUNDING)]] = True
            if worst.tobytes() in seen or len(np.unique(y[~worst])) < 2:
                return None
            stopped = run.stop()
            if stopped is not None:
                return stopped
            self.outliers_ = worst


class RGDTreeOneClass(OutlierMixin, BaseEstimator):
    """Novelty detection by the widest slab between the origin and all but a given share of the points.

    Minimise 1/2 w'w subject to w.x_i >= 1 for all but floor(outlier_fraction * n) points. The origin matters: data whose hull
    holds it have no slab (a warning says so); move them first, e.g. by scaling to positive values or by a kernel map.

    Parameters are those of RGDTreeSVC; outlier_fraction is one number in [0, 1).

    Attributes
    ----------
    coef_ : unit normal of the slab.   offset_ : distance of its upper face from the origin; intercept_ = -offset_.
    outliers_ : boolean mask of the training points that were left out.   margin_ : width of the slab, before rounding.
    """

    outliers_: Mask
    margin_: float
    tree_margin_: float
    tree_: Any
    result_: Result

    def __init__(
        self,
        outlier_fraction: float = 0.1,
        *,
        height: int = 10,
        max_nodes: int = 5,
        n_children: int | None = None,
        delta: float = 0.5,
        mu: float = 0.1,
        n_rounds: int = 10,
        n_restarts: int = 1,
        polish: bool | str = True,
        keep_tree: bool = False,
        time_limit: float | None = None,
        progress: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.outlier_fraction = outlier_fraction
        self.height = height
        self.max_nodes = max_nodes
        self.n_children = n_children
        self.delta = delta
        self.mu = mu
        self.n_rounds = n_rounds
        self.n_restarts = n_restarts
        self.polish = polish
        self.keep_tree = keep_tree
        self.time_limit = time_limit
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> RGDTreeOneClass:
        """Fit to points X; y is ignored."""
        with limited(self.time_limit) as run:
            return self._fit(X, sample_weight, run)

    def _fit(self, X: Any, sample_weight: Any, run: Run) -> RGDTreeOneClass:
        X = validate_data(self, X, dtype=np.float64, accept_sparse="csr")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if isinstance(self.outlier_fraction, Mapping):
            raise InvalidInputError("outlier_fraction must be one number for one class; got a mapping.")
        _check_fraction(self.outlier_fraction)
        self.result_ = _solve(self, outlier_svm(X, None, _share(self.outlier_fraction), sample_weight=weights), run, 1)
        extra = self.result_.extra
        _set_slab(self, extra, X.shape[0])
        self.coef_ = np.asarray(extra["direction"]).reshape(1, -1)
        scores = np.asarray(X @ self.coef_[0])
        self.offset_ = float(extra["faces"][0]) - FACE_ROUNDING * float(np.abs(scores).max())
        self.intercept_ = np.array([-self.offset_])
        return self

    def score_samples(self, X: Any) -> Array:
        """Projection on the slab's normal: the distance from the origin along it."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")
        return np.asarray(X @ self.coef_[0], dtype=np.float64)

    def decision_function(self, X: Any) -> Array:
        """Signed distance to the slab's upper face; negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """+1 for inliers, -1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _soft_margin(C: float | None, X: Any, y: Any, weights: Array, run: Run) -> LinearSVC:
    """scikit-learn's LinearSVC, with as many of its steps as fit into the time that is left.

    It reads no clock, so a few steps are made first to see what a step takes; each fit starts afresh.
    """
    if run.time_limit is None:
        return LinearSVC(C=C, dual=False).fit(X, y, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the result's status says that the time was up
        began = run.seconds()
        soft = LinearSVC(C=C, dual=False, max_iter=FIRST_STEPS).fit(X, y, sample_weight=weights)
        steps = int(FIRST_STEPS * run.seconds_left() / max(run.seconds() - began, SHORTEST))
        if soft.n_iter_ < FIRST_STEPS or steps <= FIRST_STEPS:
            return soft
        return LinearSVC(C=C, dual=False, max_iter=min(steps, MOST_STEPS)).fit(X, y, sample_weight=weights)


def _check_fraction(fraction: Any) -> None:
    """Raise unless every share is a number in [0, 1)."""
    for value in fraction.values() if isinstance(fraction, Mapping) else [fraction]:
        if not is_number(value) or not 0 <= value < 1:
            raise InvalidInputError(
                f"outlier_fraction must be a number in [0, 1), or a mapping from label to such numbers; got {value!r}. "
                "Write 0.1 for ten per cent."
            )


def _share(fraction: Any) -> Any:
    """The fraction as floats, so that the model does not read a whole number as a count."""
    return {k: float(v) for k, v in fraction.items()} if isinstance(fraction, Mapping) else float(fraction)


def _solve(estimator: RGDTreeSVC | RGDTreeOneClass, model: Model, run: Run, pieces: int) -> Result:
    """Solve the model by rgd-tree with the estimator's parameters as options, in one of so many equal parts of the time left."""
    seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
    options = {
        "height": estimator.height,
        "max_nodes": estimator.max_nodes,
        "n_children": estimator.n_children,
        "delta": estimator.delta,
        "mu": estimator.mu,
        "rounds": estimator.n_rounds,
        "restarts": estimator.n_restarts,
        "polish": estimator.polish,
        "tree": estimator.keep_tree,
    }
    return solve_within(run, model, "rgd-tree", pieces=pieces, seed=seed, options=options, progress=estimator.progress)


def _set_slab(estimator: RGDTreeSVC | RGDTreeOneClass, extra: Mapping[str, Any], n: int) -> None:
    """Set the fitted attributes that both estimators have."""
    estimator.outliers_ = np.zeros(n, dtype=bool)
    estimator.outliers_[extra["outliers"]] = True
    estimator.margin_ = float(extra["width"])
    estimator.tree_margin_ = float(extra["tree_width"])
    if estimator.keep_tree:
        estimator.tree_ = extra["tree"]
