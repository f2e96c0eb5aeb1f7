"""The two projection algorithms of Zhang et al. (2018), kept for comparison with `mipclass.methods.tau_fpl.kernels.topk`.

Both bisect lambda in (-max beta, max alpha) until it moves by at most epsilon. At each lambda: C(lambda) by (13); mu(C) with
sum min([beta - mu]_+, C/k) = C by median selection over the breakpoints beta_j and beta_j - C/k (Kiwiel 2007, which the
paper names); then the sign of f(lambda) (16). The cached form (Algorithm 2) keeps only the entries whose side of lambda,
mu or delta the current intervals leave open and carries partial sums of the others. Where the paper leaves the search for
mu inside a pruned cache open, mu is held in its own interval and mu + C/k in that of delta; otherwise the partial sums
would be wrong. `newton` puts a bracketed Newton iteration of our own, which is several times faster, in the place of
the medians.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ....kernels.decorator import njit
from .topk_linear import BLOCK, count_and_sum_above, shift_and_clip, split_one, split_two
from .topk_sorted import sum_first

LAMBDA_TOLERANCE = 1e-12
"""Width of the interval of lambda, relative to the largest entry, at which the bisection ends."""


@njit(cache=True, error_model="numpy")
def place_median(v: Array, size: int) -> int:
    """Reorder v[:size] so that its middle entry stands in its sorted place, which is returned (Hoare's selection)."""
    low, high, middle = 0, size - 1, size // 2
    while high > low:
        # The median of three as pivot.
        centre = (low + high) // 2
        if v[centre] < v[low]:
            v[centre], v[low] = v[low], v[centre]
        if v[high] < v[low]:
            v[high], v[low] = v[low], v[high]
        if v[high] < v[centre]:
            v[high], v[centre] = v[centre], v[high]
        pivot = v[centre]
        i, j = low, high
        while i <= j:
            while v[i] < pivot:
                i += 1
            while v[j] > pivot:
                j -= 1
            if i <= j:
                v[i], v[j] = v[j], v[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break
    return middle


@njit(cache=True, error_model="numpy")
def find_mu_by_medians(
    b: Array, s0: int, S0: float, f0: int, F0: float, C: float, cap: float, low: float, high: float
) -> tuple[float, int, float]:
    """As `find_mu`, by halving the breakpoints b_j and b_j - cap at their median; entries that are settled leave."""
    points = np.empty(2 * b.size + 1)
    count = 0
    for j in range(b.size):
        points[count] = b[j]
        count += int((b[j] > low) & (b[j] < high))
        points[count] = b[j] - cap
        count += int((b[j] - cap > low) & (b[j] - cap < high))
    points = points[:count]
    s, S, f, F, open_b = s0, S0, f0, F0, b
    while points.size > 0:
        middle = place_median(points, points.size)
        t = points[middle]
        above, S_above = count_and_sum_above(open_b, t)
        capped, S_capped = count_and_sum_above(open_b, t + cap)
        excess = (s + capped) * cap + F + (S_above - S_capped) - (f + above - capped) * t - C
        if excess > 0.0:
            low, points = t, points[middle + 1 :]
        else:
            high, points = t, points[:middle]
        room = np.empty(open_b.size + BLOCK)
        if high <= low + cap:
            more, S_more, free, F_free, kept = split_two(open_b, 0.0, low, high, low + cap, high + cap, room)
            f, F = f + free, F + F_free
        else:
            more, S_more, kept = split_one(open_b, 0.0, low, high + cap, room)
        s, S, open_b = s + more, S + S_more, room[:kept]
    # No breakpoint is left inside, so the sum is linear there; entries still open lie at the ends of the interval.
    above, S_above = count_and_sum_above(open_b, 0.5 * (low + high))
    capped, S_capped = count_and_sum_above(open_b, 0.5 * (low + high) + cap)
    s, S, f, F = s + capped, S + S_capped, f + above - capped, F + (S_above - S_capped)
    mu = min(max((s * cap + F - C) / f, low), high) if f > 0 else high
    return mu, s, S


@njit(cache=True, error_model="numpy")
def find_mu(
    b: Array, s0: int, S0: float, f0: int, F0: float, C: float, cap: float, low: float, high: float
) -> tuple[float, int, float]:
    """mu in [low, high] with s0 cap + (F0 - f0 mu) + sum over b of min([b - mu]_+, cap) = C; and the capped part's
    count and sum. s0 (sum S0) entries are capped and f0 (sum F0) are free for certain."""
    mu = 0.5 * (low + high)
    N, s, newton = -1, -1, False
    while True:
        above, S_above = count_and_sum_above(b, mu)
        capped, S_capped = count_and_sum_above(b, mu + cap)
        if newton and above == N and capped == s:
            break
        N, s = above, capped
        free = f0 + above - capped
        excess = (s0 + capped) * cap + F0 + (S_above - S_capped) - free * mu - C
        if excess > 0.0:
            low = mu
        elif excess < 0.0:
            high = mu
        else:
            break
        step = mu + excess / free if free > 0 else np.inf
        newton = low < step < high
        mu = step if newton else 0.5 * (low + high)
        if not low < mu < high:
            break
    capped, S_capped = count_and_sum_above(b, mu + cap)
    return mu, s0 + capped, S0 + S_capped


@njit(cache=True, error_model="numpy")
def bisect_lambda(
    alpha: Array, beta: Array, k: int, epsilon: float, cached: bool, newton: bool
) -> tuple[float, float, float]:
    """(lambda, mu, C) to within epsilon in lambda; the caller has excluded the zero case (Lemma 1)."""
    a, b = alpha, beta
    low, high = -b.max(), a.max()
    mu_low, mu_high = b.min() - (a.max() + b.max()) * a.size, b.max()
    delta_low, delta_high = mu_low, np.inf
    A0, SA0, s0, ST0, f0, SF0 = 0, 0.0, 0, 0.0, 0, 0.0
    lam, mu, C = 0.0, 0.0, 0.0
    while True:
        lam = 0.5 * (low + high)
        A, SA = count_and_sum_above(a, lam)
        C = (SA0 + SA) - (A0 + A) * lam
        cap = C / k
        least, most = max(mu_low, delta_low - cap), min(mu_high, delta_high - cap)
        if newton:
            mu, s, ST = find_mu(b, s0, ST0, f0, SF0, C, cap, least, most)
        else:
            mu, s, ST = find_mu_by_medians(b, s0, ST0, f0, SF0, C, cap, least, most)
        f = k * lam + k * mu + ST - s * (mu + cap)
        if high - low <= epsilon or not low < lam < high:
            return lam, mu, C
        if f > 0.0:  # lambda is too large: C must grow, mu fall, delta rise
            high, mu_high, delta_low = lam, mu, mu + cap
        else:
            low, mu_low, delta_high = lam, mu, mu + cap
        if cached:
            room = np.empty(a.size + BLOCK)
            A, SA, kept = split_one(a, 0.0, low, high, room)
            A0, SA0, a = A0 + A, SA0 + SA, room[:kept]
            room = np.empty(b.size + BLOCK)
            if mu_high <= delta_low:
                s, ST, free, SF, kept = split_two(b, 0.0, mu_low, mu_high, delta_low, delta_high, room)
                f0, SF0 = f0 + free, SF0 + SF
            else:
                s, ST, kept = split_one(b, 0.0, mu_low, delta_high, room)
            s0, ST0, b = s0 + s, ST0 + ST, room[:kept]


def project_topk_by_bisection(
    alpha: NDArray[np.floating], beta: NDArray[np.floating], k: int, alpha_out: NDArray[np.floating],
    beta_out: NDArray[np.floating], cached: bool, newton: bool = False,
) -> tuple[float, float, float]:  # fmt: skip
    """Write the projection onto the top-k simplex into the given arrays; (lambda, mu, C)."""
    a, b = alpha.astype(np.float64, copy=False), beta.astype(np.float64, copy=False)
    top = np.partition(b, b.size - k)[b.size - k :]
    if k * float(a.max()) + sum_first(top, 0, k) <= 0.0:
        alpha_out[:], beta_out[:] = 0.0, 0.0
        return float(a.max()), float(top.min()), 0.0
    scale = max(float(np.abs(a).max()), float(np.abs(b).max()))
    lam, mu, C = bisect_lambda(a, b, k, LAMBDA_TOLERANCE * scale, cached, newton)
    shift_and_clip(alpha, 0.0, lam, np.inf, alpha_out)
    shift_and_clip(beta, 0.0, mu, C / k, beta_out)
    return lam, mu, C
