"""Other variables for a better-conditioned program: x = T x'.

A model whose data have awkward units (a year, a distance in micrometres) is exported as the user wrote it, but solved in
variables in which its rows have entries of size one. T has one nonzero in each row (a change of units) or several (the
offset b = offset - mean.w); bounds of the latter become rows.

    minimise    1/2 x''(T'QT)x' + (T'c)'x'
    subject to  row_lower <= A T x' <= row_upper,   bounds divided by the units
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..modelling.blocks import Block
from ..modelling.program import Program
from .base import Receipt, Reduction


class ChangeOfBasis(Reduction):
    """Stateless but for T, which belongs to one program; None or the identity changes nothing."""

    name: ClassVar[str] = "change of basis"

    def __init__(self, T: Any) -> None:
        self.T = None if T is None else sp.csr_array(T)

    def accepts(self, program: Program) -> bool:
        return self.T is not None

    def apply(self, program: Program) -> tuple[Program, Receipt]:
        if self.T is None:
            return program, Receipt.unchanged(program)
        T = self.T
        single = np.diff(T.indptr) == 1
        units = T.diagonal()
        lower = np.where(single, np.divide(program.lower, units), -np.inf)
        upper = np.where(single, np.divide(program.upper, units), np.inf)
        limited = np.flatnonzero(~single & (np.isfinite(program.lower) | np.isfinite(program.upper)))
        A = sp.csr_array(sp.vstack([program.A @ T, T[limited]], format="csr"))
        names = program.column_names()
        blocks = program.rows
        if len(limited):
            labels = (tuple(names[j] for j in limited),)
            blocks = (*blocks, Block("bounds_of", program.n_rows, (len(limited),), labels))
        changed = program.replace_with(
            c=T.T @ program.c,
            A=A,
            Q=None if program.Q is None else sp.csc_array(T.T @ program.Q @ T),
            row_lower=np.concatenate([program.row_lower, program.lower[limited]]),
            row_upper=np.concatenate([program.row_upper, program.upper[limited]]),
            lower=lower,
            upper=upper,
            rows=blocks,
        )
        origin = np.concatenate([np.arange(program.n_rows), np.full(len(limited), -1)])
        return changed, Receipt(program.n_columns, program.n_rows, origin, np.zeros(0))

    def undo(self, x: Array, receipt: Receipt) -> Array:
        return x if self.T is None else np.asarray(self.T @ x)

    def forward(self, x: Array, receipt: Receipt) -> Array:
        """T is unit upper or lower triangular up to units: the columns with one entry first, then the others."""
        if self.T is None:
            return x
        units = self.T.diagonal()
        single = np.diff(self.T.indptr) == 1
        changed = np.where(single, x / units, 0.0)
        rest = x - self.T @ changed
        return np.where(single, changed, rest / units)

    def undo_column_duals(self, duals: Array, receipt: Receipt) -> Array:
        """Reduced costs of x: those of x' divided by the units; zero where bounds became rows."""
        if self.T is None:
            return duals
        single = np.diff(self.T.indptr) == 1
        return np.where(single, duals / self.T.diagonal(), 0.0)
