"""Random splits that depend on the points and a seed, not on their order: equal points always stay together.

So a point of weight two is split exactly like the same point given twice, no copy of a training point is ever held out,
and dense, sparse and shuffled data give the same splits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import Array, Positions
from ..modelling.row_blocks import row_blocks


def row_hashes(X: Any) -> NDArray[np.uint64]:
    """Fingerprints of the rows of a dense matrix (also a memory map or Dask array) or a CSR matrix."""
    from ..numeric.row_hash import hash_dense, hash_sparse

    out = np.zeros(X.shape[0], dtype=np.uint64)
    zero = np.array(-0.0).view(np.uint64)[()]
    if sp.issparse(X):
        X = X.copy()
        X.sum_duplicates()
        hash_sparse(X.data.astype(np.float64, copy=False).view(np.uint64), X.indices, X.indptr, zero, out)
    else:
        for rows, block in row_blocks(X):
            hash_dense(np.ascontiguousarray(block).view(np.uint64), zero, out[rows])
    return out


def merge(X: Any, y_pm1: Array, weights: Array) -> tuple[Any, Array, Array]:
    """Equal points of equal label as one of summed weight, weight zero removed, in an order that the points decide.

    Whatever copies, weights or order the data came in, the result is the same to the last bit.
    """
    kept = np.flatnonzero(weights > 0)
    keys = row_hashes(X)[kept] ^ (y_pm1[kept] > 0).astype(np.uint64)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rows = kept[first]
    return X[rows], y_pm1[rows], np.bincount(inverse, weights=weights[kept]).astype(np.float64)


def distinct(hashes: NDArray[np.uint64], y_pm1: Array, weights: Array) -> tuple[Positions, Positions, Array]:
    """Equal points of equal label as one of summed weight, in the order of the data; weight zero is removed.

    Returns the first row of each point, the point of each row (-1 of one of weight zero), and the weights of the points.
    """
    kept = np.flatnonzero(weights > 0)
    keys = hashes[kept] ^ (y_pm1[kept] > 0).astype(np.uint64)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    point_of = np.full(len(weights), -1)
    point_of[kept] = place[inverse]
    return kept[first[order]], point_of, np.bincount(point_of[kept], weights=weights[kept]).astype(np.float64)


def split(hashes: NDArray[np.uint64], groups: NDArray[Any], share: float, seed: int) -> tuple[Positions, Positions]:
    """(first, rest): about `share` of the distinct points of each group, and the others; both sides get at least one
    distinct point of each group that has two."""
    from ..numeric.row_hash import shuffle_keys

    keys = np.empty_like(hashes)
    shuffle_keys(hashes, seed, keys)
    first = np.zeros(len(hashes), dtype=bool)
    for group in np.unique(groups):
        here = groups == group
        distinct = np.unique(keys[here])
        count = round(share * len(distinct))
        count = min(max(count, 1), len(distinct) - 1) if len(distinct) > 1 else 1
        first |= here & (keys <= distinct[count - 1])
    return np.flatnonzero(first), np.flatnonzero(~first)
