"""64-bit hashes of the rows of a matrix: equal rows have equal hashes, in dense and in CSR storage alike.

An order that depends on the hashes alone does not depend on the order of the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.decorator import njit

Hashes = NDArray[np.uint64]

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, the increment of splitmix64; it keeps column 0 from hashing to zero."""

SEED_OFFSET = np.uint64(0x632BE59BD9B4E019)
"""An odd constant with irregular bits, so that seed 0 permutes too."""


@njit(cache=True)
def mix(x: np.uint64) -> np.uint64:
    """The finaliser of splitmix64: every output bit depends on every input bit."""
    h = np.uint64(x)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@njit(cache=True)
def hash_dense(bits: NDArray[np.uint64], zero: np.uint64, out: Hashes) -> None:
    """out_i += the hash of row i of a float64 array viewed as bits; zeros add nothing, so that CSR storage agrees.

    `zero` has the bits of -0.0.
    """
    for i in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            value = bits[i, j]
            if value != 0 and value != zero:
                out[i] += mix(value ^ mix(np.uint64(j) + GOLDEN_GAMMA))


@njit(cache=True)
def hash_sparse(
    bits: NDArray[np.uint64], columns: NDArray[np.int32], starts: NDArray[np.int32], zero: np.uint64, out: Hashes
) -> None:
    """The same as `hash_dense`, for CSR rows in canonical form."""
    for i in range(starts.size - 1):
        for p in range(starts[i], starts[i + 1]):
            value = bits[p]
            if value != 0 and value != zero:
                out[i] += mix(value ^ mix(np.uint64(columns[p]) + GOLDEN_GAMMA))


@njit(cache=True)
def shuffle_keys(hashes: Hashes, seed: int, out: Hashes) -> None:
    """out <- keys by which distinct rows are ordered at random; each seed gives another order."""
    offset = mix(np.uint64(seed) + SEED_OFFSET)
    for i in range(hashes.size):
        out[i] = mix(hashes[i] ^ offset)
