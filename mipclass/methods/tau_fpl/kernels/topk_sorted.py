"""Exact projection onto the top-k simplex when the data are sorted: Newton's method on C with prefix sums.

Notation (Zhang et al. 2018, Theorem 2): the projection of (alpha, beta) is [alpha - lambda]_+ and
min([beta - mu]_+, C/k), where C = sum [alpha - lambda]_+ = sum min([beta - mu]_+, C/k) and

    f(C) = k lambda(C) + k mu(C) + sum [beta - mu(C) - C/k]_+ = 0.

f is convex, piecewise linear and strictly decreasing, so Newton's method started left of the root climbs to it
monotonically and ends after finitely many pieces; no tolerance is involved. All values here are shifted: alpha by pa
and beta by pb, with `shift` = pa + pb, so that x = lambda - pa and y = mu - pb keep their digits under large offsets.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Array
from ....kernels.decorator import njit

ZERO, FLAT, FREE = 0, 1, 2
"""Kinds of solution: the origin; all of the k largest beta at the cap and nothing else; the general case."""


@njit(cache=True, error_model="numpy")
def sum_first(v: Array, start: int, stop: int) -> float:
    """Sum of v[start:stop] with Neumaier's compensation."""
    total, lost = 0.0, 0.0
    for i in range(start, stop):
        t = total + v[i]
        if abs(total) >= abs(v[i]):
            lost += (total - t) + v[i]
        else:
            lost += (v[i] - t) + total
        total = t
    return total + lost


@njit(cache=True, error_model="numpy")
def prefix_sums(v: Array) -> Array:
    """P[i] = sum of the first i entries."""
    out = np.empty(v.size + 1)
    out[0] = 0.0
    total = 0.0
    for i in range(v.size):
        total += v[i]
        out[i + 1] = total
    return out


@njit(cache=True, error_model="numpy")
def count_above(b: Array, t: float) -> int:
    """How many entries of the descending b exceed t."""
    lo, hi = 0, b.size
    while lo < hi:
        mid = (lo + hi) // 2
        if b[mid] > t:
            lo = mid + 1
        else:
            hi = mid
    return lo


@njit(cache=True, error_model="numpy")
def support_end(v: Array, prefix: Array, first: int, at_least: int, ahead: int, ahead_sum: float, total: float) -> int:
    """Where the support of the projection of the descending v onto {p >= 0, sum p = total} ends.

    Entries before `first` do not take part; `ahead` further entries with sum `ahead_sum` lie above all of v. The answer
    is the largest i >= at_least with (their sum up to i) - (their number) v_{i-1} < total.
    """
    lo, hi = at_least, v.size
    while lo < hi:
        mid = (lo + hi + 1) // 2
        mass = ahead_sum + prefix[mid] - prefix[first] - (ahead + mid - first) * v[mid - 1]
        if mass < total:
            lo = mid
        else:
            hi = mid - 1
    return lo


@njit(cache=True, error_model="numpy")
def capped_counts(b: Array, prefix: Array, total: float, cap: float, top: int) -> tuple[int, int]:
    """(N, s): entries above mu and entries at the cap when sum min([b - mu]_+, cap) = total; b descending.

    `top` is the first count that is too large for s, so s < top <= N. Entry j is at the cap iff the sum at
    mu = b_j - cap does not exceed `total`.
    """
    lo, hi = 0, top - 1
    while lo < hi:
        mid = (lo + hi) // 2
        t = b[mid] - cap
        above = max(count_above(b, t), mid + 1)
        mass = (mid + 1) * cap + prefix[above] - prefix[mid + 1] - (above - mid - 1) * t
        if mass <= total:
            lo = mid + 1
        else:
            hi = mid
    s = lo
    return support_end(b, prefix, s, top, 0, 0.0, total - s * cap), s


