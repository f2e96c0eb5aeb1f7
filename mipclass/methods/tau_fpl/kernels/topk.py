"""Euclidean projections onto the top-k simplex and its relatives: exact, finite, expected linear time.

    top-k simplex   {(alpha, beta) >= 0 : sum alpha = sum beta, beta_j <= sum(alpha)/k}    (Zhang et al. 2018, (9))
    top-k cone      {p : 0 <= p_j <= sum(p)/k}                                           (Lapin et al. 2015)
    capped simplex  {p : sum p = total, 0 <= p_j <= cap}      (the continuous quadratic knapsack)

The answer is a few thresholds: alpha -> [alpha - lambda]_+, beta -> min([beta - mu]_+, C/k). They are found like this:
  1. A strided sample of about 4 sqrt(n) entries is sorted and solved exactly: a guess whose rank error is known.
  2. Two Newton steps on all entries (counts and sums above the guessed thresholds) about square that error each. Brackets
     of a sixteenth of the last step around lambda, mu and delta = mu + C/k then settle all but a few entries in a
     last pass, the rest is iterated until the active sets reproduce themselves, and the answer is taken if each threshold
     lies in its bracket, which proves it optimal for all entries.
  3. Otherwise wide brackets from the sample are tried, where the uncertain entries are sorted if the iteration does not
     settle; if a threshold leaves its bracket again, all entries are sorted.
Entries equal to an end of a bracket are certain, so heavy ties stay linear. Small inputs are sorted at once.

Thresholds come in two parts, shift + x, because a single float64 would lose digits when data carry a large offset or
when a threshold that is subtracted from many entries is rounded once.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ....errors import InvalidInputError
from . import topk_linear as linear
from .topk_sorted import ZERO, solve_capped_sorted, solve_topk_sorted

Floats = NDArray[np.floating]

SMALL = 2000
"""Entries in all up to which everything is sorted at once."""

MAX_STEPS = 40
"""Repetitions of the active sets at most; sets that have not repeated by then cycle or started too far away."""

STEPS = 2
"""Newton steps on all entries: a pass of counts and sums costs a fraction of one that gathers."""

NARROW = 1.0 / 16.0
"""Half the width of a bracket after a Newton step, in lengths of that step."""

ROUNDED_THRESHOLD, ROUNDED_CAP = 1e-12, 1e-9
"""Least half width of a bracket, relative to the thresholds and to the cap C/k: far above their rounding errors."""

NARROW_SHARE = 0.1
"""Share of all entries that narrow brackets may leave uncertain before wide brackets are tried."""

SCALE_DOWN = 2.0**-64
"""Factor for data whose sums overflow; multiplying by a power of two is exact."""


class Thresholds(NamedTuple):
    """alpha -> [alpha - (pa + x)]_+ and beta -> min([beta - (pb + y)]_+, C/k); `how` names the path that found them."""

    pa: float
    x: float
    pb: float
    y: float
    C: float
    how: str


class Ends(NamedTuple):
    """Brackets of lambda, mu and delta; mu_high > delta_low stands for one bracket (mu_low, delta_high) of both."""

    a_low: float
    a_high: float
    mu_low: float
    mu_high: float
    delta_low: float
    delta_high: float


class Sample(NamedTuple):
    """Descending entries less their middle value, for alpha and beta."""

    sa: float
    a: Array
    sb: float
    b: Array


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
    if not np.isfinite(found.C):
        found = project_topk(alpha * SCALE_DOWN, beta * SCALE_DOWN, k, alpha_out, beta_out)
        largest = max(float(alpha_out.max(initial=0.0)), float(beta_out.max(initial=0.0)))
        if largest > SCALE_DOWN * np.finfo(alpha_out.dtype).max:
            raise InvalidInputError(
                f"the projection has an entry beyond the largest {alpha_out.dtype}, {np.finfo(alpha_out.dtype).max:.3g}; multiply alpha and beta by a "
                "number below one first, and the projection by its inverse."
            )
        alpha_out /= SCALE_DOWN
        beta_out /= SCALE_DOWN
        return found
    linear.shift_and_clip(alpha, found.pa, found.x, np.inf, alpha_out)
    linear.shift_and_clip(beta, found.pb, found.y, found.C / k, beta_out)
    return found


def _descending(v: Floats) -> tuple[float, Array]:
    """The middle value, and the entries less that value in descending order."""
    if v.size == 0:
        return 0.0, np.empty(0)
    descending = np.sort(v)[::-1].astype(np.float64)
    shift = float(descending[v.size // 2])
    descending -= shift
    return shift, descending


def _by_sorting(alpha: Floats, beta: Floats, k: int, *, cone: bool) -> Thresholds:
    """Thresholds from all entries, sorted; O(n log n)."""
    pa, a = _descending(alpha)
    pb, b = _descending(beta)
    _, x, y, C = solve_topk_sorted(a, 0, 0.0, 1.0, b, 0, 0.0, float(k), pa + pb, 0.0, cone)
    return Thresholds(pa, x, pb, y, C, "sorted")


def _sample(v: Floats) -> Floats:
    """Every stride-th entry, about 4 sqrt(len(v)) of them."""
    stride = max(1, int(np.sqrt(v.size) / 4.0))
    return v[stride // 2 :: stride]


def _by_sampling(alpha: Floats, beta: Floats, k: int, *, cone: bool) -> Thresholds:
    """Thresholds from a sample's guess, improved and proven on all entries; expected O(n)."""
    sample = Sample(*_descending(_sample(alpha)), *_descending(_sample(beta)))
    thinning = sample.b.size / beta.size
    k_sample = float(k) * thinning if k < beta.size else float(sample.b.size)
    # alpha was thinned by another factor than beta, which the weight repairs.
    weight = 1.0 if cone else thinning * (alpha.size / sample.a.size)
    shift = sample.sa + sample.sb
    _, x, y, C = solve_topk_sorted(sample.a, 0, 0.0, weight, sample.b, 0, 0.0, k_sample, shift, 0.0, cone)
    guess = Thresholds(sample.sa + x, 0.0, sample.sb + y, 0.0, C * (k / k_sample), "sample")
    found = _near_newton_step(alpha, beta, k, guess, cone)
    if found is None:
        found = _in_wide_brackets(alpha, beta, k, guess, sample, cone)
    return _by_sorting(alpha, beta, k, cone=cone) if found is None else found


