"""The plain SVM to working accuracy by coordinate descent, then exactly by a homotopy in the margin levels."""

from __future__ import annotations

import numpy as np

from ..kernels import dual_coordinate
from ..kernels import homotopy as kernel
from ..kernels.random import random_state
from .outlier_state import OutlierState

TOLERANCE = 1e-3
SWEEPS = 1000
STEPS_A_POINT = 200


def solve_svm(state: OutlierState, seed: int = 0) -> None:
    """Put `state` at the exact solution of the SVM with the hinge loss (theta = 1).

    Descent gives multipliers near the optimum. They are exactly optimal for shifted levels p_i (the margin itself where
    0 < a_i < C_i; beyond the margin by a random slack where a bound is violated), and the homotopy moves the levels to 1.
    """
    n = len(state.C)
    lower = np.zeros(n)
    if state.linear:
        w = np.zeros(state.Z.shape[1])
        random = random_state(seed)
        dual_coordinate.linear_descent(state.Z, lower, state.C, state.a, w, state.diagonal, TOLERANCE, SWEEPS, random)
        support = np.flatnonzero(state.a)
        state.m = state.product(support, state.a[support])[1]
    else:
        steps = STEPS_A_POINT * n
        dual_coordinate.kernel_descent(state.Z, lower, state.C, state.a, state.m, state.diagonal, TOLERANCE, steps)
    free = (state.a > 0) & (state.a < state.C)
    low = state.a <= 0
    state.state[:] = np.where(free, kernel.EDGE, np.where(low, kernel.RIGHT, kernel.LEFT))
    levels = 1.0 + state.jitter * state.shift
    slack = TOLERANCE * np.random.default_rng(seed).uniform(0.5, 1.0, n)
    state.p = np.where(low & (state.m < levels), state.m - slack, levels)
    state.p = np.where(~low & ~free & (state.m > levels), state.m + slack, state.p)
    state.p[free] = state.m[free]
    state.factorise(np.flatnonzero(free))
    state.move_levels(levels, state.q)
