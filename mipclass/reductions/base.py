"""What a reduction is: a program rewritten into one that more solvers take, with the way back.

    reduced, receipt = reduction.apply(program)
    start = receipt.forward(x)                      a start of the program as a start of the reduced program
    answer = receipt.back(answer_of_the_reduced)    point, multipliers and ray of the program, all at once

A reduction is stateless: what the way back needs is in the receipt, so one object serves many solves at once. A reduction
never changes the objective of a point, so objectives and bounds need no way back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Index
from ..modelling.program import Program

UPPER_SIDE = "upper sides of rows with two limits, which stand above with their lower sides"
"""What files say of rows that split the upper side off a row."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver says about one program; None where it says nothing.

    x : a point.
    row_duals, column_duals : multipliers with  Qx + c = A' row_duals + column_duals,  positive at an active lower side and
        negative at an active upper side.
    ray : a Farkas proof of infeasibility: with column multipliers -A' ray, the rows and bounds add up to 0 > 0.
    """

    x: Array | None = None
    row_duals: Array | None = None
    column_duals: Array | None = None
    ray: Array | None = None


class Receipt(ABC):
    """How a reduced program relates to the original, in both directions."""

    @property
    @abstractmethod
    def row_origin(self) -> Index:
        """For each row of the reduced program, the original row that it is a side of; -1 for a row that is new."""

    @abstractmethod
    def forward(self, x: Array) -> Array:
        """A start of the reduced program from a full or partial start of the original (NaN: unknown)."""

    @abstractmethod
    def back(self, answer: Answer) -> Answer:
        """The answer about the original program from an answer about the reduced one."""

    @abstractmethod
    def forward_row(self, coefficients: Array) -> Array:
        """a' with a'.x' = a.x for every point x' of the reduced program and its point x of the original."""

    @abstractmethod
    def back_bounds(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bounds of the original columns that follow from bounds of the reduced ones, infinite where none do."""

    @abstractmethod
    def forward_bounds(self, columns: Index, lower: Array, upper: Array) -> tuple[Index, Array, Array]:
        """Bounds of some original columns as bounds of the reduced ones; those that would be rows are left out."""


class Reduction(ABC):
    """One reformulation."""

    @abstractmethod
    def apply(self, program: Program) -> tuple[Program, Receipt]:
        """The reduced program and the receipt. A program without anything to rewrite comes back as it is."""


@dataclass(frozen=True, eq=False)
class Extended(Receipt):
    """The original columns come first and in order, new ones follow; a row may have been split into its sides.

    n_columns, n_rows : the original's sizes.
    origin : see `Receipt.row_origin`.
    new_columns : the value of each new column at every feasible point.
    """

    n_columns: int
    n_rows: int
    origin: Index
    new_columns: Array

    @classmethod
    def unchanged(cls, program: Program) -> Extended:
        """The receipt of a program that was not rewritten."""
        return cls.of(program, np.arange(program.n_rows))

    @classmethod
    def of(cls, program: Program, origin: Index, new_columns: Array | None = None) -> Extended:
        """The receipt of `program` with these rows and, at the end, new columns of these values."""
        added = np.zeros(0) if new_columns is None else new_columns
        return cls(program.n_columns, program.n_rows, origin, added)

    @property
    def row_origin(self) -> Index:
        """See `Receipt`."""
        return self.origin

    def forward(self, x: Array) -> Array:
        """The start with the new columns at their values."""
        return np.concatenate([x, self.new_columns])

    def back(self, answer: Answer) -> Answer:
        """Without the new columns; the multiplier of a row is the sum of its sides' multipliers.

        At an optimum at most one side of a row is active. In a ray both may have a multiplier, and their sum proves no less:
        r l - s u <= (r - s) l for r >= s >= 0, and likewise with u for r <= s.
        """
        return Answer(
            x=self._columns(answer.x),
            row_duals=self._rows(answer.row_duals),
            column_duals=self._columns(answer.column_duals),
            ray=self._rows(answer.ray),
        )

    def forward_row(self, coefficients: Array) -> Array:
        """The row with zeros for the new columns."""
        return np.concatenate([coefficients, np.zeros(len(self.new_columns))])

    def back_bounds(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """The bounds of the original columns."""
        return lower[: self.n_columns], upper[: self.n_columns]

    def forward_bounds(self, columns: Index, lower: Array, upper: Array) -> tuple[Index, Array, Array]:
        """The bounds as they are."""
        return columns, lower, upper

    def _columns(self, values: Array | None) -> Array | None:
        return None if values is None else values[: self.n_columns]

    def _rows(self, multipliers: Array | None) -> Array | None:
        if multipliers is None:
            return None
        kept = self.origin >= 0
        total = np.zeros(self.n_rows)
        np.add.at(total, self.origin[kept], multipliers[kept])
        return total
