"""Which sets of features are closed: each set of a size is contained in one for which enough is proven.

Sets of features are whole numbers with one bit per feature.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb


def mask_of(features: Sequence[int]) -> int:
    """The set as a whole number."""
    return sum(1 << j for j in features)


def features_of(mask: int) -> tuple[int, ...]:
    """The features of a set, in order."""
    return tuple(j for j in range(mask.bit_length()) if mask >> j & 1)


class SupportSets:
    """The sets of `size` features out of those in `order`, and which of them are closed already."""

    def __init__(self, order: Sequence[int], size: int) -> None:
        """`order`: all features; where nothing else decides, sets take the last ones first."""
        self.order, self.size = list(order)[::-1], size
        self._closed: set[int] = set()
        self._held: dict[int, int] = {}  # set -> the one around it that a task is about

    def open(self) -> Iterator[int]:
        """The sets that are not closed when their turn comes, one after the other."""
        for features in combinations(self.order, self.size):
            mask = mask_of(features)
            if mask not in self._closed:
                yield mask

    def close(self, within: int) -> None:
        """Close every set inside the given one."""
        for part in self._inside(within):
            self._closed.add(part)
            self._held.pop(part, None)

    def is_closed(self, mask: int) -> bool:
        """Whether a set of the size is closed."""
        return mask in self._closed

    def hold(self, within: int) -> int:
        """Mark the open sets inside the given one as what a task is about, until `release`; how many they are."""
        open_sets = [part for part in self._inside(within) if self._is_free(part)]
        self._held.update(dict.fromkeys(open_sets, within))
        return len(open_sets)

    def release(self, within: int) -> None:
        """The task about the given set has ended."""
        for part in self._inside(within):
            if self._held.get(part) == within:
                del self._held[part]

    def holder(self, mask: int) -> int | None:
        """The set of the task that may close this one; None if there is none."""
        return self._held.get(mask)

    @property
    def n_free(self) -> int:
        """Number of open sets that no task is about."""
        return comb(len(self.order), self.size) - len(self._closed) - len(self._held)

    def count_open(self, within: int) -> int:
        """Number of open sets inside the given one that no task is about."""
        return sum(map(self._is_free, self._inside(within)))

    def _inside(self, within: int) -> Iterator[int]:
        return map(mask_of, combinations(features_of(within), self.size))

    def _is_free(self, mask: int) -> bool:
        return mask not in self._closed and mask not in self._held

    def extended(self, mask: int, by: int) -> int:
        """The set with so many more features, each of which brings as many open sets with it as possible."""
        for _ in range(by):
            outside = [j for j in self.order if not mask >> j & 1]
            if not outside:
                break
            mask |= 1 << max(outside, key=lambda j: self._brings(mask, j))
        return mask

    def _brings(self, mask: int, feature: int) -> int:
        """Number of open sets that contain the feature, lie in `mask` otherwise, and that no task is about."""
        if not self.size:
            return 0
        parts = combinations(features_of(mask), self.size - 1)
        return sum(self._is_free(mask_of(part) | 1 << feature) for part in parts)
