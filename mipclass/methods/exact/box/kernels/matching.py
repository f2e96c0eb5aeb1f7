"""Disjoint conflicts as a matching: greedy pairs, then augmenting paths.

Among points of weight one, pairs that share no point are a matching in the graph of conflicts. One point of each pair is wrong, so the
largest matching gives the best bound; a greedy matching is smaller by up to a third on large boxes. As usual a matching grows along
alternating paths between two free points (conflict, pair, conflict, ..., conflict): the conflicts on the path become pairs and the
pairs on it dissolve. Odd cycles are not shrunk, so some augmenting paths are missed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .....arrays import Index, Mask
from .....kernels.decorator import njit
from .conflicts import Singles, compact, conflict, pair_greedily, put, rank_neighbours
from .state import FIRST, MOST_NEW, SECOND, VALUE, OpenBox, RoundedPoints

FURTHER = 16  # candidates with f > 0 tried per point in the last rounds: unequal multipliers may prove a conflict there
SCANS_PER_NEED = 10  # scans of neighbours allowed per pair that is still needed; a scan computes f for all members


class Matched(NamedTuple):
    """What `match` reached."""

    n_pairs: int
    inherited: int  # pairs of the box above, which stay in front
    need: int  # what is still needed; negative when a pair of larger weight gives more than that
    tried: bool  # whether augmenting paths were searched
    scans: int  # scans of neighbours


class Forest(NamedTuple):
    """The matching and the trees of alternating paths, by position u among the members."""

    mate: Index  # partner, or -1 for a free point
    holder: Index  # number of the pair that holds u, or -1
    usable: Mask  # whether u takes part at all
    allowed: Mask  # whether u may still enter a tree in this round
    f: Singles  # see rank_neighbours
    near: Index  # candidates of the point that is scanned
    queue: Index  # points of the tree that wait to be scanned
    parent: Index  # the point in conflict with u through which the tree reached u
    mix: Index  # the index of multipliers of that conflict


@njit(cache=True, inline="always")
def _new_forest(points: RoundedPoints, box: OpenBox, n_pairs: int) -> Forest:
    """The matching that the pairs make among the points of weight one; the points of other weights take no part."""
    weights, members, left, pairs = points.weights, box.members, box.left, box.pairs
    count = members.shape[0]
    place = np.empty(weights.shape[0], np.int64)
    mate = np.full(count, -1, np.int64)
    holder = np.full(count, -1, np.int64)
    usable = np.empty(count, np.bool_)
    for u in range(count):
        place[members[u]] = u
        usable[u] = weights[members[u]] == 1 and left[members[u]] == 1
    for x in range(n_pairs):
        i, j = pairs[x, FIRST], pairs[x, SECOND]
        if weights[i] == 1 and weights[j] == 1:
            u, v = place[i], place[j]
            mate[u], mate[v] = v, u
            holder[u] = holder[v] = x
            usable[u] = usable[v] = True
    return Forest(
        mate,
        holder,
        usable,
        np.empty(count, np.bool_),
        np.empty(count, np.float32),
        np.empty(count + FURTHER, np.int64),
        np.empty(count, np.int64),
        np.empty(count, np.int64),
        np.empty(count, np.int64),
    )


@njit(cache=True)
def _neighbours(f: Singles, allowed: Mask, further: bool, near: Index) -> int:
    """List in `near` the allowed v with f_v <= 0, and if `further` also the FURTHER ones with the least positive f; their number."""
    count = 0
    for v in range(f.shape[0]):
        if f[v] <= 0 and allowed[v]:
            near[count] = v
            count += 1
    if not further:
        return count
    first, last = count, count + FURTHER - 1
    worst = np.float32(np.inf)
    for v in range(f.shape[0]):
        if f[v] >= worst or f[v] <= 0 or not allowed[v]:
            continue
        y = min(count, last)
        while y > first and f[near[y - 1]] > f[v]:
            near[y] = near[y - 1]
            y -= 1
        near[y] = v
        count = min(count + 1, last + 1)
        if count > last:
            worst = f[near[last]]
    return count


@njit(cache=True)
def _find_path(
    points: RoundedPoints, box: OpenBox, near_q: Singles, forest: Forest, root: int, further: bool, scans: int
) -> tuple[int, int]:
    """Grow the tree of alternating paths from the free point `root`; (the free point it reaches or -1, scans left).

    Points that enter the tree are not allowed in other trees of the same round.
    """
    c, h, members = box.centre, box.half, box.members
    mate, allowed, queue, parent = forest.mate, forest.allowed, forest.queue, forest.parent
    f, near, mix = forest.f, forest.near, forest.mix
    head, tail = 0, 1
    queue[0] = root
    allowed[root] = False
    while head < tail and scans > 0:
        u = queue[head]
        head += 1
        scans -= 1
        rank_neighbours(near_q, u, c, h, f)
        for y in range(_neighbours(f, allowed, further, near)):
            v = near[y]
            if not allowed[v]:
                continue  # v has entered the tree since the scan, as the mate of another point
            mix[v] = conflict(points, members[u], members[v], c, h)
            if mix[v] == 0:
                continue
            allowed[v] = False
            parent[v] = u
            if mate[v] < 0:
                return v, scans
            allowed[mate[v]] = False
            queue[tail] = mate[v]
            tail += 1
    return -1, scans


@njit(cache=True)
def _newly_made(end: int, forest: Forest, inherited: int) -> int:
    """How many pairs the path to `end` would add to those new on this box: one, and one per inherited pair that it dissolves."""
    mate, parent, holder = forest.mate, forest.parent, forest.holder
    made = 1
    v = mate[parent[end]]
    while v >= 0:
        made += holder[v] < inherited
        v = mate[parent[v]]
    return made


@njit(cache=True)
def _exchange(end: int, forest: Forest, box: OpenBox, n_pairs: int, inherited: int) -> int:
    """Make pairs of the conflicts on the path to `end` and dissolve the pairs on it; the number of pairs, dissolved ones included."""
    mate, holder, parent, mix = forest.mate, forest.holder, forest.parent, forest.mix
    members, pairs = box.members, box.pairs
    v = end
    while v >= 0:
        u = parent[v]
        before, x = mate[u], holder[u]
        if x < inherited:  # u is free or its pair is inherited: append; otherwise the new pair overwrites the old one
            if x >= 0:
                pairs[x, VALUE] = 0
            x = n_pairs
            n_pairs += 1
        put(pairs, x, members[u], members[v], mix[v], 1)
        mate[u], mate[v] = v, u
        holder[u] = holder[v] = x
        v = before
    return n_pairs


@njit(cache=True, inline="always")
def _augment(
    points: RoundedPoints, box: OpenBox, near_q: Singles, n_pairs: int, inherited: int, need: int, scans: int
) -> tuple[int, int, int, int]:
    """Enlarge the matching along augmenting paths until `need` more pairs are found, with at most `scans` scans of neighbours.

    Returns (number of pairs, number of inherited ones, what is still needed, scans left). A round grows one tree per free point, and
    a tree that failed is not entered again in the same round. Rounds go on while they make progress; the last ones start from all
    free points and also try candidates with f > 0.
    """
    forest = _new_forest(points, box, n_pairs)
    members, left, pairs, a = box.members, box.left, box.pairs, box.a
    mate, usable, allowed = forest.mate, forest.usable, forest.allowed
    most_new = MOST_NEW - (n_pairs - inherited)
    further, progress, room = False, True, True
    while need > 0 and room and scans > 0 and (progress or not further):
        further = further or not progress
        progress = False
        for u in range(members.shape[0]):
            allowed[u] = usable[u]
        for root in range(members.shape[0]):
            # One point of each conflict is wrong at the centre (a <= 0), so the first rounds start from those points only.
            if mate[root] >= 0 or not allowed[root] or (a[root] > 0 and not further):
                continue
            end, scans = _find_path(points, box, near_q, forest, root, further, scans)
            if end >= 0:
                made = _newly_made(end, forest, inherited)
                room = made <= most_new and n_pairs + made <= pairs.shape[0]
                if room:
                    n_pairs = _exchange(end, forest, box, n_pairs, inherited)
                    left[members[root]] = left[members[end]] = 0
                    most_new -= made
                    need -= 1
                    progress = True
            if need <= 0 or scans <= 0 or not room:
                break
    n_pairs, inherited = compact(pairs, n_pairs, inherited)
    return n_pairs, inherited, need, scans


@njit(cache=True)
def match(points: RoundedPoints, box: OpenBox, n_pairs: int, inherited: int, need: int, share: float) -> Matched:
    """Add pairs until their value reaches `need`: greedily, then along augmenting paths between points of weight one.

    Augmenting paths are tried only where they could close the gap: `need` must be at most the given share of the number of pairs.
    """
    r, count = box.q.shape[0], box.members.shape[0]
    q, near_q = box.q, np.empty((r, count), np.float32)
    for k in range(r):
        row, near_row = q[k], near_q[k]
        for u in range(count):
            near_row[u] = row[u]
    most_new = MOST_NEW - (n_pairs - inherited)
    n_pairs, need, scans = pair_greedily(points, box, near_q, n_pairs, most_new, need)
    tried = 0 < need <= share * n_pairs
    if tried:
        limit = SCANS_PER_NEED * (need + 1)
        n_pairs, inherited, need, unused = _augment(points, box, near_q, n_pairs, inherited, need, limit)
        scans += limit - unused
    return Matched(n_pairs, inherited, need, tried, scans)
