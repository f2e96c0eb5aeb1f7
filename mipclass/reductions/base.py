"""What a reduction is: a program rewritten into one that more solvers take, with the way back.

    reduced, receipt = reduction.apply(program)
    x = reduction.undo(x_of_the_reduced_program, receipt)

A reduction is stateless; what it needs for the way back is in the receipt, so one object serves many solves at once.
Reductions here keep the original columns first and in order, and never change the objective of a point: objectives and
bounds need no undoing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..modelling.program import Program


@dataclass(frozen=True)
class Receipt:
    """How the reduced program's columns and rows relate to the original's.

    n_columns, n_rows : the original's sizes.
    row_origin : for each reduced row, the original row it is a side of; -1 for a row that is new.
    new_columns : a value for each added column at every feasible point (NaN where it depends on the point).
    """

    n_columns: int
    n_rows: int
    row_origin: NDArray[np.int64]
    new_columns: Array

    @classmethod
    def unchanged(cls, program: Program) -> Receipt:
        return cls(program.n_columns, program.n_rows, np.arange(program.n_rows), np.zeros(0))


class Reduction(ABC):
    """One reformulation, forward and back."""

    name: ClassVar[str]

    @abstractmethod
    def accepts(self, program: Program) -> bool:
        """Whether there is something to rewrite."""

    @abstractmethod
    def apply(self, program: Program) -> tuple[Program, Receipt]:
        """The reduced program and the receipt. A program without anything to rewrite comes back as it is."""

    def undo(self, x: Array, receipt: Receipt) -> Array:
        """The original's point for a point of the reduced program."""
        return x[: receipt.n_columns]

    def forward(self, x: Array, receipt: Receipt) -> Array:
        """A start for the reduced program from a start of the original (NaN: unknown)."""
        return np.concatenate([x, receipt.new_columns])

    def undo_column_duals(self, duals: Array, receipt: Receipt) -> Array:
        return duals[: receipt.n_columns]

    def undo_row_duals(self, duals: Array, receipt: Receipt) -> Array:
        """The multiplier of an original row is the sum of its sides' multipliers."""
        kept = receipt.row_origin >= 0
        total = np.zeros(receipt.n_rows)
        np.add.at(total, receipt.row_origin[kept], duals[kept])
        return total
