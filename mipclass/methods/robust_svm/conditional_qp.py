"""The discontinuous step through any QP backend: solve the declared conditional QP, then make the states exact."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Index, Mask
from ...backends.registry import backend_for
from ...modelling.program import Feature
from ...models.robust_svm import ConditionalDual
from ...protocol.result import Status
from ...protocol.run import Run
from .jumps import DSolver, by_homotopy
from .kernels.partition import EDGE, LEFT, OUT, RIGHT, TIE_IN, TIE_OUT
from .state import OutlierState

SETTLED = 1e-5  # a backend's multiplier within this share of C from a bound is taken to be at it
# Slack by which a level is moved beyond a margin on its wrong side, drawn between half of it and all of it: of the size of
# a backend's tolerance, so that the levels have a short way back.
LEVEL_SLACK = 1e-6


def by_backend(name: str, run: Run) -> DSolver:
    """A D-step that lets the backend `name` solve the dual conditional QP of the new partition, within the limits of `run`."""
    backend = backend_for(name, Feature.QP, option="d_step")

    def change_sides(state: OutlierState, points: Index) -> None:
        saved = state.copy_solution()
        outliers = state.outliers
        outliers[points] = ~outliers[points]
        qp = ConditionalDual(state.operator.dense(), state.C, state.theta, state.s, outliers)
        solution = backend.solve(qp.program(), run.inner())
        if solution.x is None or solution.status is not Status.OPTIMAL:
            state.restore_solution(saved)
            by_homotopy(state, points)
            return
        settle(state, qp.decode(solution.x)["alpha"], outliers)

    return change_sides


def settle(state: OutlierState, alpha: Array, out: Mask) -> None:
    """Take approximate multipliers of a partition, guess the states, and move the levels to where they belong."""
    C, level = state.C, state.out_level
    slack = SETTLED * C
    # No rule moves the margin of a point at the origin, so the QP leaves its multiplier open where the cut-off is 0.
    alpha = np.where(state.operator.diagonal == 0.0, np.where(out, level, C), alpha)
    states = np.where(alpha <= slack, RIGHT, np.where(np.abs(alpha - C) <= slack, LEFT, EDGE))
    states = np.where(alpha > C + slack, TIE_IN, states)
    states = np.where(out, np.where(alpha < level - slack, TIE_OUT, OUT), states).astype(np.int8)
    a = np.where(states == RIGHT, 0.0, np.where(states == LEFT, C, alpha))
    a = np.where(states == OUT, level, a)
    m = state.product(np.arange(len(a)), a)
    state.a[:], state.m[:], state.state[:] = a, m, states
    wanted_p, wanted_q = state.p.copy(), state.q.copy()
    extra = LEVEL_SLACK * np.random.default_rng(0).uniform(0.5, 1.0, len(a))
    edge, tie = states == EDGE, (states == TIE_IN) | (states == TIE_OUT)
    low, left, beyond = states == RIGHT, states == LEFT, states == OUT
    p = np.where(low & (m < wanted_p), m - extra, np.where(left & (m > wanted_p), m + extra, wanted_p))
    q = np.where(left & (m < wanted_q), m - extra, np.where(beyond & (m > wanted_q), m + extra, wanted_q))
    state.p, state.q = np.where(edge, m, p), np.where(tie, m, q)
    state.factorise(np.flatnonzero(edge | tie))
    state.move_levels(wanted_p, wanted_q)
