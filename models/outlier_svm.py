"""SVM with outliers (Ding & Xu 2015): the widest margin once a given share of the points may be left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from ..arrays import Array, Mask
from ..checks import is_whole_number
from ..errors import InvalidInputError
from ..modelling.algebra import Constraint
from ..modelling.data import Data, check_one_class
from ..modelling.declaration import Declaration
from ..modelling.model import Model
from .penalties import L2
from .rules import Linear

_OF_LIGHTEST = 1e-9
"""Tolerance of a limit, as a fraction of the lightest point: a share such as 0.2857142857 of seven points means two of them."""

_ADDITION = 2.0**-52
"""Relative rounding error of one addition, with room: a sum of n weights in any order, or a share of it, is right to n times this."""

_WHOLE = 2.0**-50
"""Relative distance from a whole multiple of the lightest weight that is rounding: 0.1 + 0.1 + 0.1 is three times 0.1."""

_MOST_UNITS = 2.0**20
"""Largest whole coefficient in a row of a program: solvers take a binary variable for whole within about 1e-6."""

_MARGIN_TOLERANCE = 1e-6
"""Violation of a margin of one that a point may have and still count as kept: a solver's feasibility tolerance."""

_BIG_M_ROOM = 1e-9
"""Relative increase of big-M above its bound, so that rounding cannot cut off the optimum."""

_PAIRWISE_POINTS = 2000
"""Points of a class up to which all pairwise distances are computed."""

Outliers = float | Mapping[Any, float]
"""A share in [0, 1) or a whole number of points, of all points or for each label."""


@dataclass(frozen=True)
class OutlierLimits:
    """The weight that may be left out: of all points together (`total`), or of each class."""

    total: float | None
    positives: float
    negatives: float

    @property
    def most(self) -> float:
        """The largest of the limits."""
        return max(self.total or 0.0, self.positives, self.negatives)

    def counts(self, positive: Mask) -> list[tuple[str, Mask, float]]:
        """The name of each limit's row, the points that it counts, and the weight that it lets be left out of them."""
        if self.total is not None:
            return [("outliers", np.ones_like(positive), self.total)]
        return [("outliers_positive", positive, self.positives), ("outliers_negative", ~positive, self.negatives)]


