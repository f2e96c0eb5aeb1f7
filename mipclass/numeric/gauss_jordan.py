"""Inverse of a small matrix by Gauss-Jordan elimination, compiled."""

from __future__ import annotations

from ..arrays import Array
from ..kernels.decorator import njit
from .vectors import add_multiple, set_multiple


@njit(cache=True)
def invert(A: Array, inverse: Array, smallest_pivot: float) -> bool:
    """inverse <- A^-1 with row pivoting, O(m^3); A is overwritten. False as soon as a pivot is below `smallest_pivot`."""
    m = A.shape[0]
    inverse[:, :] = 0.0
    for k in range(m):
        inverse[k, k] = 1.0
    for k in range(m):
        top = k
        for j in range(k + 1, m):
            if abs(A[j, k]) > abs(A[top, k]):
                top = j
        if abs(A[top, k]) < smallest_pivot:
            return False
        for l in range(m):
            A[k, l], A[top, l] = A[top, l], A[k, l]
            inverse[k, l], inverse[top, l] = inverse[top, l], inverse[k, l]
        scale = 1.0 / A[k, k]
        set_multiple(A[k], scale, A[k])
        set_multiple(inverse[k], scale, inverse[k])
        for j in range(m):
            factor = A[j, k]
            if j != k and factor != 0.0:
                add_multiple(A[j], -factor, A[k])
                add_multiple(inverse[j], -factor, inverse[k])
    return True
