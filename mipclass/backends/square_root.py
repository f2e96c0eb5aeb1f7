"""F with F'F = Q, so that 1/2 x'Qx = sum_k 1/2 (Fx)_k^2: solvers see a sum of squares and need not find it convex."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..arrays import Array
from ..modelling.program import Program

CONVEX = 1e-9
"""Most negative eigenvalue of a block, relative to its largest in size, that counts as rounding of a convex Q."""
NEGLIGIBLE = 1e-12
"""Eigenvalues below this fraction of the largest are left out of the sum of squares."""


def half_square(program: Program, x: Array) -> float:
    """1/2 x'Qx, the quadratic part of the objective at x."""
    return 0.0 if program.Q is None else 0.5 * float(x @ (program.Q @ x))


def square_root(program: Program) -> sp.csr_array | None:
    """One row per square, from the eigenvectors of each connected block of Q; None when Q is not convex."""
    Q = sp.csc_array(program.Q)
    used = np.flatnonzero(np.diff(Q.indptr))
    part = sp.csr_array(Q[used][:, used])
    count, label = connected_components(part, directed=False)
    by_label = np.argsort(label, kind="stable")
    edges = np.searchsorted(label[by_label], np.arange(count + 1))
    rows, columns, data, at = [], [], [], 0
    for k in range(count):
        members = by_label[edges[k] : edges[k + 1]]
        values, vectors = np.linalg.eigh(part[members][:, members].toarray())
        scale = np.abs(values).max()
        if values.min() < -CONVEX * scale:
            return None
        keep = values > NEGLIGIBLE * scale
        factor = np.sqrt(values[keep])[:, None] * vectors[:, keep].T
        rows.append(at + np.repeat(np.arange(len(factor)), len(members)))
        columns.append(np.tile(used[members], len(factor)))
        data.append(factor.ravel())
        at += len(factor)
    index = (np.concatenate(rows), np.concatenate(columns))
    return sp.csr_array((np.concatenate(data), index), shape=(at, program.n_columns))
