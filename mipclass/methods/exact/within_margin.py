"""Steps of a proof that hold for the rules of the scope alone (`zero_one.scope`), confirmed in whole numbers.

A point that is right by the relative margin delta has z_i.W > delta sum_j s_j |W_j|. So for points with multipliers u >= 0 a combination
r = sum_i u_i z_i with |r_j| <= delta s_j sum_i u_i contradicts that all of them are right, as r = 0 does for every rule. Likewise rows
Z may be replaced by Z M L when |Z - Z M L|_ij <= delta s_j.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array
from ..zero_one.scope import RELATIVE_MARGIN, left_inverse
from .rational import Integers, common_scale, look

MULTIPLIER_BITS = 53
"""Binary digits of the largest multiplier: as many as float64 has."""

DELTA = RELATIVE_MARGIN.denominator
"""1 / delta, a whole number."""


def inverse_within_margin(Z: Array, M: Array, scales: Array, stop: Callable[[], object] | None = None) -> Array | None:
    """L with |Z - Z M L|_ij <= delta s_j, exactly; None when least squares give none. StoppedError once `stop()`."""
    L = left_inverse(Z, M)
    if not np.isfinite(L).all():
        return None
    (rows, z), (left, m), (right, k) = common_scale(Z, stop), common_scale(M), common_scale(L)
    limits, s = common_scale(scales[None, :])
    both = m * k
    for i, row in enumerate(rows):
        look(i, stop)
        image = [sum(a * entry for a, entry in zip(row, column, strict=True)) for column in zip(*left, strict=True)]
        for value, column, limit in zip(row, zip(*right, strict=True), limits[0], strict=True):
            residual = both * value - sum(q * entry for q, entry in zip(image, column, strict=True))
            if DELTA * s * abs(residual) > limit * both * z:
                return None
    return L


def multipliers_within_margin(A: Array, rows: Integers, scales: list[int], n_soft: int) -> list[int] | None:
    """Whole u >= 0 with |sum_i u_i rows_i|_j <= delta scales_j times the sum of u over the first `n_soft` rows; None without any.

    A : the same rows with each column divided by its scale, in float64, where the u of the least residual are looked for.
    """
    from scipy.optimize import nnls

    right = np.append(np.zeros(A.shape[1]), 1.0)
    found, _ = nnls(np.vstack([A.T, np.ones(len(A))]), right)
    top = float(found.max())
    if not top > 0:
        return None
    u = [round(float(value) / top * 2**MULTIPLIER_BITS) for value in found]
    total = sum(u[:n_soft])
    for column, scale in zip(zip(*rows, strict=True), scales, strict=True):
        if DELTA * abs(sum(v * entry for v, entry in zip(u, column, strict=True))) > scale * total:
            return None
    return u
