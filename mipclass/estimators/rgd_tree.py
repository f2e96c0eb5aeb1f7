"""RGDTreeSVC and RGDTreeOneClass: the widest margin once a share of the points may be left out (Ding & Xu 2015)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
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
from .base import LinearClassifier, forget, limited
from .proving import Provable
from .soft_margin import TrimmedTask, choose_C, fit_trimmed

Fraction = float | Mapping[Any, float]
"""A share of all points, or one for each label."""

FACE_ROUNDING = 1e-10
"""Distance, relative to the largest score, by which the one-class threshold lies below the slab's face: support points lie
on the face itself, and rounding must not make them outliers."""


class RGDTreeSVC(Provable, LinearClassifier):
    """Linear classifier that leaves out a given share of the points, which random gradient descent trees find (Ding & Xu 2015).

    C=None: minimise 1/2 w'w subject to y_i (w.x_i + b) >= 1 for all but floor(outlier_fraction * n) points, by exact maximum margins on
    the points that the trees keep (see mipclass.models.outlier_svm, solver "rgd-tree"). By default a soft margin is fitted to the points
    that stay, and those that lie worst on its wrong side are left out in their stead, until they stay the same.

    Parameters
    ----------
    outlier_fraction : number in [0, 1) of all points, shared freely between the classes, or a mapping {label: number} of
        each class. A fraction below one point leaves none out.
    height, max_nodes, n_children, delta, mu : the tree: levels, nodes kept per level, children per node (None: from delta
        and mu), candidates for children beyond the outliers as a share of them, probability of missing a path of inliers.
    n_rounds : most boosting rounds; each tree grows from the best node so far, until the width is stable.
    n_restarts : independent beginnings; the widest slab wins.
    polish : True for exact maximum margins on the points that stay, False for the tree's own slab, or a QP backend's name.
    C : of the soft margin on the points that stay (squared hinge, C of scikit-learn's LinearSVC): "auto" takes the one of 0.01, 0.1 and 1
        with the fewest errors on held-out training points; or a number. None for the maximum margin, for classes that
        do not overlap without the outliers.
    reselect : with a soft margin, leave out anew the points that lie worst on its wrong side, at most as many as the tree left out (of
        each class, for a mapping), and fit again, until they stay the same.
    class_weight : factors of the sample weights by label, "balanced" or None; outlier_fraction is a share of the weight.
    keep_tree : hand back the trees as a networkx DiGraph in `tree_`.
    prove : seconds after the fit for a lower bound of 1/2 w'w, the objective of the tree's maximum margin, or None. One share of all points with
        equal weights is proven by "subsystems", with a certificate; shares of each class or weights go to HiGHS, whose bound has none.
    time_limit : seconds for the whole fit, or None; with a soft margin half of them for the tree. progress : a line on stderr. random_state : seed.

    Attributes
    ----------
    coef_, intercept_ : the rule, in the user's units.
    outliers_ : boolean mask of the training points that were left out.
    C_ : the C that was used, or None.
    margin_ : width of the slab between the points that the tree keeps; 2/|coef_| for C=None. Not positive when no slab was found: for
        C=None a warning was given then, and the rule is only the best direction seen.
    tree_margin_ : width before the exact last step.
    bound_, gap_, proof_ : with `prove`, a lower bound of 1/2 w'w for the problem of the tree, the relative gap of the tree's rule to it (None
        if it found no slab; a soft margin is another rule) and the Result of the proof, whose rule may be better.
    result_ : the Result of the tree. classes_, n_features_in_, feature_names_in_, tree_.

    Examples
    --------
    >>> from mipclass import RGDTreeSVC
    >>> X, y = [[0.0], [1.0], [5.0], [6.0], [0.5]], [0, 0, 1, 1, 1]
    >>> clf = RGDTreeSVC(outlier_fraction=0.2, C=None).fit(X, y)
    >>> clf.outliers_.tolist(), float(clf.margin_)
    ([False, False, False, False, True], 4.0)
    """

    _sparse = True
    outliers_: Mask
    margin_: float
    tree_margin_: float
    tree_: Any
    C_: float | None

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
        C: float | str | None = "auto",
        reselect: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        keep_tree: bool = False,
        prove: float | None = None,
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
        self.class_weight = class_weight
        self.keep_tree = keep_tree
        self.prove = prove
        self.time_limit = time_limit
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RGDTreeSVC:
        """Fit to points X and labels y of two kinds; a weight of 2 counts like two equal points.

        The margin, the share of outliers, the choice of C and the soft margin are the same for both. The trees draw points at random,
        and may end at another slab of the same problem.
        """
        with limited(self.time_limit) as run:
            return self._fit(X, y, sample_weight, run)

    def _fit(self, X: Any, y: Any, sample_weight: Any, run: Run) -> RGDTreeSVC:
        X, y, weights = self._validate(X, y, sample_weight)
        _check_fraction(self.outlier_fraction)
        self._check_prove()
        if self.C not in (None, "auto") and (not is_number(self.C) or not 0 < self.C < np.inf):
            raise InvalidInputError(f"C must be a positive number, 'auto' or None; got {self.C!r}.")
        weights = self._weighted(y, weights, self.class_weight)
        model = outlier_svm(X, y, _share(self.outlier_fraction), sample_weight=weights)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        soft = self.C is not None
        self.result_ = _solve(self, model, run, 2 if soft else 1, seed, warn_of_overlap=not soft)
        extra = self.result_.extra
        _set_slab(self, extra, len(y))
        self.C_ = None
        if soft and run.stop() is None:
            self._fit_soft(X, y, weights, seed, run)
        elif self.result_.values:
            self._set_rule(self.result_.values)
        else:
            a, c = extra["faces"]
            self._set_rule({"w": extra["direction"], "b": -(a + c) / 2})
        if soft and self.C_ is None:
            self._cut_short(run.stop())
        self._read(X, self._signs(y), self.coef_[0], float(self.intercept_[0]))
        self._prove(model, self.result_, run, ("subsystems", "highs"), seed)
        return self

    def _fit_soft(self, X: Any, y: Any, weights: Array, seed: int, run: Run) -> None:
        """The soft margin on the points that stay, with C chosen on held-out points if it was not given."""
        by_class = isinstance(self.outlier_fraction, Mapping)
        groups = [y == label for label in self.classes_] if by_class else [np.ones(len(y), dtype=bool)]
        merged = TrimmedTask(X, y, self._signs(y), weights, groups).merged()
        if isinstance(self.C, str):
            share: Any = self.outlier_fraction
            shares = [float(share.get(label, 0.0)) for label in self.classes_] if by_class else [float(share)]
            self.C_ = choose_C(merged, shares, seed=seed, run=run)
        else:
            self.C_ = float(self.C or 0.0)
        outliers = self.outliers_[merged.rows]
        found = fit_trimmed(merged.task, outliers, self.C_, reselect=self.reselect, run=run)
        self.outliers_ = merged.of_rows(found.outliers)
        self.coef_, self.intercept_ = found.rule.coef_, np.atleast_1d(found.rule.intercept_)
        self._cut_short(found.stopped)

    def _cut_short(self, stopped: Status | None) -> None:
        """Say in the result that the fit was cut short, if it was."""
        if stopped is not None:
            claim: Claim = "heuristic" if self.result_.values else "none"
            self.result_ = replace(self.result_, status=stopped, claim=claim)


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
        forget(self)
        X = validate_data(self, X, dtype=np.float64, accept_sparse="csr")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if isinstance(self.outlier_fraction, Mapping):
            raise InvalidInputError("outlier_fraction must be one number for one class; got a mapping.")
        _check_fraction(self.outlier_fraction)
        model = outlier_svm(X, None, _share(self.outlier_fraction), sample_weight=weights)
        self.result_ = _solve(self, model, run, 1, int(check_random_state(self.random_state).randint(2**31 - 1)))
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


def _solve(
    estimator: RGDTreeSVC | RGDTreeOneClass,
    model: Model,
    run: Run,
    pieces: int,
    seed: int,
    *,
    warn_of_overlap: bool = True,
) -> Result:
    """Solve the model by rgd-tree with the estimator's parameters as options, in one of so many equal parts of the time left."""
    options = {
        "height": estimator.height,
        "max_nodes": estimator.max_nodes,
        "n_children": estimator.n_children,
        "delta": estimator.delta,
        "mu": estimator.mu,
        "rounds": estimator.n_rounds,
        "restarts": estimator.n_restarts,
        "polish": estimator.polish,
        "warn_of_overlap": warn_of_overlap,
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
