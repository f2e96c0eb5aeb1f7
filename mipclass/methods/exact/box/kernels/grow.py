"""Weight-space branch and bound over dyadic boxes, in exact integers carried by float64 lanes.

A point is an integer vector Q_i with |Q_ik| <= 2^QBITS that differs from its true direction by at most `err_i` (0 or 1/2) in
each coordinate. A box is a centre c and half-widths h, integers in units of 2^-KBITS, on a face |V_f| = 2^KBITS of the cube. With

    a_i = Q_i.c,   s_i = sum_k |Q_ik| h_k,   e_i = err_i * r * 2^KBITS

every V in the box has  q_i.V  in  [a_i - s_i - e_i, a_i + s_i + e_i].  All sums stay below 2^53, so float64 holds them exactly.

* a_i + s_i + e_i <= 0:  point i is wrong all over the box;
* a_i - s_i >= 0:        it is dropped (taken as right, which can only weaken the bound);
* otherwise uncertain.

Two uncertain points conflict when p, q > 0 make  max over the box of (p q_i + q q_j).V  at most 0: one of them is wrong wherever V is.
Disjoint conflicts add to the bound; children inherit them. A lemma says what some points cost wherever V is; it holds beside the
points wrong all over the box when none of these is among its own. A tree is a preorder stream: one byte of what happens at a node
(`LEAF`, `OPEN`, or 1 + the coordinate halved), the number of new conflicts there, the conflicts (i, j, m), and the lemmas of open ones.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .conflicts import KBITS, compact, match, release

QBITS = 21
LEAF = 0  # the bound reaches the target
OPEN = 254  # a lemma reaches the target, or (NO_LEMMA) nothing does and the box is too small to split
NO_LEMMA = -1
NEVER = 1 << 20  # halvings since paths were last tried, where they have not been
FEW = 20  # dependent points that a lemma is asked for although they span the whole space
HOPE = 0.5  # by this share of the conflicts found greedily there may be more
HOPE_A_LEVEL = 0.1  # and by this for each halving since more were last looked for
VISIT = 20  # so many looks at neighbours take about the time of visiting a point


@njit(cache=True)
def _rank(Q: np.ndarray, points: np.ndarray, n_points: int) -> int:
    """Rank of the listed rows by elimination with complete pivoting; entries below 2^-10 of the data's size count as zero."""
    r = Q.shape[1]
    A = np.empty((n_points, r))
    for u in range(n_points):
        for k in range(r):
            A[u, k] = Q[points[u], k]
    for step in range(min(n_points, r)):
        best, at_row, at_column = 0.0, step, step
        for u in range(step, n_points):
            for k in range(step, r):
                if abs(A[u, k]) > best:
                    best, at_row, at_column = abs(A[u, k]), u, k
        if best < 2.0 ** (QBITS - 10):
            return step
        for k in range(r):
            A[step, k], A[at_row, k] = A[at_row, k], A[step, k]
        for u in range(n_points):
            A[u, step], A[u, at_column] = A[u, at_column], A[u, step]
        for u in range(step + 1, n_points):
            factor = A[u, step] / A[step, step]
            if factor != 0.0:
                for k in range(step, r):
                    A[u, k] -= factor * A[step, k]
    return min(n_points, r)


@njit(cache=True)
def _lemma_that_gives(need: int, starts: np.ndarray, rows: np.ndarray, bounds: np.ndarray, lost: np.ndarray) -> int:
    """The first lemma of at least `need` that has no point among the lost, or NO_LEMMA."""
    for index in range(starts.shape[0] - 1):
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


# Registers of a search that is paused between two calls.
N_REGISTERS = 15
DEPTH, FACE, TARGET, BEST, NODES, OUT_NODE, OUT_PAIR, OUT_OPEN, IN_NODE, IN_PAIR = range(10)
ASKED, NEED, REFUSED, OFFERED, HOLES = range(10, N_REGISTERS)
NEW, FIRST, SECOND, DONE = range(4)
RUNNING, FINISHED, FULL, ASKING, BETTER = range(5)


