"""Primal-dual active set for one conditional QP: guess the states, solve for the active multipliers, correct the guess.

The guess comes from the neighbouring partition, so two or three corrections are usual. There is no guarantee: the caller
keeps a copy and falls back to the homotopy when this gives up (too many rounds, or a numerically dependent point).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ....arrays import Array, Index
from ....numeric.cholesky_update import solve_lower, solve_upper
from .homotopy import EDGE, LEFT, OUT, RIGHT, TIE_IN, TIE_OUT, States, column_on_active, join, leave
from .rows import combine_rows

SLACK = 1e-13  # a violation below this, relative to C or to the level's scale, is rounding
TOGETHER = 12  # changes of the factor made in one pass
LARGE = 1e3  # a move so many times beyond what the bounds allow leaves rounding in the margins that is too large for what is claimed
DEPENDENT = 1e-9  # a point whose Schur complement is below this share of Q_ii is left to the homotopy


@njit(cache=True)
def correct(
    Q: Array, diagonal: Array, a: Array, m: Array, p: Array, q: Array, C: Array, out_level: Array, state: States,
    active: Index, position: Index, count: Index, U: Array, moved: Index, change: Array, rounds: int, a_before: Array,
    m_before: Array,
) -> int:  # fmt: skip
    """Solve from the states as guessed; returns the rounds used, or -1 when it gave up (all arrays are then unusable).

    `moved`, `change`: inactive points whose a has been set already but whose effect is not yet in m = Qa. `a_before`, `m_before`: a
    before that, and its margins. A wrong guess may move nearly dependent points far, and the next one back again: m is then computed
    anew from these two, and corrected once more. Each round costs O(n |A|) and O(|A|^2) for every change of state.
    """
    n = a.shape[0]
    cap = U.shape[0]
    rows = (np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint32), np.empty(0))
    spare = np.empty((TOGETHER, cap))
    da = np.empty(cap)
    column = np.empty(cap)
    waiting = np.empty(n, dtype=np.int64)
    shift = np.empty(n)
    entering = np.empty(n, dtype=np.int64)
    size = moved.shape[0]
    waiting[:size] = moved
    shift[:size] = change
    farthest = 0.0
    for used in range(rounds):
        k = count[0]
        for c in range(k):
            i = active[c]
            da[c] = (p[i] if state[i] == EDGE else q[i]) - m[i]
        for e in range(size):
            column_on_active(Q, False, active, k, waiting[e], column)
            for c in range(k):
                da[c] -= column[c] * shift[e]
        solve_lower(U, k, da)
        solve_upper(U, k, da)
        combine_rows(Q, active, da, k, m)
        combine_rows(Q, waiting, shift, size, m)
        for c in range(k):
            i = active[c]
            a[i] += da[c]
            farthest = max(farthest, abs(da[c]) * diagonal[i] / (1.0 + diagonal[i] * C[i]))
        size = 0
        for c in range(k):
            i = active[c]
            s = state[i]
            to = -1
            slack = SLACK * C[i]
            if s == EDGE:
                if a[i] < -slack:
                    to = RIGHT
                elif a[i] > C[i] + slack:
                    to = LEFT
            elif s == TIE_IN:
                if a[i] < C[i] - slack:
                    to = LEFT
            elif a[i] > out_level[i] + slack:
                to = OUT
            if to >= 0:
                value = 0.0 if to == RIGHT else (C[i] if to == LEFT else out_level[i])
                state[i] = to
                waiting[size] = i
                shift[size] = value - a[i]
                a[i] = value
                size += 1
        joining = 0
        for i in range(n):
            if position[i] >= 0:
                continue
            s = state[i]
            slack = SLACK * (1.0 + diagonal[i] * C[i])
            to = -1
            if s == RIGHT:
                if m[i] < p[i] - slack:
                    to = EDGE
            elif s == LEFT:
                if m[i] > p[i] + slack:
                    to = EDGE
                elif m[i] < q[i] - slack:
                    to = TIE_IN
            elif m[i] > q[i] + slack:
                to = TIE_OUT
            if to >= 0:
                state[i] = to
                entering[joining] = i
                joining += 1
        if size + joining == 0:
            if farthest <= LARGE:
                return used + 1
            farthest = 0.0
            m[:] = m_before
            changed = np.flatnonzero(a != a_before)
            combine_rows(Q, changed, (a - a_before)[changed], changed.shape[0], m)
            continue
        if k - size + joining >= cap:
            return -1
        for e in range(0, size, TOGETHER):
            leave(active, position, count, U, waiting[e : min(e + TOGETHER, size)], spare)
        for e in range(0, joining, TOGETHER):
            new = entering[e : min(e + TOGETHER, joining)]
            if join(Q, rows, False, diagonal, active, position, count, U, new, spare) < DEPENDENT:
                return -1
    return -1
