"""Block: a named range of columns or rows of a Program, with labels.

Labels are feature names or numbers of data rows, so that values, files and explanations use the user's words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod


@dataclass(frozen=True)
class Block:
    """A named range of columns or rows: `w` with one label per feature, `margin` with one label per data row.

    `labels` has one entry per axis: a tuple of strings, or None for plain positions. `note` says in words what the block is, for
    people who read a file of the program; it takes no part in comparisons.
    """

    name: str
    start: int
    shape: tuple[int, ...]
    labels: tuple[tuple[str, ...] | None, ...] = ()
    note: str = field(default="", compare=False)

    @property
    def size(self) -> int:
        """The number of columns or rows in the block."""
        return prod(self.shape)

    @property
    def stop(self) -> int:
        """The position after the last column or row of the block."""
        return self.start + self.size

    @property
    def slice(self) -> slice:
        """The positions start, ..., stop - 1 as a slice."""
        return slice(self.start, self.stop)

    def names(self) -> Iterator[str]:
        """`w[age]`, `w[sex]`, ... in order; the bare name for a scalar block."""
        if not self.shape:
            yield self.name
            return
        axes = [
            labels if labels is not None else tuple(map(str, range(length)))
            for length, labels in zip(self.shape, self.labels or (None,) * len(self.shape), strict=True)
        ]
        for parts in product(*axes):
            yield f"{self.name}[{','.join(parts)}]"

    def __str__(self) -> str:
        """`w[3]`, `v[2 x 3]`; the bare name for a scalar block."""
        return self.name + (f"[{' x '.join(map(str, self.shape))}]" if self.shape else "")
