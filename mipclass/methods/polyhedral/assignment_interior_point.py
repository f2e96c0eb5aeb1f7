"""Interior point for the polyhedral LP with a fixed assignment, with work and memory linear in the number of points.

Given A (m points), B (k points), class weights p, q, an assignment s of B's points to h hyperplanes and l1 >= 0:

    minimise    sum_i p_i theta_i + sum_l q_l mu_l + sum_c l1_c sum_j |v_jc|
    subject to  theta_i >= v_j.a_i - g_j + 1   for all j,      theta_i >= 0
                mu_l    >= 1 - v_s(l).b_l + g_s(l),             mu_l    >= 0.

Each theta_i meets h + 1 constraints, each mu_l two and each |v_jc| two, so Newton's equations collapse, point by
point, to a positive definite matrix of order h (n + 1): the sum over points of a small h x h matrix times the outer
product of the point. Steps are Mehrotra's predictor and corrector. The primal is strictly feasible throughout and the
multipliers of each point sum to its weight from the start; only the h (n + 1) equations of (V, g) begin violated.

Points that are far from any kink of their errors may be left out: `RestOfPoints` adds their linear pieces and a price on leaving a
box around hyperplanes that are known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ...arrays import Array, Positions
from ...models.point_sets import PointSets

if TYPE_CHECKING:
    from .kernels.newton import PointState

_BLOCK_ROWS = 4096
"""Rows per block of the normal matrix: the block and its weighted copy stay in the cache."""

_MAX_ITERATIONS = 100
"""Predictor-corrector steps at most: a safeguard where the tolerance is out of reach of float64."""

_LONGEST_STEP = 0.9995
"""Fraction of the step to the boundary that is taken, so that slacks and multipliers stay positive."""

_STALLED = 1e-10
"""Primal and dual step length below which float64 allows no further progress."""

_DIAGONAL_SHIFT = 1e-13
"""Added to the diagonal of the normal matrix, relative to its largest entry: collinear columns make the matrix singular,
and the shift picks one of the equal solutions."""

_LEAST_DIAGONAL = 1e-300
"""Keeps the shift positive when the normal matrix is zero."""


class AssignmentAnswer(NamedTuple):
    """(v_j, g_j) as rows of `planes`, the LP's value there, a lower bound on it (up to tolerance), and the effort."""

    planes: Array
    value: float
    bound: float
    iterations: int


class RestOfPoints(NamedTuple):
    """What the LP has beside its points: constant + slope . (V, g), and price_c for each unit that an entry leaves centre +- radius."""

    slope: Array
    constant: float
    centre: Array
    radius: float
    price: Array


