"""The discontinuous step through any QP backend: solve the declared conditional QP, then settle on exact states."""

from __future__ import annotations

import numpy as np

from ...arrays import Index
from ...backends.registry import backend_for
from ...modelling.program import Feature
from ...models.robust_svm import ConditionalDual
from ...protocol.result import Status
from ...protocol.run import Run
from .jumps import DSolver, by_homotopy
from .kernels import homotopy as kernel
from .state import OutlierState

SETTLED = 1e-5  # a backend's multiplier within this share of C from a bound is taken to be at it


def by_backend(name: str) -> DSolver:
    """A D-step that lets the backend `name` solve the dual conditional QP of the new partition."""
    backend = backend_for(name, Feature.QP, option="d_step")

    def change_sides(state: OutlierState, points: Index) -> None:
        saved = state.copy_solution()
        outliers = state.outliers
        outliers[points] = ~outliers[points]
        Q = state.Z @ state.Z.T + np.diag(state.ridge) if state.linear else state.Z
        qp = ConditionalDual(Q, state.C, state.theta, state.s, outliers)
        solution = backend.solve(qp.program(), Run.quiet())
        if solution.x is None or solution.status is not Status.OPTIMAL:
            state.restore_solution(saved)
            by_homotopy(state, points)
            return
        settle(state, qp.decode(solution.x)["alpha"], outliers)

    return change_sides


def settle(state: OutlierState, alpha: np.ndarray[tuple[int], np.dtype[np.float64]], outliers: object) -> None:
    """Take approximate multipliers of a partition, guess the states, and move the levels to where they belong."""
    out = np.asarray(outliers, dtype=bool)
    C, level = state.C, state.out_level
    slack = SETTLED * C
    a = alpha.copy()
    m = state.product(np.arange(len(a)), a)[1]
    states = np.where(a <= slack, kernel.RIGHT, np.where(np.abs(a - C) <= slack, kernel.LEFT, kernel.EDGE))
    states = np.where((a > C + slack), kernel.TIE_IN, states)
    states = np.where(out, np.where(a < level - slack, kernel.TIE_OUT, kernel.OUT), states).astype(np.int8)
    a = np.where(states == kernel.RIGHT, 0.0, np.where(states == kernel.LEFT, C, a))
    a = np.where(states == kernel.OUT, level, a)
    m = state.product(np.arange(len(a)), a)[1] if not np.array_equal(a, alpha) else m
    state.a[:], state.m[:], state.state[:] = a, m, states
    wanted_p, wanted_q = state.p.copy(), state.q.copy()
    rng = np.random.default_rng(0)
    extra = 1e-6 * rng.uniform(0.5, 1.0, len(a))
    edge, tie = states == kernel.EDGE, (states == kernel.TIE_IN) | (states == kernel.TIE_OUT)
    low, left, beyond = states == kernel.RIGHT, states == kernel.LEFT, states == kernel.OUT
    p = np.where(low & (m < wanted_p), m - extra, np.where(left & (m > wanted_p), m + extra, wanted_p))
    q = np.where(left & (m < wanted_q), m - extra, np.where(beyond & (m > wanted_q), m + extra, wanted_q))
    state.p, state.q = np.where(edge, m, p), np.where(tie, m, q)
    state.factorise(np.flatnonzero(edge | tie))
    state.move_levels(wanted_p, wanted_q)