def _near_newton_step(alpha: Floats, beta: Floats, k: int, guess: Thresholds, cone: bool) -> Thresholds | None:
    """Newton steps on all entries, then narrow brackets: a step about squares the error, so few entries stay uncertain."""
    half = half_delta = 0.0
    for _ in range(STEPS):
        possible, x, y, C = linear.newton_step(alpha, guess.pa, beta, guess.pb, guess.C, k, cone)
        if not possible or not C > 0.0:
            return None
        rounding = ROUNDED_THRESHOLD * (abs(guess.pa) + abs(guess.pb)) + ROUNDED_CAP * C / k
        half = max(NARROW * max(abs(x), abs(y)), rounding)
        half_delta = max(half, NARROW * abs(y + (C / k - guess.C / k)))
        guess = Thresholds(guess.pa + x, 0.0, guess.pb + y, 0.0, C, "step")
    lam, mu, delta = guess.pa, guess.pb, guess.pb + guess.C / k
    if not mu + half <= delta - half_delta:
        return None
    ends = Ends(lam - half, lam + half, mu - half, mu + half, delta - half_delta, delta + half_delta)
    return _between(alpha, beta, k, guess, ends, cone, NARROW_SHARE)


def _in_wide_brackets(
    alpha: Floats, beta: Floats, k: int, guess: Thresholds, sample: Sample, cone: bool
) -> Thresholds | None:
    """Brackets with room for several times the sampling error, and one for mu and delta together."""
    lam, mu = guess.pa - sample.sa, guess.pb - sample.sb
    a_low, a_high = _bracket(sample.a, lam, lam) if not cone else (-np.inf, np.inf)
    mu_low, delta_high = _bracket(sample.b, mu, mu + guess.C / k)
    ends = Ends(sample.sa + a_low, sample.sa + a_high, sample.sb + mu_low, np.inf, -np.inf, sample.sb + delta_high)
    return _between(alpha, beta, k, guess._replace(how="wide"), ends, cone, 1.0)


def _bracket(descending: Array, lower: float, upper: float) -> tuple[float, float]:
    """A sample value below `lower` and one above `upper`, with room for the sampling errors of their ranks.

    Each end is moved on to the next distinct value, past heavy ties.
    """
    ascending, q = descending[::-1], descending.size

    def end(threshold: float, step: int) -> float:
        at = int(np.searchsorted(ascending, threshold))
        at += step * 3 * (int(3.0 * np.sqrt(min(at, q - at) + 1.0)) + 6)
        if not 0 <= at < q:
            return step * np.inf
        side: Literal["left", "right"] = "left" if step < 0 else "right"
        at = int(np.searchsorted(ascending, ascending[at], side)) - (step < 0)
        return float(ascending[at]) if 0 <= at < q else step * np.inf

    return end(lower, -1), end(upper, +1)


def _between(
    alpha: Floats, beta: Floats, k: int, guess: Thresholds, ends: Ends, cone: bool, share: float
) -> Thresholds | None:
    """Solve on the entries that the brackets leave uncertain, at most about `share` of all.

    None when there are more, or when a threshold leaves its bracket: inside, the answer is proven for all entries.
    """
    pa, pb = guess.pa, guess.pb
    A0, SA0, a = 0, 0.0, np.empty(0)
    if not cone:
        room = np.empty(int(share * alpha.size) + 2 * linear.BLOCK)
        A0, SA0, found = linear.split_one(alpha, pa, ends.a_low, ends.a_high, room)
        if found < 0:
            return None
        a = room[:found]
    room = np.empty(int(share * beta.size) + 2 * linear.BLOCK)
    F0, SF0 = 0, 0.0
    apart = ends.mu_high <= ends.delta_low
    if apart:
        s0, ST0, F0, SF0, found = linear.split_two(beta, pb, *ends[2:], room)
    else:
        s0, ST0, found = linear.split_one(beta, pb, ends.mu_low, ends.delta_high, room)
    if found < 0:
        return None
    b = room[:found]
    certain = linear.Certain(A0, SA0, s0, ST0, F0, SF0)
    settled, x, y, C = linear.iterate_sets(a, b, certain, k, pa + pb, guess.C, cone, MAX_STEPS)
    if not settled and not apart and 1 <= k - s0 <= b.size and A0 + a.size + cone > 0:
        start = SA0 - A0 * (ends.a_high - pa) if A0 > 0 else 0.0
        kind, x, y, C = solve_topk_sorted(
            np.sort(a)[::-1].copy(), A0, SA0, 1.0, np.sort(b)[::-1].copy(), s0, ST0, float(k), pa + pb, start, cone
        )
        if kind == ZERO and A0 == 0:
            return Thresholds(pa, x, pb, y, 0.0, "zero")
        settled = kind != ZERO
    if not settled or not C > 0.0:
        return None
    inside = cone or ends.a_low <= pa + x <= ends.a_high
    inside = inside and ends.mu_low <= pb + y <= ends.mu_high and ends.delta_low <= pb + (y + C / k) <= ends.delta_high
    return Thresholds(pa, x, pb, y, C, guess.how) if inside else None