@dataclass(frozen=True, eq=False)
class HardMargin(Constraint):
    """y_i (w.x_i + b) >= 1 for every point that is not left out.

    outliers : what may be left out. A number in [0, 1) is a share of all points (floor(share * n) of them, in any split
        between the classes); a whole number counts points; a mapping {label: either} speaks of each class, and a class
        that it does not name keeps all points. With sample weights, shares and counts are of weight.
    max_norm : a known bound on |w| at the optimum; without one it is derived from the data where that is possible. It only
        serves the big-M form of the mixed-integer program.
    """

    outliers: Outliers = 0.0
    max_norm: float | None = None
    is_homogeneous = False

    def __post_init__(self) -> None:
        for value in self.outliers.values() if isinstance(self.outliers, Mapping) else [self.outliers]:
            check_outliers(value)
        if self.max_norm is not None and not self.max_norm > 0:
            raise InvalidInputError(f"HardMargin(max_norm=...) must be a positive number; got {self.max_norm!r}.")

    def check(self, data: Data) -> None:
        """Raise when a label is unknown, or when all points of a class could be left out."""
        if isinstance(self.outliers, Mapping):
            unknown = [label for label in self.outliers if label not in data.classes.tolist()]
            if unknown:
                raise InvalidInputError(
                    f"outliers names {unknown[0]!r}, which is not a label; the labels are {data.classes.tolist()}."
                )
        limits = self.limits(data)
        negative, positive = data.classes.tolist()
        for mask, label, amount in (
            (data.positive, positive, limits.positives),
            (~data.positive, negative, limits.negatives),
        ):
            weight = float(data.weights[mask].sum())
            most = amount if limits.total is None else limits.total
            counted = data.weights[mask] if limits.total is None else data.weights
            if mask.any() and most >= weight - limit_tolerance(counted):
                raise InvalidInputError(
                    f"outliers={self.outliers!r} would let all {weight:g} points of class {label!r} be left out, and any margin "
                    f"is possible without them. Give a smaller number, or a share for each class: {{{label!r}: 0.1, ...}}."
                )

    def limits(self, data: Data) -> OutlierLimits:
        """The limits in weight, not yet rounded down."""
        positive = float(data.weights[data.positive].sum())
        negative = float(data.weights[~data.positive].sum())
        if isinstance(self.outliers, Mapping):
            share = [self.outliers.get(label, 0.0) for label in data.classes.tolist()]
            return OutlierLimits(None, _amount(share[1], positive), _amount(share[0], negative))
        if negative == 0:
            return OutlierLimits(None, _amount(self.outliers, positive), 0.0)
        return OutlierLimits(_amount(self.outliers, positive + negative), 0.0, 0.0)

    def declare(self, d: Declaration) -> None:
        """The margin rows, switched off by the binary variable `outlier` where points may be left out, and their limits."""
        limits, given = self.limits(d.data), d.data.weights
        if limits.most < d.points.weights.min() - limit_tolerance(given):
            d.builder.subject_to("margin", d.margins >= 1, labels=d.points.first)
            return
        outlier = d.builder.binaries("outlier", labels=d.points.first)
        big_m = self._big_m(d)
        d.builder.subject_to("margin", d.margins >= 1, when=(outlier, 0), big_m=big_m, labels=d.points.first)
        counts = limits.counts(d.points.y_pm1 > 0), limits.counts(d.data.positive)
        for (name, points, amount), (_, rows, _) in zip(*counts, strict=True):
            if points.any():
                row = np.zeros(d.points.n)
                row[points], at_most = _row(d.points.weights[points], amount, limit_tolerance(given[rows]))
                d.builder.subject_to(name, row @ outlier <= at_most)

    def _big_m(self, d: Declaration) -> Array:
        """Per point, by how much its margin row can be broken at an optimum.

        Some point j of the class of i stays, so y_i (w.x_i + b) >= 1 - |w| max_j |x_i - x_j|; and |w| is at most that of any
        feasible rule, or `max_norm`.
        """
        norm = self.max_norm if self.max_norm is not None else self._feasible_norm(d)
        if norm is None:
            return np.full(d.points.n, np.inf)
        X = d.points.X.toarray() if hasattr(d.points.X, "toarray") else d.points.X
        reach = np.empty(d.points.n)
        for sign in (-1.0, 1.0):
            mask = d.points.y_pm1 == sign
            if mask.any():
                reach[mask] = _farthest(X[mask])
        return np.asarray(norm * reach * (1 + _BIG_M_ROOM))

    def _feasible_norm(self, d: Declaration) -> float | None:
        """|w| of a feasible rule along the difference of the class means; None when there is none or it is no bound.

        It bounds |w| at the optimum only where nothing but |w| is minimised and there are no other constraints.
        """
        model = d.model
        alone = len(model.constraints) == 1 and [type(term) for _, term in model.terms] == [L2]
        if not (alone and isinstance(model.rule, Linear) and model.rule.intercept in (True, False)):
            return None
        sign = d.points.y_pm1
        has_two = (sign < 0).any() and (sign > 0).any()
        X = d.points.X.toarray() if hasattr(d.points.X, "toarray") else d.points.X
        ends = [X[sign == s].mean(axis=0) if (sign == s).any() else np.zeros(X.shape[1]) for s in (1.0, -1.0)]
        direction = ends[0] - ends[1]
        length = np.linalg.norm(direction)
        if length == 0:
            return None
        f = sign * (X @ (direction / length))
        if model.rule.intercept is True and has_two:
            return self._norm_with_offset(d, f)
        worst = -np.inf if self.limits(d.data).total is None and has_two else self._kept_worst(d, f)
        return 1 / worst if worst > 0 else None

    def _norm_with_offset(self, d: Declaration, f: Array) -> float | None:
        """2 / width of the slab along a direction with signed projections f; None when it does not separate."""
        limits, given = self.limits(d.data), d.data.weights
        positive, weights = d.points.y_pm1 > 0, d.points.weights
        if limits.total is None:
            of_positives, of_negatives = (limit_tolerance(given[side]) for side in (d.data.positive, ~d.data.positive))
            splits = [(limits.positives + of_positives, limits.negatives + of_negatives)]
        else:
            half = limit_tolerance(given) / 2  # both classes together may exceed the limit by the tolerance once
            splits = [(limits.total * s + half, limits.total * (1 - s) + half) for s in np.linspace(0, 1, 11)]
        widths = [
            _after(f[positive], weights[positive], p) + _after(f[~positive], weights[~positive], q) for p, q in splits
        ]
        return 2 / max(widths) if max(widths) > 0 else None

    def _kept_worst(self, d: Declaration, f: Array) -> float:
        """The smallest signed projection once the allowed weight is left out."""
        limits = self.limits(d.data)
        amount = limits.positives if limits.total is None else limits.total
        return _after(f, d.points.weights, amount + limit_tolerance(d.data.weights))

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        """The weight left out beyond the limit."""
        broken, worst = model.margins(values) < 1 - _MARGIN_TOLERANCE, 0.0
        for _, counted, amount in self.limits(model.data).counts(model.data.positive):
            excess = float(model.weights[counted & broken].sum()) - amount
            if excess > limit_tolerance(model.weights[counted]):
                worst = max(worst, excess)
        return worst

    def formula(self) -> str:
        """The constraint in one line, for printing a model."""
        if isinstance(self.outliers, Mapping):
            shown = ", ".join(f"{value:g} of class {label}" for label, value in self.outliers.items())
        else:
            shown = f"{self.outliers:g}"
        return f"y (w.x + b) >= 1 but for outliers ({shown})"


