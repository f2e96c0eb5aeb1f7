"""Names for the NumPy arrays that the package's signatures speak of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Real numbers: data, weights, scores, multipliers."""

Mask = NDArray[np.bool_]
"""One yes or no per entry."""

Index = NDArray[np.int64]
"""Positions of rows or columns, as compiled kernels take them."""

Positions = NDArray[np.intp]
"""Positions of rows or columns, as NumPy returns them."""
