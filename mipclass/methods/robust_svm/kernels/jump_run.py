"""Jumps of the path in s one after the other, in compiled code, while the primal-dual active set solves their conditional QPs.

What jumps.py does for one jump is done here for many, so that a jump costs no Python. A jump that needs more than the primal-dual
active set (the homotopy, a larger factor) is left to the caller with the solution as it was before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays import Array, Index
from ....kernels.decorator import njit
from ....numeric.vectors import set_multiple
from .active_set import ActiveSet, leave
from .compiled import inner_kernel
from .operators import SignedGram
from .partition import LEFT, OUT, TIE_IN, TIE_OUT, DualSolution, Levels, States
from .primal_dual import Waiting, correct

ROUNDS = 12  # of the primal-dual active set before the homotopy takes over; two or three are usual
TOGETHER = 40  # rounds of a jump in which all inliers at the cut-off leave at once; afterwards they leave one at a time


class JumpHistory(NamedTuple):
    """The solutions after each of several jumps, one row each.

    a, m, state : (jumps, n).   active : (jumps, n) whose first size[k] entries are the active set after jump k.
    s : (jumps,) the cut-off.      point : (jumps,) the point that reached it.
    rounds : (1,) rounds of the primal-dual active set in all.
    """

    a: Array
    m: Array
    state: States
    active: Index
    size: Index
    s: Array
    point: Index
    rounds: Index

    @classmethod
    def empty(cls, jumps: int, n: int) -> JumpHistory:
        """Room for so many jumps of n points."""
        shape, whole = (jumps, n), np.int64
        return cls(
            np.empty(shape), np.empty(shape), np.empty(shape, dtype=np.int8), np.empty(shape, dtype=whole),
            np.empty(jumps, dtype=whole), np.empty(jumps), np.empty(jumps, dtype=whole), np.zeros(1, dtype=whole),
        )  # fmt: skip


class CutOff(NamedTuple):
    """Where the cut-off is (`s`), and the values at which a run of jumps ends.

    frontier : a point outside the working set may reach a cut-off beyond this.    until : the end of the path.
    shift, jitter : jitter times shift are the shifts of the points' levels.
    """

    s: float
    frontier: float
    until: float
    shift: Array
    jitter: float


@inner_kernel
def next_out(solution: DualSolution, cut: CutOff) -> tuple[int, float]:
    """The inlier that the rising cut-off reaches first, or -1, and its margin less the shift of its level."""
    who, level = -1, np.inf
    for i in range(solution.m.shape[0]):
        if solution.state[i] == LEFT:
            x = solution.m[i] - cut.jitter * cut.shift[i]
            if x < level:
                who, level = i, x
    return who, level


@inner_kernel
def next_sides(solution: DualSolution, levels: Levels, active_set: ActiveSet, points: Index) -> int:
    """Put the inliers tied at the cut-off into `points`, else the one tied outlier farthest beyond its bound; returns how many."""
    count, worst, excess = 0, -1, -np.inf
    for c in range(active_set.size[0]):
        i = active_set.active[c]
        if solution.state[i] == TIE_IN:
            points[count] = i
            count += 1
        elif solution.state[i] == TIE_OUT:
            x = (levels.out_level[i] - solution.a[i]) / levels.C[i]
            if x > excess:
                worst, excess = i, x
    if count == 0 and worst >= 0:
        points[0] = worst
        return 1
    return count


@inner_kernel
def change_sides(
    gram: SignedGram, solution: DualSolution, levels: Levels, active_set: ActiveSet, points: Index, look: Array,
    before: DualSolution,
) -> int:  # fmt: skip
    """Move the points to the other side of the cut-off and solve their conditional QP; rounds used, or -1 when it gave up."""
    n = solution.a.shape[0]
    set_multiple(before.a, 1.0, solution.a)
    set_multiple(before.m, 1.0, solution.m)
    before.state[:] = solution.state
    waiting = Waiting(np.empty(n, dtype=np.int64), np.empty(n), np.zeros(1, dtype=np.int64))
    one, spare = np.empty(1, dtype=np.int64), np.empty((1, active_set.U.shape[0]))
    falls = solution.state[points[0]] == LEFT or solution.state[points[0]] == TIE_IN
    for e in range(points.shape[0]):
        j = points[e]
        if active_set.position[j] >= 0:
            one[0] = j
            leave(active_set, one, spare)
        target = levels.out_level[j] if falls else levels.C[j]
        waiting.points[e] = j
        waiting.shift[e] = target - solution.a[j]
        solution.a[j] = target
        solution.state[j] = OUT if falls else LEFT
    waiting.size[0] = points.shape[0]
    return correct(gram, solution, levels, active_set, waiting, before, ROUNDS, look)


@njit(cache=True)
def follow_jumps(
    gram: SignedGram, solution: DualSolution, levels: Levels, active_set: ActiveSet, cut: CutOff, history: JumpHistory,
    look: Array,
) -> int:  # fmt: skip
    """Jump until the history is full, the cut-off would pass cut.frontier or cut.until, or a jump needs the caller's help.

    Returns the number of jumps made; all arrays are unusable when it is negative: -1 - jumps. The solution is then that of the
    last jump in the history, or that before the first.
    """
    n, s = solution.a.shape[0], cut.s
    before = DualSolution(np.empty(n), np.empty(n), np.empty(n, dtype=np.int8))
    points = np.empty(n, dtype=np.int64)
    for made in range(history.a.shape[0]):
        j, level = next_out(solution, cut)
        if level > cut.frontier or level >= cut.until:
            return made
        s = max(level, s)
        for i in range(n):
            levels.q[i] = s + cut.jitter * cut.shift[i]
        points[0], count, changes = j, 1, 0
        while count:
            changes += 1
            used = -1
            if changes <= TOGETHER:
                used = change_sides(gram, solution, levels, active_set, points[:count], look, before)
            if used < 0:
                return -1 - made
            history.rounds[0] += used
            count = next_sides(solution, levels, active_set, points)
        history.a[made] = solution.a
        history.m[made] = solution.m
        history.state[made] = solution.state
        k = active_set.size[0]
        history.active[made, :k] = active_set.active[:k]
        history.size[made] = k
        history.s[made] = s
        history.point[made] = j
    return history.a.shape[0]
