"""The normal matrix of a packing LP's interior-point step."""

from __future__ import annotations

import numpy as np

from .....kernels.decorator import njit


@njit(cache=True)
def normal_matrix(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """Lower triangle of  sum_k weights_k a_k a_k'  into `out`, where a_k is the 0-1 vector with ones at indices[indptr[k]:indptr[k+1]]."""
    out[:, :] = 0.0
    for k in range(len(indptr) - 1):
        w = weights[k]
        for a in range(indptr[k], indptr[k + 1]):
            i = indices[a]
            for b in range(indptr[k], indptr[k + 1]):
                if indices[b] <= i:
                    out[i, indices[b]] += w
