"""Branch and bound over boxes of whole weights, depth first, written down as a preorder stream.

A node is one byte: LEAF, EXACT, 1 + 2 j (weight j is split by its sign into negative, zero and positive) or 2 + 2 j (weight j is halved).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....arrays import Index
from .....kernels.decorator import njit
from .boxes import WholeRows, least_cost, used_and_open

LEAF = 0  # the bound of the box reaches the target
EXACT = 255  # a single rule, whose cost the caller has counted in fractions
FINISHED, RUNNING, FULL, BETTER = range(4)


class Stack(NamedTuple):
    """Boxes that are still to be visited, the next one on top."""

    low: Index  # (room, d)
    high: Index


@njit(cache=True)
def choose(rows: WholeRows, spread: Index, low: Index, high: Index) -> int:
    """What to do with a box: 1 + 2 j or 2 + 2 j for the weight j that changes the scores most; -1 for a single rule."""
    used, undecided = used_and_open(low, high)
    signs_first = used + undecided > rows.most or rows.feature_cost > 0
    best, at = -1, -1
    for j in range(low.shape[0]):
        width = (high[j] - low[j]) * spread[j]
        if high[j] > low[j] and width > best and not (used == rows.most and low[j] <= 0 and high[j] >= 0):
            best, at = width, j
    if at < 0:
        return -1
    by_sign = signs_first and low[at] <= 0 and high[at] >= 0
    return 1 + 2 * at if by_sign else 2 + 2 * at


@njit(cache=True)
def push_children(stack: Stack, top: int, op: int) -> int:
    """Replace the box on top by its parts, the first one on top; the new number of boxes."""
    j = (op - 1) // 2
    low, high = stack.low[top].copy(), stack.high[top].copy()
    if op % 2 == 0:
        middle = (low[j] + high[j]) // 2
        pairs = ((middle + 1, high[j]), (low[j], middle))
        for a, b in pairs:
            stack.low[top], stack.high[top] = low, high
            stack.low[top, j], stack.high[top, j] = a, b
            top += 1
        return top
    for a, b in ((low[j], -1), (1, high[j]), (0, 0)):
        if a <= b:
            stack.low[top], stack.high[top] = low, high
            stack.low[top, j], stack.high[top, j] = a, b
            top += 1
    return top


@njit(cache=True, nogil=True)
def search(
    rows: WholeRows, spread: Index, stack: Stack, ops: NDArray[np.uint8], state: Index, target: int, budget: int
) -> int:
    """Visit boxes until the stack is empty (FINISHED), so many were visited (RUNNING), `ops` or the stack is full (FULL), or a single
    rule costs less than the target (BETTER; it stays on top of the stack, and ops has no entry for it yet).

    state : number of boxes on the stack, number of ops.
    """
    n, d = rows.signed.shape
    g, terms = np.empty(n, np.int64), np.empty(d, np.int64)
    while state[0] > 0:
        if budget <= 0:
            return RUNNING
        if state[1] >= ops.shape[0] or state[0] + 3 >= stack.low.shape[0]:
            return FULL
        budget -= 1
        top = state[0] - 1
        low, high = stack.low[top], stack.high[top]
        if least_cost(rows, low, high, g, terms) >= target:
            ops[state[1]] = LEAF
            state[1] += 1
            state[0] = top
            continue
        op = choose(rows, spread, low, high)
        if op < 0:
            return BETTER
        ops[state[1]] = op
        state[1] += 1
        state[0] = push_children(stack, top, op)
    return FINISHED


@njit(cache=True)
def descend(rows: WholeRows, w: Index, low: Index, high: Index, order: Index) -> int:
    """Improve w in place, weight by weight in the given order, as long as that helps; its cost."""
    n, d = rows.signed.shape
    g, terms = np.empty(n, np.int64), np.empty(d, np.int64)
    best = least_cost(rows, w, w, g, terms)
    improved = True
    while improved:
        improved = False
        for j in order:
            here = w[j]
            chosen = here
            for value in range(low[j], high[j] + 1):
                if value == here:
                    continue
                w[j] = value
                cost = least_cost(rows, w, w, g, terms)
                if cost < best:
                    best, chosen, improved = cost, value, True
            w[j] = chosen
    return best
