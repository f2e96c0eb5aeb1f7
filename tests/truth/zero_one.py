"""The least 0-1 loss of tiny data by trying every set of wrong points, lightest first, each with a separability LP."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

KINDS = ("gaussian", "lattice", "binary", "collinear", "duplicates", "twins")


def is_separable(Z: np.ndarray) -> bool:
    """Whether some w has z_i.w > 0 for all rows."""
    if not len(Z):
        return True
    m = Z.shape[1]
    answer = linprog(
        np.append(np.zeros(m), -1.0),
        A_ub=np.column_stack([-Z, np.ones(len(Z))]),
        b_ub=np.zeros(len(Z)),
        bounds=[(-1, 1)] * m + [(None, 1)],
        method="highs",
    )
    assert answer.status == 0
    return bool(answer.x[-1] > 1e-9)


def least_loss(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    Z = y[:, None] * np.column_stack([X, np.ones(len(X))])
    rows = range(len(Z))
    sets = [wrong for size in range(len(Z) + 1) for wrong in combinations(rows, size)]
    cost = np.array([weights[list(wrong)].sum() for wrong in sets])
    for k in np.argsort(cost, kind="stable"):
        keep = np.setdiff1d(np.arange(len(Z)), np.array(sets[k], dtype=int))
        if is_separable(Z[keep]):
            return float(cost[k])
    raise AssertionError("removing every point separates")


def tiny_instance(
    seed: int, kind: str, dimensions: tuple[int, int] = (1, 4), points: tuple[int, int] = (4, 9)
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y, weights of 4-9 points in 1-4 dimensions (or other ranges, ends included) of one of the KINDS, both classes present."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(dimensions[0], dimensions[1] + 1))
    n = int(rng.integers(points[0], points[1] + 1))
    if kind == "gaussian":
        X = rng.standard_normal((n, d))
    elif kind == "binary":
        X = rng.integers(0, 2, (n, d)).astype(float)
    else:
        X = rng.integers(-2, 3, (n, d)).astype(float)
    if kind == "collinear":
        X = rng.integers(-3, 4, (n, 1)) * rng.integers(-1, 2, (1, d)).astype(float) + 1.0
    y = rng.choice([-1.0, 1.0], n)
    y[0], y[1] = 1.0, -1.0
    if kind in ("duplicates", "twins"):
        X[n // 2 :] = X[: n - n // 2]
        if kind == "twins":
            y[n // 2 :] = -y[: n - n // 2]
    weights = rng.integers(1, 4, n).astype(float) if rng.random() < 0.5 else np.ones(n)
    return X, y, weights
