"""Is a point a local optimum of the robust SVM? Theorem 4 of Suzumura et al. (2014), corrected for ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInputError
from ..models.losses import check_ramp

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LocalOptimality:
    """What `local_optimality` found.

    violation : largest violation of the conditions off the cut-off, relative to `scale`.
    worst : the point that has it.
    ties : points whose margin equals s within the tolerance. Without ties the conditions are necessary and sufficient;
        with ties they are decided by the other fields.
    tie_violation : how far the ties' multipliers are from serving as an inlier (alpha >= C) and as an outlier
        (alpha <= C theta) at once, relative to C. Theorem 4 as printed says that a tie is never a local optimum, which
        holds when Q on the edge and the ties is nonsingular; then this is at least 1 - theta.
    """

    violation: float
    worst: int
    ties: NDArray[np.int64]
    tie_violation: float

    def holds(self, tolerance: float = 1e-8) -> bool:
        """The conditions hold to `tolerance`, and no tie is left."""
        return self.violation <= tolerance and len(self.ties) == 0


def local_optimality(
    alpha: ArrayLike,
    margins: ArrayLike,
    C: ArrayLike,
    theta: float,
    s: float,
    *,
    scale: ArrayLike = 1.0,
    tolerance: float = 1e-8,
) -> LocalOptimality:
    """Check the conditions for a local optimum of 1/2 |w|^2 + sum_i C_i l(m_i; theta, s) with w = sum_i alpha_i y_i phi(x_i):

        m > 1: alpha = 0;   m = 1: 0 <= alpha <= C;   s < m < 1: alpha = C;   m < s: alpha = C theta;   m != s.

    A margin within tolerance * scale of 1 or s is measured as being there, or not, whichever reading has the smaller violation.
    Distances of alpha are relative to C, distances of margins to `scale`, e.g. 1 + sum_j |Q_ij alpha_j|.

    alpha, margins : (n,).   C, scale : numbers or (n,).
    """
    check_ramp(theta, s)
    a, m = np.asarray(alpha, dtype=np.float64), np.asarray(margins, dtype=np.float64)
    if a.ndim != 1 or a.shape != m.shape:
        raise InvalidInputError(f"alpha and margins must be vectors of one length; got shapes {a.shape} and {m.shape}.")
    C_i = np.broadcast_to(np.asarray(C, dtype=np.float64), a.shape)
    unit = np.broadcast_to(np.asarray(scale, dtype=np.float64), a.shape)
    if not (C_i > 0).all() or not (unit > 0).all():
        raise InvalidInputError("C and scale must be positive.")
    at_edge = np.maximum(np.abs(m - 1.0) / unit, np.maximum(-a, a - C_i) / C_i)
    right = np.maximum((1.0 - m) / unit, np.abs(a) / C_i)
    left = np.maximum((m - 1.0) / unit, np.abs(a - C_i) / C_i) + np.where(m < s, np.inf, 0.0)
    inlier = np.minimum(at_edge, np.minimum(right, left))
    beyond = np.where(m < s, np.abs(a - theta * C_i) / C_i, np.inf)
    each = np.maximum(0.0, np.minimum(inlier, beyond))
    tied = np.abs(m - s) <= tolerance * unit
    if theta == 1.0:
        tied[:] = False
    ties = np.flatnonzero(tied)
    tie_violation = 0.0
    if len(ties):
        as_inlier = np.maximum(0.0, C_i[ties] - a[ties]) / C_i[ties]
        as_outlier = np.maximum(0.0, a[ties] - theta * C_i[ties]) / C_i[ties]
        tie_violation = float(np.maximum(as_inlier, as_outlier).max())
        each[ties] = np.minimum(each[ties], np.minimum(as_inlier, as_outlier))
    worst = int(np.argmax(each)) if len(each) else -1
    return LocalOptimality(float(each[worst]) if len(each) else 0.0, worst, ties, tie_violation)
