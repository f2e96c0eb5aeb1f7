"""Newton's method for the smoothed primal of tau-FPL, where L-BFGS takes too many steps (small R, small k).

The top-k mean is smoothed by entropy here (kernels/topk_smooth), T_eps with weights g_j = o_j c_j/k. With o the weights,
e_i = [1 - s_i + T_eps]_+, t = X-'g the gradient of T_eps, I the positives with e_i > 0, A = 2 sum o_i e_i and
q_j = o_j c_j (1 - c_j), the generalised Hessian of the smoothed P is

    R + (2/m) sum_I o_i (x_i - t)(x_i - t)' + (A/(m k eps)) [X-' diag(q) X- - (X-'q)(X-'q)'/sum(q)].

Rows of negligible weight are not read. A step costs (rows read) d^2 for the matrix and d^3/3 for its Cholesky factor.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...arrays import Array, Index
from .ranking import RankingData, RankingRows

LARGEST_D = 1_000
"""Features up to which the d x d Hessian is formed and factored."""

NEGLIGIBLE = 1e-3
"""Weight of a negative in the Hessian, in units of the mean one, below which its row is not read."""

BLOCK = 4_000
"""Rows of a dense matrix that are weighted and multiplied at a time."""

DIAGONAL_SHIFT = 1e-12
"""Added to the Hessian's diagonal in units of its mean entry, so that rounding cannot make it indefinite."""

NEARLY_ALL = 0.999
"""Share of the negatives' weight from which k leaves no top to smooth, and the entropic threshold runs to -infinity."""


class EntropicLoss:
    """T_eps and its duals at given scores, like `smoothed_primal.SmoothedLoss` but with derivatives of every order."""

    def __init__(self, data: RankingData, eps: float, theta: float) -> None:
        from .kernels import topk_smooth

        self.data, self.eps, self.theta, self.kernels = data, eps, theta, topk_smooth
        self.c = np.zeros(data.neg.size)

    def top(self, neg: Array) -> float:
        """T_eps; sets theta and c."""
        o, k = self.data.weight_neg, self.data.k
        self.theta = self.kernels.soft_threshold(neg, o, k, self.eps, self.theta)
        top, self.c = self.kernels.soft_top(neg, o, k, self.eps, self.theta)
        return float(top)

    def duals(self, pos: Array, neg: Array, top: float) -> tuple[Array, Array, float]:
        """(alpha, g, A) at scores whose T_eps was asked for last."""
        alpha = 2.0 * self.data.weight_pos * np.maximum(1.0 + top - pos, 0.0)
        g = self.data.weight_neg * self.c
        return alpha, g / g.sum(), float(alpha.sum())


def is_affordable(data: RankingData) -> bool:
    """Whether rows are in memory, features few, and the top is not all of the negatives."""
    return (
        data.rows.shape[1] <= LARGEST_D and not data.rows.is_lazy and data.k < NEARLY_ALL * float(data.weight_neg.sum())
    )


def newton_direction(loss: EntropicLoss, alpha: Array, g: Array, gradient: Array) -> Array:
    """-H^(-1) gradient at the point whose T_eps and duals were asked for last."""
    data, d, m = loss.data, gradient.size, loss.data.total
    z = np.zeros(data.rows.shape[0])
    z[data.neg] = g
    t = data.rows.combine(z)
    hurt = np.flatnonzero(alpha)
    o = data.weight_pos[hurt]
    H, moment = _moments(data.rows, data.pos[hurt], o)
    H -= np.outer(moment, t) + np.outer(t, moment) - float(o.sum()) * np.outer(t, t)
    H *= 2.0 / m
    q = data.weight_neg * loss.c * (1.0 - loss.c)
    near = np.flatnonzero(q > NEGLIGIBLE * q.sum() / q.size)
    if near.size > 1:
        square, moment = _moments(data.rows, data.neg[near], q[near])
        bend = square - np.outer(moment, moment) / float(q[near].sum())
        H += float(alpha.sum()) / (m * data.k * loss.eps) * bend
    H[np.diag_indices(d)] += data.R + DIAGONAL_SHIFT * float(np.trace(H)) / d
    return -np.asarray(cho_solve(cho_factor(H, overwrite_a=True, check_finite=False), gradient, check_finite=False))


def _moments(rows: RankingRows, index: Index, o: Array) -> tuple[Array, Array]:
    """(X' diag(o) X, X'o) over the rows `index`, X in the unit of the rows."""
    d, unit = rows.shape[1], rows.unit
    if rows.is_sparse:
        from .kernels.topk_smooth import square_sparse_rows

        X = rows.X
        data = X.data.astype(np.float64, copy=False)
        square, moment = square_sparse_rows(data, X.indices, X.indptr, index, o, d)
        return np.asarray(square) * unit**2, np.asarray(moment) * unit
    square, moment = np.zeros((d, d)), np.zeros(d)
    for start in range(0, index.size, BLOCK):
        here = slice(start, start + BLOCK)
        part = unit * np.asarray(rows.take(index[here]), dtype=np.float64)
        square += part.T @ (o[here, None] * part)
        moment += part.T @ o[here]
    return square, moment