@njit(cache=True, error_model="numpy")
def solve_topk_sorted(
    a: Array, A0: int, SA0: float, weight: float, b: Array, s0: int, ST0: float, k: float, shift: float, start: float,
    cone: bool,
) -> tuple[int, float, float, float]:  # fmt: skip
    """(kind, x, y, C) for descending a, b.

    A0 further alpha (sum SA0) above all of a are active for certain, s0 further beta (sum ST0) above all of b are at
    the cap for certain; 0 < k - s0 <= len(b). `start` <= the solution's C is used when A0 > 0. A sample may have a k
    that is not whole and a `weight` that multiplies every sum over alpha. With `cone` there is no alpha and the set is
    {beta : 0 <= beta_j <= sum(beta)/k}. A few Newton steps of O(log^2 n) after the prefix sums.
    """
    n, whole = b.size, int(k - s0)
    part = (k - s0) - whole
    sums_a, sums_b = prefix_sums(a), prefix_sums(b)
    top_k = ST0 + sum_first(b, 0, whole) + (part * b[whole] if part > 0.0 else 0.0)
    if cone:
        C = k * shift + top_k
    elif A0 > 0:
        C = start
    else:
        C = (k * shift + k * a[0] + top_k) / (1.0 + k / weight)
    if C <= 0.0:
        return ZERO, (0.0 if cone or A0 > 0 else a[0]), b[max(whole - 1, 0)], 0.0
    A, N, s = -1, -1, -1
    least = whole + 1  # fewer than k entries can be at the cap, more than k are above mu, unless exactly k are both
    too_many = whole if part == 0.0 else whole + 1
    while True:
        A_new = 0 if cone else support_end(a, sums_a, 0, 1 if A0 == 0 else 0, A0, SA0, C / weight)
        if part == 0.0 and (whole == n or b[whole - 1] - b[whole] >= C / k):
            N_new, s_new = whole, whole
        else:
            N_new, s_new = capped_counts(b, sums_b, (k - s0) * (C / k), C / k, too_many)
            N_new = max(N_new, least)
        if A_new == A and N_new == N and s_new == s:
            break
        C_new = closed_form_C(
            SA0 + sums_a[A_new], A0 + A_new, weight, ST0 + sums_b[s_new], sums_b[N_new] - sums_b[s_new], k, s0 + s_new,
            N_new - s_new, shift, cone,
        )  # fmt: skip
        if A >= 0 and not C_new > C:
            break
        A, N, s, C = A_new, N_new, s_new, C_new
    SA, ST, SF = SA0 + sum_first(a, 0, A), ST0 + sum_first(b, 0, s), sum_first(b, s, N)
    C = closed_form_C(SA, A0 + A, weight, ST, SF, k, s0 + s, N - s, shift, cone)
    x = 0.0 if cone else (SA - C / weight) / (A0 + A)
    if s == N:
        return FLAT, x, (b[whole] if whole < n else b[whole - 1] - C / k), C
    return FREE, x, (SF - C * ((k - s0 - s) / k)) / (N - s), C


@njit(cache=True, error_model="numpy")
def closed_form_C(
    SA: float, A: int, weight: float, ST: float, SF: float, k: float, s: int, free: int, shift: float, cone: bool
) -> float:
    """C of the linear piece with A active alpha (sum SA), s capped beta (sum ST) and `free` others (sum SF)."""
    numerator, denominator = k * shift + ST, s / k
    if not cone:
        numerator += k * (SA / A)
        denominator += k / (A * weight)
    if free > 0:
        numerator += (k - s) * (SF / free)
        denominator += (k - s) * ((k - s) / k) / free
    return numerator / denominator


@njit(cache=True, error_model="numpy")
def solve_capped_sorted(b: Array, total: float, cap: float) -> float:
    """y with sum min([b - y]_+, cap) = total, for descending b and 0 < total <= cap len(b)."""
    sums = prefix_sums(b)
    if total >= cap * b.size:
        return float(b[b.size - 1] - cap)
    whole = min(int(total / cap), b.size - 1) if cap < np.inf else 0
    if whole * cap == total and b[whole - 1] - b[whole] >= cap:
        return float(b[whole])
    N, s = capped_counts(b, sums, total, cap, whole + 1)
    rest = total - s * cap if s > 0 else total
    return float((sum_first(b, s, N) - rest) / (N - s))
