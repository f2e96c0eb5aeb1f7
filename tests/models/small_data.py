"""Small data that the tests of models share."""

from __future__ import annotations

import numpy as np

MIP_SOLVERS = ["highs", "scip"]
X_OK, Y_OK = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0, 1, 1]


def tiny(seed: int, n: int = 7, d: int = 2, lattice: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """n random points with d features, normal or from the lattice {0, 1, 2}^d, and labels 0 and 1."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, d)).astype(float) if lattice else rng.normal(size=(n, d))
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    return X, y


def pm1(y: np.ndarray) -> np.ndarray:
    """The labels as -1 and +1."""
    return np.where(y == np.unique(y)[1], 1.0, -1.0)
