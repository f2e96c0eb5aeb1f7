"""Walks through the tree of a proof over whole weights in 64-bit integers and says whether the bound of every leaf reaches the target.

A box gives each weight a range. At most `most` weights differ from zero. The signed score of a point is at most the sum of its terms, the
larger end of each weight's range times the signed value, where of the weights that may be zero only the largest terms count, as many as
may still be used. A row a.w >= c between weights is kept by no rule of the box if its largest a.w, found in the same way, is below c. A
positive point is right for thresholds t <= last, a negative one for t >= first (`ends`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels.decorator import njit

FREE, WHOLE, NONE = range(3)  # the offset: any number, a whole number, zero
OK, BAD_STREAM, BAD_SPLIT, TOO_LOW, ASKING, PAUSED = range(6)
IMPOSSIBLE = 1 << 62  # bound of a box in which no rule keeps the limits and rows
SINGLE_RULE = 255  # op of a leaf with one rule, which the caller counts in fractions


class Lattice(NamedTuple):
    """Signed whole values, labels (+1, -1), weights, limits with their ends, what the rules may be, and rows with their ends."""

    values: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    limits: np.ndarray
    ends: np.ndarray
    one: int
    blur: int
    offset: int
    margin: int
    most: int
    feature_cost: int
    rows: np.ndarray
    row_ends: np.ndarray


class Walk(NamedTuple):
    """Boxes that wait, the next one last; position[0] is their number, position[1] the next op."""

    low: np.ndarray
    high: np.ndarray
    position: np.ndarray


@njit(cache=True)
def _best(row: np.ndarray, low: np.ndarray, high: np.ndarray, room: int, taken: np.ndarray) -> int:
    """The largest sum of weight times value over the box, with at most `room` of the weights that may be zero."""
    total = 0
    for j in range(row.shape[0]):
        taken[j] = True
        if low[j] > 0 or high[j] < 0:
            total += max(low[j] * row[j], high[j] * row[j])
        else:
            taken[j] = False
    for _ in range(room):
        gain, at = 0, -1
        for j in range(row.shape[0]):
            if not taken[j]:
                term = max(low[j] * row[j], high[j] * row[j])
                if term > gain:
                    gain, at = term, j
        if at < 0:
            break
        taken[at] = True
        total += gain
    return total


@njit(cache=True)
def _end(score: int, label: int, lattice: Lattice) -> int:
    """The last threshold for a positive point, the first one for a negative point; scores and thresholds in the unit of the offset."""
    one, blur = lattice.one, lattice.blur
    if lattice.offset == FREE and lattice.margin == 0:
        return score - 1 if label > 0 else score  # t < score, t > score; no sum of weights tells t from t + 1/2
    if lattice.offset == FREE:
        return score + blur - one if label > 0 else score - blur + one
    if lattice.margin == 0:  # whole t < score / one, whole t > score / one
        return (score - 1) // one if label > 0 else (score // one) + 1
    return (score + blur) // one - 1 if label > 0 else -((-(score - blur)) // one) + 1


@njit(cache=True)
def bound(lattice: Lattice, low: np.ndarray, high: np.ndarray) -> int:
    """What every rule of the box costs at least; IMPOSSIBLE if none is allowed."""
    n, d = lattice.values.shape
    used = 0
    for j in range(d):
        used += low[j] > 0 or high[j] < 0
    if used > lattice.most:
        return IMPOSSIBLE
    taken = np.empty(d, np.bool_)
    for r in range(lattice.row_ends.shape[0]):
        if _best(lattice.rows[r], low, high, lattice.most - used, taken) < lattice.row_ends[r]:
            return IMPOSSIBLE
    ends = np.empty(n, np.int64)
    for i in range(n):
        label = lattice.labels[i]
        ends[i] = _end(label * _best(lattice.values[i], low, high, lattice.most - used, taken), label, lattice)
    K = lattice.ends.shape[0]
    spent = np.zeros(K + 1, np.int64)
    spent[K] = lattice.feature_cost * used
    if lattice.offset == NONE:
        for i in range(n):
            if (lattice.labels[i] > 0 and ends[i] < 0) or (lattice.labels[i] < 0 and ends[i] > 0):
                _pay(lattice, i, 1, spent)
        return int(spent[K]) if _allowed(lattice, spent) else IMPOSSIBLE
    # From the highest threshold down: at first every negative point is right and every positive one wrong.
    order = np.argsort(ends)
    for i in range(n):
        if lattice.labels[i] > 0:
            _pay(lattice, i, 1, spent)
    least = int(spent[K]) if _allowed(lattice, spent) else IMPOSSIBLE
    x = n - 1
    while x >= 0:
        # The threshold falls to the end of this group of equal ends: positive points become right there, negative ones stay right.
        y = x
        while y >= 0 and ends[order[y]] == ends[order[x]]:
            if lattice.labels[order[y]] > 0:
                _pay(lattice, order[y], -1, spent)
            y -= 1
        if spent[K] < least and _allowed(lattice, spent):
            least = int(spent[K])
        for z in range(y + 1, x + 1):
            if lattice.labels[order[z]] < 0:
                _pay(lattice, order[z], 1, spent)
        x = y
    return least


@njit(cache=True)
def _pay(lattice: Lattice, i: int, times: int, spent: np.ndarray) -> None:
    """Count an error of the point, or take it back."""
    K = lattice.ends.shape[0]
    for k in range(K):
        spent[k] += times * lattice.limits[k, i]
    spent[K] += times * lattice.weights[i]


@njit(cache=True)
def _allowed(lattice: Lattice, spent: np.ndarray) -> bool:
    for k in range(lattice.ends.shape[0]):  # noqa: SIM110 (numba compiles no generator)
        if spent[k] > lattice.ends[k]:
            return False
    return True


@njit(cache=True)
def walk(lattice: Lattice, ops: np.ndarray, target: int, boxes: Walk, budget: int) -> int:
    """Read ops until no box waits (OK), one does not hold, a single rule is to be counted (ASKING) or the budget is used up (PAUSED)."""
    low, high, position = boxes
    d = lattice.values.shape[1]
    while position[0] > 0:
        if budget <= 0:
            return PAUSED
        budget -= 1
        if position[1] >= ops.shape[0]:
            return BAD_STREAM
        op = int(ops[position[1]])
        top = position[0] - 1
        position[1] += 1
        if op == 0:
            if bound(lattice, low[top], high[top]) < target:
                return TOO_LOW
            position[0] = top
            continue
        if op == SINGLE_RULE:
            return ASKING
        j, by_sign = (op - 1) // 2, op % 2 == 1
        if j >= d or low[top, j] >= high[top, j] or position[0] + 3 > low.shape[0]:
            return BAD_SPLIT
        a, b = low[top, j], high[top, j]
        if by_sign:
            if a > 0 or b < 0:
                return BAD_SPLIT
            parts = ((a, min(b, -1)), (max(a, 1), b), (0, 0))
        else:
            middle = (a + b) // 2
            parts = ((middle + 1, b), (a, middle), (1, 0))
        base_low, base_high = low[top].copy(), high[top].copy()
        count = top
        for first, last in parts:
            if first <= last:
                low[count], high[count] = base_low, base_high
                low[count, j], high[count, j] = first, last
                count += 1
        position[0] = count
    return OK if position[1] == ops.shape[0] else BAD_STREAM
