"""Widening a slab: exact maximum margin on the points that stay, choose again who stays, until nothing changes.

Leaving out the k1 and k2 worst projections along u is the best choice for u; the nearest point of the hulls of the rest is
the best direction for that choice. Taking turns never narrows the slab and ends, for there are finitely many choices: a
local optimum of the width over both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..result import Status
from ..run import Run
from .polytope import polytope_distance
from .slab import Array, Budget, Points, left_out, project, slabs

MaxMargin = Callable[[Points, Points, Run], Array | None]


@dataclass(frozen=True)
class Slab:
    """One slab with the points it leaves out; `bound` >= width says how wide any slab with these points can be."""

    u: Array
    a: float
    c: float
    out1: NDArray[np.bool_]
    out2: NDArray[np.bool_]

    @property
    def width(self) -> float:
        return self.a - self.c


def slab_along(p1: Points, p2: Points, budget: Budget, u: Array) -> Slab:
    """The widest slab along the unit vector u, recomputed from the data."""
    f1, f2 = project(p1, u[None, :]), project(p2, u[None, :])
    found = slabs(f1, f2, budget)
    out1 = left_out(f1[0], int(found.k1[0]), largest=False)
    out2 = left_out(f2[0], int(found.k2[0]), largest=True)
    return Slab(u, float(found.a[0]), float(found.c[0]), out1, out2)


def nearest_direction(p1: Points, p2: Points, run: Run) -> Array | None:
    """Direction of the widest slab of two separable classes by Wolfe's algorithm; None when their hulls meet."""
    nearest = polytope_distance(p1, p2, epsilon=1e-9, rule="corrective", run=run)
    if nearest.status is Status.INFEASIBLE or nearest.x is None or nearest.distance == 0:
        return None
    return np.asarray(nearest.x / nearest.distance)


def widen(
    p1: Points,
    p2: Points,
    budget: Budget,
    u: Array,
    run: Run,
    *,
    max_margin: MaxMargin = nearest_direction,
    max_rounds: int = 100,
) -> tuple[Slab, int]:
    """The slab along u, widened until stable, and the number of maximum margin problems solved.

    A slab that does not separate is returned as it is: there is no maximum margin to compute.
    """
    best = slab_along(p1, p2, budget, u)
    rounds = 0
    while best.width > 0 and rounds < max_rounds and run.stop() is None:
        direction = max_margin(p1[~best.out1], p2[~best.out2], run)
        rounds += 1
        if direction is None:
            break
        new = slab_along(p1, p2, budget, direction)
        if new.width <= best.width * (1 + 1e-9):
            break
        best = new
        run.report(iterations=rounds, width=best.width)
    return best, rounds
