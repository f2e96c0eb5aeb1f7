"""Walks through the tree of a box proof in 64-bit integers and says whether the bound of every leaf reaches the target.

Points are integer vectors of at most 2^21 per coordinate, exact up to half_error / 2; boxes have corners on the grid of 2^-20. A point
is lost on a box when it is wrong all over it, and loose when it may be right or wrong there. The largest number that occurs is 128 * 2^21 * 2^20 * 16 = 2^52, far inside 64 bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels.decorator import njit
from .patience import look

GRID_BITS = 20
POINT_BITS = 21
HANDED = 253  # op of a leaf that another tree goes on with
WITH_LEMMA = 254  # op of a leaf that a lemma settles
OK, BAD_STREAM, BAD_AXIS, BAD_PAIR, NOT_LOOSE, NO_CONFLICT, TOO_LOW, BAD_LEMMA, PAUSED = range(9)
POINTS_A_LOOK = 3_000_000
"""Points looked at in boxes between two looks at the clock: about 0.1 s."""


class Cloud(NamedTuple):
    """Whole-numbered points, whether each was rounded (1) or not (0), and their weights."""

    points: np.ndarray
    half_errors: np.ndarray
    weights: np.ndarray


class Stream(NamedTuple):
    """A tree in preorder over the 2r faces: each node's op (0 leaf, 254 leaf with a lemma, 1 + k halves coordinate k), its number
    of new conflicts, the conflicts (i, j, m) in order, and the lemma of each leaf that has one."""

    ops: np.ndarray
    counts: np.ndarray
    pairs: np.ndarray
    lemmas: np.ndarray


class Lemmas(NamedTuple):
    """rows[starts[k] : starts[k + 1]] cost at least bounds[k], whatever V is."""

    starts: np.ndarray
    rows: np.ndarray
    bounds: np.ndarray


class Boxes(NamedTuple):
    """Boxes low <= V <= high, one per row."""

    low: np.ndarray
    high: np.ndarray


class Way(NamedTuple):
    """Where a walk is, level by level from a face down: box, next half, halved coordinate, loose points, weight of the lost ones,
    conflicts held; marks and spare weights of the points; (root, level, node, conflict, lemma, box handed over) that come next."""

    low: np.ndarray
    high: np.ndarray
    turn: np.ndarray  # 0: not visited, 1 and 2: a half is next, 3: both halves done
    axis: np.ndarray
    loose: np.ndarray
    n_loose: np.ndarray
    lost: np.ndarray
    held: np.ndarray
    n_held: np.ndarray
    is_loose: np.ndarray
    spare: np.ndarray  # weight that no conflict uses
    mixed: np.ndarray
    place: np.ndarray

    @classmethod
    def first(cls, n: int, r: int) -> Way:
        """Before the first face, for n points of r coordinates."""
        levels = (r - 1) * GRID_BITS + 1  # a side of 2^21 is halved while it is at least 4 wide: 20 times
        return cls(
            low=np.zeros((levels, r), np.int64),
            high=np.zeros((levels, r), np.int64),
            turn=np.zeros(levels, np.int64),
            axis=np.zeros(levels, np.int64),
            loose=np.zeros((levels, n), np.int64),
            n_loose=np.zeros(levels, np.int64),
            lost=np.zeros(levels, np.int64),
            held=np.zeros((levels, 2 * n, 3), np.int64),
            n_held=np.zeros(levels, np.int64),
            is_loose=np.zeros(n, np.bool_),
            spare=np.zeros(n, np.int64),
            mixed=np.zeros(r, np.int64),
            place=np.array([0, -1, 0, 0, 0, 0], np.int64),
        )


@njit(cache=True)
def _highest(vector: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
    """max of vector.V over the box low <= V <= high."""
    total = 0
    for k in range(vector.shape[0]):
        total += vector[k] * high[k] if vector[k] > 0 else vector[k] * low[k]
    return total


@njit(cache=True)
def _lowest(vector: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
    """min of vector.V over the box low <= V <= high."""
    total = 0
    for k in range(vector.shape[0]):
        total += vector[k] * low[k] if vector[k] > 0 else vector[k] * high[k]
    return total


@njit(cache=True)
def _is_lost(point: np.ndarray, half_error: int, low: np.ndarray, high: np.ndarray) -> bool:
    """Whether q.V <= 0 all over the box, whatever rounding did: it moves q.V by at most r * 2^GRID_BITS / 2 when half_error is 1."""
    return 2 * _highest(point, low, high) + half_error * (point.shape[0] << GRID_BITS) <= 0


@njit(cache=True)
def _conflicts(
    points: np.ndarray,
    half_errors: np.ndarray,
    i: int,
    j: int,
    m: int,
    low: np.ndarray,
    high: np.ndarray,
    mixed: np.ndarray,
) -> bool:
    """Whether one of i and j is wrong wherever V is in the box: p q_i + q q_j (written to `mixed`) is lost, with p, q that m stands for."""
    p = 64 if m <= 64 else 128 - m
    q = m if m <= 64 else 64
    for k in range(points.shape[1]):
        mixed[k] = p * points[i, k] + q * points[j, k]
    return _is_lost(mixed, p * half_errors[i] + q * half_errors[j], low, high)


def faces(r: int) -> Boxes:
    """The 2r faces of the cube |V|_max = 1."""
    one = 1 << GRID_BITS
    low, high = np.full((2 * r, r), -one, np.int64), np.full((2 * r, r), one, np.int64)
    for k in range(r):
        low[2 * k, k], high[2 * k + 1, k] = one, -one
    return Boxes(low, high)


@njit(cache=True)
def _half(low: np.ndarray, high: np.ndarray, level: int, k: int, upper: bool) -> None:
    """Write at level + 1 the lower or upper half in coordinate k of the box at `level`."""
    low[level + 1] = low[level]
    high[level + 1] = high[level]
    middle = (low[level, k] + high[level, k]) // 2
    if upper:
        low[level + 1, k] = middle
    else:
        high[level + 1, k] = middle


@njit(cache=True)
def _sort_out(
    points: np.ndarray,
    half_errors: np.ndarray,
    weights: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    above: np.ndarray,
    loose: np.ndarray,
    is_loose: np.ndarray,
    spare: np.ndarray,
) -> tuple[int, int]:
    """Of the points that are loose on the box above: (weight of those lost here, number of those still loose, which are listed)."""
    lost, count = 0, 0
    for i in above:
        is_loose[i] = False
        if _is_lost(points[i], half_errors[i], low, high):
            lost += weights[i]
        elif _lowest(points[i], low, high) < 0:
            loose[count] = i
            count += 1
            is_loose[i] = True
            spare[i] = weights[i]
    return lost, count


@njit(cache=True)
def _inherit(above: np.ndarray, held: np.ndarray, is_loose: np.ndarray, spare: np.ndarray) -> tuple[int, int]:
    """Hold the conflicts (i, j, value) of the box above whose points are both still loose; (how many, their value)."""
    count, total = 0, 0
    for x in range(above.shape[0]):
        i, j, value = above[x, 0], above[x, 1], above[x, 2]
        if is_loose[i] and is_loose[j]:
            held[count, 0], held[count, 1], held[count, 2] = i, j, value
            count += 1
            spare[i] -= value
            spare[j] -= value
            total += value
    return count, total


@njit(cache=True)
def _dissolve(point: int, held: np.ndarray, count: int, spare: np.ndarray) -> tuple[int, int]:
    """Give up the conflicts of a point; (number of conflicts left, sum of the values given up)."""
    given_up = 0
    x = 0
    while x < count:
        i, j, value = held[x, 0], held[x, 1], held[x, 2]
        if point in (i, j):
            spare[i] += value
            spare[j] += value
            given_up += value
            count -= 1
            held[x, 0], held[x, 1], held[x, 2] = held[count, 0], held[count, 1], held[count, 2]
        else:
            x += 1
    return count, given_up


@njit(cache=True)
def _add_conflicts(
    cloud: Cloud, pairs: np.ndarray, low: np.ndarray, high: np.ndarray, is_loose: np.ndarray, spare: np.ndarray,
    held: np.ndarray, count: int, mixed: np.ndarray,
) -> tuple[int, int, int]:  # fmt: skip
    """Hold the new conflicts `pairs` of a box besides the first `count`; (OK or what is wrong, how many are held, value gained).

    A point whose weight is used up leaves its present partners for the new one.
    """
    n = cloud.points.shape[0]
    gained = 0
    for x in range(pairs.shape[0]):
        i, j, m = pairs[x, 0], pairs[x, 1], pairs[x, 2]
        if count >= held.shape[0]:
            return BAD_STREAM, count, gained
        if i < 0 or j < 0 or i >= n or j >= n or i == j or m < 1 or m > 127:
            return BAD_PAIR, count, gained
        if not is_loose[i] or not is_loose[j]:
            return NOT_LOOSE, count, gained
        if not _conflicts(cloud.points, cloud.half_errors, i, j, m, low, high, mixed):
            return NO_CONFLICT, count, gained
        for point in (i, j):
            if spare[point] == 0:
                count, value = _dissolve(point, held, count, spare)
                gained -= value
        value = min(spare[i], spare[j])
        spare[i] -= value
        spare[j] -= value
        gained += value
        held[count, 0], held[count, 1], held[count, 2] = i, j, value
        count += 1
    return OK, count, gained


@njit(cache=True)
def _lemma_value(cloud: Cloud, lemmas: Lemmas, which: int, low: np.ndarray, high: np.ndarray) -> int:
    """What a lemma adds to the lost points of a box; -1 when it does not exist or counts a lost point."""
    if which < 0 or which >= lemmas.bounds.shape[0]:
        return -1
    for i in lemmas.rows[lemmas.starts[which] : lemmas.starts[which + 1]]:
        if _is_lost(cloud.points[i], cloud.half_errors[i], low, high):
            return -1
    return max(lemmas.bounds[which], 0)


@njit(cache=True, nogil=True)
def _go_on(
    cloud: Cloud, target: int, roots: Boxes, stream: Stream, lemmas: Lemmas, handed: Boxes, way: Way, budget: int
) -> tuple[int, int]:
    """Go on with a walk: (OK, number of nodes), (what is wrong, number of the node where it is), or (PAUSED, node) after `budget` points."""
    points, half_errors, weights = cloud.points, cloud.half_errors, cloud.weights
    n, r = points.shape
    deepest = way.turn.shape[0] - 1
    low, high, turn, loose, n_loose, lost, held, n_held = (
        way.low, way.high, way.turn, way.loose, way.n_loose, way.lost, way.held, way.n_held
    )  # fmt: skip
    is_loose, spare = way.is_loose, way.spare
    everything, nothing = np.arange(n), np.zeros((0, 3), np.int64)
    face, level, node, at_pair, at_leaf, at_handed = way.place
    while face < roots.low.shape[0]:
        if level < 0:
            level = 0
            low[0] = roots.low[face]
            high[0] = roots.high[face]
            turn[0] = 0
        while level >= 0:
            if turn[level] == 3:
                level -= 1
                continue
            if turn[level] > 0:
                _half(low, high, level, way.axis[level], turn[level] == 2)
                turn[level] += 1
                level += 1
                turn[level] = 0
                continue
            if budget < 0:
                way.place[:] = (face, level, node, at_pair, at_leaf, at_handed)
                return PAUSED, node
            if node >= stream.ops.shape[0] or at_pair + stream.counts[node] > stream.pairs.shape[0]:
                return BAD_STREAM, node
            box_low, box_high = low[level], high[level]
            above = everything if level == 0 else loose[level - 1, : n_loose[level - 1]]
            budget -= above.shape[0]
            more, n_loose[level] = _sort_out(
                points, half_errors, weights, box_low, box_high, above, loose[level], is_loose, spare
            )
            lost[level] = more + (0 if level == 0 else lost[level - 1])
            conflicts_above = nothing if level == 0 else held[level - 1, : n_held[level - 1]]
            count, value = _inherit(conflicts_above, held[level], is_loose, spare)
            pairs = stream.pairs[at_pair : at_pair + stream.counts[node]]
            at_pair += stream.counts[node]
            code, n_held[level], gained = _add_conflicts(
                cloud, pairs, box_low, box_high, is_loose, spare, held[level], count, way.mixed
            )
            if code != OK:
                return code, node
            bound = lost[level] + value + gained
            op = stream.ops[node]
            node += 1
            if op == WITH_LEMMA:
                if at_leaf >= stream.lemmas.shape[0]:
                    return BAD_STREAM, node - 1
                value = _lemma_value(cloud, lemmas, stream.lemmas[at_leaf], box_low, box_high)
                if value < 0:
                    return BAD_LEMMA, node - 1
                at_leaf += 1
                bound = lost[level] + value
            elif op == HANDED:
                if at_handed >= handed.low.shape[0]:
                    return BAD_STREAM, node - 1
                handed.low[at_handed] = box_low
                handed.high[at_handed] = box_high
                at_handed += 1
                level -= 1
                continue
            elif op > 0:
                k = op - 1
                if k >= r or box_high[k] - box_low[k] < 4 or level == deepest:
                    return BAD_AXIS, node - 1
                way.axis[level] = k
                turn[level] = 1
                continue
            if bound < target:
                return TOO_LOW, node - 1
            level -= 1
        face += 1
    if at_handed != handed.low.shape[0]:
        return BAD_STREAM, node
    if node != stream.ops.shape[0] or at_pair != stream.pairs.shape[0] or at_leaf != stream.lemmas.shape[0]:
        return BAD_STREAM, node
    return OK, node


def walk(cloud: Cloud, target: int, stream: Stream, lemmas: Lemmas) -> tuple[int, int]:
    """(OK, number of nodes), or (what is wrong, number of the node where it is), of a tree over the faces of the cube."""
    code, node, _ = walk_from(faces(cloud.points.shape[1]), cloud, target, stream, lemmas, 0)
    return code, node


def walk_from(
    roots: Boxes, cloud: Cloud, target: int, stream: Stream, lemmas: Lemmas, n_handed: int
) -> tuple[int, int, Boxes]:
    """The same for a tree that begins with the boxes `roots`, and the `n_handed` boxes that it hands over."""
    n, r = cloud.points.shape
    way = Way.first(n, r)
    handed = Boxes(np.zeros((n_handed, r), np.int64), np.zeros((n_handed, r), np.int64))
    code = PAUSED
    while code == PAUSED:
        look()
        code, node = _go_on(cloud, target, roots, stream, lemmas, handed, way, POINTS_A_LOOK)
    return code, node, handed
