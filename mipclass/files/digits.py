"""Numbers as text: the shortest digits that read back as the same float64, thousands at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array

INFINITE = 1e30  # how files say "no bound" where a number must stand; every reader takes it for infinite or harmless
_SAFE_INTEGER = 1e15


def texts(values: Array) -> list[str]:
    """`1` for 1.0, `0.1` for 0.1, `1e-05` for 1e-5, `1e+30` for infinity."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) > 1000:
        sample = values[:: len(values) // 500]
        if len(np.unique(sample)) <= len(sample) // 2:  # few different numbers: write each of them once
            distinct, place = np.unique(values, return_inverse=True)
            written: list[str] = np.array(_each(distinct), dtype=object)[place].tolist()
            return written
    return _each(values)


def signed(values: Array) -> list[str]:
    """Like `texts`, with the sign always there: `+1`, `-0.5`."""
    return [text if text[0] == "-" else f"+{text}" for text in texts(values)]


def _each(values: Array) -> list[str]:
    with np.errstate(invalid="ignore"):
        whole: NDArray[np.bool_] = (np.abs(values) < _SAFE_INTEGER) & (values == np.rint(values))
    if whole.all():
        return list(map(str, values.astype(np.int64).tolist()))
    finite = np.clip(values, -INFINITE, INFINITE)
    if not whole.any():
        return list(map(repr, finite.tolist()))
    mixed = np.empty(len(values), dtype=object)
    mixed[whole] = list(map(str, values[whole].astype(np.int64).tolist()))
    mixed[~whole] = list(map(repr, finite[~whole].tolist()))
    return mixed.tolist()
