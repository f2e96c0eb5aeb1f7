"""Conflicts: decisions that no rule allows all at once.

A pool is a table, one conflict a line, padded with -1; an entry 2 i + v stands for "decision i has value v", v = 0 meaning
that point i is right and 1 that it is an error. `fixed` is FREE (-1), 0 or 1 for each point.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ....kernels.decorator import njit

Pool = NDArray[np.int32]
Decisions = NDArray[np.int8]


@njit(cache=True)
def propagate_conflicts(pool: Pool, size: int, fixed: Decisions) -> bool:
    """Where all decisions of a conflict but one are taken, that one goes the other way; in place. False: one is violated."""
    again = True
    while again:
        again = False
        for k in range(size):
            free = -1
            n_free = 0
            is_over = False
            for j in range(pool.shape[1]):
                entry = pool[k, j]
                if entry < 0:
                    break
                state = fixed[entry >> 1]
                if state < 0:
                    n_free += 1
                    free = entry
                elif state != (entry & 1):
                    is_over = True
                    break
            if is_over:
                continue
            if n_free == 0:
                return False
            if n_free == 1:
                fixed[free >> 1] = 1 - (free & 1)
                again = True
    return True


@njit(cache=True)
def packing_bound(pool: Pool, size: int, fixed: Decisions, weights: Array) -> float:
    """Weight that the free points must still pay: greedy packing of conflicts that only an error can resolve, smallest first.

    Each conflict takes the same amount from all of its free points, so a point may serve several conflicts in part.
    """
    left = weights.copy()
    total = 0.0
    widest = pool.shape[1]
    for width in range(1, widest + 1):
        for k in range(size):
            n_free = 0
            is_over = False
            amount = np.inf
            for j in range(widest):
                entry = pool[k, j]
                if entry < 0:
                    break
                state = fixed[entry >> 1]
                if state < 0 and (entry & 1) == 0:
                    n_free += 1
                    amount = min(amount, left[entry >> 1])
                elif state != (entry & 1):
                    is_over = True
                    break
            if is_over or n_free != width or amount <= 0.0:
                continue
            total += amount
            for j in range(widest):
                entry = pool[k, j]
                if entry < 0:
                    break
                if fixed[entry >> 1] < 0:
                    left[entry >> 1] -= amount
    return total
