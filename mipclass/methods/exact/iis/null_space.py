"""Null vectors of a few integer rows: u with sum_s u_s rows_s = 0, coprime whole numbers, first nonzero one positive.

Two ways with the same answer. Elimination in whole numbers (`null_vector`) suits a few rows. From MANY_ROWS on the vector is found modulo several
primes whose product exceeds twice its largest possible entry, put together by the Chinese remainder theorem, and confirmed in whole numbers;
the rank modulo one prime is at most the rank itself, so that one null vector there means that there are not several.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

from ....arrays import Index
from ..rational import Integers

MANY_ROWS = 8
"""Rows from which on residues are faster: 3 times with 15 rows of small numbers, 11 times with 31 rows of many digits."""

PRIME_BITS = 30
"""Binary digits that each prime, the next ones below 2^31, adds to their product, at least."""

SPARE_BITS = 2
"""Binary digits beyond those of the largest possible entry: its sign, and the rounding of logarithms."""


def null_vector(rows: Integers) -> list[int] | None:
    """By fraction-free Gauss-Jordan elimination, in which all divisions are exact; None unless unique up to a factor."""
    count = len(rows)
    table = [list(column) for column in zip(*rows, strict=True)]
    previous, pivots, used = 1, [], 0
    free = -1
    for k in range(count):
        at = next((r for r in range(used, len(table)) if table[r][k]), -1)
        if at < 0:
            if free >= 0:
                return None
            free = k
            continue
        table[used], table[at] = table[at], table[used]
        pivot_row = table[used]
        pivot = pivot_row[k]
        for r, row in enumerate(table):
            if r != used:
                factor = row[k]
                table[r] = [(pivot * v - factor * p) // previous for v, p in zip(row, pivot_row, strict=True)]
        previous = pivot
        pivots.append(k)
        used += 1
    if free < 0:
        return None
    u = [0] * count
    u[free] = previous
    for r, k in enumerate(pivots):
        u[k] = -table[r][free]
    return _normal(u)


def _normal(u: list[int]) -> list[int]:
    """The vector divided by its greatest common divisor, first nonzero entry positive."""
    common = gcd(*u)
    sign = 1 if next(v for v in u if v) > 0 else -1
    return [sign * v // common for v in u]


class NullVectors:
    """Null vectors of some of the rows of one integer matrix."""

    def __init__(self, rows: Integers) -> None:
        self._rows = rows
        norms = [sum(value * value for value in row) for row in rows]
        self._bits = np.array([norm.bit_length() / 2 for norm in norms])  # at least the logarithm of each row's length
        self._primes = _Primes()
        self._residues: list[Index] = []  # of all rows, for each prime

    def __call__(self, members: Sequence[int]) -> list[int] | None:
        """Of these rows; None unless unique up to a factor."""
        rows = [self._rows[i] for i in members]
        found = self._by_residues(members) if len(rows) >= MANY_ROWS else None
        if found is not None and not any(
            sum(v * value for v, value in zip(found, column, strict=True)) for column in zip(*rows, strict=True)
        ):
            return found
        return null_vector(rows)

    def _by_residues(self, members: Sequence[int]) -> list[int] | None:
        """A vector that is very likely the one; None where a prime says that there is none, or several, or divides a pivot."""
        from .kernels.null_space import null_residues

        # By Hadamard's inequality no minor is larger than the product of the rows' lengths.
        bits = float(self._bits[list(members)].sum()) + SPARE_BITS
        count = 1 + int(bits // PRIME_BITS)
        self._extend(count)
        u = np.zeros((count, len(members)), np.int64)
        here = np.stack([residues[list(members)] for residues in self._residues[:count]])
        if not null_residues(here, np.array(self._primes.first(count)), u):
            return None
        return _normal(self._primes.together(u))

    def _extend(self, count: int) -> None:
        """Residues for so many primes, at least."""
        for prime in self._primes.first(count)[len(self._residues) :]:
            self._residues.append(np.array([[value % prime for value in row] for row in self._rows], dtype=np.int64))


class _Primes:
    """The primes below 2^31, largest first, and the Chinese remainder theorem for them."""

    def __init__(self) -> None:
        small = np.ones(1 << 16, dtype=bool)
        small[:2] = False
        for k in range(2, 1 << 8):
            small[k * k :: k] = False
        self._small = np.flatnonzero(small)
        self._found: list[int] = []
        self._parts: dict[
            int, tuple[int, list[int]]
        ] = {}  # count -> product, and for each prime the number that is 1 there, 0 elsewhere

    def first(self, count: int) -> list[int]:
        """So many of them."""
        number = self._found[-1] if self._found else 1 << 31
        while len(self._found) < count:
            number -= 1
            if (number % self._small).all():
                self._found.append(number)
        return self._found[:count]

    def together(self, residues: Index) -> list[int]:
        """The whole numbers nearest to zero with these residues, one row for each prime."""
        product, ones = self._ones(len(residues))
        values = [
            sum(one * residue for one, residue in zip(ones, column, strict=True)) % product
            for column in residues.T.tolist()
        ]
        return [value - product if 2 * value > product else value for value in values]

    def _ones(self, count: int) -> tuple[int, list[int]]:
        if count not in self._parts:
            primes, product = self.first(count), 1
            for prime in primes:
                product *= prime
            ones = [product // prime * pow(product // prime, -1, prime) for prime in primes]
            self._parts[count] = product, ones
        return self._parts[count]
