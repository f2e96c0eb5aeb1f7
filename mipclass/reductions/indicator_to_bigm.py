"""Indicator rows as big-M rows, with M from the program's own bounds and data.

    x[z] = 0  implies  l <= a.x <= u        becomes     a.x + M_l z >= l   and   a.x - M_u z <= u
    x[z] = 1  implies  l <= a.x <= u        becomes     the same with 1 - z for z

M_l = max(0, l - min a.x) and M_u = max(0, max a.x - u), where min and max are over the bounds of the row's own columns
(interval arithmetic), z standing at the value that switches the row off. They are the smallest constants that interval
arithmetic can justify, one for each row. A row whose activity is unbounded has no valid M and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, Index, Mask
from ..errors import UnsupportedProgramError
from ..modelling.blocks import Block
from ..modelling.indicators import Indicators
from ..modelling.program import Program
from .base import UPPER_SIDE, Answer, Extended, Reduction


class IndicatorToBigM(Reduction):
    """Rewrites every indicator row; a row with two finite sides becomes two rows, the second at the end."""

    def apply(self, program: Program) -> tuple[Program, Extended]:
        """The program without indicators; UnsupportedProgramError when a row has no valid M."""
        if not len(program.indicators):
            return program, Extended.unchanged(program)
        rows, z, value = program.indicators.row, program.indicators.column, program.indicators.value
        M_lower, M_upper = big_m(program)
        l, u = program.row_lower[rows], program.row_upper[rows]
        has_lower, has_upper = np.isfinite(l), np.isfinite(u)
        both = has_lower & has_upper
        sign = np.where(value == 0, 1.0, -1.0)  # a.x + M z >= l  when on at 0,  a.x - M z >= l - M  when on at 1
        at_one = value == 1

        # The row itself keeps its lower side, or its upper side when it has no lower one.
        slack = np.where(has_lower, sign * M_lower, np.where(has_upper, -sign * M_upper, 0.0))
        row_lower, row_upper = program.row_lower.copy(), program.row_upper.copy()
        row_lower[rows] = np.where(has_lower, l - at_one * M_lower, -np.inf)
        row_upper[rows] = np.where(has_upper & ~has_lower, u + at_one * M_upper, np.inf)
        m, n = program.n_rows, program.n_columns
        A = _with_entries(program.A, rows, z, slack)

        blocks = program.rows
        if both.any():
            k = int(both.sum())
            upper_sides = program.A[rows[both]] + sp.csr_array(
                ((-sign * M_upper)[both], (np.arange(k), z[both])), shape=(k, n)
            )
            A = sp.csr_array(sp.vstack([A, upper_sides], format="csr"))
            row_lower = np.concatenate([row_lower, np.full(k, -np.inf)])
            row_upper = np.concatenate([row_upper, (u + at_one * M_upper)[both]])
            names = program.row_names()
            blocks = (*blocks, Block("upper_side", m, (k,), (tuple(names[i] for i in rows[both]),), UPPER_SIDE))
        reduced = program.replace_with(
            A=A, row_lower=row_lower, row_upper=row_upper, rows=blocks, indicators=Indicators.none()
        )
        origin = np.concatenate([np.arange(m), rows[both]])
        certain = np.ones(m, dtype=np.bool_)
        certain[rows] = _always_on(program)
        return reduced, SwitchedReceipt(n, m, origin, np.zeros(0), certain)


@dataclass(frozen=True, eq=False)
class SwitchedReceipt(Extended):
    """`certain` marks the original rows that hold at every feasible point: unswitched ones, or with their binary fixed."""

    certain: Mask

    def back(self, answer: Answer) -> Answer:
        """Multipliers go back where each belongs to a row that is certain to hold; such a row has M = 0.

        A multiplier of any other big-M row belongs to the relaxation, and the row itself has none.
        """
        for multipliers in (answer.row_duals, answer.ray):
            if multipliers is not None and (multipliers[~self.certain[self.origin]] != 0).any():
                return Answer(answer.x)
        return super().back(answer)


def _always_on(program: Program) -> Mask:
    """For each indicator, whether bounds have fixed its binary at the value that switches its row on."""
    z, value = program.indicators.column, program.indicators.value
    return np.asarray(np.where(value == 1, program.lower[z] == 1, program.upper[z] == 0))


def big_m(program: Program) -> tuple[Array, Array]:
    """(M_lower, M_upper) for each indicator row; 0 where that side is absent. Refuses unbounded rows."""
    rows = program.indicators.row
    lowest, highest = _activity_when_off(program)
    l, u = program.row_lower[rows], program.row_upper[rows]
    M_lower = np.maximum(0.0, np.subtract(l, lowest, out=np.zeros_like(l), where=np.isfinite(l)))
    M_upper = np.maximum(0.0, np.subtract(highest, u, out=np.zeros_like(u), where=np.isfinite(u)))
    # A model may know a smaller limit than interval arithmetic finds, e.g. from how its data are centred.
    M_lower, M_upper = np.minimum(M_lower, program.indicators.big_m), np.minimum(M_upper, program.indicators.big_m)
    always_on = _always_on(program)  # such a row is never switched off, so it needs no M
    unbounded = (np.isinf(M_lower) | np.isinf(M_upper)) & ~always_on
    if unbounded.any():
        raise UnsupportedProgramError(_advice(program, unbounded, lowest, highest))
    return np.where(always_on, 0.0, M_lower), np.where(always_on, 0.0, M_upper)


def _with_entries(A: sp.csr_array, rows: Index, columns: Index, data: Array) -> sp.csr_array:
    """A plus one number at (rows[k], columns[k]) each; by appending to the rows where that keeps them sorted."""
    if not A.nnz or not (np.diff(rows) > 0).all() or not (A.indices[A.indptr[rows + 1] - 1] < columns).all():
        return sp.csr_array(A + sp.csr_array((data, (rows, columns)), shape=A.shape))
    longer = np.zeros(A.shape[0], dtype=A.indptr.dtype)
    longer[rows] = 1
    indptr = A.indptr + np.concatenate([[0], np.cumsum(longer)]).astype(A.indptr.dtype)
    old = np.ones(A.nnz + len(rows), dtype=np.bool_)
    old[indptr[rows + 1] - 1] = False
    entries, indices = np.empty(len(old)), np.empty(len(old), dtype=A.indices.dtype)
    entries[old], entries[~old] = A.data, data
    indices[old], indices[~old] = A.indices, columns
    appended = sp.csr_array((entries, indices, indptr), shape=A.shape)
    appended.has_canonical_format = True
    return appended


def _activity_when_off(program: Program) -> tuple[Array, Array]:
    """Least and greatest a.x of each indicator row over the column bounds, z at the value that switches it off.

    A side that no row needs is left infinite.
    """
    rows, z, value = program.indicators.row, program.indicators.column, program.indicators.value
    every = len(rows) == program.n_rows and bool((np.diff(rows) == 1).all())
    part = program.A if every else sp.csr_array(program.A[rows])
    used = np.bincount(part.indices, minlength=program.n_columns) > 0
    bounded = bool(np.isfinite(program.lower[used]).all() and np.isfinite(program.upper[used]).all())
    own = part.indices == np.repeat(z, np.diff(part.indptr)) if used[z].any() else None

    def extreme(at_rising: Array, at_falling: Array) -> Array:
        if bounded and own is None:  # two products; with infinite bounds they would meet 0 * inf
            rising, falling = np.maximum(part.data, 0.0), np.minimum(part.data, 0.0)
            return np.asarray(_weighted(part, rising) @ at_rising + _weighted(part, falling) @ at_falling)
        x = np.where(part.data > 0, at_rising[part.indices], at_falling[part.indices])
        if own is not None:
            x[own] = np.repeat(1.0 - value, np.diff(part.indptr))[own]
        return np.asarray(_weighted(part, part.data * x) @ np.ones(part.shape[1]))

    unused = np.full(len(rows), np.inf)
    least = extreme(program.lower, program.upper) if np.isfinite(program.row_lower[rows]).any() else -unused
    most = extreme(program.upper, program.lower) if np.isfinite(program.row_upper[rows]).any() else unused
    return least, most


def _weighted(pattern: sp.csr_array, data: Array) -> sp.csr_array:
    return sp.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


def _advice(program: Program, unbounded: Mask, lowest: Array, highest: Array) -> str:
    names, row_names = program.column_names(), program.row_names()
    rows = program.indicators.row[unbounded]
    k = int(np.flatnonzero(unbounded)[0])
    row = program.indicators.row[k]
    needs_least = np.isfinite(program.row_lower[row]) and np.isinf(lowest[k])
    span = slice(program.A.indptr[row], program.A.indptr[row + 1])
    columns, data = program.A.indices[span], program.A.data[span]
    missing = [
        f"{names[j]} (needs {'a lower' if (a > 0) == needs_least else 'an upper'} bound)"
        for j, a in zip(columns, data, strict=True)
        if np.isinf(program.lower[j] if (a > 0) == needs_least else program.upper[j])
    ]
    shown = ", ".join(missing[:6]) + (f" and {len(missing) - 6} more" if len(missing) > 6 else "")
    return (
        f"program {program.name!r}: {len(rows)} indicator row(s), the first being {row_names[row]}, cannot become big-M rows "
        f"because their activity is unbounded: {shown}. Bound these variables (for a classifier, e.g. "
        f"-1 <= w <= 1 in a scale-free model), or use a solver with native indicators such as solver='scip'."
    )
