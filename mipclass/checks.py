"""Checks of single values that users give. Python counts True and False among the integers; here they are not numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_whole_number(value: Any) -> bool:
    """Whether the value is an integer of Python or NumPy."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether the value is a real number of Python or NumPy; NaN and the infinities are."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
