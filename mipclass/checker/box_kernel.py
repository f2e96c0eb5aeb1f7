"""Walks through the tree of a box proof in 64-bit integers and says whether the bound of every leaf reaches the target.

Points are integer vectors of at most 2^21 per coordinate, exact up to half_error / 2; boxes have corners on the grid of 2^-20. A point
is lost on a box when it is wrong all over it, and loose when it may be right or wrong there. The largest number that occurs is
128 * 2^21 * 2^20 * 16 = 2^52, far inside 64 bits; float64 holds whole numbers up to 2^53, so sums of products are exact there too.
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
"""Points looked at in boxes between two looks at the clock: some hundredths of a second."""
AT_ONCE = 512
"""Points whose products are formed together: their arrays stay in the nearest cache."""


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


class Held(NamedTuple):
    """The conflicts of a box, and for each loose point a chain through its own: latest[i] is the last conflict of point i, and
    before[x] are the conflicts that come before x in the chains of its two points; -1 ends a chain."""

    ends: np.ndarray
    values: np.ndarray  # 0: given up
    before: np.ndarray
    latest: np.ndarray


START = (0, -1, 0, 0, 0, 0)  # the place where a walk begins, see `Way`


class Way(NamedTuple):
    """Where a walk is, level by level from a face down: box, next half, halved coordinate, loose points, weight of the lost ones,
    conflicts held (`Held`); marks and spare weights of the points; (root, level, node, conflict, lemma, box handed over) that come next."""

    low: np.ndarray
    high: np.ndarray
    turn: np.ndarray  # 0: not visited, 1 and 2: a half is next, 3: both halves done
    axis: np.ndarray
    loose: np.ndarray
    columns: np.ndarray  # (levels, r, n), the coordinates of the loose points, one column per point
    all_columns: np.ndarray  # (r, n), those of all points
    n_loose: np.ndarray
    lost: np.ndarray
    ends: np.ndarray
    values: np.ndarray
    n_held: np.ndarray
    before: np.ndarray
    latest: np.ndarray
    is_loose: np.ndarray
    spare: np.ndarray  # weight that no conflict uses
    mixed: np.ndarray
    place: np.ndarray

    @classmethod
    def first(cls, points: np.ndarray) -> Way:
        """Before the first face."""
        n, r = points.shape
        levels = (r - 1) * GRID_BITS + 1  # a side of 2^21 is halved while it is at least 4 wide: 20 times
        return cls(
            low=np.zeros((levels, r), np.int64),
            high=np.zeros((levels, r), np.int64),
            turn=np.zeros(levels, np.int64),
            axis=np.zeros(levels, np.int64),
            loose=np.zeros((levels, n), np.int32),
            columns=np.zeros((levels, r, n), np.int32),
            all_columns=np.ascontiguousarray(points.T, dtype=np.int32),
            n_loose=np.zeros(levels, np.int64),
            lost=np.zeros(levels, np.int64),
            ends=np.zeros((levels, 2 * n, 2), np.int32),
            values=np.zeros((levels, 2 * n), np.int64),
            n_held=np.zeros(levels, np.int64),
            before=np.zeros((2 * n, 2), np.int32),
            latest=np.full(n, -1, np.int32),
            is_loose=np.zeros(n, np.bool_),
            spare=np.zeros(n, np.int64),
            mixed=np.zeros(r, np.int64),
            place=np.array(START, np.int64),
        )


@njit(cache=True)
def _highest(vector: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
    """max of vector.V over the box low <= V <= high."""
    total = 0
    for k in range(vector.shape[0]):
        total += vector[k] * high[k] if vector[k] > 0 else vector[k] * low[k]
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
def _ranges(columns: np.ndarray, begin: int, end: int, box: np.ndarray, middle: np.ndarray, reach: np.ndarray) -> None:
    """For the points `begin` to `end`: middle = q.(low + high) and reach = |q|.(high - low), where box = (low + high, high - low).

    Over the box q.V is between (middle - reach) / 2 and (middle + reach) / 2.
    """
    for u in range(end - begin):
        middle[u] = reach[u] = 0.0
    for k in range(columns.shape[0]):
        both, width, own = box[0, k], box[1, k], columns[k, begin:end]
        for u in range(end - begin):
            q = float(own[u])
            middle[u] += q * both
            reach[u] += abs(q) * width


@njit(cache=True)
def _sort_out(
    cloud: Cloud, box: np.ndarray, above: np.ndarray, columns_above: np.ndarray, loose: np.ndarray, columns: np.ndarray,
    is_loose: np.ndarray, spare: np.ndarray,
) -> tuple[int, int]:  # fmt: skip
    """Of the points that are loose on the box above: (weight of those lost here, number of those still loose, which are listed)."""
    half_errors, weights = cloud.half_errors, cloud.weights
    middle, reach, kept = np.empty(AT_ONCE), np.empty(AT_ONCE), np.empty(AT_ONCE, np.int64)
    rounding = float(columns.shape[0] << GRID_BITS)
    lost, count = 0, 0
    for begin in range(0, above.shape[0], AT_ONCE):
        end = min(begin + AT_ONCE, above.shape[0])
        _ranges(columns_above, begin, end, box, middle, reach)
        here = 0
        for u in range(end - begin):
            i = above[begin + u]
            is_loose[i] = False
            if middle[u] + reach[u] + half_errors[i] * rounding <= 0.0:  # as in _is_lost
                lost += weights[i]
            elif middle[u] < reach[u]:
                loose[count + here] = i
                kept[here] = begin + u
                here += 1
                is_loose[i] = True
                spare[i] = weights[i]
        for k in range(columns.shape[0]):
            for u in range(here):
                columns[k, count + u] = columns_above[k, kept[u]]
        count += here
    return lost, count


@njit(cache=True)
def _hold(held: Held, x: int, i: int, j: int, value: int) -> None:
    """Make x the last conflict of its points i and j."""
    ends, before, latest = held.ends, held.before, held.latest
    ends[x, 0], ends[x, 1] = i, j
    held.values[x] = value
    before[x, 0], before[x, 1] = latest[i], latest[j]
    latest[i] = latest[j] = x


@njit(cache=True)
def _inherit(
    ends: np.ndarray, values: np.ndarray, held: Held, loose: np.ndarray, is_loose: np.ndarray, spare: np.ndarray
) -> tuple[int, int]:
    """Hold the conflicts of the box above whose points are both still loose; (how many, their value). `loose` are the loose points."""
    for i in loose:
        held.latest[i] = -1
    count, total = 0, 0
    for x in range(values.shape[0]):
        i, j, value = ends[x, 0], ends[x, 1], values[x]
        if value > 0 and is_loose[i] and is_loose[j]:
            _hold(held, count, i, j, value)
            count += 1
            spare[i] -= value
            spare[j] -= value
            total += value
    return count, total


@njit(cache=True)
def _give_up(point: int, held: Held, spare: np.ndarray) -> int:
    """Give up the conflicts of a point; the sum of their values."""
    ends, values, before = held.ends, held.values, held.before
    given_up = 0
    x = held.latest[point]
    while x >= 0:
        value = values[x]
        spare[ends[x, 0]] += value
        spare[ends[x, 1]] += value
        given_up += value
        values[x] = 0
        x = before[x, 0] if ends[x, 0] == point else before[x, 1]
    held.latest[point] = -1
    return given_up


@njit(cache=True)
def _without_given_up(held: Held, count: int) -> int:
    """Move the conflicts that are not given up to the front; how many they are."""
    ends, values, latest = held.ends, held.values, held.latest
    for x in range(count):
        latest[ends[x, 0]] = latest[ends[x, 1]] = -1
    kept = 0
    for x in range(count):
        if values[x] > 0:
            _hold(held, kept, ends[x, 0], ends[x, 1], values[x])
            kept += 1
    return kept


@njit(cache=True)
def _add_conflicts(
    cloud: Cloud, pairs: np.ndarray, low: np.ndarray, high: np.ndarray, is_loose: np.ndarray, spare: np.ndarray,
    held: Held, count: int, mixed: np.ndarray,
) -> tuple[int, int, int]:  # fmt: skip
    """Hold the new conflicts `pairs` of a box besides the first `count`; (OK or what is wrong, how many are held, value gained).

    A point whose weight is used up leaves its present partners for the new one.
    """
    n = cloud.points.shape[0]
    gained = 0
    for x in range(pairs.shape[0]):
        i, j, m = pairs[x, 0], pairs[x, 1], pairs[x, 2]
        if count == held.values.shape[0]:
            count = _without_given_up(held, count)
            if count == held.values.shape[0]:
                return BAD_STREAM, count, gained
        if i < 0 or j < 0 or i >= n or j >= n or i == j or m < 1 or m > 127:
            return BAD_PAIR, count, gained
        if not is_loose[i] or not is_loose[j]:
            return NOT_LOOSE, count, gained
        if not _conflicts(cloud.points, cloud.half_errors, i, j, m, low, high, mixed):
            return NO_CONFLICT, count, gained
        for point in (i, j):
            if spare[point] == 0:
                gained -= _give_up(point, held, spare)
        value = min(spare[i], spare[j])
        spare[i] -= value
        spare[j] -= value
        gained += value
        _hold(held, count, i, j, value)
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
    n, r = cloud.points.shape
    deepest = way.turn.shape[0] - 1
    low, high, turn, loose, n_loose, lost = way.low, way.high, way.turn, way.loose, way.n_loose, way.lost
    ends, values, n_held, is_loose, spare = way.ends, way.values, way.n_held, way.is_loose, way.spare
    everything, box = np.arange(n).astype(np.int32), np.empty((2, r))
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
            columns_above = way.all_columns if level == 0 else way.columns[level - 1]
            budget -= above.shape[0]
            for k in range(r):
                box[0, k], box[1, k] = box_low[k] + box_high[k], box_high[k] - box_low[k]
            more, n_loose[level] = _sort_out(
                cloud, box, above, columns_above, loose[level], way.columns[level], is_loose, spare
            )
            lost[level] = more + (0 if level == 0 else lost[level - 1])
            held = Held(ends[level], values[level], way.before, way.latest)
            n_above = 0 if level == 0 else n_held[level - 1]
            count, value = _inherit(
                ends[level - 1, :n_above],
                values[level - 1, :n_above],
                held,
                loose[level, : n_loose[level]],
                is_loose,
                spare,
            )
            pairs = stream.pairs[at_pair : at_pair + stream.counts[node]]
            at_pair += stream.counts[node]
            code, n_held[level], gained = _add_conflicts(
                cloud, pairs, box_low, box_high, is_loose, spare, held, count, way.mixed
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
    roots: Boxes, cloud: Cloud, target: int, stream: Stream, lemmas: Lemmas, n_handed: int, way: Way | None = None
) -> tuple[int, int, Boxes]:
    """The same for a tree that begins with the boxes `roots`, and the `n_handed` boxes that it hands over.

    way : room of an earlier walk over the same points. Every root visits all points, so that nothing of that walk is left.
    """
    r = cloud.points.shape[1]
    way = Way.first(cloud.points) if way is None else way
    way.place[:] = START
    handed = Boxes(np.zeros((n_handed, r), np.int64), np.zeros((n_handed, r), np.int64))
    code = PAUSED
    while code == PAUSED:
        look()
        code, node = _go_on(cloud, target, roots, stream, lemmas, handed, way, POINTS_A_LOOK)
    return code, node, handed
