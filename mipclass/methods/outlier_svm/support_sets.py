"""Support enumeration: the widest slab with outliers is that of some set of at most d + 1 support points; try them all.

At the optimum x is orthogonal to the faces spanned by support points S1 of P1 and S2 of P2, |S1| + |S2| <= d + 1
(Caratheodory), and lies in aff(S1) - aff(S2): it is that set's point nearest to the origin. So the widest slab over all
directions is the widest over the nearest points of all such pairs of sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np

from ...arrays import Array
from ...protocol.result import Status
from ...protocol.run import Run
from .slab import Budget, Cloud, project, slabs

NO_DIRECTION = 1e-12
"""Length of x, relative to the largest coordinate, below which two faces meet up to rounding and x has no direction."""


def count_supports(n1: int, n2: int, d: int) -> int:
    """How many pairs of sets of support points there are."""
    return sum(comb(n1, m1) * comb(n2, m2) for m1, m2 in support_sizes(n1, n2, d))


def support_sizes(n1: int, n2: int, d: int) -> list[tuple[int, int]]:
    """Every (|S1|, |S2|) with both at least one and |S1| + |S2| <= d + 1."""
    return [(m1, m2) for m1 in range(1, min(n1, d) + 1) for m2 in range(1, min(n2, d + 1 - m1) + 1)]


def widest_direction(
    p1: Cloud, p2: Cloud, budget: Budget, run: Run, chunk: int = 4096
) -> tuple[Array | None, int, Status | None]:
    """Unit direction of the widest slab (None when no direction separates), directions tried, and why it stopped early.

    O(count_supports (d^3 + n d)).
    """
    best, width, tried = None, 0.0, 0
    for u in support_directions(p1.rows(np.arange(p1.n)), p2.rows(np.arange(p2.n)), chunk):
        found = slabs(*project(p1, p2, u), budget, p1.weights, p2.weights).width
        tried += len(u)
        top = int(np.argmax(found))
        if found[top] > width:
            best, width = u[top], float(found[top])
        run.report(iterations=tried, width=width)
        stopped = run.stop()
        if stopped is not None:
            return best, tried, stopped
    return best, tried, None


def support_directions(p1: Array, p2: Array, chunk: int) -> Iterator[Array]:
    """Unit vectors of the nearest points of aff(S1) - aff(S2), in blocks."""
    scale = max(float(np.abs(p1).max(initial=0.0)), float(np.abs(p2).max(initial=0.0)))
    for m1, m2 in support_sizes(len(p1), len(p2), p1.shape[1]):
        sets1 = np.array(list(combinations(range(len(p1)), m1)))
        sets2 = np.array(list(combinations(range(len(p2)), m2)))
        pairs = np.array(np.meshgrid(np.arange(len(sets1)), np.arange(len(sets2)), indexing="ij")).reshape(2, -1)
        for start in range(0, pairs.shape[1], chunk):
            s1 = p1[sets1[pairs[0, start : start + chunk]]]
            s2 = p2[sets2[pairs[1, start : start + chunk]]]
            x = s1[:, 0] - s2[:, 0]
            faces = np.concatenate([s1[:, 1:] - s1[:, :1], s2[:, 1:] - s2[:, :1]], axis=1)
            if faces.shape[1]:
                inside = np.linalg.pinv(faces) @ (faces @ x[:, :, None])
                x = x - inside[:, :, 0]
            length = np.linalg.norm(x, axis=1)
            real = length > NO_DIRECTION * scale
            if real.any():
                yield x[real] / length[real, None]
