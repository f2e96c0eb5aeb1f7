"""Canonical arrays of a Program: read-only, sorted, without duplicates or explicit zeros; the Hessian symmetric.

Solvers rely on the order of the entries, and two programs are compared entry by entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view of the array."""
    view = array.view()
    view.setflags(write=False)
    return view


def canonical_rows(A: Any) -> sp.csr_array:
    """A as a read-only CSR matrix whose entries are sorted, unique and not zero."""
    known = isinstance(A, sp.csr_array) and A.dtype == np.float64 and A.has_canonical_format
    A = sp.csr_array(A, dtype=np.float64)
    if known:
        A.has_canonical_format = True  # The new container does not inherit the flag and would test all entries again.
    else:
        A.sum_duplicates()
    return _frozen_sparse(_without_zeros(A))


def canonical_hessian(Q: Any) -> sp.csc_array | None:
    """(Q + Q')/2 as a read-only CSC matrix whose entries are sorted, unique and not zero; None when Q is zero.

    x'Qx depends on the symmetric part only, and some solvers read only one triangle.
    """
    Q = sp.csc_array(Q, dtype=np.float64, copy=not Q.has_canonical_format if sp.issparse(Q) else False)
    Q.sum_duplicates()
    Q = _without_zeros(Q)
    if Q.nnz and Q.shape[0] == Q.shape[1]:
        transposed = sp.csc_array(Q.T)
        transposed.sum_duplicates()
        if not same_entries(Q, transposed):
            Q = sp.csc_array((Q + transposed) / 2)
            Q.sum_duplicates()
    return _frozen_sparse(Q) if Q.nnz else None


def same_entries(a: Any, b: Any) -> bool:
    """Two canonical matrices of one format are equal."""
    return a.shape == b.shape and all(
        np.array_equal(getattr(a, part), getattr(b, part)) for part in ("indptr", "indices", "data")
    )


def _without_zeros(matrix: Any) -> Any:
    if matrix.nnz and not matrix.data.all():
        matrix = matrix.copy()  # The arrays may be shared with the caller.
        matrix.eliminate_zeros()
    return matrix


def _frozen_sparse(matrix: Any) -> Any:
    for part in ("data", "indices", "indptr"):
        setattr(matrix, part, frozen(getattr(matrix, part)))
    return matrix