def check_outliers(value: Any) -> None:
    """A share in [0, 1) or a whole number of points."""
    is_count = is_whole_number(value)
    is_share = isinstance(value, float | np.floating) and 0 <= value < 1
    if not (is_share or (is_count and value >= 0)):
        raise InvalidInputError(
            f"outliers must be a share in [0, 1) or a whole number of points >= 0; got {value!r}. Write 0.1 for ten per cent."
        )


def outlier_svm(
    X: Any, y: Any = None, outliers: Outliers = 0.1, *, max_norm: float | None = None, **data: Any
) -> Model:
    """The widest margin that leaves out at most a given share of the points.

    Data        points x_i, labels y_i in {-1, +1} (y=None: one class, all +1), weights c_i;  n distinct labelled points
    Variables   w in R^d, b (two classes only), outlier_i in {0, 1}
    Minimise    1/2 w'w
    Subject to  outlier_i = 0  implies  y_i (w.x_i + b) >= 1
                sum_i c_i outlier_i <= share * sum_i c_i          (or one such row for each class)
    Size        two classes: n + d + 1 columns (n binary), n + 1 rows (n with an indicator), n + 2 with a share for each
                class; one class: a column fewer
    Reference   H. Ding, J. Xu: Random Gradient Descent Tree: A Combinatorial Approach for SVM with Outliers. AAAI 2015,
                definitions 2 and 4.

    The margin is 2/|w| wide between two classes, and 1/|w| between the origin and one class. `data` takes Model's
    sample_weight, class_weight, feature_names and pos_label.
    """
    constraint = HardMargin(outliers, max_norm)
    if y is None:
        points = check_one_class(X, **data)
        return Model.from_data(
            points, rule=Linear(intercept=False), minimize=0.5 * L2(), subject_to=constraint, name="outlier_svm"
        )
    return Model(X, y, rule=Linear(), minimize=0.5 * L2(), subject_to=constraint, name="outlier_svm", **data)


def _amount(value: float, weight: float) -> float:
    """A count as it is, a share as weight."""
    return float(value) if isinstance(value, int | np.integer) else float(value) * weight


def limit_tolerance(weights: Array) -> float:
    """By how much the weight that is left out may exceed a limit on a sum of these weights and still count as keeping it.

    It scales with the weights, so that the unit of weight does not matter, and it is below the weight of any point that float64
    can tell from rounding. Sums of whole numbers are exact: only the limit itself is rounded then.
    """
    used = weights[weights > 0]
    if not len(used):
        return 0.0
    additions = 1 if (used == np.round(used)).all() else len(used)
    return float(_OF_LIGHTEST * used.min() + additions * _ADDITION * used.sum())


def weight_unit(weights: Array) -> float:
    """A unit in which positive weights are whole numbers if they are multiples of the lightest, or whole as they are.

    Sums of whole numbers have no rounding error. Otherwise it is a power of two that brings the heaviest to [1, 2), which
    changes no digit.
    """
    lightest, heaviest = float(weights.min()), float(weights.max())
    if heaviest <= _MOST_UNITS * lightest and _are_whole(weights / lightest):
        return lightest
    if heaviest <= _MOST_UNITS and (weights == np.round(weights)).all():
        return 1.0
    return float(2.0 ** np.floor(np.log2(heaviest)))


def in_units(weights: Array, unit: float) -> Array:
    """The weights in a unit, without the rounding errors of multiples."""
    scaled = weights / unit
    return np.round(scaled) if _are_whole(scaled) else scaled


def _are_whole(values: Array) -> bool:
    """Whether all are whole numbers >= 1 but for rounding."""
    return bool((np.abs(values - np.round(values)) <= _WHOLE * values).all() and (np.round(values) >= 1).all())


def _row(weights: Array, amount: float, tolerance: float) -> tuple[Array, float]:
    """Coefficients and right side of a limit on the weight left out, in the unit that solvers' absolute tolerances ask for.

    Where only whole numbers can be reached, the right side is rounded down, so that rounding errors cannot cost a point.
    """
    unit = weight_unit(weights)
    scaled, most = in_units(weights, unit), (amount + tolerance) / unit
    return scaled, float(np.floor(most)) if (scaled == np.round(scaled)).all() else most


def _after(f: Array, weights: Array, amount: float) -> float:
    """The smallest f once the smallest ones of at most this weight have gone (one always stays)."""
    order = np.argsort(f)
    gone = int(np.sum(np.cumsum(weights[order]) <= amount))
    return float(f[order[min(gone, len(f) - 1)]])


def _farthest(X: Array) -> Array:
    """For each point the distance to the farthest other; for many points an upper bound on it through their mean."""
    if len(X) <= _PAIRWISE_POINTS:
        return np.asarray(cdist(X, X).max(axis=1))
    radius = np.linalg.norm(X - X.mean(axis=0), axis=1)
    return np.asarray(radius + radius.max())
