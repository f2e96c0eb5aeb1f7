"""What every 0-1 loss method does to its data first, and how a rule comes back.

The plain weighted problem, a tie being an error of either class,

    minimise over (w, b)   sum_i weight_i [ t_i (w.x_i + b) <= 0 ],      t_i = -1 or +1,

is homogeneous in W = (w, b): with signed rows z_i = t_i (x_i, 1) it reads  sum_i weight_i [ z_i.W <= 0 ].  Hence

* points of weight zero and constant columns are dropped (the offset takes over a constant column's part of the score),
* equal points with equal labels merge into one weighted row,
* equal points with opposite labels cost every rule min(a, b), and only |a - b| remains to be decided
  (`cancel=True`; wrong under rate, parity or margin constraints, which count the classes apart).

Columns of far scale (1e160, say) are divided by a power of two; `rule` and `restricted` translate between these units and the user's.
All of this is exact on the float64 values: weights are whole numbers times a power of two (`costs`), and the searches count in
whole numbers. `widest` asks the linear programs, `offsets` chooses the best offset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...arrays import Array, Index, Positions
from ...modelling.data import far_scales
from .costs import PROOF_BITS, Counts, ExactCosts, count_costs, exact_costs
from .scope import RELATIVE_MARGIN, column_scales, loses_only_rounding

RANK_TOLERANCE = 1e-12
"""Eigenvalues of the Gram matrix of unit rows below this fraction of the largest one are mostly rounding: a finer look decides whether
the rows really lack that direction."""

HEAD = 100
"""Rows that are looked at first for a second value of each column; columns that vary there need not be read any further."""

ROUNDING_SHOWS = Fraction(1, 10**10)
"""Fraction of a rule's cost from which on rounded counts are too coarse for it: ten times below what a proof must close."""


def count_loss(Z: Array, weights: Array, W: Array) -> float:
    """Weight of the rows with z_i.W <= 0."""
    return float(weights[Z @ W <= 0.0].sum())


def whitening(Z: Array, scales: Array | None = None) -> Array:
    """A matrix M for W = M V, so that the margins z_i.W = q_i.V with q = Z M look alike in every direction; rank(Z) columns.

    Columns are standardised first, rows scaled to unit length, and their Gram matrix turned into the identity. Every sign
    pattern of Z W is reached: the columns of Z M span those of Z, up to what rounding may have added to them (`scope`; `scales`
    are the s_j of a larger matrix of which Z has some rows).
    """
    from .kernels.standardise import standardised

    Z = np.ascontiguousarray(Z)
    scales = column_scales(Z) if scales is None else scales
    least = float(RELATIVE_MARGIN) * scales
    S, rows = standardised(Z, least)
    size, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    seen = size > size[-1] * RANK_TOLERANCE
    M = np.asarray(S @ (axes[:, seen] / np.sqrt(size[seen])))
    if seen.all() or loses_only_rounding(Z, M, scales):
        return M
    # Some columns are nearly combinations of others: leave as many out as rounding accounts for.
    order = _independent_first(Z, scales)
    for r in range(max(1, int(seen.sum())), min(Z.shape)):
        kept = np.append(np.sort(order[: r - 1]), Z.shape[1] - 1)
        M = np.zeros((Z.shape[1], r))
        M[kept] = _all_directions(Z[:, kept], least[kept])
        if loses_only_rounding(Z, M, scales):
            return M
    return _all_directions(Z, least)


def _independent_first(Z: Array, scales: Array) -> Positions:
    """The features in an order in which each is as independent as possible of the offset and of those before it, in units of `scales`."""
    from scipy.linalg import qr

    unit = Z / np.where(scales > 0, scales, 1.0)
    offset = unit[:, -1:] / np.linalg.norm(unit[:, -1])
    features = unit[:, :-1] - offset @ (offset.T @ unit[:, :-1])
    return np.asarray(qr(features, mode="r", pivoting=True)[1])


