"""Coordinate descent for the quadratic model of a proximal Newton step.

minimise  g.u + 1/2 u'Hu + sum_j l1_j |x_j + u_j|    subject to  lower <= x + u <= upper
"""

from __future__ import annotations

import numpy as np

from ....arrays import Array, Index
from ....kernels.decorator import njit


@njit(cache=True)
def newton_step(
    g: Array, H: Array, x: Array, l1: Array, lower: Array, upper: Array, active: Index, u: Array, sweeps: int
) -> float:
    """Improve u by cyclic coordinate descent over the coordinates `active`; H and u are indexed like `active`, the rest in full.

    Returns the largest h_jj change_j^2 of the last sweep, the scale on which the model still falls.
    """
    size = active.shape[0]
    slope = np.empty(size)
    for a in range(size):
        slope[a] = g[active[a]]
        for b in range(size):
            slope[a] += H[a, b] * u[b]
    largest = 0.0
    for _ in range(sweeps):
        largest = 0.0
        for a in range(size):
            j = active[a]
            h = H[a, a]
            if h <= 0.0:
                continue
            now = x[j] + u[a]
            target = now - slope[a] / h
            reach = l1[j] / h
            if target > reach:
                target -= reach
            elif target < -reach:
                target += reach
            else:
                target = 0.0
            target = min(max(target, lower[j]), upper[j])
            change = target - now
            if change != 0.0:
                u[a] += change
                for b in range(size):
                    slope[b] += change * H[a, b]
                largest = max(largest, h * change * change)
        if largest == 0.0:
            break
    return largest
