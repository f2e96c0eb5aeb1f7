"""Linear passes for the projection onto the top-k simplex: sort out what is certain, then iterate on the rest.

Brackets for lambda, mu and delta = mu + C/k (guessed from a sample, verified afterwards) make most entries certain: they
lie above, between or below all thresholds. One pass counts and sums those and gathers the few others. The active sets are
then found on the gathered entries alone: thresholds from the sets in closed form, sets from the thresholds, until the sets
repeat.
Sums run over blocks, so that their rounding errors grow with the square root of the number of blocks at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ....kernels.decorator import njit
from .topk_sorted import closed_form_C

Floats = NDArray[np.floating]

BLOCK = 2048
"""Entries that are summed at a time: they stay in the cache, and rounding errors stay those of short sums."""

PIECE = 128
"""Entries of a block that are gathered only if one of them is uncertain."""

REASSOCIATE = {"reassoc", "nsz", "contract"}
"""Sums may be reordered, so that they are vectorised; infinities and NaN keep their meaning."""


class Certain(NamedTuple):
    """Count and sum of the alpha that are active for certain, of the beta at the cap, and of the beta between."""

    A: int
    SA: float
    s: int
    ST: float
    F: int
    SF: float


@njit(cache=True, fastmath=REASSOCIATE, error_model="numpy")
def sum_at_least(v: Floats, shift: float, high: float, low: float) -> tuple[int, float, int]:
    """How many entries are >= high, their sum less `shift` each, and how many are <= low."""
    count, total, below = 0, 0.0, 0
    for i in range(v.size):
        value = np.float64(v[i])
        count += int(value >= high)
        total += value - shift if value >= high else 0.0
        below += int(value <= low)
    return count, total, below


@njit(cache=True, fastmath=REASSOCIATE, error_model="numpy")
def sum_between(v: Floats, shift: float, low: float, high: float) -> tuple[int, float]:
    """How many entries lie in [low, high], and their sum less `shift` each."""
    count, total = 0, 0.0
    for i in range(v.size):
        value = np.float64(v[i])
        inside = (value >= low) & (value <= high)
        count += int(inside)
        total += value - shift if inside else 0.0
    return count, total


@njit(cache=True, fastmath=REASSOCIATE, error_model="numpy")
def sum_above_two(v: Floats, shift: float, t: float, higher: float) -> tuple[int, float, int, float]:
    """(count, sum less `shift` each) over the entries above t, and over those above `higher`."""
    count, total, count2, total2 = 0, 0.0, 0, 0.0
    for i in range(v.size):
        value = np.float64(v[i])
        rest = value - shift
        count += int(value > t)
        total += rest if value > t else 0.0
        count2 += int(value > higher)
        total2 += rest if value > higher else 0.0
    return count, total, count2, total2


@njit(cache=True, fastmath=REASSOCIATE, error_model="numpy")
def count_inside(v: Floats, low: float, high: float) -> int:
    """How many entries lie strictly between low and high."""
    count = 0
    for i in range(v.size):
        count += int((v[i] > low) & (v[i] < high))
    return count


@njit(cache=True, error_model="numpy")
def gather(v: Floats, shift: float, low: float, high: float, out: Array) -> int:
    """Write v - shift for low < v < high to the front of `out` (one entry longer than needed); return how many.

    Every entry is written and the position moves on only past wanted ones: no branch to mispredict.
    """
    found = 0
    for i in range(v.size):
        value = np.float64(v[i])
        out[found] = value - shift
        found += int((value > low) & (value < high))
    return found


@njit(cache=True, error_model="numpy")
def gather_two(
    v: Floats, shift: float, low: float, high: float, low2: float, high2: float, out: Array
) -> int:  # fmt: skip
    """As `gather` for the union of two open intervals."""
    found = 0
    for i in range(v.size):
        value = np.float64(v[i])
        out[found] = value - shift
        found += int(((value > low) & (value < high)) | ((value > low2) & (value < high2)))
    return found


@njit(cache=True, error_model="numpy")
def split_one(v: Floats, shift: float, low: float, high: float, out: Array) -> tuple[int, float, int]:
    """Count and sum v - shift over v >= high; gather v - shift for low < v < high into `out`.

    Returns (count, sum, gathered). The thresholds are in the units of v. `out` needs room for the gathered entries and
    one block more; gathered is -1 when it is too short.
    """
    count, total, found = 0, 0.0, 0
    for start in range(0, v.size, BLOCK):
        block = v[start : start + BLOCK]
        c, t, below = sum_at_least(block, shift, high, low)
        count += c
        total += t
        if c + below < block.size:
            if found + block.size >= out.size:
                return count, total, -1
            for at in range(0, block.size, PIECE):
                piece = block[at : at + PIECE]
                if count_inside(piece, low, high) > 0:
                    found += gather(piece, shift, low, high, out[found:])
    return count, total, found


@njit(cache=True, error_model="numpy")
def split_two(
    v: Floats, shift: float, mu_low: float, mu_high: float, delta_low: float, delta_high: float, out: Array
) -> tuple[int, float, int, float, int]:
    """As `split_one` for two brackets mu_low < mu_high <= delta_low < delta_high.

    Returns (count, sum) over v >= delta_high, (count, sum) over mu_high <= v <= delta_low, and how many others above
    mu_low were gathered (-1: `out` is too short).
    """
    top, top_sum, free, free_sum, found = 0, 0.0, 0, 0.0, 0
    for start in range(0, v.size, BLOCK):
        block = v[start : start + BLOCK]
        c, t, below = sum_at_least(block, shift, delta_high, mu_low)
        top += c
        top_sum += t
        between, t = sum_between(block, shift, mu_high, delta_low)
        free += between
        free_sum += t
        if c + between + below < block.size:
            if found + block.size >= out.size:
                return top, top_sum, free, free_sum, -1
            for at in range(0, block.size, PIECE):
                piece = block[at : at + PIECE]
                if count_inside(piece, mu_low, mu_high) + count_inside(piece, delta_low, delta_high) > 0:
                    found += gather_two(piece, shift, mu_low, mu_high, delta_low, delta_high, out[found:])
    return top, top_sum, free, free_sum, found


@njit(cache=True, error_model="numpy")
def count_and_sum_above(v: Array, t: float) -> tuple[int, float]:
    """How many entries exceed t, and their sum."""
    count, total = 0, 0.0
    above = np.nextafter(t, np.inf)
    for start in range(0, v.size, BLOCK):
        c, part, _ = sum_at_least(v[start : start + BLOCK], 0.0, above, -np.inf)
        count += c
        total += part
    return count, total


@njit(cache=True, error_model="numpy")
def newton_step(
    alpha: Floats, pa: float, beta: Floats, pb: float, C: float, k: int, cone: bool
) -> tuple[bool, float, float, float]:
    """(possible, x, y, C): the closed form for the sets that the thresholds pa, pb and pb + C/k make of all entries."""
    A, SA, N, SN, s, ST = 0, 0.0, 0, 0.0, 0, 0.0
    for start in range(0, alpha.size, BLOCK):
        c, t, _, _ = sum_above_two(alpha[start : start + BLOCK], pa, pa, np.inf)
        A += c
        SA += t
    for start in range(0, beta.size, BLOCK):
        c, t, c2, t2 = sum_above_two(beta[start : start + BLOCK], pb, pb, pb + C / k)
        N += c
        SN += t
        s += c2
        ST += t2
    if (A == 0 and not cone) or s >= N:
        return False, 0.0, 0.0, C
    C = closed_form_C(SA, A, 1.0, ST, SN - ST, k, s, N - s, pa + pb, cone)
    return True, (0.0 if cone else (SA - C) / A), (SN - ST - C * ((k - s) / k)) / (N - s), C


@njit(cache=True, error_model="numpy")
def iterate_sets(
    a: Array, b: Array, certain: Certain, k: int, shift: float, C: float, cone: bool, max_steps: int
) -> tuple[bool, float, float, float]:
    """(settled, x, y, C) from the guess (0, 0, C): active sets by the thresholds, closed form, until the sets repeat.

    a and b are the entries that are not certain. A settled answer solves the piecewise linear system exactly; when the
    iteration does not settle, the guess was poor or a linear piece is degenerate.
    """
    x, y = 0.0, 0.0
    A, N, s = -1, -1, -1
    for _ in range(max_steps):
        A_new, SA = count_and_sum_above(a, x)
        above, S_above = count_and_sum_above(b, y)
        capped, S_capped = count_and_sum_above(b, y + C / k)
        A_new += certain.A
        s_new, free = certain.s + capped, certain.F + above - capped
        if A_new == A and s_new == s and s_new + free == N:
            return True, x, y, C
        if (A_new == 0 and not cone) or free <= 0:
            return False, x, y, C
        A, N, s = A_new, s_new + free, s_new
        SA, ST, SF = certain.SA + SA, certain.ST + S_capped, certain.SF + (S_above - S_capped)
        C = closed_form_C(SA, A, 1.0, ST, SF, k, s, free, shift, cone)
        x = 0.0 if cone else (SA - C) / A
        y = (SF - C * ((k - s) / k)) / free
    return False, x, y, C


@njit(cache=True, error_model="numpy")
def iterate_capped(b: Array, total: float, cap: float, max_steps: int) -> tuple[bool, float]:
    """(settled, y) with sum min([b - y]_+, cap) = total from the guess 0, by repeating sets as `iterate_sets` does."""
    y = 0.0
    N, s = -1, -1
    for _ in range(max_steps):
        above, S_above = count_and_sum_above(b, y)
        capped, S_capped = count_and_sum_above(b, y + cap)
        if above == N and capped == s:
            return True, y
        if above == capped:
            return False, y
        N, s = above, capped
        rest = total - s * cap if s > 0 else total
        y = (S_above - S_capped - rest) / (N - s)
    return False, y


@njit(cache=True)
def shift_and_clip(v: Floats, shift: float, x: float, cap: float, out: Floats) -> None:
    """out = min([(v - shift) - x]_+, cap); the two-part threshold keeps digits that shift + x would round away."""
    for i in range(v.size):
        out[i] = min(max((v[i] - shift) - x, 0.0), cap)
