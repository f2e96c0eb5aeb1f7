"""The one road through reductions: several in a row, with a receipt for each step.

The driver, the writers of files and the bridges to other modelling languages all reduce their programs by a Chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, Index
from ..modelling.program import Feature, Program
from .base import Answer, Receipt, Reduction
from .change_of_basis import ChangeOfBasis
from .indicator_to_bigm import IndicatorToBigM

NO_INDICATORS = frozenset(Feature) - {Feature.INDICATOR}
"""What most modelling languages and readers of files take."""


class Chain(Reduction):
    """Reductions applied one after the other; itself a reduction."""

    def __init__(self, reductions: Sequence[Reduction]) -> None:
        self.reductions = tuple(reductions)

    def apply(self, program: Program) -> tuple[Program, ChainReceipt]:
        """The program after all steps, and the receipts of the steps."""
        n_rows, steps = program.n_rows, []
        for reduction in self.reductions:
            program, receipt = reduction.apply(program)
            steps.append(receipt)
        return program, ChainReceipt(n_rows, tuple(steps))


@dataclass(frozen=True, eq=False)
class ChainReceipt(Receipt):
    """One receipt per step: forward through the first step first, back through the last step first."""

    n_rows: int
    steps: tuple[Receipt, ...]

    @property
    def row_origin(self) -> Index:
        """For each row after all steps, the row of the original program that it is a side of; -1 for a new row."""
        origin = np.arange(self.n_rows)
        for step in self.steps:
            via = step.row_origin
            origin = np.where(via >= 0, np.append(origin, -1)[via], -1)
        return origin

    def forward(self, x: Array) -> Array:
        """A start of the program after all steps from a start of the original."""
        return reduce(lambda start, step: step.forward(start), self.steps, x)

    def back(self, answer: Answer) -> Answer:
        """The answer about the original program from an answer about the program after all steps."""
        return reduce(lambda got, step: step.back(got), reversed(self.steps), answer)

    def forward_row(self, coefficients: Array) -> Array:
        """The row through all steps."""
        return reduce(lambda row, step: step.forward_row(row), self.steps, coefficients)

    def back_bounds(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """The bounds back through all steps."""
        for step in reversed(self.steps):
            lower, upper = step.back_bounds(lower, upper)
        return lower, upper

    def forward_bounds(self, columns: Index, lower: Array, upper: Array) -> tuple[Index, Array, Array]:
        """The bounds through all steps."""
        for step in self.steps:
            columns, lower, upper = step.forward_bounds(columns, lower, upper)
        return columns, lower, upper


def road_to(features: frozenset[Feature], basis: sp.csr_array | None = None) -> Chain:
    """The reductions that a program needs before a solver or a language with these features takes it.

    basis : T with x = T x' in which the program is to be solved (see ChangeOfBasis); None leaves the columns alone.
    """
    steps: list[Reduction] = [] if Feature.INDICATOR in features else [IndicatorToBigM()]
    steps += [] if basis is None else [ChangeOfBasis(basis)]
    return Chain(steps)
