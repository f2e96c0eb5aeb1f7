"""Checks of single arguments that several rooms share: numbers, whole numbers, vectors, values in messages.

True and False are numbers to Python, but an argument that expects a number refuses them: they are nearly always mistakes.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InvalidInputError


def is_number(value: Any) -> TypeGuard[float]:
    """The value is a real number (NaN and infinities included), and not a bool."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def is_whole_number(value: Any) -> TypeGuard[int]:
    """The value is an integer of Python or NumPy, and not a bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """A NumPy scalar as Python's own value, which messages print as the user wrote it: 0 and not np.int64(0)."""
    return value.item() if isinstance(value, np.generic) else value


def positive_integer(name: str, value: Any) -> int:
    """The value as an int >= 1; InvalidInputError otherwise."""
    if not is_whole_number(value) or value < 1:
        raise InvalidInputError(f"{name} must be an integer >= 1; got {value!r}.")
    return int(value)


def finite_vector(name: str, value: ArrayLike) -> NDArray[Any]:
    """The value as a contiguous vector of finite float64 or float32 numbers, without a copy where it is one already."""
    array = np.asarray(value)
    if array.dtype != np.float32:
        try:
            array = array.astype(np.float64, copy=False)
        except (TypeError, ValueError) as err:
            raise InvalidInputError(f"{name} must hold real numbers; got dtype {array.dtype}.") from err
    if array.ndim != 1 or array.size == 0:
        raise InvalidInputError(
            f"{name} must be a one-dimensional array with at least one entry; got shape {array.shape}."
        )
    # A finite sum proves in one pass that all entries are finite. A sum of finite entries may overflow, so that an
    # infinite sum proves nothing and the entries are tested one by one.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(array.sum(dtype=np.float64))
    if suspicious and not np.isfinite(array).all():
        at = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InvalidInputError(
            f"{name} must be finite; entry {at} is {array[at]}. Remove or impute such entries first."
        )
    return np.ascontiguousarray(array)
