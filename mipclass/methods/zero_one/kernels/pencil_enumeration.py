"""Enumerate the pencils through all (m - 2)-subsets of rows (PCS), nearest rows first.

Fixing a row projects all others onto its orthogonal complement (one Householder reflection, O(n m)), so that with
m - 2 rows fixed the rows are points of a plane and one `sweep` of that plane is the loss of every hyperplane through the
fixed rows. Level l of `projected` holds the rows after l fixed ones, one coordinate after another (transposed), in its
first m - l lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays import Array, Index
from ....kernels.decorator import njit
from ....numeric.random import State
from ....numeric.vectors import add_multiple, inner, set_multiple
from .pencil import NO_BREAKPOINT, ON_ALL, Work, histogram, rule_at, sweep_bins

FINISHED, PAUSED, CANDIDATE = 0, 1, 2  # how `pencil_steps` ends
SWEPT, TIED, ON_FLAT = 0, 1, 2
"""Entries of `counters`: pencils swept; those where several rows turn at one breakpoint in reach of the target; and, for
the last candidate, the rows that lie on all rules of its pencil."""


@njit(cache=True)
def reflector(projected: Array, level: int, row: int, reflectors: Array) -> bool:
    """reflectors[level] <- unit vector v such that x - 2 (x.v) v maps point `row` of that level to a multiple of the first axis.

    False: the point is zero.
    """
    width = projected.shape[1] - level
    size = 0.0
    for j in range(width):
        x = projected[level, j, row]
        reflectors[level, j] = x
        size += x * x
    size = np.sqrt(size)
    if size <= ON_ALL:
        return False
    # |x + sign(x_1) |x| e_1|^2 = 2 |x| (|x| + |x_1|)
    first = reflectors[level, 0]
    scale = 1.0 / np.sqrt(2.0 * size * (size + abs(first)))
    reflectors[level, 0] = first + (size if first >= 0.0 else -size)
    for j in range(width):
        reflectors[level, j] *= scale
    return True


@njit(cache=True)
def project(projected: Array, level: int, row: int, reflectors: Array, twice: Array) -> None:
    """The points of a level reflected, without their first coordinate, become the next level; point `row` becomes zero.

    Levels are indexed, not sliced: for a few points the making of slices would take longer than the work.
    """
    n, width = projected.shape[2], projected.shape[1] - level
    c = 2.0 * reflectors[level, 0]
    for i in range(n):
        twice[i] = c * projected[level, 0, i]
    for j in range(1, width):
        c = 2.0 * reflectors[level, j]
        for i in range(n):
            twice[i] += c * projected[level, j, i]
    for j in range(1, width):
        c = reflectors[level, j]
        for i in range(n):
            projected[level + 1, j - 1, i] = projected[level, j, i] - c * twice[i]
        projected[level + 1, j - 1, row] = 0.0


@njit(cache=True)
def project_to_plane(projected: Array, level: int, row: int, reflectors: Array) -> None:
    """`project` from three coordinates to two in one pass: the step before every sweep, so nearly all of them."""
    v0, v1, v2 = reflectors[level, 0], reflectors[level, 1], reflectors[level, 2]
    for i in range(projected.shape[2]):
        x, y = projected[level, 1, i], projected[level, 2, i]
        twice = 2.0 * (v0 * projected[level, 0, i] + v1 * x + v2 * y)
        projected[level + 1, 0, i] = x - twice * v1
        projected[level + 1, 1, i] = y - twice * v2
    projected[level + 1, 0, row] = 0.0
    projected[level + 1, 1, row] = 0.0


@njit(cache=True)
def lift(v: Array, reflectors: Array, levels: int, m: int) -> Array:
    """A vector of level `levels` (m - levels coordinates) as a vector of m coordinates."""
    x = np.zeros(m)
    for j in range(m - levels):
        x[j] = v[j]
    for level in range(levels - 1, -1, -1):
        width = m - level
        for j in range(width - 1, 0, -1):
            x[j] = x[j - 1]
        x[0] = 0.0
        part = x[:width]
        add_multiple(part, -2.0 * inner(part, reflectors[level]), reflectors[level])
    return x


@njit(cache=True)
def is_needed(fixed: Index, levels: int) -> bool:
    """Whether the pencil through the rows `fixed` belongs to a family that meets every set of levels + 1 rows.

    Three rows, in three colours 0, 1, 2: all of one colour, or two of one and one of the next (Turan's family, 4/9 of all).
    Else colour every third row (every second, for an even number of levels). The family holds the sets with an even
    number of coloured rows, and those with coloured rows only. Of levels + 1 rows leave out a coloured one when the number
    of coloured rows is odd, else one without colour, or any when all are coloured: what is left is in the family.
    """
    if levels == 3:
        total = (fixed[0] + fixed[1] + fixed[2]) % 3
        return total == 1 or (total == 0 and fixed[0] % 3 == fixed[1] % 3)
    colours = 3 if levels % 2 else 2
    coloured = 0
    for k in range(levels):
        if fixed[k] % colours == 0:
            coloured += 1
    return coloured % 2 == 0 or coloured == levels


class Enumeration(NamedTuple):
    """Where an enumeration stands, changed in place.

    projected, reflectors : see the module's text.
    fixed, depth : the row fixed on each level (-2: none yet), and the present level (one entry).
    counters : see SWEPT, TIED, ON_FLAT.   found : (loss, rule) of the last candidate.
    """

    projected: Array
    reflectors: Array
    fixed: Index
    depth: Index
    counters: Index
    found: Array


def first_enumeration(rows: Array) -> Enumeration:
    """Before the first pencil through the rows, which are (n, m)."""
    n, m = rows.shape
    levels = m - 2
    projected = np.zeros((levels + 1, m, n))
    projected[0] = rows.T
    return Enumeration(
        projected,
        np.zeros((max(levels, 1), m)),
        np.full(max(levels, 1), -2, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
        np.zeros(1 + m),
    )


@njit(cache=True)
def next_row(fixed: Index, level: int, below: int, n: int, lexicographic: bool, only_needed: bool) -> bool:
    """Move fixed[level] to the next of n rows to try on this level; False when there is none left.

    The levels below, `below` of them, need a row each, so that choices which leave too few rows for them are not tried.
    """
    if fixed[level] != -2:
        fixed[level] += 1
    elif lexicographic:
        fixed[level] = fixed[level - 1] + 1 if level > 0 else 0
    else:
        fixed[level] = below
    if lexicographic:
        end = n - below
    else:
        end = n if level == 0 else fixed[level - 1]
    if only_needed and below == 0:
        while fixed[level] < end and not is_needed(fixed, level + 1):
            fixed[level] += 1
    return fixed[level] < end


@njit(cache=True)
def pencil_steps(
    weights: Array,
    at: Enumeration,
    lexicographic: bool,
    only_needed: bool,
    target: float,
    budget: int,
    state: State,
    work: Work,
) -> int:
    """Up to `budget` projections and sweeps from where the enumeration stands: FINISHED, PAUSED or CANDIDATE.

    Colexicographic order (by the farthest fixed row) unless `lexicographic`; `only_needed`: those of `is_needed`. Stops with
    CANDIDATE at the first pencil whose least loss, rows on all its rules counted as correct, is at most `target`:
    found = (loss, a rule of the pencil that has it). The next call goes on with the next pencil.
    """
    projected, reflectors, fixed, depth, counters = at.projected, at.reflectors, at.fixed, at.depth, at.counters
    m, n = projected.shape[1], projected.shape[2]
    levels = m - 2
    axes, twice = np.zeros((2, 2)), np.empty(n)
    axes[0, 0] = axes[1, 1] = 1.0
    a, b = projected[levels, 0], projected[levels, 1]
    done = 0
    while True:
        level = depth[0]
        if level < 0:
            return FINISHED
        if done >= budget:
            return PAUSED
        if level == levels:
            loss_left, total, least, most = histogram(a, b, weights, work)
            done += 1
            counters[SWEPT] += 1
            depth[0] = level - 1
            if least > target and total - most > target:
                continue
            loss, low, high, side = sweep_bins(b, weights, loss_left, total, target, False, NO_BREAKPOINT, state, work)
            if work[3][work[3].shape[0] - 1] > 0.0:
                counters[TIED] += 1
            if loss < np.inf:
                at.found[0] = loss
                plane = rule_at(0.5 * (low + high), side, axes[0], axes[1])
                set_multiple(at.found[1:], 1.0, lift(plane, reflectors, levels, m))
                counters[ON_FLAT] = 0
                for i in range(n):
                    counters[ON_FLAT] += abs(a[i]) + abs(b[i]) <= ON_ALL
                return CANDIDATE
            continue
        if not next_row(fixed, level, levels - 1 - level, n, lexicographic, only_needed):
            fixed[level] = -2
            depth[0] = level - 1
            continue
        if not reflector(projected, level, fixed[level], reflectors):
            continue
        if level == levels - 1:
            project_to_plane(projected, level, fixed[level], reflectors)
        else:
            project(projected, level, fixed[level], reflectors, twice)
        done += 1
        depth[0] = level + 1
