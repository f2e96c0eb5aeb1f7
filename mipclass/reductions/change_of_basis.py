"""Other variables for a better-conditioned program: x = T x'.

A model whose data have awkward units (a year, a distance in micrometres) is exported as the user wrote it, but solved in
variables in which the entries of its rows are of size one. A row of T has one entry, on the diagonal (a change of units: a
simple column), or several (the offset b = b' - mean.w: a composite column). Bounds of composite columns become rows.

    minimise    1/2 x''(T'QT)x' + (T'c)'x'
    subject to  row_lower <= A T x' <= row_upper
                lower_j <= T_j x' <= upper_j                                composite columns j with a bound
                lower_j / T_jj <= x'_j <= upper_j / T_jj                    simple columns j

With multipliers r of the rows, s of the new rows and z' of the columns, stationarity T'(Qx + c - A'r) = T_L's + z' holds for
z = s_j (composite) or z'_j / T_jj (simple), since T'z = T_L's + z'. The same z and r turn a Farkas proof of the reduced
program into one of the original, where z = -A'r follows from T'z = -T'A'r.

A row on the weights of columns in far units (w_j >= 0 for a feature of 1e100) would have entries that solvers drop as zero; such rows are
divided by a power of two s_i near their largest entry, and r_i is the multiplier of the divided row divided by s_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, Index, Mask, Positions
from ..modelling.blocks import Block
from ..modelling.program import Program
from .base import Answer, Receipt, Reduction

NEAR_ROW = 2.0**20
"""Rows whose entries lie within [1/NEAR_ROW, NEAR_ROW] (about 1e-6 to 1e6) stay as they are: HiGHS drops entries below 1e-9."""


class ChangeOfBasis(Reduction):
    """The program in the variables x' with x = T x'. T belongs to one program.

    A composite column of T depends on simple columns and itself alone.
    """

    def __init__(self, T: Any) -> None:
        self.T = sp.csr_array(T)

    def apply(self, program: Program) -> tuple[Program, BasisReceipt]:
        """The program in x', with the bounds of composite columns as rows `bounds_of` at the end."""
        T = self.T
        simple, units = np.diff(T.indptr) == 1, T.diagonal()
        ends = np.divide(program.lower, units), np.divide(program.upper, units)
        limited = np.flatnonzero(~simple & (np.isfinite(program.lower) | np.isfinite(program.upper)))
        blocks = program.rows
        if len(limited):
            names = program.column_names()
            labels = (tuple(names[j] for j in limited),)
            blocks = (*blocks, Block("bounds_of", program.n_rows, (len(limited),), labels))
        A = sp.csr_array(sp.vstack([program.A @ T, T[limited]], format="csr"))
        scales = _row_scales(A)
        if (scales != 1.0).any():
            A = sp.csr_array(sp.diags_array(1.0 / scales) @ A)
        changed = program.replace_with(
            c=T.T @ program.c,
            A=A,
            Q=None if program.Q is None else sp.csc_array(T.T @ program.Q @ T),
            row_lower=np.concatenate([program.row_lower, program.lower[limited]]) / scales,
            row_upper=np.concatenate([program.row_upper, program.upper[limited]]) / scales,
            lower=np.where(simple, np.minimum(*ends), -np.inf),  # a negative unit swaps the two
            upper=np.where(simple, np.maximum(*ends), np.inf),
            rows=blocks,
        )
        return changed, BasisReceipt(T, simple, units, program.n_rows, limited, scales)


def _row_scales(A: sp.csr_array) -> Array:
    """A power of two for each row, near its largest entry, where that is large or where small entries can gain by it; else 1."""
    largest, small = np.zeros(A.shape[0]), np.zeros(A.shape[0], dtype=np.bool_)
    rows, sizes = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), np.abs(A.data)
    np.maximum.at(largest, rows, sizes)
    small[rows[(sizes < 1.0 / NEAR_ROW) & (sizes > 0.0)]] = True
    far = (largest > NEAR_ROW) | ((largest < 1.0) & small)
    return np.where(far, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)


@dataclass(frozen=True, eq=False)
class BasisReceipt(Receipt):
    """T with its simple columns and its diagonal, the composite columns whose bounds became the last rows, and the rows' divisors."""

    T: sp.csr_array
    simple: Mask
    units: Array
    n_rows: int
    limited: Positions
    row_scales: Array

    @property
    def row_origin(self) -> Index:
        """The rows in order; rows that are bounds of composite columns are new."""
        return np.concatenate([np.arange(self.n_rows), np.full(len(self.limited), -1)])

    def forward(self, x: Array) -> Array:
        """x' with T x' = x: the simple columns first, then the composite ones, which depend on them."""
        changed = np.where(self.simple, x / self.units, 0.0)
        rest = x - self.T @ changed
        return np.where(self.simple, changed, rest / self.units)

    def back(self, answer: Answer) -> Answer:
        """The multiplier of a composite column's bound is that of the row which the bound became."""
        column_duals = None
        row_duals = None if answer.row_duals is None else answer.row_duals / self.row_scales
        ray = None if answer.ray is None else answer.ray / self.row_scales
        if answer.column_duals is not None and row_duals is not None:
            column_duals = np.where(self.simple, answer.column_duals / self.units, 0.0)
            column_duals[self.limited] = row_duals[self.n_rows :]
        return Answer(
            x=None if answer.x is None else np.asarray(self.T @ answer.x),
            row_duals=None if row_duals is None else row_duals[: self.n_rows],
            column_duals=column_duals,
            ray=None if ray is None else ray[: self.n_rows],
        )

    def forward_row(self, coefficients: Array) -> Array:
        """T'a."""
        return np.asarray(self.T.T @ coefficients)

    def back_bounds(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bounds of simple columns in the original units; none of composite columns."""
        ends = lower * self.units, upper * self.units
        return np.where(self.simple, np.minimum(*ends), -np.inf), np.where(self.simple, np.maximum(*ends), np.inf)

    def forward_bounds(self, columns: Index, lower: Array, upper: Array) -> tuple[Index, Array, Array]:
        """Bounds of simple columns divided by the units; those of composite columns would be rows."""
        kept = self.simple[columns]
        units = self.units[columns[kept]]
        ends = lower[kept] / units, upper[kept] / units
        return columns[kept], np.minimum(*ends), np.maximum(*ends)
