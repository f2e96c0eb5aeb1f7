"""Indicators: rows of a Program that hold only where a binary column has a stated value.

    x[column_k] = value_k  implies  row_lower[row_k] <= (A x)[row_k] <= row_upper[row_k]

`mipclass/reductions/indicator_to_bigm.py` turns them into ordinary rows for backends that have no indicator rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Index


@dataclass(frozen=True, eq=False)
class Indicators:
    """x[column[k]] = value[k] implies that row row[k] holds. A row appears at most once.

    `big_m[k]` is a proven limit on the violation of row k at any point that satisfies everything else, or inf when the
    model knows none; the big-M reduction then derives one from the bounds. When left out it is filled with inf.
    """

    row: Index
    column: Index
    value: NDArray[np.int8]
    big_m: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if len(self.big_m) != len(self.row):
            object.__setattr__(self, "big_m", np.full(len(self.row), np.inf))

    @classmethod
    def none(cls) -> Indicators:
        """No indicator rows."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int8))

    def __len__(self) -> int:
        return len(self.row)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Indicators):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, part), getattr(other, part)) for part in ("row", "column", "value", "big_m")
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, so not hashable
