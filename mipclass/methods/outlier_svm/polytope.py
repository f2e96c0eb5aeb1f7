"""Polytope distance: the point of conv(P1) - conv(P2) nearest to the origin, i.e. the widest slab between two classes.

The vertices p - q of the Minkowski difference are never listed: the one with the smallest inner product with x is the
p with the smallest inner product minus the q with the largest, found in O(n d). Three rules say how x moves (`walks`):

    plain       Gilbert 1966: move to the nearest point of the segment [x, vertex]; at most 2 ceil(2 E / epsilon) steps,
                E = (D/rho)^2, D the diameter of the difference and rho its distance (Gaertner & Jaggi 2009).
    away        Frank-Wolfe with away steps: also moves away from the worst vertex in use, which makes convergence linear.
    corrective  Wolfe 1976: moves to the nearest point of the hull of all vertices in use; finite, and exact up to
                rounding.

All stop at an epsilon-approximation (Definition 1 of Ding & Xu 2015): |x| <= p.x/|x| + epsilon |x| for every vertex p.
Then (1 - epsilon)|x| <= width <= rho <= |x|: the slab along x and |x| bound the largest width from both sides.

With a kernel, x lives in the feature space and is known by its inner products with all points (`point_spaces`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...protocol.result import Status
from ...protocol.run import Run
from .point_spaces import Kernel, KernelSpace, LinearSpace
from .slab import Points
from .walks import AwayWalk, GilbertWalk, Nearest, WolfeWalk

WalkRule = Literal["plain", "away", "corrective"]
WALKS: dict[WalkRule, type[GilbertWalk]] = {"plain": GilbertWalk, "away": AwayWalk, "corrective": WolfeWalk}

REPORT_EVERY = 64
"""Steps between two reports: on small data a report costs more than a step."""


def polytope_distance(
    p1: Points,
    p2: Points | None = None,
    *,
    epsilon: float = 1e-9,
    rule: WalkRule = "corrective",
    max_steps: int = 100_000,
    kernel: Kernel | None = None,
    run: Run | None = None,
) -> Nearest:
    """Nearest point to the origin of conv(p1) - conv(p2), or of conv(p1) when p2 is None.

    `status` is OPTIMAL when epsilon was reached; INFEASIBLE when the origin lies in the difference up to rounding (the
    hulls meet: there is no slab); ITERATION_LIMIT, TIME_LIMIT or INTERRUPTED otherwise, with the best x so far.
    """
    space: LinearSpace | KernelSpace = LinearSpace(p1, p2) if kernel is None else KernelSpace(p1, p2, kernel)
    walk = WALKS[rule](space)
    run = run if run is not None else Run.quiet()
    status = None
    while status is None:
        walk.look()
        if walk.norm2 <= space.zero:
            status = Status.INFEASIBLE
        elif walk.gap <= epsilon * walk.norm2:
            status = Status.OPTIMAL
        elif walk.steps >= max_steps or walk.stuck:
            status = Status.ITERATION_LIMIT
        else:
            status = run.stop()
        if status is None:
            walk.step()
            if walk.steps % REPORT_EVERY == 0:
                run.report(iterations=walk.steps, distance=float(np.sqrt(walk.norm2)))
    return walk.result(status)
