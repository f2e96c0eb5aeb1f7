"""Several reductions in a row, itself a reduction: apply forward, undo backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ..modelling.program import Program
from .base import Receipt, Reduction


class Chain(Reduction):
    """Applies each reduction that has something to rewrite; its one receipt is the composition of theirs.

    Every reduction keeps the original columns first and each reduced row points at the row it came from, so receipts
    compose and the inherited `undo`, `forward` and dual maps are right for the whole chain.
    """

    name: ClassVar[str] = "chain"

    def __init__(self, reductions: Sequence[Reduction]) -> None:
        self.reductions = tuple(reductions)

    def accepts(self, program: Program) -> bool:
        return any(reduction.accepts(program) for reduction in self.reductions)

    def apply(self, program: Program) -> tuple[Program, Receipt]:
        total = Receipt.unchanged(program)
        for reduction in self.reductions:
            if reduction.accepts(program):
                program, receipt = reduction.apply(program)
                total = _compose(total, receipt)
        return program, total


def _compose(first: Receipt, second: Receipt) -> Receipt:
    via = second.row_origin
    origin = np.where(via >= 0, first.row_origin[np.maximum(via, 0)], -1) if len(first.row_origin) else via
    added = np.concatenate([first.new_columns, second.new_columns])
    return Receipt(first.n_columns, first.n_rows, origin.astype(np.int64), added)
