"""OutlierPathSVC: a robust SVM whose degree of robustness is chosen over the whole outlier path (Suzumura et al. 2014)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..arrays import Array, Positions
from ..checks import is_number, is_whole_number
from ..errors import InvalidInputError, MipclassWarning
from ..methods.robust_svm.errors_along import errors_along
from ..methods.robust_svm.solution_path import OutlierPath
from ..modelling.model import Model
from ..models.robust_svm import check_C, robust_svm
from ..models.rules import Kernel
from ..protocol.result import Result, Status
from ..protocol.run import Run
from ..solving.driver import solve_within
from .base import BinaryClassifier, as_part_of, limited
from .proving import Provable
from .splits import row_hashes, split

KERNEL_ENTRIES = 4_000_000  # of a kernel matrix between new and training points that are held at once: 32 MB
MOST_DENSE_ENTRIES = 500_000_000  # 4 GB; the path works on dense rows or on the kernel matrix
SAME_ERRORS = 1e-12  # weights of errors that differ by no more than this share of all weight are equal but for rounding
BELOW_ALL_MARGINS = -1e300  # a finite cut-off that no margin reaches, for the plain SVM at the start of an s path


class PathFit(NamedTuple):
    """A path fitted to some rows at one C."""

    model: Model
    result: Result
    rows: Positions
    cost: float

    @property
    def path(self) -> OutlierPath:
        """The path from the SVM to the value asked for."""
        found: OutlierPath = self.result.extra["path"]
        return found


class OutlierPathSVC(Provable, BinaryClassifier):
    """SVM with the loss [1 - m]_+ for margins m >= s and 1 - s + theta (s - m) below: far outliers cost less than in an SVM.

    Minimise 1/2 |w|^2 + C sum_i loss(y_i f(x_i)). The path of local solutions from the plain SVM (theta = 1, or s below
    every margin) to full robustness (theta = 0 and s = 0) is computed exactly, and the value of theta or s with the fewest
    errors on held-out training points is taken among all its breakpoints, the plain SVM included.

    Parameters
    ----------
    path : "theta" (theta falls from 1 to 0 with s = 0) or "s" (s rises to 0 with theta = 0).
    kernel : "linear", "rbf", "poly", "precomputed" or a function of two matrices.   gamma : None for 1/n_features.
    degree, coef0 : of the polynomial kernel.
    C : weight of the losses, or several to choose from together with theta or s.
    fit_intercept : an offset that is penalised like a weight (a constant column, or 1 added to the kernel).
    selection : "validation" (hold out `validation_fraction`), "cv" (`n_folds` folds), or a value of theta or s to use as it is.
        Equal points always stay on one side of a split; those of kernel="precomputed" are points with equal rows of the kernel matrix.
    refit : after selection, fit on all points; False keeps the solution of the training side ("validation" only).
    class_weight : factors of the sample weights by label, "balanced" or None: C of a point is C times its weight.
    d_step : who solves the QPs at the jumps: "auto", "homotopy", "primal-dual" or a QP backend such as "osqp".
    prove : seconds after the last path for a lower bound of its objective at the chosen theta and s ("balls"), or None. A linear kernel's
        bound has a certificate; that of another kernel is computed in floating point and has none.
    time_limit : seconds for the whole fit, or None; each path, the last one included, gets an equal part of what is left. A path
        that is cut short offers the values that it reached.   progress : a line on stderr.   random_state : seed of the split.

    Attributes
    ----------
    theta_, s_, C_ : the values chosen.
    path_ : OutlierPath of the last fit, from the SVM to the chosen value; its points are `path_rows_` of the training data.
    outliers_ : boolean mask of the training points that the solution treats as outliers; none of them has weight zero.
    support_, dual_coef_ : training rows with a nonzero coefficient and the coefficients y_i alpha_i, shape (1, n_support).
    coef_, intercept_ : the rule in the user's units (linear kernel only).
    validation_errors_ : list of (C, value of the parameter, weight of the errors on held-out points) over all candidates, or None.
    bound_, gap_, proof_ : with `prove`, a lower bound of the objective on the rows of the last path, the relative gap of the fitted rule to it
        and the Result of the proof, whose rule may be better.
    result_, classes_, n_features_in_, feature_names_in_.

    Examples
    --------
    >>> from mipclass import OutlierPathSVC
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0], [-9.0]], [0, 0, 1, 1, 1]
    >>> clf = OutlierPathSVC(selection=0.0).fit(X, y)
    >>> clf.outliers_.tolist(), clf.predict([[3.0]]).tolist()
    ([False, False, False, False, True], [1])
    """

    _sparse = True
    result_: Result

    def __init__(
        self,
        path: Literal["theta", "s"] = "theta",
        *,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 0.0,
        C: float | Sequence[float] = 1.0,
        fit_intercept: bool = True,
        selection: float | Literal["validation", "cv"] = "validation",
        validation_fraction: float = 0.3,
        n_folds: int = 5,
        refit: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        d_step: str = "auto",
        prove: float | None = None,
        time_limit: float | None = None,
        progress: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.path = path
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.fit_intercept = fit_intercept
        self.selection = selection
        self.validation_fraction = validation_fraction
        self.n_folds = n_folds
        self.refit = refit
        self.class_weight = class_weight
        self.d_step = d_step
        self.prove = prove
        self.time_limit = time_limit
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OutlierPathSVC:
        """Fit to points X (sparse ones are made dense) and labels y of two kinds.

        A weight of 2 counts like two equal points, and a weight of zero like no point, in the splits too.
        """
        with limited(self.time_limit) as run:
            X, y, weights = self._validate(X, y, sample_weight)
            weights = self._weighted(y, weights, self.class_weight)
            X = _dense(X)
            costs = self._check(X)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            order = self._canonical_order(X, y, weights)
            training = order
            self.validation_errors_: list[tuple[float, float, float]] | None = None
            self._tried: list[PathFit] = []
            if isinstance(self.selection, str):
                value, cost, training = self._choose(X, y, weights, order, costs, seed, run)
            else:
                value, cost = float(self.selection), costs[0]
            stopped = run.stop() if self._tried else None
            if stopped is not None:
                last = self._tried[-1]  # where the limit or the interruption left the path
            else:
                last = self._solve(X, y, weights, training, value, cost, run, 1)
            self._adopt(X, last, stopped)
            self._prove(last.model, last.result, run, ("balls",), seed)
        if self.kernel == "linear":
            self._read(X, self._signs(y), self.coef_[0], float(self.intercept_[0]))
        del self._tried
        return self

    # ---- choosing ----------------------------------------------------------------------------------------------

    def _choose(
        self, X: Any, y: Any, weights: Array, order: Positions, costs: list[float], seed: int, run: Run
    ) -> tuple[float, float, Positions]:
        """The parameter and C with the fewest weighted errors on points that were held out."""
        folds = self._folds(X, y, weights, order, seed)
        if not folds:  # too few distinct points to hold any out: stay at the plain SVM
            return (1.0 if self.path == "theta" else -np.inf), costs[0], order
        tried: list[tuple[float, float, float]] = []
        left = len(costs) * len(folds) + 1  # paths, the last one on all points
        for cost in costs:
            curves = []
            for train, held in folds:
                if self._tried and run.stop() is not None:
                    break
                curves.append(self._curve(X, y, weights, train, held, cost, run, left))
                left -= 1
            if not curves:
                break
            tried += [(cost, value, errors) for value, errors in _average(curves, falling=self.path == "theta")]
        self.validation_errors_ = tried
        fewest = min(errors for _, _, errors in tried)
        equal = fewest + SAME_ERRORS * float(weights[order].sum())
        best = [(cost, value) for cost, value, errors in tried if errors <= equal]
        cost, value = best[len(best) // 2]  # the middle of the best stretch: its ends are where errors begin to rise
        training = order if self.refit or self.selection == "cv" else folds[0][0]
        return value, cost, training

    def _folds(self, X: Any, y: Any, weights: Array, order: Positions, seed: int) -> list[tuple[Positions, Positions]]:
        """(training rows, held-out rows) of each split in which both classes can be trained on."""
        hashes, groups = self._hashes(X, order), y[order]
        if self.selection == "validation":
            held, train = split(hashes, groups, self.validation_fraction, seed)
            pairs = [(order[train], order[held])]
        else:
            pairs, rest = [], np.arange(len(order))
            for fold in range(self.n_folds, 0, -1):
                part, others = (
                    split(hashes[rest], groups[rest], 1.0 / fold, seed) if fold > 1 else (np.arange(len(rest)), [])
                )
                held = rest[part]
                pairs.append((np.delete(order, held), order[held]))
                rest = rest[np.asarray(others, dtype=np.intp)]
                if len(rest) == 0:
                    break
        return [
            (train, held)
            for train, held in pairs
            if weights[held].sum() > 0 and all(weights[train][y[train] == c].sum() > 0 for c in self.classes_)
        ]

    def _curve(
        self, X: Any, y: Any, weights: Array, train: Positions, held: Positions, cost: float, run: Run, pieces: int
    ) -> tuple[Array, Array]:
        """(values of the parameter, weighted errors on `held`) along the path fitted to `train`, one of so many left."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MipclassWarning)  # of candidates; the final fit may still warn
            fitted = self._solve(X, y, weights, train, 0.0, cost, run, pieces)
        self._tried.append(fitted)
        model, path = fitted.model, fitted.path
        rows = train[model.points.first]
        positive = y[held] == self.classes_[1]
        if self.kernel == "linear":
            W = path.coefficients(self._augmented(X[rows]))
            errors = errors_along(W, self._augmented(X[held]), positive, weights[held])
        else:
            errors = np.zeros(len(path))
            for block in _blocks(len(held), len(rows)):
                K, sides, weight = (
                    self._gram(X, held[block], rows),
                    np.where(positive[block], 1.0, -1.0),
                    weights[held[block]],
                )
                if weight.any():
                    errors += path.errors(K, sides, weight) * weight.sum()
        return path.values, errors

    def _gram(self, X: Any, new: Positions, rows: Positions) -> Array:
        """The kernel between some rows of X and others, with 1 added for a penalised offset."""
        if self.kernel == "precomputed":
            return np.asarray(X[np.ix_(new, rows)] + (1.0 if self.fit_intercept else 0.0))
        return self._rule().gram(X[new], X[rows])

    # ---- fitting -----------------------------------------------------------------------------------------------

    def _adopt(self, X: Any, fitted: PathFit, stopped: Status | None) -> None:
        """Set the fitted attributes from the last path; `stopped` says why no more were made, where some were left."""
        model, result, rows = fitted.model, fitted.result, fitted.rows
        self.result_ = as_part_of(result, [other.result for other in self._tried], stopped)
        self.path_: OutlierPath = fitted.path
        self.C_ = fitted.cost
        self.theta_, self.s_ = float(self.path_.theta[-1]), float(self.path_.s[-1])
        self.path_rows_ = rows[model.points.first]
        self.outliers_ = np.zeros(len(X), dtype=bool)
        self.outliers_[rows] = result.extra["outliers"]
        coefficients = self.path_.y * result.extra["alpha"]
        used = np.flatnonzero(coefficients)
        by_row = np.argsort(self.path_rows_[used])
        self.support_ = self.path_rows_[used][by_row]
        self.dual_coef_ = coefficients[used][by_row].reshape(1, -1)
        if self.kernel == "linear":
            self.coef_ = np.asarray(result.values["w"]).reshape(1, -1)
            self.intercept_ = np.asarray(result.values["b"]).reshape(1)
        elif self.kernel != "precomputed":
            self._support_points = X[self.support_]

    def _solve(
        self, X: Any, y: Any, weights: Array, rows: Positions, value: float, cost: float, run: Run, pieces: int
    ) -> PathFit:
        """The robust SVM of some rows, and its path to `value` of the moving parameter, as one of so many paths left."""
        if self.path == "s" and not np.isfinite(value):
            value = BELOW_ALL_MARGINS
        theta, s = (value, 0.0) if self.path == "theta" else (0.0, value)
        part = X[np.ix_(rows, rows)] if self.kernel == "precomputed" else X[rows]
        how: dict[str, Any] = {"intercept": "penalised" if self.fit_intercept else False}
        if self.kernel != "linear":
            how = {"kernel": self._rule()}
        model = robust_svm(
            part, y[rows], cost, theta, s, sample_weight=weights[rows], pos_label=self.classes_[1], **how
        )
        result = solve_within(
            run,
            model,
            "outlier-path",
            pieces=pieces,
            progress=self.progress,
            options={"path": self.path, "d_step": self.d_step},
        )
        return PathFit(model, result, rows, cost)

    def _rule(self) -> Kernel:
        """The kernel, with 1 added for a penalised offset."""
        offset = 1.0 if self.fit_intercept else 0.0
        return Kernel(self.kernel, self.gamma, self.degree, self.coef0, offset)

    def _augmented(self, X: Any) -> Array:
        """X with a constant column for a penalised offset."""
        return np.hstack([X, np.ones((len(X), 1))]) if self.fit_intercept else np.asarray(X)

    # ---- input -------------------------------------------------------------------------------------------------

    def _check(self, X: Any) -> list[float]:
        """Refuse bad parameters; the candidates for C."""
        self._check_prove()
        if self.path not in ("theta", "s"):
            raise InvalidInputError(f"path must be 'theta' or 's'; got {self.path!r}.")
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        if self.kernel != "linear":
            self._rule()
        if isinstance(self.selection, str):
            if self.selection not in ("validation", "cv"):
                raise InvalidInputError(
                    f"selection must be 'validation', 'cv' or a value of {self.path}; got {self.selection!r}."
                )
        elif not is_number(self.selection):
            raise InvalidInputError(f"selection must be 'validation', 'cv' or a number; got {self.selection!r}.")
        elif np.ndim(self.C) > 0 and len(np.atleast_1d(self.C)) > 1:
            raise InvalidInputError("several values of C need selection='validation' or 'cv' to choose among them.")
        if not 0 < self.validation_fraction < 1:
            raise InvalidInputError(
                f"validation_fraction must lie strictly between 0 and 1; got {self.validation_fraction!r}."
            )
        if not is_whole_number(self.n_folds) or self.n_folds < 2:
            raise InvalidInputError(f"n_folds must be a whole number of folds >= 2; got {self.n_folds!r}.")
        given: Any = self.C
        costs: list[Any] = [given] if np.ndim(given) == 0 else list(given)
        if not costs:
            raise InvalidInputError("C is an empty list; give one or more positive numbers.")
        for cost in costs:
            check_C(cost)
        return [float(cost) for cost in costs]

    def _hashes(self, X: Any, rows: Positions) -> NDArray[np.uint64]:
        """Fingerprints of some points. The rows of a precomputed matrix have none that survive reordering: the number of the first equal row
        among `rows`, in the order of the data, serves."""
        if self.kernel != "precomputed":
            return row_hashes(X)[rows]
        in_order = np.sort(rows)
        K = X if len(rows) == len(X) else X[np.ix_(in_order, in_order)]
        _, first, inverse = np.unique(row_hashes(K), return_index=True, return_inverse=True)
        number = np.argsort(np.argsort(first))[inverse].astype(np.uint64)
        return np.asarray(number[np.searchsorted(in_order, rows)])

    def _canonical_order(self, X: Any, y: Any, weights: Array) -> Positions:
        """The points of positive weight in an order that they decide: copies, weights and shuffles of the same data then give the same fit."""
        positive = y == self.classes_[1]
        for label, side in zip(self.classes_.tolist(), (~positive, positive), strict=True):
            if not weights[side].any():
                raise InvalidInputError(
                    f"all points of class {label!r} have weight zero, so that one class is left; both classes need a positive weight."
                )
        used = np.flatnonzero(weights > 0)
        return used[np.lexsort((positive[used], self._hashes(X, used)))]

    def decision_function(self, X: Any) -> Array:
        """Scores; positive ones predict classes_[1]."""
        X = self._check_new(X)
        if self.kernel == "linear":
            return np.asarray(X @ self.coef_[0] + self.intercept_[0])
        X = _dense(X)
        if self.kernel == "precomputed":
            return np.asarray((X[:, self.support_] + (1.0 if self.fit_intercept else 0.0)) @ self.dual_coef_[0])
        rule, support, scores = self._rule(), self._support_points, np.empty(len(X))
        for block in _blocks(len(X), len(support)):
            scores[block] = rule.gram(X[block], support) @ self.dual_coef_[0]
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _blocks(count: int, columns: int) -> Iterator[slice]:
    """Consecutive parts of `count` rows of a kernel matrix with so many columns, of at most KERNEL_ENTRIES each."""
    size = max(1, KERNEL_ENTRIES // max(1, columns))
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


def _dense(X: Any) -> Array:
    """X as a dense array; refuses what would take more than MOST_DENSE_ENTRIES."""
    if not sp.issparse(X):
        return np.asarray(X)
    if np.prod(X.shape, dtype=float) > MOST_DENSE_ENTRIES:
        raise InvalidInputError(
            f"X is sparse with shape {X.shape}; made dense, as the path needs it, it would take {8e-9 * np.prod(X.shape, dtype=float):.0f} GB. "
            "Select features or rows first, or use RGDTreeSVC, which keeps X sparse."
        )
    return np.asarray(X.toarray())


def _average(curves: list[tuple[Array, Array]], *, falling: bool) -> list[tuple[float, float]]:
    """Errors summed over the folds at every value where a fold has a breakpoint; between its breakpoints a fold keeps its errors."""
    sign = -1.0 if falling else 1.0
    values = np.unique(np.concatenate([sign * v for v, _ in curves]))
    total = np.zeros(len(values))
    for breakpoints, errors in curves:
        at = np.searchsorted(sign * breakpoints, values, side="right") - 1
        total += errors[np.maximum(at, 0)]
    return [(float(sign * v), float(e)) for v, e in zip(values, total, strict=True)]
