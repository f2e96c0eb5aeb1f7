"""The least 0-1 loss of tiny data by brute force: try every set of wrong points, cheapest first, each with one LP.

With the signed points z_i = y_i (x_i, 1), or y_i x_i without an offset, a set of wrong points is possible when some W = (w, b) has

    z_i.W > 0  for all other points   (z_i.W >= margin when a margin is given),   a.W >= c  for all side rows (a, c).

Shares nothing with the package but the data class `Statement` that certificates are about: HiGHS decides, called by itself, since
scipy's linprog takes several times as long for LPs of a few rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from itertools import product
from typing import Any

import highspy
import numpy as np

from mipclass.certificates.certificate import Statement

KINDS = ("gaussian", "lattice", "binary", "collinear", "duplicates", "twins")
"""The kinds of points that `tiny_instance` makes."""
STRICTLY = 1e-9
"""Points count as strictly right when their least z_i.W exceeds this for some |W_j| <= 1: well above the rounding of a
basic solution, well below the margins of points of a few digits in a handful of dimensions."""

Sides = Sequence[tuple[Any, float]]


def signed_points(X: Any, y: Any, *, intercept: bool = True) -> np.ndarray:
    """The rows z_i = y_i (x_i, 1), or y_i x_i without an offset."""
    X, y = np.asarray(X, float), np.asarray(y, float)
    return y[:, None] * (np.column_stack([X, np.ones(len(X))]) if intercept else X)


def has_rule(Z: np.ndarray, sides: Sides = (), *, margin: float | None = None, zero: Collection[int] = ()) -> bool:
    """Whether some W has z.W > 0 for all rows z of Z (>= margin if given), a.W >= c for all sides, and W_j = 0 for j in zero.

    Without a margin every condition must be free of scale: the c of the sides are zero then.
    """
    m = Z.shape[1]
    rows = np.array([*Z, *(np.asarray(a, float) for a, _ in sides)]).reshape(-1, m)
    fixed = np.isin(np.arange(m), list(zero))
    if margin is not None:
        at_least = np.array([margin] * len(Z) + [c for _, c in sides])
        free = np.where(fixed, 0.0, np.inf)
        return _solution(np.zeros(m), rows, at_least, -free, free) is not None
    # Maximise t subject to z.W >= t for all points: positive if and only if they can be strictly right.
    assert not any(c for _, c in sides)
    slack = np.repeat([1.0, 0.0], [len(Z), len(sides)])
    most = np.append(np.where(fixed, 0.0, 1.0), 1.0)
    least = np.append(-most[:-1], -np.inf)
    found = _solution(np.append(np.zeros(m), -1.0), np.column_stack([rows, -slack]), np.zeros(len(rows)), least, most)
    assert found is not None
    return bool(found[-1] > STRICTLY)


@cache
def _solver() -> highspy.Highs:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    return solver


def _solution(cost: np.ndarray, A: np.ndarray, at_least: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Any:
    """A point of least cost with A x >= at_least and lower <= x <= upper; None when there is no point."""
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = A.shape
    program.col_cost_, program.col_lower_, program.col_upper_ = cost, lower, upper
    program.row_lower_, program.row_upper_ = at_least, np.full(len(A), np.inf)
    matrix = program.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_ = np.arange(len(A) + 1) * A.shape[1]
    matrix.index_, matrix.value_ = np.tile(np.arange(A.shape[1]), len(A)), A.ravel()
    solver = _solver()
    solver.passModel(program)
    solver.run()
    status = solver.getModelStatus()
    assert status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible)
    return solver.getSolution().col_value if status == highspy.HighsModelStatus.kOptimal else None


def least_loss(
    X: Any,
    y: Any,
    weights: Any = None,
    *,
    intercept: bool = True,
    sides: Sides = (),
    margin: float | None = None,
    zero: Collection[int] = (),
    allowed: Callable[[np.ndarray], bool] = lambda wrong: True,
    exactly: bool = False,
) -> float | None:
    """The least weight of the wrong points over all rules whose set of wrong points is `allowed`; None when there is none.

    Parameters
    ----------
    sides, margin, zero : further conditions on W = (w, b), as in `has_rule`.
    allowed : takes the mask of wrong points.
    exactly : the points of the set must be strictly wrong, not merely free to be wrong.
    """
    Z = signed_points(X, y, intercept=intercept)
    weights = np.ones(len(Z)) if weights is None else np.asarray(weights, float)
    masks = np.array(list(product((False, True), repeat=len(Z))))
    for wrong in masks[np.argsort(masks @ weights, kind="stable")]:
        if not allowed(wrong):
            continue
        rows = np.where(wrong[:, None], -Z, Z) if exactly else Z[~wrong]
        if has_rule(rows, sides, margin=margin, zero=zero):
            return float(weights[wrong].sum())
    return None


def least_cost(X: Any, y: Any, statement: Statement, room: float = 0.0) -> float | None:
    """The least loss of the problem that a certificate is about; `room` is added to a margin of 1."""

    def keeps_limits(wrong: np.ndarray) -> bool:
        return all(np.asarray(c)[wrong].sum() <= at_most for c, at_most in statement.limits)

    return least_loss(
        X,
        y,
        statement.costs,
        intercept=statement.intercept,
        sides=[(a if statement.intercept else a[:-1], c) for a, c in statement.rows],
        margin=1.0 + room if statement.margin else None,
        allowed=keeps_limits,
    )


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
