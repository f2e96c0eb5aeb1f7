"""The robust SVM's objective at many breakpoints in one pass."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ....arrays import Array, Index
from ....numeric.cholesky_update import REORDER


@njit(cache=True, fastmath=REORDER)
def objectives(
    margins: Array, ridge: Array, C: Array, theta: Array, s: Array, rest: Array, outlier: NDArray[np.bool_],
    start: Index, index: Index, change: Array, toggle_start: Index, toggled: Index,
) -> Array:  # fmt: skip
    """1/2 a'Qa + sum_i C_i l(m_i; theta_k, s_k) for each row k of `margins` (which include ridge_i a_i).

    a = rest + C theta [outlier]; row k first applies its changes of rest and toggles its outliers (CSR-like arrays).
    `rest` and `outlier` are left at the last row. O(rows * n).
    """
    rows, n = margins.shape
    out = np.empty(rows)
    for k in range(rows):
        for e in range(start[k], start[k + 1]):
            rest[index[e]] += change[e]
        for e in range(toggle_start[k], toggle_start[k + 1]):
            outlier[toggled[e]] = not outlier[toggled[e]]
        t = theta[k]
        cut = s[k]
        beyond = 1.0 - cut
        row = margins[k]
        total = 0.0
        for i in range(n):
            a = rest[i] + (C[i] * t if outlier[i] else 0.0)
            m = row[i] - ridge[i] * a
            loss = max(1.0 - m, 0.0) if m >= cut else beyond + t * (cut - m)
            total += 0.5 * a * m + C[i] * loss
        out[k] = total
    return out
