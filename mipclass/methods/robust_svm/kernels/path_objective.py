"""The robust SVM's objective at many breakpoints in one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array, Mask
from ....kernels.decorator import njit
from ....numeric.cholesky_update import REORDER


class StepChanges(NamedTuple):
    """Breakpoints as differences, in arrays like those of CSR: a = rest + C theta [outlier].

    theta, s : (steps,) the parameters.
    start, which, change : rest changes at (which, change)[start[k] : start[k + 1]] in step k.
    toggle_start, toggled : the points that change sides in step k.
    """

    theta: Array
    s: Array
    start: NDArray[np.int32]
    which: NDArray[np.int32]
    change: Array
    toggle_start: NDArray[np.int32]
    toggled: NDArray[np.int32]


@njit(cache=True, fastmath=REORDER)
def objectives(margins: Array, ridge: Array, C: Array, rest: Array, outlier: Mask, steps: StepChanges) -> Array:
    """1/2 a'Qa + sum_i C_i l(m_i; theta_k, s_k) for each row k of `margins` (which include ridge_i a_i).

    `rest` and `outlier` are those before the first step and are left at the last one. O(steps * n).
    """
    count, n = margins.shape
    out = np.empty(count)
    for k in range(count):
        for e in range(steps.start[k], steps.start[k + 1]):
            rest[steps.which[e]] += steps.change[e]
        for e in range(steps.toggle_start[k], steps.toggle_start[k + 1]):
            outlier[steps.toggled[e]] = not outlier[steps.toggled[e]]
        t = steps.theta[k]
        cut = steps.s[k]
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
