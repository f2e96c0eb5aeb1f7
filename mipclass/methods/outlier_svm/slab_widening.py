"""Widening a slab by alternating optimisation over its direction and the points that it leaves out.

For a fixed direction u it is optimal to leave out the points with the worst projections; for fixed points the optimal
direction is that of the nearest points of the two hulls (a maximum margin problem). Alternating never narrows the slab and
ends, because there are finitely many choices of points: the result is a local optimum of the width over both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Array, Mask
from ...protocol.result import Status
from ...protocol.run import Run
from .sifting import nearest_points
from .slab import Budget, Cloud, project, slabs

MaxMargin = Callable[[Cloud, Cloud, Run], Array | None]
"""The unit direction of the widest slab between two separable classes, or None when there is none."""

LEAST_WIDENING = 1e-9
"""Relative gain of width below which another round is rounding: the accuracy epsilon of the maximum margins."""


@dataclass(frozen=True, eq=False)
class Slab:
    """One slab, c <= u.x <= a, and the points of either class that it leaves out."""

    u: Array
    a: float
    c: float
    out1: Mask
    out2: Mask

    @property
    def width(self) -> float:
        """a - c; negative when the points that stay overlap along u."""
        return self.a - self.c


def slab_along(p1: Cloud, p2: Cloud, budget: Budget, u: Array) -> Slab:
    """The widest slab along the unit vector u, from the data."""
    f1, f2 = project(p1, p2, u[None, :])
    found = slabs(f1, f2, budget, p1.weights, p2.weights)
    a, c = float(found.a[0]), float(found.c[0])
    # The points beyond a face are those that were counted before it in the order of projections; ties with a face stay.
    return Slab(u, a, c, f1[0] < a, f2[0] > c)


def nearest_direction(p1: Cloud, p2: Cloud, run: Run) -> Array | None:
    """Direction of the widest slab of two separable classes by Wolfe's algorithm; None when their hulls meet."""
    nearest = nearest_points(p1.points, p2.points, run=run)
    if nearest.status is Status.INFEASIBLE or nearest.x is None or nearest.distance == 0:
        return None
    return np.asarray(nearest.x / nearest.distance)


def widen(
    p1: Cloud,
    p2: Cloud,
    budget: Budget,
    u: Array,
    run: Run,
    *,
    max_margin: MaxMargin = nearest_direction,
    max_rounds: int = 100,
) -> tuple[Slab, int]:
    """The slab along u, widened until stable, and the number of maximum margin problems solved.

    u need not separate: the maximum margin on the points that stay then finds a direction that does, if there is one.
    """
    best = slab_along(p1, p2, budget, u)
    rounds = 0
    while rounds < max_rounds and run.stop() is None:
        direction = max_margin(p1.take(~best.out1), p2.take(~best.out2), run)
        rounds += 1
        if direction is None:
            break
        new = slab_along(p1, p2, budget, direction)
        if new.width <= max(0.0, best.width * (1 + LEAST_WIDENING)):
            break
        best = new
        run.report(iterations=rounds, width=best.width)
    return best, rounds
