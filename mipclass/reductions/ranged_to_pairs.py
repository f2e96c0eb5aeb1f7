"""Rows with two different finite sides as pairs of one-sided rows.

l <= a.x <= u  becomes  a.x >= l  (in place)  and  a.x <= u  (at the end). Equalities stay as they are.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..arrays import Mask, Positions
from ..modelling.blocks import Block
from ..modelling.indicators import Indicators
from ..modelling.program import Program
from .base import UPPER_SIDE, Extended, Reduction


class RangedToPairs(Reduction):
    """For formats and solvers that know only one-sided rows and equalities."""

    def apply(self, program: Program) -> tuple[Program, Extended]:
        """The program with the upper sides of its ranged rows as rows `upper_side` at the end."""
        ranged = np.flatnonzero(_ranged(program))
        if not len(ranged):
            return program, Extended.unchanged(program)
        m, k = program.n_rows, len(ranged)
        row_upper = program.row_upper.copy()
        row_upper[ranged] = np.inf
        names = program.row_names()
        reduced = program.replace_with(
            A=sp.csr_array(sp.vstack([program.A, program.A[ranged]], format="csr")),
            row_lower=np.concatenate([program.row_lower, np.full(k, -np.inf)]),
            row_upper=np.concatenate([row_upper, program.row_upper[ranged]]),
            rows=(*program.rows, Block("upper_side", m, (k,), (tuple(names[i] for i in ranged),), UPPER_SIDE)),
            indicators=_copied(program.indicators, ranged, m),
        )
        return reduced, Extended.of(program, np.concatenate([np.arange(m), ranged]))


def _ranged(program: Program) -> Mask:
    two_sided = np.isfinite(program.row_lower) & np.isfinite(program.row_upper)
    return np.asarray(two_sided & (program.row_lower != program.row_upper))


def _copied(indicators: Indicators, ranged: Positions, m: int) -> Indicators:
    """A switched ranged row needs the same switch on both of its sides."""
    position = np.full(m, -1)
    position[ranged] = np.arange(m, m + len(ranged))
    twin = position[indicators.row]
    split = twin >= 0
    return Indicators(
        np.concatenate([indicators.row, twin[split]]),
        np.concatenate([indicators.column, indicators.column[split]]),
        np.concatenate([indicators.value, indicators.value[split]]),
        np.concatenate([indicators.big_m, indicators.big_m[split]]),
    )
