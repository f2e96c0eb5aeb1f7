"""Whether a symmetric Q is positive semidefinite, so that 1/2 x'Qx is convex, decided by a factorisation.

Q is scaled to a unit diagonal first, since the units of the columns say nothing about convexity. Then, from cheap to dear:
a diagonal Q by its signs, a diagonally dominant one by its row sums (Gershgorin), a dense one by a Cholesky factorisation with
diagonal pivots that ends at the numerical rank (order k r^2 for k columns and rank r), a sparse one by a sparse symmetric
factorisation whose pivots are all positive exactly when the matrix is positive definite.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpstrf
from scipy.sparse.linalg import splu

from ..arrays import Array

CURVATURE = 1e-9
"""Most negative eigenvalue of the scaled Q (unit diagonal) that still counts as the rounding of a semidefinite one: decimal files
and products F'F in floats stay above it, and every curvature that a user means lies far below."""
ROUNDED_DIAGONAL = 1e-15
"""Negative diagonal entries down to this fraction of the largest entry count as zeros that rounding blurred: a few units in the
last place, as they remain of a difference of equal numbers."""
DENSE = 0.1
"""Fraction of nonzeros from which the dense factorisation is the faster one."""


def is_semidefinite(Q: sp.csc_array) -> bool:
    """Whether no eigenvalue of the scaled symmetric Q is below -CURVATURE."""
    diagonal = Q.diagonal()
    blur = ROUNDED_DIAGONAL * float(np.abs(Q.data).max(initial=0.0))
    if (diagonal < -blur).any():
        return False
    used = np.flatnonzero(np.diff(Q.indptr))
    part = Q if len(used) == Q.shape[0] else sp.csc_array(Q[used][:, used])
    diagonal = diagonal[used]
    if part.nnz == np.count_nonzero(diagonal):
        return True
    unit = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, blur))
    if part.nnz >= DENSE * len(used) ** 2:
        dense = part.toarray()
        dense *= unit
        dense *= unit[:, None]
        np.fill_diagonal(dense, diagonal > 0.0)
        return _dense(dense)
    scaled = sp.csc_array(sp.diags_array(unit) @ part @ sp.diags_array(unit))
    if (diagonal <= 0.0).any():
        scaled.setdiag((diagonal > 0.0).astype(np.float64))
    return _dominant(np.abs(scaled).sum(axis=0), scaled.diagonal()) or _sparse(scaled)


def _dominant(sums: Array, diagonal: Array) -> bool:
    """Whether each diagonal entry outweighs the rest of its row; `sums` are the sums of the absolute values of the rows."""
    return bool((sums <= 2.0 * diagonal).all())


def _dense(scaled: Array) -> bool:
    """By Cholesky with diagonal pivots; what is left after the numerical rank must be nothing but rounding."""
    if _dominant(np.abs(scaled).sum(axis=0), scaled.diagonal()):
        return True
    factor, order, rank, _ = dpstrf(scaled, tol=CURVATURE, lower=1)
    if rank == len(scaled):
        return True
    rest = order[rank:] - 1
    below = factor[rank:, :rank]
    left = scaled[np.ix_(rest, rest)] - below @ below.T
    return bool(np.abs(left).max() <= 2.0 * CURVATURE)


def _sparse(scaled: sp.csc_array) -> bool:
    """By the signs of the pivots of scaled + CURVATURE I, eliminated along the diagonal (Sylvester's law of inertia)."""
    shifted = sp.csc_matrix(scaled + CURVATURE * sp.eye_array(scaled.shape[0], format="csc"))
    try:
        factors = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # SuperLU's word for an exactly singular matrix, which a definite one is not
        return False
    along_the_diagonal = np.array_equal(factors.perm_r, factors.perm_c)
    return bool(along_the_diagonal and (factors.U.diagonal() > 0.0).all())
