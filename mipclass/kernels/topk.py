"""Euclidean projections onto the top-k simplex and its relatives: exact, finite, expected linear time.

    top-k simplex   {(alpha, beta) >= 0 : sum alpha = sum beta, beta_j <= sum(alpha)/k}    (Zhang et al. 2018, (9))
    top-k cone      {p : 0 <= p_j <= sum(p)/k}                                           (Lapin et al. 2015)
    capped simplex  {p : sum p = total, 0 <= p_j <= cap}      (the continuous quadratic knapsack)

The answer is a few thresholds: alpha -> [alpha - lambda]_+, beta -> min([beta - mu]_+, C/k). They are found like this:
  1. A strided sample of about 8 sqrt(n) entries is sorted and solved exactly: a guess whose rank error is known.
  2. Sample order statistics around the guess bracket lambda, mu and delta = mu + C/k. One pass over the data settles
     all but a few percent of the entries, the rest is iterated until the active sets reproduce themselves, and the
     answer is taken if each threshold lies in its bracket, which proves it optimal for the whole data.
  3. Otherwise once more with wide brackets, where the uncertain entries are sorted if need be; then all are sorted.
Entries equal to an end of a bracket are certain, so heavy ties stay linear. Small inputs are sorted at once.

Thresholds come in two parts, shift + x, because a single float64 would lose digits when data carry a large offset or
when a threshold that is subtracted from many entries is rounded once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import topk_linear as linear
from .topk_sorted import ZERO, solve_capped_sorted, solve_topk_sorted

Floats = NDArray[np.floating]
Vector = NDArray[np.float64]

SMALL = 2000  # up to this many entries in all, sorting everything is fastest
MAX_STEPS = 40


class Thresholds(NamedTuple):
    """alpha -> [alpha - (pa + x)]_+ and beta -> min([beta - (pb + y)]_+, C/k); `how` names the path that found them."""

    pa: float
    x: float
    pb: float
    y: float
    C: float
    how: str


class Sample(NamedTuple):
    """Descending entries less their middle value, for alpha and beta."""

    sa: float
    a: Vector
    sb: float
    b: Vector


def topk_thresholds(alpha: Floats, beta: Floats, k: int) -> Thresholds:
    """Thresholds of the projection onto the top-k simplex; finite entries, 1 <= k <= len(beta)."""
    if alpha.size + beta.size <= SMALL:
        return _by_sorting(alpha, beta, k, cone=False)
    return _by_sampling(alpha, beta, k, cone=False)


def cone_thresholds(v: Floats, k: int) -> Thresholds:
    """Thresholds (pb, y, C) of the projection onto the top-k cone; finite entries, 1 <= k <= len(v)."""
    if v.size <= SMALL:
        return _by_sorting(v[:0], v, k, cone=True)
    return _by_sampling(v[:0], v, k, cone=True)


def capped_threshold(v: Floats, total: float, cap: float) -> tuple[float, float]:
    """(shift, y) with sum min([v - shift - y]_+, cap) = total; 0 < total <= cap len(v), cap may be infinite.

    Long vectors start from a sample's answer and iterate on all entries; where that does not settle they are sorted.
    """
    if v.size > SMALL:
        shift, sample = _descending(_sample(v))
        guess = shift + solve_capped_sorted(sample, min(total * (sample.size / v.size), cap * sample.size), cap)
        room = np.empty(v.size + linear.BLOCK)
        linear.split_one(v, guess, -np.inf, np.inf, room)
        settled, y = linear.iterate_capped(room[: v.size], total, cap, MAX_STEPS)
        if settled:
            return guess, y
    shift, descending = _descending(v)
    return shift, solve_capped_sorted(descending, total, cap)


def project_topk(alpha: Floats, beta: Floats, k: int, alpha_out: Floats, beta_out: Floats) -> Thresholds:
    """Write the projection onto the top-k simplex into the given arrays (which may be the inputs)."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = topk_thresholds(alpha, beta, k)
    if not np.isfinite(found.C):  # sums overflowed; scaling by a power of two is exact
        down = 2.0**-64
        found = project_topk(alpha * down, beta * down, k, alpha_out, beta_out)
        alpha_out /= down
        beta_out /= down
        return found
    linear.shift_and_clip(alpha, found.pa, found.x, np.inf, alpha_out)
    linear.shift_and_clip(beta, found.pb, found.y, found.C / k, beta_out)
    return found


