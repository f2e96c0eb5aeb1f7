"""Attainable sums: a loss is a sum of some of the costs, so that a proven bound holds for the least sum that is not below it.

Meet in the middle: every sum of some of the values is a + b, where a is a sum of values of one half and b of the other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

MOST_SUMS = 1 << 16
"""Sums of one half, at most; with more, a bound is not rounded up."""


def least_sum(values: Iterable[Fraction | int], bound: Fraction | int) -> Fraction:
    """The least sum of some of the values >= 0 that is at least `bound`; the bound itself when there are too many sums or none."""
    halves: tuple[set[Fraction], set[Fraction]] = ({Fraction(0)}, {Fraction(0)})
    for value, times in Counter(Fraction(value) for value in values if value > 0).most_common():
        half = min(halves, key=len)
        if len(half) * (times + 1) > MOST_SUMS:
            return Fraction(bound)
        half |= {done + k * value for done in half for k in range(1, times + 1)}
    first, second = halves[0], sorted(halves[1])
    found: Fraction | None = None
    for a in first:
        place = bisect_left(second, bound - a)
        if place < len(second) and (found is None or a + second[place] < found):
            found = a + second[place]
    return Fraction(bound) if found is None else found