def _all_directions(Z: Array, least: Array) -> Array:
    """`whitening` by singular values, which resolve what their squares lose in rounding; no direction is left out."""
    from .kernels.standardise import standardised

    S, rows = standardised(np.ascontiguousarray(Z), least)
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    sizes = np.maximum(values, values[0] * np.finfo(float).eps) / np.sqrt(len(rows))
    return np.asarray(S @ (directions.T / sizes))


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Minimise sum_i weights_i [z_i.W <= 0] over the rows z_i of Z; whitened coordinates are computed at most once.

    The weights are whole numbers with a sum below 2^53, so that sums of them are exact in float64, in whatever order they are added.
    """

    Z: Array
    weights: Array

    @cached_property
    def map(self) -> Array:
        """M with W = M V, see `whitening`; without columns when there are no rows."""
        return whitening(self.Z) if len(self.Z) else np.zeros((self.Z.shape[1], 0))

    @cached_property
    def unit(self) -> Array:
        """The rows of Z M, each of length one (zero rows stay zero): the same 0-1 loss in whitened coordinates."""
        from .kernels.standardise import to_unit_length

        rows = np.ascontiguousarray(self.Z @ self.map)
        to_unit_length(rows)
        return rows

    def whitened(self, W: Array) -> Array:
        """The least-squares V with M V = W."""
        return np.asarray(np.linalg.lstsq(self.map, W, rcond=None)[0], dtype=np.float64)

    def direction(self, W: Array) -> Array:
        """V of length one along `whitened(W)`; the first axis where this is zero."""
        V = self.whitened(W)
        return V / np.float64(np.linalg.norm(V)) if np.any(V) else np.eye(len(V))[0]

    def cost(self, W: Array) -> float:
        """Weight of the rows with z_i.W <= 0, ties being errors."""
        return count_loss(self.Z, self.weights, W)


@dataclass(frozen=True, eq=False)
class ZeroOneData(WeightedRows):
    """A weighted 0-1 problem ready for a search: rows `Z` (t x, t) over the kept `columns`, offset last.

    weights : the rows' costs in whole `counts.unit`s; every cost of a rule here is a number of these units.
    constant : the loss every rule pays, in the user's units; the user's loss of a rule is `constant` plus its cost.
    masses : the rows' exact costs, which the weights round down where they are not equal to them.
    group : group[i] is the row of `Z` that the user's point i went into, or -1 when it decides nothing (weight zero, or
        cancelled by equal points of the other label).
    at : one of the user's points of positive weight; it holds the value of every constant column.
    scales : the power of two by which each kept column of the user was divided.
    cap : no row is counted higher than this whole number in the unit of `masses`; None counts every row in full.
    """

    counts: Counts
    constant: Fraction
    masses: ExactCosts
    columns: Positions
    group: Positions
    at: Array
    scales: Array
    cap: int | None = None

    @cached_property
    def proof_counts(self) -> Counts:
        """The rows' costs in the units of proofs, which are finer than those of the weights where these are rounded."""
        return count_costs(self.masses, self.cap, PROOF_BITS)

    @property
    def labels(self) -> Array:
        """t_i of each row: its last entry."""
        return self.Z[:, -1]

    @property
    def n_features(self) -> int:
        """The number of the user's features, constant ones included."""
        return len(self.at)

    @cached_property
    def representatives(self) -> Positions:
        """The first of the user's points that went into each row."""
        points = np.full(len(self.Z), -1, dtype=np.intp)
        kept = np.flatnonzero(self.group >= 0)[::-1]
        points[self.group[kept]] = kept
        return points

    @cached_property
    def standardising(self) -> Array:
        """The matrix T with W = T W', W' being a rule over features of mean 0 and variance 1 (weighted)."""
        X = self.Z[:, :-1] * self.labels[:, None]
        mean = np.average(X, axis=0, weights=self.weights)
        spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=self.weights))
        spread = np.where(spread > 0, spread, 1.0)
        T = np.diag(np.append(1.0 / spread, 1.0))
        T[-1, :-1] = -mean / spread
        return T

    @cached_property
    def relative_weights(self) -> Array:
        """The exact costs in units of a typical one, whatever the user's unit is, for what is not a count.

        Typical is the weight up to which the rows hold half of the whole weight: one where few points are merged or all weigh the
        same, and the larger of two class weights.
        """
        if not len(self.weights):
            return self.weights
        ordered = np.sort(self.masses.whole)
        reached = np.cumsum(ordered)
        typical = ordered[np.searchsorted(reached, (reached[-1] + 1) // 2)]
        return (self.masses.whole / typical).astype(np.float64)

    def value(self, cost: float) -> float:
        """A cost in units of the weights as a loss in the user's units, with the constant."""
        return float(self.constant + self.counts.unit * int(cost))

    def loss(self, W: Array) -> float:
        """The exact loss of W = (w over the kept columns, b) in the user's units, ties being errors, with the constant."""
        return float(self.constant + self.masses.sum(self.Z @ W <= 0.0))

    def finer_for(self, W: Array) -> ZeroOneData | None:
        """The same rows counted on a finer grid, when the rounding of the weights shows in the cost of W; None when it does not.

        A row that costs more than W in all need not be counted higher than W, which makes room for finer units.
        """
        if self.counts.is_exact:
            return None
        wrong = self.Z @ W <= 0.0
        cost = self.masses.sum(wrong)
        if int(wrong.sum()) * self.counts.unit <= ROUNDING_SHOWS * cost:
            return None
        cap = int(cost / self.masses.unit)
        counts = count_costs(self.masses, cap)
        if counts.unit >= self.counts.unit:
            return None
        return replace(self, weights=counts.counts.astype(np.float64), counts=counts, cap=cap)

    def rule(self, W: Array) -> tuple[Array, float]:
        """(w, b) over all of the user's features from W over the kept ones."""
        w = np.zeros(self.n_features)
        w[self.columns] = W[:-1] / self.scales
        return w, float(W[-1])

    def restricted(self, W: Array) -> Array:
        """W = (w, b) over all of the user's features as a rule over the kept ones: b takes over the constant columns' part."""
        dropped = np.setdiff1d(np.arange(self.n_features), self.columns)
        return np.append(W[:-1][self.columns] * self.scales, W[-1] + self.at[dropped] @ W[dropped])

    def over_all_features(self, M: Array) -> Array:
        """A map W = M V over the kept columns as one over all of the user's features and the offset; dropped ones get zeros."""
        full = np.zeros((self.n_features + 1, M.shape[1]))
        full[self.columns], full[-1] = M[:-1] / self.scales[:, None], M[-1]
        return full


def prepare(
    X: Array,
    y_pm1: Array,
    weights: Array | None = None,
    *,
    cancel: bool = True,
    costs: ExactCosts | None = None,
    keep_columns: bool = False,
) -> ZeroOneData:
    """Merge, cancel and drop as the module says. X is dense float64 (n, d), y_pm1 holds -1 and +1; O(n d log n).

    costs : the exact costs where float64 weights, which are positive at the same points, round them.
    keep_columns : constant columns stay, for rows on (w, b) that speak of them.
    """
    n, d = X.shape
    X, y_pm1 = np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(y_pm1, dtype=np.float64)
    weights = np.ones(n) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    used = np.flatnonzero(weights > 0)
    columns = np.arange(d) if keep_columns else _varying_columns(X, used)
    order = used[_lexicographic(X, used, columns)]
    places = _places_of_equals(X, columns, order)
    sides = 2 * places + (y_pm1[order] > 0)  # of each distinct point, -1 first
    exact = exact_costs(weights[order]) if costs is None else ExactCosts(costs.whole[order], costs.exponent)
    count = int(places[-1]) + 1 if len(places) else 0
    masses = exact.summed_by(sides, 2 * count).whole.reshape(count, 2)
    common = masses.min(axis=1) if cancel else np.zeros(count, dtype=masses.dtype)
    left = (masses - common[:, None]).ravel()
    kept = np.flatnonzero(left > 0)
    row_of_side = np.full(2 * count, -1, dtype=np.intp)
    row_of_side[kept] = np.arange(len(kept))
    group = np.full(n, -1, dtype=np.intp)
    group[order] = row_of_side[sides]
    first = order[np.searchsorted(places, kept // 2)]
    labels = np.where(kept % 2 == 1, 1.0, -1.0)
    scales = far_scales(X[:, columns]) if n else np.ones(len(columns))
    Z = np.column_stack([X[np.ix_(first, columns)] / scales * labels[:, None], labels])
    rows = ExactCosts(left[kept], exact.exponent)
    counts = count_costs(rows)
    constant = exact.unit * int(common.sum())
    at = X[used[0]] if len(used) else np.zeros(d)
    return ZeroOneData(Z, counts.counts.astype(np.float64), counts, constant, rows, columns, group, at, scales)


def _lexicographic(X: Array, used: Positions, columns: Index) -> Positions:
    """The order of the used rows by their values in the columns, the first column first."""
    if not len(columns):
        return np.arange(len(used))
    first = X[used, columns[0]]
    order = np.argsort(first, kind="stable")
    ordered = first[order]
    if (ordered[1:] == ordered[:-1]).any():  # otherwise the first column alone decides
        order = np.lexsort(X[np.ix_(used, columns)].T[::-1])
    return order


def _varying_columns(X: Array, used: Positions) -> Positions:
    """The columns of X that have more than one value in the used rows."""
    varies = (X[used[:HEAD]] != X[used[:1]]).any(axis=0)
    for j in np.flatnonzero(~varies):
        varies[j] = (X[used, j] != X[used[:1], j]).any()
    return np.flatnonzero(varies)


def _places_of_equals(X: Array, columns: Index, order: Positions) -> Positions:
    """The number of the distinct point that each point of `order` is, in ascending order; equal points are neighbours in `order`."""
    equal = np.arange(1, len(order))  # those that are equal to the one before in all columns so far
    for j in columns:
        if not len(equal):
            break
        equal = equal[X[order[equal], j] == X[order[equal - 1], j]]
    is_new = np.ones(len(order), dtype=bool)
    is_new[equal] = False
    return np.cumsum(is_new) - 1