class _PointGroup:
    """Points with heights, slacks and multipliers; point i's errors are 1 + rows_i . plane_j for the planes it sees.

    `segments` lists (points, planes): A is one segment that sees all planes, B one segment per plane.
    """

    constant: Array | float = 1.0

    def __init__(self, rows: Array, segments: list[tuple[slice, slice]], weight: Array, planes: Array) -> None:
        from .kernels.newton import PointState

        self.rows, self.segments, self.weight = rows, segments, weight
        error = self.constant + self.products(planes)
        count, width = error.shape
        height = error.max(axis=1).clip(min=0.0) + 1.0
        mult0 = weight / (width + 1.0)
        mult = np.repeat(mult0[:, None], width, axis=1)
        self.state: PointState = PointState(height[:, None] - error, height, mult, mult0)
        self.change: PointState = PointState(*(np.zeros_like(array) for array in self.state))
        self.eta, self.rho_sum = np.empty((count, width)), np.empty(count)
        self.condensed = np.empty((width * (width + 1) // 2, count))

    def products(self, planes: Array) -> Array:
        """The linear part of the errors."""
        width = self.segments[0][1].stop - self.segments[0][1].start
        out = np.empty((len(self.rows), width))
        for points, seen in self.segments:
            np.matmul(self.rows[points], planes[seen].T, out=out[points])
        return out

    def add_gradient(self, total: Array, per_error: Array) -> None:
        """total_j += sum_i per_error_ij rows_i, the transpose of `products`."""
        for points, seen in self.segments:
            total[seen] += per_error[points].T @ self.rows[points]

    def add_normal(self, normal: Array) -> None:
        """normal[j, :, j', :] += sum_i condensed_i[j, j'] rows_i rows_i' for j <= j'."""
        for points, seen in self.segments:
            for start in range(points.start, points.stop, _BLOCK_ROWS):
                block = slice(start, min(start + _BLOCK_ROWS, points.stop))
                rows, pair = self.rows[block], 0
                for j in range(seen.start, seen.stop):
                    for other in range(j, seen.stop):
                        normal[j, :, other, :] += (rows.T * self.condensed[pair, block]) @ rows
                        pair += 1


class _AbsoluteValues(_PointGroup):
    """Prices c of [|v_jc - centre_jc| - radius]_+ in the same shape: 'points' with the two errors of an entry. A penalty has centre and radius 0."""

    def __init__(self, prices: Array, planes: Array, centre: Array | None = None, radius: float = 0.0) -> None:
        self.priced = np.flatnonzero(prices)
        self.n_planes = len(planes)
        at = np.zeros(self.n_planes * len(self.priced)) if centre is None else centre[:, self.priced].ravel()
        self.constant = np.stack([-at, at], axis=1) - radius
        super().__init__(np.empty((0, 0)), [], np.tile(prices[self.priced], self.n_planes), planes)

    def products(self, planes: Array) -> Array:
        v = planes[:, self.priced].ravel()
        return np.stack([v, -v], axis=1)

    def add_gradient(self, total: Array, per_error: Array) -> None:
        total[:, self.priced] += (per_error[:, 0] - per_error[:, 1]).reshape(self.n_planes, -1)

    def add_normal(self, normal: Array) -> None:
        curvature = (self.condensed[0] - 2.0 * self.condensed[1] + self.condensed[2]).reshape(self.n_planes, -1)
        for j in range(self.n_planes):
            normal[j, self.priced, j, self.priced] += curvature[j]


def solve_assignment(
    sets: PointSets,
    assignment: Positions,
    n_planes: int,
    *,
    tolerance: float = 1e-9,
    stop: Callable[[], Any] | None = None,
    around: RestOfPoints | None = None,
) -> AssignmentAnswer:
    """Minimise the LP above for `assignment`; every plane must have a point of B, unless `around` holds it.

    Ends when the duality gap is below `tolerance` * (1 + value) and the equations of (V, g) hold to `tolerance`, when
    float64 allows no further progress, or when `stop()` is not None. The planes returned are always usable: the primal
    is feasible at every iterate.
    """
    from .kernels import newton as kernel

    planes = np.zeros((n_planes, sets.A.shape[1]))
    slope, constant = np.zeros_like(planes), 0.0
    if around is not None:
        planes, slope, constant = around.centre, around.slope, around.constant
    groups = _groups(sets, assignment, planes, around)
    iterations = 0
    while iterations < _MAX_ITERATIONS and (stop is None or stop() is None):
        residual = slope.copy()
        for g in groups:
            g.add_gradient(residual, g.state.mult)
        gap = sum(float((g.state.slack * g.state.mult).sum() + g.state.height @ g.state.mult0) for g in groups)
        value = constant + float(np.vdot(slope, planes)) + _weighted_heights(groups)
        if gap <= tolerance * (1.0 + abs(value)) and np.abs(residual).max() <= tolerance:
            break
        factor = _factor(groups, planes)
        if factor is None:
            break
        step, primal, dual = _mehrotra(groups, factor, residual, gap)
        if not np.isfinite(step).all() or max(primal, dual) < _STALLED:
            break
        planes = planes + primal * step
        for g in groups:
            kernel.move(g.state, primal, dual, g.change)
        iterations += 1
    value = constant + float(np.vdot(slope, planes)) + _weighted_heights(groups)
    bound = constant + sum(float((g.constant * g.state.mult).sum()) for g in groups)
    return AssignmentAnswer(planes, value, bound, iterations)


def _weighted_heights(groups: list[_PointGroup]) -> float:
    """The points' part of the LP's objective: weights times heights."""
    return sum(float(g.weight @ g.state.height) for g in groups)


def _mehrotra(groups: list[_PointGroup], factor: Any, residual: Array, gap: float) -> tuple[Array, float, float]:
    """(direction of the planes, primal step, dual step): predictor, then corrector with Mehrotra's centring."""
    from .kernels import newton as kernel

    def solve(target: float, correct: bool) -> tuple[Array, float, float]:
        right = -residual
        for g in groups:
            kernel.right_hand_side(g.state, target, correct, g.change, g.eta, g.rho_sum)
            g.add_gradient(right, -g.eta)
        step = cho_solve(factor, right.ravel(), check_finite=False).reshape(residual.shape)
        limits = [kernel.direction(g.state, g.products(step), g.eta, g.rho_sum, g.change) for g in groups]
        return step, min(limit[0] for limit in limits), min(limit[1] for limit in limits)

    _, primal, dual = solve(0.0, False)
    ahead = sum(kernel.complementarity(g.state, min(1.0, primal), min(1.0, dual), g.change) for g in groups)
    pairs = sum(g.state.slack.size + g.state.height.size for g in groups)
    step, primal, dual = solve(gap / pairs * (ahead / gap) ** 3, True)
    return step, min(1.0, _LONGEST_STEP * primal), min(1.0, _LONGEST_STEP * dual)


def _groups(sets: PointSets, assignment: Positions, planes: Array, around: RestOfPoints | None) -> list[_PointGroup]:
    """A, B sorted by plane, the penalties if there are any, and the box if there is one, at their strictly feasible start."""
    order = np.argsort(assignment, kind="stable")
    counts = np.bincount(assignment, minlength=len(planes))
    ends = np.cumsum(counts)
    segments = [
        (slice(int(end - count), int(end)), slice(j, j + 1))
        for j, (end, count) in enumerate(zip(ends, counts, strict=True))
    ]
    groups = [
        _PointGroup(sets.A, [(slice(0, len(sets.A)), slice(0, len(planes)))], sets.p, planes),
        _PointGroup(-sets.B[order], segments, sets.q[order], planes),
    ]
    if sets.l1.any():
        groups.append(_AbsoluteValues(sets.l1, planes))
    if around is not None:
        groups.append(_AbsoluteValues(around.price, planes, around.centre, around.radius))
    return groups


def _factor(groups: list[_PointGroup], planes: Array) -> Any:
    """Cholesky factor of the normal matrix, or None when float64 cannot factor it any more."""
    from .kernels import newton as kernel

    normal = np.zeros((*planes.shape, *planes.shape))
    for g in groups:
        kernel.condense(g.state, g.condensed)
        g.add_normal(normal)
    matrix = normal.reshape(planes.size, planes.size)
    diagonal = np.einsum("ii->i", matrix)
    if not np.isfinite(diagonal).all():
        return None
    diagonal += _DIAGONAL_SHIFT * max(float(diagonal.max()), _LEAST_DIAGONAL)
    try:
        return cho_factor(matrix, lower=False, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
