"""Rows of a large matrix, block by block: of a dense array, a memory map or a Dask array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array

BLOCK_BYTES = 1 << 22
"""Rows are read and converted to float64 in pieces of about this many bytes (4 MiB)."""


def is_lazy(X: Any) -> bool:
    """X is a Dask array, whose rows have to be computed before they can be used."""
    return hasattr(X, "dask") and hasattr(X, "blocks")


def row_blocks(X: Any) -> Iterator[tuple[slice, Array]]:
    """(rows, their values in float64) from the first row to the last, of a dense array, a memory map or a Dask array.

    A Dask array is computed one chunk of rows at a time; only that chunk is held in memory.
    """
    if is_lazy(X):
        start = 0
        for chunk in range(X.numblocks[0]):
            values = np.asarray(X.blocks[chunk].compute(scheduler="synchronous"), dtype=np.float64)
            yield slice(start, start + len(values)), values
            start += len(values)
        return
    step = max(1, BLOCK_BYTES // (8 * max(1, X.shape[1])))
    for start in range(0, X.shape[0], step):
        rows = slice(start, min(start + step, X.shape[0]))
        yield rows, np.asarray(X[rows], dtype=np.float64)
