"""The null vector of a few integer rows modulo several primes."""

from __future__ import annotations

import numpy as np

from .....arrays import Index
from .....kernels.decorator import njit


@njit(cache=True, nogil=True)
def _inverse(value: int, prime: int) -> int:
    """1 / value modulo the prime, by Euclid's algorithm."""
    a, b, x, y = value, prime, 1, 0
    while a > 1:
        quotient = b // a
        a, b, x, y = b - quotient * a, a, y - quotient * x, x
    return x % prime


@njit(cache=True, nogil=True)
def null_residues(rows: Index, primes: Index, u: Index) -> bool:
    """u[k] with sum_s u[k, s] rows[k, s] = 0 modulo primes[k]; False unless all primes, below 2^31, lead the same way to one vector each.

    u[k, s] is the residue of a minor: with the pivots of one Gauss-Jordan elimination for all primes, it is det(B) x, where the pivot
    columns B satisfy B x = -(free column), and det(B) in the free place.
    """
    n_primes, count, m = rows.shape
    at = np.full(count, -1, np.int64)  # column -> the place of its pivot when it was chosen
    for k in range(n_primes):
        prime = primes[k]
        table = np.ascontiguousarray(rows[k].T)
        used, free, det = 0, -1, 1
        for s in range(count):
            if k == 0:
                for e in range(used, m):
                    if table[e, s]:
                        at[s] = e
                        break
            if at[s] < 0:
                if free >= 0:
                    return False
                for e in range(used, m):
                    if table[e, s]:
                        return False
                free = s
                continue
            if table[at[s], s] == 0:
                return False
            for j in range(s, count):
                table[used, j], table[at[s], j] = table[at[s], j], table[used, j]
            det = det * table[used, s] % prime
            inverse = _inverse(table[used, s], prime)
            for j in range(s, count):
                table[used, j] = table[used, j] * inverse % prime
            for e in range(m):
                factor = table[e, s]
                if e != used and factor:
                    for j in range(s, count):
                        table[e, j] = (table[e, j] - factor * table[used, j]) % prime
            used += 1
        if free < 0:
            return False
        place = 0
        for s in range(count):
            if s == free:
                u[k, s] = det
            else:
                u[k, s] = (prime - table[place, free]) * det % prime
                place += 1
    return True
