"""Is a point a local optimum of the robust SVM? Theorem 4 of Suzumura et al. (2014), corrected for ties."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Array, Mask
from ...errors import InvalidInputError
from ...models.ramp import check_ramp

MOST_TIES = 6  # ties for which all 2^6 choices of sides are tried, each with a linear program
SOLVED = 1e-7  # residuals of these linear programs below this, relative to C, are zero: the tolerance of the LP solver
ORIGIN = 1e-10  # a row with entries below this share of the largest is a point at the origin: no rule moves its margin
TOLERANCE = 1e-8  # within which a margin, relative to its scale, may be read as being at 1 or at s


@dataclass(frozen=True)
class LocalOptimality:
    """What `local_optimality` found.

    violation : largest violation of the conditions off the cut-off, relative to `scale`.
    worst : the point that has it.
    ties : points whose margin equals s within the tolerance; with `rows` those at the origin, whose margin no rule moves, are left out.
        Without ties the conditions are necessary and sufficient; with ties tie_violation has to be 0 as well.
    tie_violation : Theorem 4 as printed says that a tie is never a local optimum, which holds when Q on the edge and the ties is
        nonsingular. In general there must be multipliers for every choice of sides of the ties: this is how far the worst choice is
        from having them, relative to C, and inf for more than MOST_TIES ties. Without `rows` only the given multipliers can be
        asked: how far those of a tie are from serving as an inlier (alpha >= C) and as an outlier (alpha <= C theta) at once.
    """

    violation: float
    worst: int
    ties: NDArray[np.int64]
    tie_violation: float

    def holds(self, tolerance: float = TOLERANCE) -> bool:
        """The conditions hold to `tolerance`, and at every tie for both sides."""
        return self.violation <= tolerance and self.tie_violation <= max(tolerance, SOLVED)


def local_optimality(
    alpha: ArrayLike,
    margins: ArrayLike,
    C: ArrayLike,
    theta: float,
    s: float,
    *,
    scale: ArrayLike = 1.0,
    tolerance: float = TOLERANCE,
    rows: ArrayLike | None = None,
) -> LocalOptimality:
    """Check the conditions for a local optimum of 1/2 |w|^2 + sum_i C_i l(m_i; theta, s) with w = sum_i alpha_i y_i phi(x_i):

        m > 1: alpha = 0;   m = 1: 0 <= alpha <= C;   s < m < 1: alpha = C;   m < s: alpha = C theta;
        m = s: for either side, whatever sides the other such points take, some multipliers do.

    A margin within tolerance * scale of 1 or s is measured as being there, or not, whichever reading has the smaller violation.
    Distances of alpha are relative to C, distances of margins to `scale`, e.g. 1 + sum_j |Q_ij alpha_j|.

    alpha, margins : (n,).   C, scale : numbers or (n,).
    rows : (n, d) signed rows y_i x_i of a linear rule, or (n, n) the matrix Q of a kernel. With them ties are decided.
    """
    check_ramp(theta, s)
    a, m = np.asarray(alpha, dtype=np.float64), np.asarray(margins, dtype=np.float64)
    if a.ndim != 1 or a.shape != m.shape:
        raise InvalidInputError(f"alpha and margins must be vectors of one length; got shapes {a.shape} and {m.shape}.")
    C_i = np.broadcast_to(np.asarray(C, dtype=np.float64), a.shape)
    unit = np.broadcast_to(np.asarray(scale, dtype=np.float64), a.shape)
    if not (C_i > 0).all() or not (unit > 0).all():
        raise InvalidInputError("C and scale must be positive.")
    each = violations(a, m, C_i, theta, s, unit, tolerance)
    tied = _tied(m, theta, s, unit, tolerance)
    as_inlier, as_outlier = _sides(a, C_i, theta)
    tie_violation = 0.0
    if rows is None:
        ties = np.flatnonzero(tied)
        tie_violation = float(np.maximum(as_inlier, as_outlier)[ties].max(initial=0.0))
    else:
        M = np.asarray(rows, dtype=np.float64)
        ties = np.flatnonzero(tied)
        if len(ties):
            ties = ties[np.abs(M[ties]).max(axis=1) > ORIGIN * max(M.max(), -M.min())]
        if len(ties):
            tie_violation = _worst_choice(M, a, C_i, theta, ties, np.flatnonzero(np.abs(m - 1.0) <= tolerance * unit))
    worst = int(np.argmax(each)) if len(each) else -1
    return LocalOptimality(float(each[worst]) if len(each) else 0.0, worst, ties, tie_violation)


def violations(
    a: Array, m: Array, C: Array, theta: float, s: float, unit: Array, tolerance: float = TOLERANCE
) -> Array:
    """(n,) how far each point is from meeting its condition; none becomes larger when its unit does."""
    at_edge = np.maximum(np.abs(m - 1.0) / unit, np.maximum(-a, a - C) / C)
    right = np.maximum((1.0 - m) / unit, np.abs(a) / C)
    left = np.maximum((m - 1.0) / unit, np.abs(a - C) / C) + np.where(m < s, np.inf, 0.0)
    inlier = np.minimum(at_edge, np.minimum(right, left))
    beyond = np.where(m < s, np.abs(a - theta * C) / C, np.inf)
    each = np.maximum(0.0, np.minimum(inlier, beyond))
    tied = _tied(m, theta, s, unit, tolerance)
    as_inlier, as_outlier = _sides(a, C, theta)
    each[tied] = np.minimum(each, np.minimum(as_inlier, as_outlier))[tied]
    return np.asarray(each)


def _tied(m: Array, theta: float, s: float, unit: Array, tolerance: float) -> Mask:
    """Points at the cut-off; the hinge loss (theta = 1) has none."""
    return np.asarray((np.abs(m - s) <= tolerance * unit) & (theta < 1.0))


def _sides(a: Array, C: Array, theta: float) -> tuple[Array, Array]:
    """How far each multiplier is from that of an inlier at the cut-off (>= C), and of an outlier there (<= C theta)."""
    return np.maximum(0.0, C - a) / C, np.maximum(0.0, a - theta * C) / C


def _worst_choice(
    M: Array, alpha: Array, C: Array, theta: float, ties: NDArray[np.intp], edge: NDArray[np.intp]
) -> float:
    """Over all choices of sides of the ties, the largest of the least residuals of  sum_i delta_i M_i = 0  over the changes delta of
    the multipliers, which take those of a tie to C or C theta and keep those of the edge between 0 and C.

    The slope of the objective in a direction d is the least, over the choices, of slopes that are convex in d; it is nowhere negative
    if and only if none of these is, which is what multipliers say.
    """
    from scipy.optimize import linprog

    if len(ties) > MOST_TIES:
        return np.inf
    columns = np.concatenate([edge, ties])
    A = np.linalg.qr(M[columns].T, mode="r") if M.shape[1] > len(columns) else M[columns].T
    unit = C.max()
    A = A / np.abs(A).max()
    E, T = A[:, : len(edge)], A[:, len(edge) :]
    slack = np.full((len(A), 1), -1.0)
    rows = np.block([[E, slack], [-E, slack]])
    bounds = [*zip(-alpha[edge] / unit, (C[edge] - alpha[edge]) / unit, strict=True), (0.0, None)]
    worst = 0.0
    for sides in product((1.0, theta), repeat=len(ties)):
        r = -T @ ((np.array(sides) * C[ties] - alpha[ties]) / unit)
        found = linprog([*np.zeros(len(edge)), 1.0], A_ub=rows, b_ub=[*r, *-r], bounds=bounds, method="highs")
        worst = max(worst, float(found.fun) if found.status == 0 else np.inf)
    return worst
