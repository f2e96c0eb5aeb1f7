"""Branch and bound over dyadic boxes of weights, in exact integers carried by float64 numbers.

The faces of a cube are halved coordinate by coordinate (`boxes`). The bound of a box is the weight of the points that are wrong all
over it, plus the value of disjoint conflicts between uncertain points (`conflicts`, `matching`), which the halves of the box inherit.
A lemma says what some points cost wherever V is; it may replace the conflicts of a box if none of its points is wrong all over it.

A tree is a preorder stream. A node is one byte that says what happens to the box (LEAF, OPEN, or 1 + the coordinate halved), the
number of conflicts that are new there, these conflicts (i, j, m), and for OPEN nodes the lemma.

Steps that are called from one place carry inline="always": numba optimises a compiled function again with each function that calls it, so
deep nesting would compile twice as long. Arrays of a named tuple are read into local names before a loop, which spares the loop the
counting of references.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .....arrays import Array, Mask
from .....kernels.decorator import njit
from .boxes import Scratch, classify, copy_box, new_scratch, set_half, widest
from .conflicts import inherit, replay
from .matching import match
from .state import (
    ASKING,
    BETTER,
    DONE,
    FINISHED,
    FULL,
    HANDED,
    LEAF,
    LOWER_NEXT,
    MOST_NEW,
    NEW,
    NO_LEMMA,
    OPEN,
    PAUSED,
    QBITS,
    RUNNING,
    UPPER_NEXT,
    Boxes,
    BoxTree,
    LemmaTable,
    OpenBox,
    Path,
    RoundedPoints,
)

NEVER = (
    1 << 20
)  # stands for the halvings since augmenting paths were last tried, on the faces, where they have not been tried
PATH_SHARE = (
    0.5  # augmenting paths are tried only while the pairs still needed are at most this share of the pairs found
)
PATH_SHARE_PER_LEVEL = (
    0.1  # and at most this share per halving since they were last tried: the halves of a box inherit its pairs
)
SCANS_PER_VISIT = 20  # looks at one neighbour that cost the budget as much as one visit of a point
MANY_POINTS = 20_000  # from so many on, conflicts are looked for only on boxes that those of one node could close: each costs a scan of all
# members, so those of a large box that is halved anyway are found at less cost on its halves
NOT_REPLAYED = -1  # stands for the op of the old tree where that tree does not have the box
ZERO_PIVOT = 2.0 ** (QBITS - 10)  # pivots below 2^-10 of the largest possible entry count as zero


@njit(cache=True)
def _rank(Q: Array, rows: NDArray[np.int32]) -> int:
    """Numerical rank of the listed rows of Q, by elimination with complete pivoting."""
    m, r = rows.shape[0], Q.shape[1]
    A = np.empty((m, r))
    for u in range(m):
        for k in range(r):
            A[u, k] = Q[rows[u], k]
    for step in range(min(m, r)):
        best, at_row, at_column = 0.0, step, step
        for u in range(step, m):
            for k in range(step, r):
                if abs(A[u, k]) > best:
                    best, at_row, at_column = abs(A[u, k]), u, k
        if best < ZERO_PIVOT:
            return step
        for k in range(r):
            A[step, k], A[at_row, k] = A[at_row, k], A[step, k]
        for u in range(m):
            A[u, step], A[u, at_column] = A[u, at_column], A[u, step]
        for u in range(step + 1, m):
            factor = A[u, step] / A[step, step]
            if factor != 0.0:
                for k in range(step, r):
                    A[u, k] -= factor * A[step, k]
    return min(m, r)


@njit(cache=True)
def _lemma_that_gives(need: int, lemmas: LemmaTable, lost: Mask) -> int:
    """The first lemma with a bound of at least `need` that has no lost point, or NO_LEMMA."""
    starts, rows, bounds = lemmas
    for index in range(bounds.shape[0]):
        if bounds[index] < need:
            continue
        holds = True
        for x in range(starts[index], starts[index + 1]):
            if lost[rows[x]]:
                holds = False
                break
        if holds:
            return index
    return NO_LEMMA


@njit(cache=True, inline="always")
def _next_box(path: Path, old: BoxTree, roots: Boxes, state: np.record) -> bool:
    """Move on to the next box in preorder that has not been visited; False when there is none."""
    while True:
        depth = state.depth
        if depth < 0:
            state.face += 1
            if state.face >= roots.centre.shape[0]:
                return False
            copy_box(roots, state.face, path.centre[0], path.half[0])
            path.stage[0] = NEW
            path.stale[0] = 0
            path.replayed[0] = 1 if state.read_nodes < old.ops.shape[0] else 0
            state.depth = 0
            return True
        stage = path.stage[depth]
        if stage == NEW:
            return True
        if stage == DONE:
            state.depth = depth - 1
            continue
        set_half(path.centre, path.half, depth, path.axis[depth], stage == UPPER_NEXT)
        path.stage[depth] = stage + 1
        path.stage[depth + 1] = NEW
        path.replayed[depth + 1] = path.replayed[depth]
        state.depth = depth + 1
        return True


@njit(cache=True, inline="always")
def _is_full(out: BoxTree, handed: Boxes, state: np.record) -> bool:
    """Whether there may be no room for one more node with its conflicts and its lemma, or to hand it over."""
    return (
        state.handed >= handed.centre.shape[0]
        or state.written_nodes + 1 >= out.ops.shape[0]
        or state.written_pairs + MOST_NEW + 1 >= out.pairs.shape[0]
        or state.written_lemmas + 1 >= out.lemmas.shape[0]
    )


@njit(cache=True, inline="always")
def _enter(points: RoundedPoints, path: Path, state: np.record, scratch: Scratch) -> tuple[OpenBox, int]:
    """Decide the points on the present box; (the box with its uncertain points, the cost of its centre)."""
    depth = state.depth
    if depth == 0:
        above = 0
        path.wrong[0], path.since_paths[0] = 0, NEVER
        path.n_members[0] = points.Q.shape[0]
        for u in range(points.Q.shape[0]):
            path.members[0, u] = u
            for k in range(points.Q.shape[1]):
                path.q[0, k, u] = points.Q[u, k]
    else:
        above = depth - 1
        path.wrong[depth], path.since_paths[depth] = path.wrong[above], path.since_paths[above] + 1
    candidates = path.n_members[above]
    state.budget -= candidates
    count, newly_lost, cost_at_centre = classify(points, path, depth, above, scratch)
    cost_at_centre += path.wrong[depth]
    path.wrong[depth] += newly_lost
    if depth > 0:
        path.stale[depth] = path.stale[above] + 1 if count == candidates else 0
    box = OpenBox(
        path.centre[depth],
        path.half[depth],
        path.members[depth, :count],
        path.q[depth],
        scratch.a[:count],
        scratch.s[:count],
        scratch.left,
        path.pairs[depth],
    )
    return box, cost_at_centre


@njit(cache=True, inline="always")
def _bound(
    points: RoundedPoints, path: Path, old: BoxTree, state: np.record, box: OpenBox, target: int, splits: bool
) -> tuple[int, int, int]:
    """Bound the box by lost points and conflicts; (bound, number of conflicts, number of inherited ones, which stay in front).

    The conflicts are those of the box above, then those that the old tree made here, then, unless the old tree `splits` the box
    or hands it over, new ones until the bound reaches the target. Among many points (MANY_POINTS) new ones are looked for only where those
    that one node may add could be enough.
    """
    depth = state.depth
    above = path.pairs[depth - 1, : path.n_pairs[depth - 1]] if depth > 0 else path.pairs[0, :0]
    n_pairs, worth = inherit(above, box.left, box.pairs)
    inherited = n_pairs
    bound = path.wrong[depth] + worth
    if path.replayed[depth] == 1:
        end = state.read_pairs + old.counts[state.read_nodes]
        n_pairs, inherited, gain = replay(old.pairs[state.read_pairs : end], box.left, box.pairs, n_pairs)
        bound += gain
    in_reach = points.Q.shape[0] < MANY_POINTS or target - bound <= MOST_NEW
    if bound < target and in_reach and not splits and n_pairs < box.pairs.shape[0]:
        share = min(PATH_SHARE, PATH_SHARE_PER_LEVEL * path.since_paths[depth])
        found = match(points, box, n_pairs, inherited, target - bound, share)
        state.budget -= found.scans * box.members.shape[0] // SCANS_PER_VISIT
        if found.tried:
            path.since_paths[depth] = 0
        n_pairs, inherited, bound = found.n_pairs, found.inherited, target - found.need
    path.n_pairs[depth] = n_pairs
    return bound, n_pairs, inherited


@njit(cache=True, inline="always")
def _asks(Q: Array, members: NDArray[np.int32], stale: Array, state: np.record, axis: int) -> bool:
    """Whether to ask for a lemma: the box cannot be halved, or 2(r - 1) halvings decided none of its points and these may prove one.

    Independent points can all be right at once, so the points must be dependent. Many points (above `few`) must also span a smaller
    space than all of them do, for otherwise a lemma about them is as hard to prove as the whole.
    """
    count, r, depth = members.shape[0], Q.shape[1], state.depth
    if axis < 0:
        return True
    if stale[depth] < 2 * (r - 1):
        return False
    stale[depth] = 0
    return _rank(Q, members) < (count if count <= state.few else min(count, r))


@njit(cache=True, inline="always")
def _write(out: BoxTree, state: np.record, op: int, made: NDArray[np.int64]) -> None:
    """Append a node and the conflicts that are new there."""
    node, pair = state.written_nodes, state.written_pairs
    out.ops[node] = op
    out.counts[node] = made.shape[0]
    out_pairs = out.pairs
    for x in range(made.shape[0]):
        for t in range(3):
            out_pairs[pair + x, t] = made[x, t]
    state.written_nodes = node + 1
    state.written_pairs = pair + made.shape[0]


@njit(cache=True, inline="always")
def _close(out: BoxTree, state: np.record, lemma: int) -> None:
    """Append the lemma of an OPEN node; without one the box is a hole in the proof."""
    out.lemmas[state.written_lemmas] = lemma
    state.written_lemmas += 1
    if lemma == NO_LEMMA:
        state.holes += 1


@njit(cache=True, inline="always")
def _hand_over(path: Path, handed: Boxes, state: np.record) -> None:
    """Append the present box to those handed over."""
    handed.centre[state.handed] = path.centre[state.depth]
    handed.half[state.handed] = path.half[state.depth]
    state.handed += 1


@njit(cache=True, inline="always")
def _visit(
    points: RoundedPoints,
    path: Path,
    old: BoxTree,
    lemmas: LemmaTable,
    out: BoxTree,
    handed: Boxes,
    state: np.record,
    scratch: Scratch,
) -> int:
    """Bound the present box, decide what happens to it and write its node: RUNNING. BETTER and ASKING come before it is written."""
    depth = state.depth
    box, cost_at_centre = _enter(points, path, state, scratch)
    if cost_at_centre < state.best and state.offered == 0 and state.handing == 0:
        state.offered = 1
        return BETTER
    target = min(state.target, state.best)
    replayed = path.replayed[depth] == 1
    old_op = int(old.ops[state.read_nodes]) if replayed else NOT_REPLAYED
    splits = old_op > 0 and old_op <= HANDED
    bound, n_pairs, inherited = _bound(points, path, old, state, box, target, splits)
    op = LEAF
    if splits:
        op = old_op
        if op == HANDED:
            _hand_over(path, handed, state)
    elif bound < target and depth > 0 and state.handing > 0 and box.members.shape[0] <= state.handing:
        op = HANDED
        _hand_over(path, handed, state)
    elif bound < target:
        axis = widest(box.half, scratch.spread)
        need = target - path.wrong[depth]
        lemma = _lemma_that_gives(need, lemmas, path.lost)
        if lemma == NO_LEMMA and state.refused == 0 and _asks(points.Q, box.members, path.stale, state, axis):
            state.need = need
            return ASKING
        if state.refused != 0:
            path.stale[depth] = 0
        if lemma == NO_LEMMA and axis >= 0:
            op = 1 + axis
            path.replayed[depth] = 0
        else:
            op = OPEN
            _close(out, state, lemma)
    _write(out, state, op, box.pairs[inherited:n_pairs])
    if replayed:
        state.read_pairs += old.counts[state.read_nodes]
        state.read_nodes += 1
    state.refused = state.offered = 0
    if op == LEAF or op == OPEN or op == HANDED:  # noqa: SIM109 (numba compiles this faster)
        state.depth = depth - 1
    else:
        path.axis[depth] = op - 1
        path.stage[depth] = LOWER_NEXT
    return RUNNING


@njit(cache=True, nogil=True)
def grow(
    points: RoundedPoints,
    path: Path,
    roots: Boxes,
    old: BoxTree,
    lemmas: LemmaTable,
    out: BoxTree,
    handed: Boxes,
    state: np.record,
) -> int:
    """Replay the old tree, which begins with the boxes `roots`, into `out`, and grow it until the bound of every leaf reaches
    min(state.target, state.best). Boxes with few uncertain points whose centre costs less may be handed over instead (state.handing).
    Boxes that the old tree hands over are handed over again. Other threads of the interpreter run meanwhile.

    Returns
    FINISHED  every box of `roots` is done.
    RUNNING   the budget of point visits is used up; call again with a new one.
    PAUSED    the next box is not deeper than state.pause; it and all others that are left have not been visited.
    FULL      enlarge `out` and `handed` and call again.
    BETTER    the centre of the present box, path.centre[state.depth], costs less than state.best. Leaves are closed only against a
              cost that the caller has counted on the data, so the caller lowers state.best, or not, and calls again.
    ASKING    halving does not decide the members of the present box. Call again with a lemma in `lemmas` that some of them cost at
              least state.need, or with state.refused = 1.
    After BETTER and ASKING the present box is visited again.
    """
    n, r = points.Q.shape
    scratch = new_scratch(n, r)
    while _next_box(path, old, roots, state):
        if _is_full(out, handed, state):
            return FULL
        if state.budget <= 0:
            return RUNNING
        if state.depth <= state.pause:
            return PAUSED
        status = _visit(points, path, old, lemmas, out, handed, state, scratch)
        if status != RUNNING:
            return status
    return FINISHED
