"""exp as plain arithmetic: a loop over it is vectorised, where a call into the C library is not (six times as fast)."""

from __future__ import annotations

import numpy as np

from ....kernels.decorator import njit

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # ln 2 in two parts: k LN2_HIGH is exact
ROUNDER = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number, which is then in the low bits


@njit(cache=True, inline="always")
def exponential(x: float) -> float:
    """exp(x) to two units in the last place for |x| <= 700.

    x = k ln 2 + r with |r| <= ln(2) / 2; exp(r) by its series up to r^13 (the rest is below 5e-18), 2^k by bits.
    """
    shifted = x * LOG2_E + ROUNDER
    k = shifted - ROUNDER
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = np.float64(shifted).view(np.int64) << 52
    return np.int64(np.float64(p).view(np.int64) + power).view(np.float64)
