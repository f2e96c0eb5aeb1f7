"""How far w may move before a point of a linear rule changes its state, and the list of points that a leg has to look at.

|m_i(w') - m_i(w)| <= |Z_i| |w' - w|. So a point keeps its state while |w' - w| is below its slack: the distance of its margin
from the nearest level, divided by |Z_i|. A leg looks only at the points whose slack is at most some radius, until w has moved as
far; then the margins of the others are brought up to date and the list is made anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays import Array, Index, Mask
from ....kernels.decorator import njit
from ....numeric.cholesky_update import REORDER
from .active_set import ActiveSet
from .compiled import inner_kernel
from .partition import LEFT, OUT, RIGHT, DualSolution, Levels
from .rows import Compressed, compressed_dot, row_dot

# Distance from a level, in units of margins, that is given away to rounding and to the random shifts of the levels.
CUSHION = 1e-7
FEWEST = 200  # points from which a list is made: fewer are looked at faster than they are sorted out
WHOLE = 0.5  # a list of more than this share of the points gains nothing: all are looked at
# Making a list costs, per point of the state, as much as so many looks at a point of the list.
A_LIST = 2.0
TOO_OLD = 4.0  # a list that has cost so many times as much as making it is too large
WIDER, NARROWER = 1.5, 1.2  # factors by which the radius adapts


class Near(NamedTuple):
    """The points that a leg looks at: the first size[0] of `which`; all points in their order when there is no list.

    listed : (n,) mask of them.    way : (d,) what w has moved since the list was made.     radius : (1,) how far it may.
    visits : (1,) looks at points since the list was made.
    """

    which: Index
    listed: Mask
    size: Index
    way: Array
    radius: Array
    visits: Index


@njit(cache=True)
def slack_of(solution: DualSolution, levels: Levels, i: int, root: float, rise: float, cushion: float) -> float:
    """How far w may move while inactive point i keeps its state although the cut-off rises by `rise`."""
    m, s = solution.m[i], solution.state[i]
    if s == RIGHT:
        gap = m - levels.p[i]
    elif s == LEFT:
        gap = min(levels.p[i] - m, m - levels.q[i] - rise)
    elif s == OUT:
        gap = levels.q[i] - m
    else:
        return -1.0
    gap -= cushion
    if gap <= 0.0:
        return 0.0
    return gap / root if root > 0.0 else np.inf


@njit(cache=True)
def slacks(solution: DualSolution, levels: Levels, position: Index, root: Array, rise: float, cushion: float) -> Array:
    """(n,) `slack_of` every point; -1 for active points. `root` is |Z_i|."""
    out = np.empty(root.shape[0])
    for i in range(root.shape[0]):
        out[i] = -1.0 if position[i] >= 0 else slack_of(solution, levels, i, root[i], rise, cushion)
    return out


@inner_kernel
def new_list(n: int, d: int) -> Near:
    """Arrays for a list of n points in d dimensions; what is listed is still open."""
    one = np.zeros(1, dtype=np.int64)
    return Near(
        np.empty(n, dtype=np.int64), np.empty(n, dtype=np.bool_), one, np.zeros(d), np.full(1, np.inf), one.copy()
    )  # fmt: skip


@inner_kernel
def look_at_all(near: Near) -> None:
    """Make no list."""
    n = near.which.shape[0]
    for i in range(n):
        near.which[i] = i
        near.listed[i] = True
    near.size[0] = n


@inner_kernel
def make_list(
    near: Near, solution: DualSolution, levels: Levels, active_set: ActiveSet, root: Array, radius: float
) -> None:
    """List the points whose slack is at most `radius`, at the present w; all when these are too many."""
    n = root.shape[0]
    near.way[:] = 0.0
    near.visits[0] = 0
    near.radius[0] = radius
    count = 0
    for i in range(n):
        close = active_set.position[i] >= 0 or slack_of(solution, levels, i, root[i], 0.0, CUSHION) <= radius
        near.listed[i] = close
        if close:
            near.which[count] = i
            count += 1
    near.size[0] = count
    if count > WHOLE * n:
        look_at_all(near)


@inner_kernel
def add_products(near: Near, Z: Array, rows: Compressed, x: Array, step: float, out: Array, listed: bool) -> None:
    """out_i += step Z_i.x for the points that are listed, or for those that are not."""
    if listed:
        for e in range(near.size[0]):
            i = near.which[e]
            out[i] += step * (compressed_dot(rows, i, x) if rows.start.shape[0] else row_dot(Z, i, x))
    else:
        for i in range(out.shape[0]):
            if not near.listed[i]:
                out[i] += step * (compressed_dot(rows, i, x) if rows.start.shape[0] else row_dot(Z, i, x))


@inner_kernel
def stays_within(way: Array, dw: Array, step: float, radius: float) -> bool:
    """Whether |way + step dw| is at most `radius`."""
    if radius == np.inf:
        return True
    total = 0.0
    for f in range(dw.shape[0]):
        total += (way[f] + step * dw[f]) ** 2
    return total <= radius * radius


@inner_kernel
def is_worn(near: Near, dw: Array, step: float) -> bool:
    """Whether the next step needs a new list: it leads too far from where this one was made, or this one is too large."""
    if near.visits[0] > TOO_OLD * A_LIST * near.which.shape[0]:
        return True
    return near.size[0] < near.which.shape[0] and not stays_within(near.way, dw, step, near.radius[0])


@inner_kernel
def next_radius(near: Near, dw: Array, step: float) -> float:
    """The radius of the next list: larger when the last one did not pay for itself, and large enough for this step."""
    n = near.which.shape[0]
    radius = near.radius[0] * WIDER if near.visits[0] < A_LIST * n else near.radius[0] / NARROWER
    length = 0.0
    for f in range(dw.shape[0]):
        length += dw[f] * dw[f]
    return max(radius, WIDER * step * np.sqrt(length))


@njit(cache=True, fastmath=REORDER)
def totals(
    Z: Array, C: Array, solution: DualSolution, inside: Mask, left: Array, out: Array
) -> tuple[float, float, float]:
    """Sums over the points outside: left += sum C_i Z_i over LEFT, out += sum C_i Z_i over OUT.

    Returns sum C_i (1 - m_i) over LEFT, sum C_i over OUT and sum C_i m_i over OUT.
    """
    loss, weight, margin = 0.0, 0.0, 0.0
    d = Z.shape[1]
    for i in range(Z.shape[0]):
        if inside[i]:
            continue
        if solution.state[i] == LEFT:
            loss += C[i] * (1.0 - solution.m[i])
            for f in range(d):
                left[f] += C[i] * Z[i, f]
        elif solution.state[i] == OUT:
            weight += C[i]
            margin += C[i] * solution.m[i]
            for f in range(d):
                out[f] += C[i] * Z[i, f]
    return loss, weight, margin
