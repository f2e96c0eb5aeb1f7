"""The rows of a Program from the matrices of its expressions, as CSR arrays and without a loop over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

RowArrays = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""CSR arrays of a block of rows: entries, their columns, and the number of entries per row."""


def assemble(placed: list[tuple[int, Any]], m: int, n: int) -> RowArrays:
    """m rows over n columns from terms (first column, matrix) in the order of columns."""
    if all(not sp.issparse(M) or _is_uniform(M) for _, M in placed):
        return _side_by_side(placed, m)
    blocks = [_shifted(sp.csr_array(M), start, n) for start, M in placed]
    total = blocks[0]
    for block in blocks[1:]:
        total = total + block
    total = sp.csr_array(total)
    total.sort_indices()
    return total.data, total.indices, np.diff(total.indptr)


def concatenate(parts: list[Any], dtype: Any) -> NDArray[Any]:
    """The parts one after the other; a single part is not copied."""
    if len(parts) == 1:
        return np.asarray(parts[0], dtype)
    return np.concatenate(parts, dtype=dtype) if parts else np.zeros(0, dtype)


def _is_uniform(M: Any) -> bool:
    """Every row of a CSR matrix has the same number of entries."""
    counts = np.diff(M.indptr)
    return bool(len(counts) and (counts == counts[0]).all())


def _side_by_side(placed: list[tuple[int, Any]], m: int) -> RowArrays:
    """The rows of terms whose matrices have equally many entries in every row: fill rectangles, merge nothing."""
    width = sum((M.nnz // m if sp.issparse(M) else M.shape[1]) for _, M in placed) if m else 0
    data, indices = np.empty((m, width)), np.empty((m, width), dtype=np.int32)
    at = 0
    for start, M in placed:
        k = (M.nnz // m if sp.issparse(M) else M.shape[1]) if m else 0
        if sp.issparse(M):
            M.sort_indices()
            data[:, at : at + k] = M.data.reshape(m, k)
            indices[:, at : at + k] = M.indices.reshape(m, k) + start
        else:
            data[:, at : at + k] = M
            indices[:, at : at + k] = np.arange(start, start + k, dtype=np.int32)
        at += k
    return data.ravel(), indices.ravel(), np.full(m, width)


def _shifted(M: Any, start: int, n: int) -> sp.csr_array:
    """M as the columns start, start + 1, ... of a matrix with n columns."""
    return sp.csr_array((M.data, M.indices + start, M.indptr), shape=(M.shape[0], n))


def stack(parts: list[RowArrays], n: int) -> sp.csr_array:
    """One CSR matrix with n columns from the blocks of rows, one below the other."""
    data = concatenate([part[0] for part in parts], np.float64)
    indices = concatenate([part[1] for part in parts], np.int32)
    counts = concatenate([part[2] for part in parts], np.int64)
    indptr = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=indptr[1:])
    matrix = sp.csr_array((data, indices, indptr), shape=(len(counts), n))
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix
