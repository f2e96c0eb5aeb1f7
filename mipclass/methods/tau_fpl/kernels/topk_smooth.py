"""The mean of the k largest scores, smoothed, and the matrix products of its gradient.

For weights o_j >= 0 the weighted top-k mean is T(s) = max {g.s : 0 <= g_j <= o_j/k, sum g = 1}. Subtracting
(k eps/2) sum g_j^2/o_j makes it smooth: T_eps <= T <= T_eps + eps/2, with gradient g_j = o_j c_j/k for
c = clip((s - theta)/eps, 0, 1) and theta such that sum o_j c_j = k: a projection onto a capped simplex.

Adding (eps/k) sum o_j H(c_j) instead, H the binary entropy, gives c = 1/(1 + exp((theta - s)/eps)): smooth everywhere, so
that Newton's method does not meet the scores one by one as they enter the ramp.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ....kernels.decorator import njit

FAR = 40.0
"""Distance from the threshold, in units of eps, beyond which exp(-FAR) is lost in the rounding of a sum that holds a one."""

FAST = {"reassoc", "nsz", "contract", "arcp"}
"""Sums may be reordered and divisions replaced by products with reciprocals."""

SETTLED = 1e-13
"""Relative error of the mass k at which a threshold is accepted: the rounding of a long sum."""

MAX_STEPS = 100
"""Bracketed Newton steps at most: bisection alone would need about half of them."""


@njit(cache=True, fastmath=FAST, error_model="numpy")
def ramp_sums(s: Array, o: Array, theta: float, eps: float) -> tuple[float, float, float]:
    """(sum of o over s >= theta + eps, sum of o over the ramp theta < s < theta + eps, sum of o (s - theta) there)."""
    full, ramp, moment = 0.0, 0.0, 0.0
    for j in range(s.size):
        r = s[j] - theta
        full += o[j] if r >= eps else 0.0
        ramp += o[j] if (r > 0.0) & (r < eps) else 0.0
        moment += o[j] * r if (r > 0.0) & (r < eps) else 0.0
    return full, ramp, moment


@njit(cache=True, error_model="numpy")
def smooth_threshold(s: Array, o: Array, k: float, eps: float, guess: float, low: float, high: float) -> float:
    """theta in [low, high] with sum o clip((s - theta)/eps, 0, 1) = k, by Newton's method kept inside a bracket.

    low and high are valid bounds (the sum at low is >= k, at high <= k). Ends when the sets repeat or nothing is left
    between the bounds.
    """
    theta = min(max(guess, low), high)
    full, ramp = -1.0, -1.0
    for _ in range(MAX_STEPS):
        full_new, ramp_new, moment = ramp_sums(s, o, theta, eps)
        excess = full_new + moment / eps - k
        if excess > 0.0:
            low = theta
        elif excess < 0.0:
            high = theta
        else:
            return theta
        if full_new == full and ramp_new == ramp and abs(excess) <= SETTLED * k:
            return theta
        full, ramp = full_new, ramp_new
        step = theta + excess * eps / ramp if ramp > 0.0 else low - 1.0
        theta = step if low < step < high else 0.5 * (low + high)
        if not low < theta < high:
            return theta
    return theta


@njit(cache=True, fastmath=FAST, error_model="numpy")
def smooth_top_mean(s: Array, o: Array, theta: float, eps: float) -> tuple[float, float, float]:
    """(sum o c, sum o c s, sum o c^2) for c = clip((s - theta)/eps, 0, 1)."""
    mass, first, square = 0.0, 0.0, 0.0
    for j in range(s.size):
        c = min(max((s[j] - theta) / eps, 0.0), 1.0)
        mass += o[j] * c
        first += o[j] * c * s[j]
        square += o[j] * c * c
    return mass, first, square


@njit(cache=True, error_model="numpy")
def soft_threshold(s: Array, o: Array, k: float, eps: float, guess: float) -> float:
    """theta with sum o_j c_j = k for c = 1/(1 + exp((theta - s)/eps)), k < sum o; Newton's method kept inside a bracket."""
    total = o.sum()
    shift = eps * np.log(k / (total - k))
    low, high = s.min() - shift, s.max() - shift
    theta = min(max(guess, low), high)
    for _ in range(MAX_STEPS):
        mass, slope = 0.0, 0.0
        for j in range(s.size):
            r = (theta - s[j]) / eps
            if r > FAR:
                continue
            c = 1.0 / (1.0 + np.exp(r))
            mass += o[j] * c
            slope += o[j] * c * (1.0 - c)
        excess = mass - k
        if abs(excess) <= SETTLED * k:
            return theta
        if excess > 0.0:
            low = theta
        else:
            high = theta
        step = theta + excess * eps / slope if slope > 0.0 else low - 1.0
        theta = step if low < step < high else 0.5 * (low + high)
        if not low < theta < high:
            return theta
    return theta


@njit(cache=True, error_model="numpy")
def soft_top(s: Array, o: Array, k: float, eps: float, theta: float) -> tuple[float, Array]:
    """(the smoothed top-k mean, c) at the theta of soft_threshold."""
    c = np.zeros_like(s)
    above = 0.0
    for j in range(s.size):
        r = (s[j] - theta) / eps
        if r < -FAR:
            continue
        e = np.exp(-abs(r))
        c[j] = (1.0 if r > 0.0 else e) / (1.0 + e)
        above += o[j] * (max(r, 0.0) + np.log1p(e))
    return theta + eps * above / k, c


@njit(cache=True, fastmath=FAST)
def combine_rows(X: NDArray[np.float64], index: NDArray[np.int64], z: Array) -> Array:
    """sum over index of z_i X_i for a C-ordered X, four rows at a time; the other rows are never read."""
    d = X.shape[1]
    out = np.zeros(d)
    last = index.size - index.size % 4
    for p in range(0, last, 4):
        i0, i1, i2, i3 = index[p], index[p + 1], index[p + 2], index[p + 3]
        z0, z1, z2, z3 = z[i0], z[i1], z[i2], z[i3]
        for j in range(d):
            out[j] += (z0 * X[i0, j] + z1 * X[i1, j]) + (z2 * X[i2, j] + z3 * X[i3, j])
    for p in range(last, index.size):
        i0 = index[p]
        for j in range(d):
            out[j] += z[i0] * X[i0, j]
    return out


@njit(cache=True)
def combine_sparse_rows(
    data: Array, columns: NDArray[np.int32], starts: NDArray[np.int32], index: NDArray[np.int64], z: Array, d: int
) -> Array:
    """sum over index of z_i X_i for X in CSR form."""
    out = np.zeros(d)
    for p in range(index.size):
        i = index[p]
        for q in range(starts[i], starts[i + 1]):
            out[columns[q]] += z[i] * data[q]
    return out


@njit(cache=True)
def square_sparse_rows(
    data: Array, columns: NDArray[np.int32], starts: NDArray[np.int32], index: NDArray[np.int64], o: Array, d: int
) -> tuple[NDArray[np.float64], Array]:
    """(sum over index of o X_i X_i', sum of o X_i) for X in CSR form; o has one entry for each of index."""
    square, moment = np.zeros((d, d)), np.zeros(d)
    for p in range(index.size):
        i = index[p]
        for q in range(starts[i], starts[i + 1]):
            value = o[p] * data[q]
            moment[columns[q]] += value
            row = square[columns[q]]
            for r in range(starts[i], starts[i + 1]):
                row[columns[r]] += value * data[r]
    return square, moment