@njit(cache=True)
def _face(face: int, c: np.ndarray, h: np.ndarray) -> None:
    """Centre and half-widths of one of the 2r faces of the cube."""
    one = float(1 << KBITS)
    c[:] = 0.0
    h[:] = one
    c[face // 2] = one if face % 2 == 0 else -one
    h[face // 2] = 0.0


@njit(cache=True)
def _half(centre: np.ndarray, half: np.ndarray, depth: int, k: int, upper: bool) -> None:
    """Below the box at this depth: its lower or upper half in coordinate k."""
    child = depth + 1
    for t in range(centre.shape[1]):
        centre[child, t] = centre[depth, t]
        half[child, t] = half[depth, t]
    half[child, k] = half[depth, k] * 0.5
    centre[child, k] += half[child, k] if upper else -half[child, k]


@njit(cache=True)
def _sort_out(
    err: np.ndarray,
    weights: np.ndarray,
    c: np.ndarray,
    h: np.ndarray,
    above: np.ndarray,
    above_q: np.ndarray,
    mine: np.ndarray,
    own_q: np.ndarray,
    a: np.ndarray,
    s: np.ndarray,
    keep: np.ndarray,
    left: np.ndarray,
    lost: np.ndarray,
    spread: np.ndarray,
) -> tuple[int, int, int]:
    """Of the points uncertain in the box above: (number of those still uncertain, weight of those lost here, weight of those wrong at
    the centre).

    Lists the uncertain ones in `mine` with their coordinates in own_q, a = q.c and s = |q|.h; `spread` is the sum of |q| over them.
    above and mine, above_q and own_q may be the same arrays: points move to the front.
    """
    n, r = above.shape[0], c.shape[0]
    unit = r * float(1 << KBITS)
    for u in range(n):
        left[above[u]] = 0
        a[u] = 0.0
        s[u] = 0.0
    for k in range(r):
        ck, hk, row = c[k], h[k], above_q[k]
        for u in range(n):
            a[u] += row[u] * ck
            s[u] += abs(row[u]) * hk
    count, newly_lost, wrong_at_centre = 0, 0, 0
    for u in range(n):
        i = above[u]
        slack = err[i] * unit
        # Points decided further up were not uncertain on the way here, so nothing has touched their marks since.
        lost[i] = a[u] + s[u] + slack <= 0
        if lost[i]:
            newly_lost += weights[i]
            wrong_at_centre += weights[i]
        elif a[u] - s[u] < 0:
            if a[u] <= slack:
                wrong_at_centre += weights[i]
            a[count] = a[u]
            s[count] = s[u]
            mine[count] = i
            keep[count] = u
            count += 1
            left[i] = weights[i]
    for k in range(r):
        row, own_row = above_q[k], own_q[k]
        total = 0.0
        for u in range(count):
            own_row[u] = row[keep[u]]
            total += abs(own_row[u])
        spread[k] = total
    return count, newly_lost, wrong_at_centre


@njit(cache=True)
def _inherit(above: np.ndarray, left: np.ndarray, pairs: np.ndarray) -> tuple[int, int]:
    """Take over the pairs of the box above whose points are both uncertain; (how many, what they are worth)."""
    kept, worth = 0, 0
    for x in range(above.shape[0]):
        if left[above[x, 0]] > 0 and left[above[x, 1]] > 0:
            for t in range(4):
                pairs[kept, t] = above[x, t]
            kept += 1
            worth += above[x, 3]
    for x in range(kept):
        left[pairs[x, 0]] -= pairs[x, 3]
        left[pairs[x, 1]] -= pairs[x, 3]
    return kept, worth


@njit(cache=True)
def _replay(old: np.ndarray, left: np.ndarray, pairs: np.ndarray, kept: int) -> tuple[int, int, int]:
    """Add the pairs that the old tree made here; (pairs, inherited ones among them, by how much they are worth more)."""
    inherited, gain = kept, 0
    for x in range(old.shape[0]):
        i, j = old[x, 0], old[x, 1]
        if left[i] == 0:
            gain -= release(i, left, pairs, kept)
        if left[j] == 0:
            gain -= release(j, left, pairs, kept)
        value = min(left[i], left[j])
        left[i] -= value
        left[j] -= value
        gain += value
        pairs[kept, 0], pairs[kept, 1], pairs[kept, 2], pairs[kept, 3] = i, j, old[x, 2], value
        kept += 1
    kept, inherited = compact(pairs, kept, inherited)
    return kept, inherited, gain


@njit(cache=True)
def _widest(h: np.ndarray, spread: np.ndarray) -> int:
    """The coordinate whose halving decides most, or -1 when the box is at the end of the grid."""
    best, found = 0.0, -1
    for k in range(h.shape[0]):
        if h[k] > 1.0 and spread[k] * h[k] > best:
            best = spread[k] * h[k]
            found = k
    return found


@njit(cache=True)
def grow(
    Q: np.ndarray,
    err: np.ndarray,
    weights: np.ndarray,
    reg: np.ndarray,
    centre: np.ndarray,
    half: np.ndarray,
    stage: np.ndarray,
    axis: np.ndarray,
    stale: np.ndarray,
    replayed: np.ndarray,
    wrong: np.ndarray,
    points: np.ndarray,
    n_points: np.ndarray,
    q: np.ndarray,
    pairs: np.ndarray,
    n_pairs: np.ndarray,
    lost: np.ndarray,
    since: np.ndarray,
    best_centre: np.ndarray,
    asked: np.ndarray,
    old_ops: np.ndarray,
    old_counts: np.ndarray,
    old_pairs: np.ndarray,
    lemma_starts: np.ndarray,
    lemma_rows: np.ndarray,
    lemma_bounds: np.ndarray,
    few: int,
    ops: np.ndarray,
    counts: np.ndarray,
    out_pairs: np.ndarray,
    lemmas: np.ndarray,
    budget: int,
) -> int:
    """Replay the old tree and grow it until every leaf's bound reaches the target; pause after about `budget` point visits.

    Returns FINISHED, RUNNING (call again), FULL (enlarge the output arrays and call again), or one of two calls for help, after which
    the box is visited anew. BETTER: the rule at best_centre costs less than reg[BEST]; leaves are closed only against a BEST that the
    caller has counted on the data, so it is for the caller to lower it. ASKING: halving does not decide the points asked[:reg[ASKED]],
    which would have to cost reg[NEED]; call again with such a lemma, or with reg[REFUSED] set. The arrays from centre to since hold
    the path from the root, by depth.
    """
    n, r = Q.shape
    a = np.empty(n)
    s = np.empty(n)
    spread = np.empty(r)
    left = np.zeros(n, np.int64)
    keep = np.empty(n, np.int64)
    while True:
        depth = reg[DEPTH]
        if depth < 0:
            reg[FACE] += 1
            if reg[FACE] >= 2 * r:
                return FINISHED
            _face(reg[FACE], centre[0], half[0])
            stage[0] = NEW
            stale[0] = 0
            replayed[0] = 1 if reg[IN_NODE] < old_ops.shape[0] else 0
            reg[DEPTH] = 0
            depth = 0
        if stage[depth] == DONE:
            reg[DEPTH] = depth - 1
            continue
        if stage[depth] != NEW:
            _half(centre, half, depth, axis[depth], stage[depth] == SECOND)
            stage[depth] += 1
            stage[depth + 1] = NEW
            replayed[depth + 1] = replayed[depth]
            reg[DEPTH] = depth + 1
            continue

        # A box not yet visited: is there room for it, and which of the points uncertain above still are?
        room = reg[OUT_NODE] + 1 < ops.shape[0] and reg[OUT_PAIR] + 256 < out_pairs.shape[0]
        if not room or reg[OUT_OPEN] + 1 >= lemmas.shape[0]:
            return FULL
        if budget <= 0:
            return RUNNING
        if depth == 0:  # its own lists begin with all points
            above, above_n, above_pairs = 0, n, 0
            wrong[0], since[0] = 0, NEVER
            for u in range(n):
                points[0, u] = u
                for k in range(r):
                    q[0, k, u] = Q[u, k]
        else:
            above = depth - 1
            above_n, above_pairs = n_points[above], n_pairs[above]
            wrong[depth], since[depth] = wrong[above], since[above] + 1
        budget -= above_n
        reg[NODES] += 1
        in_node, in_pair = reg[IN_NODE], reg[IN_PAIR]
        c, h, mine, own_q, own_pairs = centre[depth], half[depth], points[depth], q[depth], pairs[depth]
        count, newly_lost, at_centre = _sort_out(
            err, weights, c, h, points[above, :above_n], q[above], mine, own_q, a, s, keep, left, lost, spread
        )
        at_centre += wrong[depth]
        wrong[depth] += newly_lost
        n_points[depth] = count
        if depth > 0:
            stale[depth] = stale[above] + 1 if count == above_n else 0
        if at_centre < reg[BEST] and reg[OFFERED] == 0:
            for k in range(r):
                best_centre[k] = c[k]
            reg[OFFERED] = 1
            reg[NODES] -= 1
            return BETTER
        target = min(reg[TARGET], reg[BEST])
        kept, worth = _inherit(pairs[above, :above_pairs], left, own_pairs)
        bound = wrong[depth] + worth
        inherited = kept
        old_op = -1
        if replayed[depth] == 1:
            old_op = int(old_ops[reg[IN_NODE]])
            next_pair = reg[IN_PAIR] + old_counts[reg[IN_NODE]]
            kept, inherited, gain = _replay(old_pairs[reg[IN_PAIR] : next_pair], left, own_pairs, kept)
            bound += gain
            reg[IN_PAIR] = next_pair
            reg[IN_NODE] += 1
        splitting = old_op > 0 and old_op != OPEN
        if bound < target and not splitting and kept < own_pairs.shape[0]:
            hope = min(HOPE, HOPE_A_LEVEL * since[depth])
            kept, inherited, need, tried, scans = match(
                Q, err, weights, c, h, own_q, mine, count, a, s, left, target - bound, own_pairs, kept, inherited, hope
            )
            budget -= scans * count // VISIT
            if tried:
                since[depth] = 0
            bound = target - need
        n_pairs[depth] = kept

        op = LEAF
        if splitting:
            op = old_op
        elif bound < target:
            k_split = _widest(h, spread)
            lemma = _lemma_that_gives(target - wrong[depth], lemma_starts, lemma_rows, lemma_bounds, lost)
            if lemma == NO_LEMMA and reg[REFUSED] == 0:
                asks = k_split < 0
                if not asks and stale[depth] >= 2 * (r - 1):
                    # Independent points can all be right at once, so only dependent ones have anything to prove.
                    asks = _rank(Q, mine, count) < (count if count <= few else min(count, r))
                    stale[depth] = 0
                if asks:
                    for u in range(count):
                        asked[u] = mine[u]
                    reg[ASKED] = count
                    reg[NEED] = target - wrong[depth]
                    reg[NODES] -= 1
                    reg[IN_NODE], reg[IN_PAIR] = in_node, in_pair
                    return ASKING
            if reg[REFUSED] != 0:
                stale[depth] = 0
            if lemma == NO_LEMMA and k_split >= 0:
                op = 1 + k_split
                replayed[depth] = 0
            else:
                op = OPEN
                lemmas[reg[OUT_OPEN]] = lemma
                reg[OUT_OPEN] += 1
                if lemma == NO_LEMMA:
                    reg[HOLES] += 1
        reg[REFUSED] = reg[OFFERED] = 0
        ops[reg[OUT_NODE]] = op
        counts[reg[OUT_NODE]] = kept - inherited
        reg[OUT_NODE] += 1
        for x in range(inherited, kept):
            for t in range(3):
                out_pairs[reg[OUT_PAIR], t] = own_pairs[x, t]
            reg[OUT_PAIR] += 1
        if op == LEAF or op == OPEN:  # noqa: SIM109 (numba compiles this faster)
            reg[DEPTH] = depth - 1
        else:
            axis[depth] = op - 1
            stage[depth] = FIRST
