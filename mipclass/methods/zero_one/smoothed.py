"""Descent on a smooth 0-1 loss over many rows: the fast way from a linear SVM into the valley of the 0-1 loss.

Minimise    L_K(v) = sum_i c_i / (1 + exp(K q_i.v / |v|))   over v, q_i rows of length one, by L-BFGS,

for K doubled from stage to stage, each from the last stage's solution (Nguyen & Sanner 2013, section 5, with another descent).
A large K follows the 0-1 loss more closely and has more local minima. The loss of n points fluctuates by what about n^(2/3) of them
near the hyperplane do (the cube-root asymptotics of the maximum score estimator, Kim & Pollard 1990), so the last K is the one
at which so few rows are on the slope of the sigmoid. The best 0-1 loss of all points visited is kept. O(n m) for each evaluation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array
from ...numeric.blas import one_blas_thread

FIRST_K = 2.0
"""First K in units of sqrt(m), m the number of columns: rows of length one have margins of the order 1 / sqrt(m)."""

SLOPE = 2.0
"""Values of K |margin| up to which a row is on the slope of the sigmoid."""

MOST_STEPS = 60
"""L-BFGS steps of one stage, at most; 10 to 30 are usual."""

TOLERANCE = 1e-7
"""A stage ends when a step lowers L_K by less than this fraction of it."""

FLAT = 40.0
"""1 / (1 + exp(x)) is 0 or 1 to rounding beyond |x| = FLAT."""


class _Stopped(Exception):
    """The caller asked to stop in the middle of a stage."""


class SigmoidLoss:
    """L_K and its gradient over rows of length one, and the best 0-1 loss among the rules evaluated."""

    def __init__(self, unit: Array, weights: Array, v: Array, stop: Callable[[], object] | None) -> None:
        self.unit, self.weights, self.stop = unit, weights, stop
        self.K = FIRST_K * np.sqrt(unit.shape[1])
        self.best, self.loss = v, np.inf

    def __call__(self, v: Array) -> tuple[float, Array]:
        """(L_K, gradient) at v; raises _Stopped when the caller wants to stop."""
        if self.stop is not None and self.stop():
            raise _Stopped
        size = float(np.linalg.norm(v))
        v = v / size
        margins = self.unit @ v
        loss = float(self.weights @ (margins <= 0.0))
        if loss < self.loss:
            self.best, self.loss = v, loss
        margins *= self.K
        np.clip(margins, -FLAT, FLAT, out=margins)
        np.exp(margins, out=margins)
        margins += 1.0
        steps = np.divide(1.0, margins, out=margins)
        value = float(self.weights @ steps)
        steps *= (steps - 1.0) * self.weights
        gradient = self.K * (steps @ self.unit)
        return value, (gradient - (gradient @ v) * v) / size

    def on_slope(self) -> int:
        """The number of rows on the slope of the sigmoid at the best rule."""
        return int(np.count_nonzero(np.abs(self.unit @ self.best) * self.K <= SLOPE))


def smoothed_rule(
    unit: Array, weights: Array, v: Array, stop: Callable[[], object] | None = None
) -> tuple[Array, float]:
    """(rule of length one, its 0-1 loss over the unit rows): the best that the descent from v comes across."""
    from scipy.optimize import minimize

    loss = SigmoidLoss(unit, weights, v, stop)
    few = len(unit) ** (2 / 3)
    try:
        with one_blas_thread():
            while True:
                found = minimize(
                    loss, v, jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS, "ftol": TOLERANCE}
                )
                v = found.x / np.linalg.norm(found.x)
                if loss.on_slope() <= few:
                    break
                loss.K *= 2.0
    except _Stopped:
        pass
    return loss.best, loss.loss
