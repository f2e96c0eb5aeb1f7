"""Walks a box tree in 64-bit integers and says whether every leaf reaches its bound.

Points are integer vectors of at most 2^21 in each coordinate, known up to err/2 there; boxes have corners on the grid of 2^-20. The
largest number met is 128 * 2^21 * 2^20 * 16 = 2^52, far inside 64 bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

GRID_BITS = 20
POINT_BITS = 21
OK, BAD_STREAM, BAD_AXIS, BAD_PAIR, NOT_LOOSE, NO_CONFLICT, TOO_LOW, BAD_LEMMA = range(8)


@njit(cache=True)
def _highest(vector: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
    """max of vector.V over the box low <= V <= high."""
    total = 0
    for k in range(vector.shape[0]):
        total += vector[k] * high[k] if vector[k] > 0 else vector[k] * low[k]
    return total


@njit(cache=True)
def _lowest(vector: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
    total = 0
    for k in range(vector.shape[0]):
        total += vector[k] * low[k] if vector[k] > 0 else vector[k] * high[k]
    return total


@njit(cache=True)
def walk(
    points: np.ndarray,
    half_errors: np.ndarray,
    weights: np.ndarray,
    target: int,
    ops: np.ndarray,
    counts: np.ndarray,
    pairs: np.ndarray,
    lemma_of_leaf: np.ndarray,
    lemma_start: np.ndarray,
    lemma_rows: np.ndarray,
    lemma_bounds: np.ndarray,
) -> tuple[int, int]:
    """(OK, nodes) or (what is wrong, the node where).

    `half_errors[i]` is 1 when point i was rounded: q_i.V is then off by at most r * 2^GRID_BITS / 2 on the cube, and everything is
    doubled to stay whole. A node is: its op (0 leaf, 254 leaf with a lemma, 1 + k halves coordinate k), and `counts` new conflicts.
    """
    n, r = points.shape
    one = 1 << GRID_BITS
    blur = r * one
    deepest = (r - 1) * GRID_BITS  # a side of 2^21 is halved while it is at least 4 wide: 20 times
    low = np.zeros((deepest + 1, r), np.int64)
    high = np.zeros((deepest + 1, r), np.int64)
    turn = np.zeros(deepest + 1, np.int64)
    axis = np.zeros(deepest + 1, np.int64)
    loose = np.zeros((deepest + 1, n), np.int64)
    n_loose = np.zeros(deepest + 1, np.int64)
    lost = np.zeros(deepest + 1, np.int64)
    held = np.zeros((deepest + 1, 2 * n, 3), np.int64)
    n_held = np.zeros(deepest + 1, np.int64)
    is_loose = np.zeros(n, np.bool_)
    spare = np.zeros(n, np.int64)
    mixed = np.zeros(r, np.int64)
    node = 0
    at_pair = 0
    at_leaf = 0
    for face in range(2 * r):
        level = 0
        for k in range(r):
            low[0, k] = -one
            high[0, k] = one
        if face % 2 == 0:
            low[0, face // 2] = one
        else:
            high[0, face // 2] = -one
        turn[0] = 0
        while level >= 0:
            if turn[level] == 3:
                level -= 1
                continue
            if turn[level] > 0:
                k = axis[level]
                for t in range(r):
                    low[level + 1, t] = low[level, t]
                    high[level + 1, t] = high[level, t]
                middle = (low[level, k] + high[level, k]) // 2
                if turn[level] == 1:
                    high[level + 1, k] = middle
                else:
                    low[level + 1, k] = middle
                turn[level] += 1
                level += 1
                turn[level] = 0
                continue
            if node >= ops.shape[0]:
                return BAD_STREAM, node
            box_low, box_high = low[level], high[level]

            # Which points are wrong all over the box, and which may be either.
            above = n if level == 0 else n_loose[level - 1]
            lost[level] = 0 if level == 0 else lost[level - 1]
            n_mine = 0
            for u in range(above):
                i = u if level == 0 else loose[level - 1, u]
                is_loose[i] = False
                blurred = half_errors[i] * blur
                if 2 * _highest(points[i], box_low, box_high) + blurred <= 0:
                    lost[level] += weights[i]
                elif _lowest(points[i], box_low, box_high) < 0:
                    loose[level, n_mine] = i
                    n_mine += 1
                    is_loose[i] = True
                    spare[i] = weights[i]
            n_loose[level] = n_mine

            # Conflicts: those of the parent between points that are both still loose, then the new ones.
            bound = lost[level]
            n_mine = 0
            if level > 0:
                for x in range(n_held[level - 1]):
                    i, j = held[level - 1, x, 0], held[level - 1, x, 1]
                    if is_loose[i] and is_loose[j]:
                        value = held[level - 1, x, 2]
                        held[level, n_mine, 0] = i
                        held[level, n_mine, 1] = j
                        held[level, n_mine, 2] = value
                        n_mine += 1
                        spare[i] -= value
                        spare[j] -= value
                        bound += value
            for _ in range(counts[node]):
                if at_pair >= pairs.shape[0] or n_mine >= 2 * n:
                    return BAD_STREAM, node
                i, j, m = pairs[at_pair, 0], pairs[at_pair, 1], pairs[at_pair, 2]
                at_pair += 1
                if i < 0 or j < 0 or i >= n or j >= n or i == j or m < 1 or m > 127:
                    return BAD_PAIR, node
                if not is_loose[i] or not is_loose[j]:
                    return NOT_LOOSE, node
                p = 64 if m <= 64 else 128 - m
                q = m if m <= 64 else 64
                for k in range(r):
                    mixed[k] = p * points[i, k] + q * points[j, k]
                blurred = (p * half_errors[i] + q * half_errors[j]) * blur
                if 2 * _highest(mixed, box_low, box_high) + blurred > 0:
                    return NO_CONFLICT, node
                # A point whose weight is used up leaves its present partners for the new one.
                for point in (i, j):
                    if spare[point] == 0:
                        x = 0
                        while x < n_mine:
                            if held[level, x, 0] == point or held[level, x, 1] == point:
                                value = held[level, x, 2]
                                spare[held[level, x, 0]] += value
                                spare[held[level, x, 1]] += value
                                bound -= value
                                n_mine -= 1
                                for t in range(3):
                                    held[level, x, t] = held[level, n_mine, t]
                            else:
                                x += 1
                value = min(spare[i], spare[j])
                spare[i] -= value
                spare[j] -= value
                bound += value
                held[level, n_mine, 0] = i
                held[level, n_mine, 1] = j
                held[level, n_mine, 2] = value
                n_mine += 1
            n_held[level] = n_mine

            op = ops[node]
            node += 1
            if op == 0:
                if bound < target:
                    return TOO_LOW, node - 1
                level -= 1
            elif op == 254:
                if at_leaf >= lemma_of_leaf.shape[0]:
                    return BAD_STREAM, node - 1
                which = lemma_of_leaf[at_leaf]
                at_leaf += 1
                if which < 0 or which >= lemma_bounds.shape[0]:
                    return BAD_LEMMA, node - 1
                for x in range(lemma_start[which], lemma_start[which + 1]):
                    i = lemma_rows[x]
                    if 2 * _highest(points[i], box_low, box_high) + half_errors[i] * blur <= 0:
                        return BAD_LEMMA, node - 1  # counted among the lost already
                if lost[level] + lemma_bounds[which] < target:
                    return TOO_LOW, node - 1
                level -= 1
            else:
                k = op - 1
                if k >= r or box_high[k] - box_low[k] < 4 or level == deepest:
                    return BAD_AXIS, node - 1
                axis[level] = k
                turn[level] = 1
    if node != ops.shape[0] or at_pair != pairs.shape[0] or at_leaf != lemma_of_leaf.shape[0]:
        return BAD_STREAM, node
    return OK, node
