"""Which sets of features are closed: each set of a size is contained in one for which enough is proven.

Sets of features are whole numbers with one bit per feature.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations


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

    def open(self) -> Iterator[int]:
        """The sets that are not closed when their turn comes, one after the other."""
        for features in combinations(self.order, self.size):
            mask = mask_of(features)
            if mask not in self._closed:
                yield mask

    def close(self, within: int) -> None:
        """Close every set inside the given one."""
        self._closed.update(map(mask_of, combinations(features_of(within), self.size)))

    def count_open(self, within: int) -> int:
        """Number of open sets inside the given one."""
        return sum(mask_of(part) not in self._closed for part in combinations(features_of(within), self.size))

    def extended(self, mask: int, by: int) -> int:
        """The set with so many more features, each of which brings as many open sets with it as possible."""
        for _ in range(by):
            outside = [j for j in self.order if not mask >> j & 1]
            if not outside:
                break
            mask |= 1 << max(outside, key=lambda j: self._brings(mask, j))
        return mask

    def _brings(self, mask: int, feature: int) -> int:
        """Number of open sets that contain the feature and lie in `mask` otherwise."""
        if not self.size:
            return 0
        parts = combinations(features_of(mask), self.size - 1)
        return sum(mask_of(part) | 1 << feature not in self._closed for part in parts)
