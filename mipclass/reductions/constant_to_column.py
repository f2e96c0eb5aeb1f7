"""The objective's constant as a column `objective_constant` fixed at 1.

For files and solvers that have no place for a constant, or disagree on its sign.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..modelling.blocks import Block
from ..modelling.program import Program
from .base import Extended, Reduction

COLUMN = "objective_constant"
"""The name of the column."""


class ConstantToColumn(Reduction):
    """min f(x) + k  becomes  min f(x) + k v  with v fixed at 1, the last column."""

    def apply(self, program: Program) -> tuple[Program, Extended]:
        """The program with one more column, or as it is when its constant is 0."""
        if program.constant == 0.0:
            return program, Extended.unchanged(program)
        n, m = program.n_columns, program.n_rows
        Q = program.Q
        if Q is not None:
            Q = sp.csc_array(sp.block_diag([Q, sp.csc_array((1, 1))], format="csc"))
        reduced = program.replace_with(
            c=np.append(program.c, program.constant),
            constant=0.0,
            Q=Q,
            A=sp.csr_array((program.A.data, program.A.indices, program.A.indptr), shape=(m, n + 1)),
            lower=np.append(program.lower, 1.0),
            upper=np.append(program.upper, 1.0),
            integer=np.append(program.integer, False),
            variables=(*program.variables, Block(COLUMN, n, ())),
        )
        return reduced, Extended.of(program, np.arange(m), np.ones(1))
