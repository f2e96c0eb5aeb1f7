"""What every 0-1 loss method does to its data first, and how a rule comes back.

The plain weighted problem, a tie being an error of either class,

    minimise over (w, b)   sum_i weight_i [ t_i (w.x_i + b) <= 0 ],      t_i = -1 or +1,

is homogeneous in W = (w, b): with signed rows z_i = t_i (x_i, 1) it reads  sum_i weight_i [ z_i.W <= 0 ].  Hence

* points of weight zero and columns that are constant go (the offset does their work),
* equal points with equal labels merge into one weighted row,
* equal points with opposite labels pay min(a, b) whatever the rule, and only |a - b| is left to decide
  (`cancel=True`; wrong under rate, parity or margin constraints, which count the classes apart),
* a linear program tells whether anything is left to decide at all (`separating_rule`).

Everything here is exact on the float64 values except the linear programs, whose answers are recounted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...arrays import Array


@dataclass(frozen=True)
class ZeroOneData:
    """A weighted 0-1 problem ready for a search: rows `Z` (t x, t) over the kept `columns`, offset last.

    `constant` is the loss every rule pays; the user's loss of a rule is `constant` plus its loss here. `group[i]` is the
    row of `Z` that the user's point i went into, or -1 when it has no say (weight zero, or cancelled by its twins).
    """

    Z: Array
    weights: Array
    constant: float
    columns: NDArray[np.intp]
    n_features: int
    group: NDArray[np.intp]

    @property
    def labels(self) -> Array:
        """t_i of each row: its last entry."""
        return self.Z[:, -1]

    def loss(self, W: Array) -> float:
        """Weighted errors of W = (w over the kept columns, b), ties being errors, with the constant."""
        return float(self.weights[self.Z @ W <= 0].sum() + self.constant)

    def rule(self, W: Array) -> tuple[Array, float]:
        """(w, b) over all of the user's features from W over the kept ones."""
        w = np.zeros(self.n_features)
        w[self.columns] = W[:-1]
        return w, float(W[-1])


def prepare(X: Array, y_pm1: Array, weights: Array | None = None, *, cancel: bool = True) -> ZeroOneData:
    """Merge, cancel and drop as the module says. X is dense float64 (n, d), y_pm1 holds -1 and +1; O(n d log n)."""
    from .kernels.merge import merge, varying_columns

    n, d = X.shape
    X, y_pm1 = np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(y_pm1, dtype=np.float64)
    weights = np.ones(n) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    used = np.flatnonzero(weights > 0)
    columns = varying_columns(X, used)
    group = np.full(n, -1, dtype=np.intp)
    order = used[_lexicographic(X, used, columns)]
    Z, merged, constant = merge(X, y_pm1, weights, columns, order, cancel, group)
    return ZeroOneData(Z, merged, constant, columns, d, group)


def _lexicographic(X: Array, used: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.intp]:
    """The order of the used rows by their values in the columns, the first column first."""
    if not len(columns):
        return np.arange(len(used))
    first = X[used, columns[0]]
    order = np.argsort(first, kind="stable")
    ordered = first[order]
    if (ordered[1:] == ordered[:-1]).any():  # else the first column decides alone
        order = np.lexsort(X[np.ix_(used, columns)].T[::-1])
    return order


def whitening(Z: Array) -> Array:
    """A matrix M for W = M V, so that the margins z_i.W = q_i.V with q = Z M look alike in every direction; rank(Z) columns.

    Columns are standardised first, rows set to unit length, and their Gram matrix turned into the identity. All W that
    differ on Z are reached: the columns of Z M span those of Z.
    """
    from .kernels.standardise import standardised

    S, rows = standardised(np.ascontiguousarray(Z))
    size, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    seen = size > size[-1] * 1e-12
    return np.asarray(S @ (axes[:, seen] / np.sqrt(size[seen])))


def _widest_rule(Z: Array, M: Array) -> Array | None:
    """W = M V with the largest smallest margin over unit rows of Z M, V in the unit cube; None when not positive."""
    from ...backends.highs import LinearSession
    from ...modelling.program import Program

    if not len(Z):
        return np.asarray(M @ np.ones(M.shape[1]))
    Q = Z @ M
    Q = Q / np.maximum(np.linalg.norm(Q, axis=1, keepdims=True), np.finfo(float).tiny)
    n, r = Q.shape
    lp = Program(
        c=np.append(np.zeros(r), -1.0),
        A=sp.csr_array(np.column_stack([Q, -np.ones(n)])),
        row_lower=np.zeros(n),
        row_upper=np.full(n, np.inf),
        lower=np.append(-np.ones(r), -np.inf),
        upper=np.ones(r + 1),
        integer=np.zeros(r + 1, dtype=np.bool_),
        name="widest rule",
    )
    # Presolve costs more than it saves on a few thousand rows.
    answer = LinearSession(lp, presolve="off" if len(Z) <= 2_000 else "choose").solve()
    if answer.x is None or answer.x[-1] <= 0:
        return None
    return np.asarray(M @ answer.x[:-1])


def separating_rule(data: ZeroOneData) -> Array | None:
    """W with no error on the rows (checked by recounting), or None when the linear program finds none."""
    if not len(data.Z):
        return np.append(np.zeros(data.Z.shape[1] - 1), 1.0)
    W = _widest_rule(data.Z, whitening(data.Z))
    return W if W is not None and not (data.Z @ W <= 0).any() else None


def recentre(data: ZeroOneData, W: Array) -> Array:
    """The widest rule among those that keep every point W gets right; W itself when that is no better than W.

    The points W gets wrong are left out, so the loss never rises, ties go, and a later rounding does no harm.
    """
    right = data.Z @ W > 0
    if not right.any():
        return W
    wider = _widest_rule(data.Z[right], whitening(data.Z))
    return wider if wider is not None and data.loss(wider) <= data.loss(W) else W


def best_offset(scores: Array, y_pm1: Array, weights: Array, near: float) -> float:
    """The offset b with the least loss sum_i weight_i [t_i (score_i + b) <= 0] and no tie; of several, the one nearest to `near`.

    b runs over the middles of the gaps between the scores and one place beyond either end, and `near`; what lies within 1e-12 of the
    scores' size of a score is a tie. O(n log n). The loss of the returned offset is at most that of `near` whenever `near` ties nowhere.
    """
    if not len(scores):
        return near
    order = np.argsort(scores, kind="stable")
    sorted_scores = scores[order]
    size = max(float(np.abs(sorted_scores).max()), abs(near), np.finfo(float).tiny)
    # loss[k]: the k lowest scores are called negative, the others positive.
    signed = np.where(y_pm1[order] > 0, weights[order], -weights[order])
    loss = weights[y_pm1 < 0].sum() + np.concatenate([[0.0], np.cumsum(signed)])
    spread = max(float(sorted_scores[-1] - sorted_scores[0]), 1e-6 * size)
    edges = np.concatenate([[sorted_scores[0] - spread], sorted_scores, [sorted_scores[-1] + spread]])
    least = 1e-12 * size
    wide = np.diff(edges) > 2 * least
    here = (-near - edges[:-1] > least) & (edges[1:] + near > least)
    offsets = -np.where(here, -near, edges[:-1] + np.diff(edges) / 2)
    loss = np.where(wide, loss, np.inf)
    best = np.flatnonzero(loss <= loss.min() + 1e-9 * (1.0 + loss.min()))
    return float(offsets[best[np.argmin(np.abs(offsets[best] - near))]])
