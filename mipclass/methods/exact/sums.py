"""Attainable losses: a loss is a sum of some of the costs, so a lower bound may be rounded up to the next such sum.

With costs that are multiples of one number this is rounding up to a multiple. Where costs have no common measure (the two class
weights of "balanced", say), linear programs prove bounds up to rounding only, and the next attainable sum is what removes the rounding.

All sums are held as two sorted halves A and B: the sums of the costs in either half, every attainable sum being a + b.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_SUMS = 1 << 12
"""Sums in either half, at most: a look at all of them takes less time than a linear program. Enough for 24 different costs, or for
any number of points with two or three different costs. The checker allows for more."""

INT64_SUM = 1 << 62
"""Sums below this are held as int64."""


class Sums:
    """The sums of the sub-multisets of some whole numbers >= 0; `known` is False where there are too many of them to list."""

    def __init__(self, values: Iterable[int]) -> None:
        times = Counter(value for value in values if value > 0)
        total = sum(value * count for value, count in times.items())
        kind = np.int64 if total < INT64_SUM else object
        halves: list[NDArray[Any]] = [np.zeros(1, dtype=kind), np.zeros(1, dtype=kind)]
        self.known = True
        for value, count in sorted(times.items(), key=lambda item: -item[1]):
            smaller = 0 if len(halves[0]) <= len(halves[1]) else 1
            if len(halves[smaller]) * (count + 1) > MOST_SUMS:
                self.known = False
                break
            multiples = np.array([value * k for k in range(count + 1)], dtype=kind)
            halves[smaller] = np.unique(np.add.outer(halves[smaller], multiples))
        self._A, self._B = halves
        self._total = total

    def least_from(self, bound: int) -> int:
        """The least attainable sum >= bound; the bound itself where sums are not known, or above all of them."""
        if not self.known or bound > self._total or bound <= 0:
            return bound
        place = np.searchsorted(self._B, bound - self._A)
        reached = place < len(self._B)
        return int((self._A[reached] + self._B[place[reached]]).min())

    def greatest_below(self, value: int) -> int:
        """The greatest attainable sum < value, for value > 0; value - 1 where sums are not known."""
        if not self.known:
            return value - 1
        place = np.searchsorted(self._B, value - self._A) - 1
        reached = place >= 0
        return int((self._A[reached] + self._B[place[reached]]).max())
