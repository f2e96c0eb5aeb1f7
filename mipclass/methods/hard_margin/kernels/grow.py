"""The box search's loop: pop a box, try to close it, else halve it; what closes a box is written down for the certificate.

Evidence of a leaf, as whole numbers: the number of records, then for each record
    level, number of matched pairs, the pairs; number of steps, the steps; number of hull pairs, the pairs
Points are positives 0 .. n+ - 1 and negatives n+ .. n - 1. A step (v, e) says: v is right, e conflicts with it, so e's mate is right.
Weights of hull pairs go to a list of floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....kernels.decorator import njit
from ....numeric.hulls import nearest_points
from .conflicts import all_levels, enlarge, forced_right, one_level

LEAF = 255  # the byte of a leaf; other bytes are the coordinate that is halved
CENTRE, UNKNOWN = 0, -1
THINNEST = 2.0**-40  # boxes whose widest side is at most this are not halved

FINISHED, PAUSED, STUCK = 0, 1, 2  # why `grow` returned


@njit(cache=True)
def close_level(points: Any, level: Any, k: int, shown: int, room: float, mates: Any, record: Any) -> int:
    """The number of levels from `shown` on that one matching of conflicts (of level <= k in the table) closes; 0 when it closes none.

    room : a 4 / |v|^2 that the right points must reach at `shown`, over 4 a.   record : (ints, floats, counters) to append evidence to.
    """
    ints, floats, used = record
    of_p = mates[0]
    size = enlarge(level, k, shown + 1, mates)
    if size < shown:
        return 0
    at = used[0]
    ints[at], ints[at + 1] = shown, size
    at += 2
    for j in range(len(of_p)):
        if of_p[j] >= 0:
            ints[at], ints[at + 1] = j, len(of_p) + of_p[j]
            at += 2
    if size > shown:
        ints[at] = ints[at + 1] = 0
        used[0] = at + 2
        return size - shown
    right, because = forced_right(level, k, mates)
    rows, columns = np.flatnonzero(right[: len(of_p)]), np.flatnonzero(right[len(of_p) :])
    if len(rows) == 0 or len(columns) == 0:
        return 0
    P, N = points
    first, second, weights, v, _ = nearest_points(P[rows], N[columns], 1.0 / room)
    if np.dot(v, v) * room > 1.0:
        return 0
    at = _write_steps(because, rows[first], len(of_p) + columns[second], mates, ints, at)
    ints[at] = len(first)
    at += 1
    for q in range(len(first)):
        ints[at], ints[at + 1] = rows[first[q]], len(of_p) + columns[second[q]]
        floats[used[1] + q] = weights[q]
        at += 2
    used[0], used[1] = at, used[1] + len(first)
    return 1


@njit(cache=True)
def _write_steps(because: Any, first: Any, second: Any, mates: Any, ints: Any, at: int) -> int:
    """Write the steps that make the given points right, each after those it rests on; the next free place."""
    of_p, of_n = mates
    done, chain = np.zeros(len(because), np.bool_), np.zeros(len(because), np.int64)
    count, place = 0, at + 1
    for wanted in np.concatenate((first, second)):
        length, v = 0, wanted
        while not done[v] and because[v] >= 0:
            chain[length], done[v] = v, True
            length += 1
            v = because[v]
        for back in range(length - 1, -1, -1):
            v = chain[back]
            mate = len(of_p) + of_p[v] if v < len(of_p) else of_n[v - len(of_p)]
            ints[place], ints[place + 1] = because[v], mate
            place += 2
            count += 1
    ints[at] = count
    return place


@njit(cache=True)
def close_box(
    box: Any, hint: int, points: Any, scaled: Any, inverse: Any, rhos: Any, rooms: Any, work: Any, record: Any
) -> int:
    """UNKNOWN (-1) when the box is closed at every level, else the first level that stays open.

    hint : a level that stayed open in the box around this one, tried first; below it all levels are closed there.
    """
    level, of_p, of_n = work
    P, N = scaled
    c, h = box[0], box[1]
    centre = c * inverse
    g = centre / np.sqrt(np.dot(centre, centre)) * inverse
    mates, used = (of_p, of_n), record[2]
    start, start_floats = used[0], used[1]
    if 0 <= hint < len(rhos):
        one_level(c, h, g, P, N, rhos[hint], level)
        of_p[:], of_n[:] = -1, -1
        closed = close_level(points, level, 0, hint, rooms[hint], mates, record)
        used[0], used[1] = start, start_floats
        if closed == 0:
            return hint
    all_levels(c, h, g, P, N, rhos, level)
    of_p[:], of_n[:] = -1, -1
    used[0] += 1
    k, records = 0, 0
    while k < len(rhos):
        closed = close_level(points, level, k, k, rooms[k], mates, record)
        if closed == 0:
            used[0], used[1] = start, start_floats
            return k
        k += closed
        records += 1
    record[0][start] = records
    return -1


@njit(cache=True)
def grow(
    stack: Any, hints: Any, top: int, points: Any, scaled: Any, inverse: Any, limits: Any, work: Any, out: Any
) -> Any:
    """(why, top, boxes): work on the stack of boxes until it is empty, the buffers are full or the budget is used up.

    limits : (rhos, rooms, budget of boxes).   out : (bytes of nodes, ints, floats, counters of the three).
    A box that failed at `hint` is halved along the side that is widest in units of the data.
    """
    rhos, rooms, budget = limits
    ops, ints, floats, used = out
    n, d = len(points[0]) + len(points[1]), len(inverse)
    widest_record = (len(rhos) + 1) * (4 * n + 2 * d + 8)
    boxes = 0
    while top > 0:
        if boxes >= budget or used[2] + 2 > len(ops):
            return PAUSED, top, boxes
        if used[0] + widest_record > len(ints) or used[1] + (len(rhos) + 1) * (d + 2) > len(floats):
            return PAUSED, top, boxes
        box, hint = stack[top - 1].copy(), hints[top - 1]
        axis = np.argmax(box[1])
        if box[1, axis] < THINNEST and box[1, axis] > 0:
            return STUCK, top, boxes
        boxes += 1
        failed = close_box(box, hint, points, scaled, inverse, rhos, rooms, work, (ints, floats, used))
        if failed < 0:
            ops[used[2]] = LEAF
            top -= 1
        elif box[1, axis] == 0.0:
            return STUCK, top, boxes
        else:
            ops[used[2]] = axis
            box[1, axis] /= 2
            for side in range(2):
                stack[top - 1 + side] = box
                stack[top - 1 + side, CENTRE, axis] += box[1, axis] if side == 1 else -box[1, axis]
                hints[top - 1 + side] = failed
            top += 1
        used[2] += 1
    return FINISHED, top, boxes
