"""Float64 data as exact integers: what a proof is written in.

Every float64 is an integer times a power of two, so a matrix of them is an integer matrix times one. Row and column scalings by
positive numbers change neither signs of z.W nor dependencies between rows, which is all that 0-1 proofs speak of.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import gcd

import numpy as np
from numpy.typing import NDArray

Integers = list[list[int]]
ROUNDING = 1e-12
"""Fraction of sum_j |a_j W_j| by which rounding may have changed a product of up to some thousand terms, with room to spare."""

ROWS_A_LOOK = 1000
"""Rows of exact arithmetic between two looks at the clock: some hundredths of a second."""

ROWS_AT_ONCE = 1 << 16
"""Rows of one step of vectorised arithmetic: some milliseconds."""

SMALLEST_SUM = 1e-270
"""Sums of magnitudes below this may have lost terms to underflow."""

TERMS = 4
"""Roundings of a dot product beyond one per term that the error bound allows for."""


def integer_matrix(A: NDArray[np.float64]) -> Integers:
    """Integers with the same row space directions: each column is multiplied by its own power of two (or divided by a gcd)."""
    columns: Integers = []
    for column in np.asarray(A, dtype=np.float64).T:
        ratios = [float(value).as_integer_ratio() for value in column]
        scale = max((den for _, den in ratios), default=1)
        whole = [num * (scale // den) for num, den in ratios]
        common = gcd(*whole) or 1
        columns.append([value // common for value in whole])
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in range(len(A))]


class StoppedError(Exception):
    """Exact arithmetic over many rows was left because the run has to stop."""


def exact_product(A: NDArray[np.float64], M: NDArray[np.float64], stop: Callable[[], object] | None = None) -> Integers:
    """A M up to one positive factor, exactly; StoppedError once `stop()`."""
    left, right = common_scale(A, stop)[0], common_scale(M)[0]
    across = list(zip(*right, strict=True))
    product = []
    for i, row in enumerate(left):
        look(i, stop)
        product.append([sum(a * m for a, m in zip(row, column, strict=True)) for column in across])
    return product


def look(row: int, stop: Callable[[], object] | None) -> None:
    """Raise StoppedError at every ROWS_A_LOOK-th row once `stop()`."""
    if row % ROWS_A_LOOK == 0 and stop is not None and stop():
        raise StoppedError


def common_scale(A: NDArray[np.float64], stop: Callable[[], object] | None = None) -> tuple[Integers, int]:
    """A times one power of two that makes every entry whole, and that power; StoppedError once `stop()`."""
    ratios = []
    for i, row in enumerate(A):
        look(i, stop)
        ratios.append([float(value).as_integer_ratio() for value in row])
    scale = max((den for row in ratios for _, den in row), default=1)
    return [[num * (scale // den) for num, den in row] for row in ratios], scale


def round_rows(
    rows: Integers, bits: int, stop: Callable[[], object] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each row scaled so that its largest entry is 2^bits and rounded; with it 0.5, or 0.0 where nothing was lost. StoppedError
    once `stop()`."""
    out = np.zeros((len(rows), len(rows[0]) if rows else 0))
    err = np.zeros(len(rows))
    for i, row in enumerate(rows):
        look(i, stop)
        top = max(abs(value) for value in row)
        for k, value in enumerate(row):
            whole, rest = divmod((value << (bits + 1)) + top, 2 * top)
            out[i, k] = whole
            if rest != top:
                err[i] = 0.5
    return out, err


def rounded_product(
    A: NDArray[np.float64], M: NDArray[np.float64], bits: int, stop: Callable[[], object] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`round_rows` of the exact product A M: in float64 where its error leaves no doubt, in integers for the other rows. StoppedError
    once `stop()`."""
    out, err, sure = np.zeros((len(A), M.shape[1])), np.full(len(A), 0.5), np.zeros(len(A), dtype=bool)
    for start in range(0, len(A), ROWS_AT_ONCE):
        look(0, stop)
        part = slice(start, start + ROWS_AT_ONCE)
        out[part], sure[part] = _surely_rounded(A[part], M, bits)
    doubtful = np.flatnonzero(~sure)
    if len(doubtful):
        out[doubtful], err[doubtful] = round_rows(exact_product(A[doubtful], M, stop), bits, stop)
    return out, err


def _surely_rounded(
    A: NDArray[np.float64], M: NDArray[np.float64], bits: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Rounded rows of A M scaled to a largest entry of 2^bits, and which of them are right for certain and lost something."""
    with np.errstate(all="ignore"):
        P, sizes = A @ M, np.abs(A) @ np.abs(M)
        doubt = (A.shape[1] + TERMS) * np.finfo(float).eps * sizes
        lead = np.abs(P).argmax(axis=1)[:, None]
        top, top_doubt = np.take_along_axis(np.abs(P), lead, 1), np.take_along_axis(doubt, lead, 1)
        scaled = P / top * 2.0**bits
        # Twice what the errors of an entry and of the largest one, and the division, can amount to.
        room = 2.0 ** (bits + 1) * ((doubt + top_doubt) / (top - top_doubt) + TERMS * np.finfo(float).eps)
        is_lead = np.arange(M.shape[1]) == lead
        leads = is_lead | (np.abs(P) + doubt < top - top_doubt)
        rounds = is_lead | (np.abs(scaled - np.floor(scaled) - 0.5) > room)
        loses = ~is_lead & (np.abs(scaled - np.rint(scaled)) > room)
    known = np.isfinite(doubt) & (sizes > SMALLEST_SUM)
    sure = (known & leads & rounds).all(axis=1) & loses.any(axis=1)
    return np.where(is_lead, np.copysign(2.0**bits, P), np.floor(scaled + 0.5)), sure


def rank(rows: Integers, most: int | None = None) -> int:
    """Exact rank by fraction-free elimination, row by row; `most` + 1 as soon as it is more than that."""
    basis: list[tuple[int, list[int]]] = []
    for row in rows:
        for k, kept in basis:
            if row[k]:
                row = [kept[k] * v - row[k] * p for v, p in zip(row, kept, strict=True)]
                common = gcd(*row)
                if common > 1:
                    row = [v // common for v in row]
        lead = next((k for k, value in enumerate(row) if value), -1)
        if lead >= 0:
            basis.append((lead, row))
            if len(basis) == len(row) or (most is not None and len(basis) > most):
                break
    return len(basis)


def exactly_at_least(A: NDArray[np.float64], W: NDArray[np.float64], level: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether a.W >= level for each row a, decided in rationals wherever float64 could be wrong."""
    products = A @ W
    doubt = (len(W) + TERMS) * np.finfo(float).eps * (np.abs(A) @ np.abs(W) + np.abs(level)) + np.finfo(float).tiny
    holds = np.asarray(products >= level)
    for i in np.flatnonzero(np.abs(products - level) <= doubt):
        total = sum((Fraction(float(a)) * Fraction(float(w)) for a, w in zip(A[i], W, strict=True)), Fraction(0))
        holds[i] = total >= Fraction(float(level[i]))
    return holds


def rounded_up(value: Fraction) -> float:
    """The least float64 that is not below a number."""
    near = float(value)
    return near if Fraction(near) >= value else float(np.nextafter(near, np.inf))


def surely_positive(A: NDArray[np.float64], W: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether a.W > 0 for each row a, by more than rounding can account for."""
    doubt = ROUNDING * (np.abs(A) @ np.abs(W))
    return np.asarray(doubt < A @ W)