def _descending(v: Floats) -> tuple[float, Vector]:
    """The middle value, and the entries less that value in descending order."""
    if v.size == 0:
        return 0.0, np.empty(0)
    descending = np.sort(v)[::-1].astype(np.float64)
    shift = float(descending[v.size // 2])
    descending -= shift
    return shift, descending


def _by_sorting(alpha: Floats, beta: Floats, k: int, *, cone: bool) -> Thresholds:
    pa, a = _descending(alpha)
    pb, b = _descending(beta)
    _, x, y, C = solve_topk_sorted(a, 0, 0.0, 1.0, b, 0, 0.0, float(k), pa + pb, 0.0, cone)
    return Thresholds(pa, x, pb, y, C, "sorted")


def _sample(v: Floats) -> Floats:
    """Every stride-th entry, about 8 sqrt(len(v)) of them."""
    stride = max(1, int(np.sqrt(v.size) / 8.0))
    return v[stride // 2 :: stride]


def _by_sampling(alpha: Floats, beta: Floats, k: int, *, cone: bool) -> Thresholds:
    sample = Sample(*_descending(_sample(alpha)), *_descending(_sample(beta)))
    thinning = sample.b.size / beta.size
    k_sample = float(k) * thinning if k < beta.size else float(sample.b.size)
    # alpha was thinned by another factor than beta, which the weight repairs.
    weight = 1.0 if cone else thinning * (alpha.size / sample.a.size)
    shift = sample.sa + sample.sb
    _, x, y, C = solve_topk_sorted(sample.a, 0, 0.0, weight, sample.b, 0, 0.0, k_sample, shift, 0.0, cone)
    guess = Thresholds(sample.sa + x, 0.0, sample.sb + y, 0.0, C * (k / k_sample), "sample")
    for widen in (False, True):
        found = _with_brackets(alpha, beta, k, guess, sample, cone, widen)
        if found is not None:
            return found
    return _by_sorting(alpha, beta, k, cone=cone)


def _bracket(descending: Vector, lower: float, upper: float, widen: bool) -> tuple[float, float]:
    """A sample value below `lower` and one above `upper`, with room for the sampling errors of their ranks.

    Widened, the room is three times as large and each end moves on to the next distinct value, past heavy ties.
    """
    ascending, q = descending[::-1], descending.size

    def end(threshold: float, step: int) -> float:
        at = int(np.searchsorted(ascending, threshold))
        room = int(3.0 * np.sqrt(min(at, q - at) + 1.0)) + 6
        at += step * room * (3 if widen else 1)
        if widen and 0 <= at < q:
            value = ascending[at]
            at = (
                int(np.searchsorted(ascending, value, "left")) - 1
                if step < 0
                else int(np.searchsorted(ascending, value, "right"))
            )
        return float(ascending[at]) if 0 <= at < q else step * np.inf

    return end(lower, -1), end(upper, +1)


def _room_needed(size: int, sample_size: int, widen: bool) -> int:
    """Room for the uncertain entries: twice what two brackets of the sample stand for; all of them when widened."""
    if widen:
        return size + linear.BLOCK
    share = 2 * 2 * (3.0 * np.sqrt(sample_size / 2 + 1.0) + 6.0) / sample_size
    return int(min(1.0, 2.0 * share) * size) + 2 * linear.BLOCK


def _with_brackets(
    alpha: Floats, beta: Floats, k: int, guess: Thresholds, sample: Sample, cone: bool, widen: bool
) -> Thresholds | None:
    """Solve on the entries that brackets around the guess leave uncertain; None when a threshold leaves its bracket."""
    pa, pb, cap = guess.pa, guess.pb, guess.C / k
    A0, SA0, a, a_low, a_high = 0, 0.0, np.empty(0), -np.inf, np.inf
    if not cone:
        a_low, a_high = (sample.sa + end for end in _bracket(sample.a, pa - sample.sa, pa - sample.sa, widen))
        room = np.empty(_room_needed(alpha.size, sample.a.size, widen))
        A0, SA0, found = linear.split_one(alpha, pa, a_low, a_high, room)
        if found < 0:
            return None
        a = room[:found]
    mu, delta = pb - sample.sb, pb - sample.sb + cap
    mu_low, mu_high = (sample.sb + end for end in _bracket(sample.b, mu, mu, widen))
    delta_low, delta_high = (sample.sb + end for end in _bracket(sample.b, delta, delta, widen))
    room = np.empty(_room_needed(beta.size, sample.b.size, widen))
    F0, SF0 = 0, 0.0
    apart = not widen and mu_high <= delta_low
    if apart:
        s0, ST0, F0, SF0, found = linear.split_two(beta, pb, mu_low, mu_high, delta_low, delta_high, room)
    else:
        mu_high, delta_low = np.inf, -np.inf
        s0, ST0, found = linear.split_one(beta, pb, mu_low, delta_high, room)
    if found < 0:
        return None
    b = room[:found]
    settled, x, y, C = linear.iterate_sets(a, A0, SA0, b, s0, ST0, F0, SF0, k, pa + pb, guess.C, cone, MAX_STEPS)
    if not settled and not apart and 1 <= k - s0 <= b.size and A0 + a.size + cone > 0:
        start = SA0 - A0 * (a_high - pa) if A0 > 0 else 0.0
        kind, x, y, C = solve_topk_sorted(
            np.sort(a)[::-1].copy(), A0, SA0, 1.0, np.sort(b)[::-1].copy(), s0, ST0, float(k), pa + pb, start, cone
        )
        if kind == ZERO and A0 == 0:
            return Thresholds(pa, x, pb, y, 0.0, "zero")
        settled = kind != ZERO
    if not settled or not C > 0.0:
        return None
    inside = cone or a_low <= pa + x <= a_high
    inside = inside and mu_low <= pb + y <= mu_high and delta_low <= pb + (y + C / k) <= delta_high
    return Thresholds(pa, x, pb, y, C, "wide" if widen else "bracketed") if inside else None
