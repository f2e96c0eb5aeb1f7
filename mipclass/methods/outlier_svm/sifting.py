"""Sifting: solve the nearest-point problem on a working set, add the points that violate optimality, repeat.

The working set of each class starts with the points nearest to the other class along the difference of the means. It is
solved by Wolfe's algorithm; one pass over all points then finds those with the smallest inner products with x, which join
it, until the gap over all points is within epsilon. A step of Wolfe's algorithm thus costs no pass over the data, and the
width and epsilon returned hold for all points.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import Array, Index
from ...protocol.result import Status
from ...protocol.run import Run
from .polytope import polytope_distance
from .slab import Points
from .walks import Nearest

SMALL = 4000
"""Points of the larger class up to which Wolfe's algorithm runs on all of them."""

JOINING = 1000
"""Points of a class that enter its working set at first, and that are considered for it in each round."""


def nearest_points(
    p1: Points, p2: Points | None, *, epsilon: float = 1e-9, max_steps: int = 100_000, run: Run | None = None
) -> Nearest:
    """polytope_distance(p1, p2), by working sets where a class has more than SMALL points; the same guarantees."""
    run = run if run is not None else Run.quiet()
    n1, n2 = p1.shape[0], 1 if p2 is None else p2.shape[0]
    if max(n1, n2) <= SMALL:
        return polytope_distance(p1, p2, epsilon=epsilon, max_steps=max_steps, run=run)
    x = _mean_difference(p1, p2)
    f1, f2 = _project(p1, p2, x)
    set1, set2 = _smallest(f1), _smallest(-f2)
    steps = 0
    while True:
        inner = polytope_distance(
            p1[set1], None if p2 is None else p2[set2], epsilon=epsilon / 2, max_steps=max_steps - steps, run=run
        )
        steps += inner.steps
        found = _on_all_points(inner, p1, p2, set1, set2, steps)
        if inner.status is not Status.OPTIMAL or found.epsilon <= epsilon or found.x is None:
            return found
        run.report(iterations=steps, distance=found.distance)
        f1, f2 = _project(p1, p2, found.x)
        grown1, grown2 = np.union1d(set1, _smallest(f1)), np.union1d(set2, _smallest(-f2))
        stopped = run.stop()
        if stopped is not None or steps >= max_steps or len(grown1) + len(grown2) == len(set1) + len(set2):
            return replace(found, status=stopped or Status.ITERATION_LIMIT)
        set1, set2 = grown1, grown2


def _mean_difference(p1: Points, p2: Points | None) -> Array:
    means = [np.asarray(p.mean(axis=0)).ravel() for p in (p1, p2) if p is not None]
    return np.asarray(means[0] - means[1] if len(means) == 2 else means[0])


def _project(p1: Points, p2: Points | None, x: Array) -> tuple[Array, Array]:
    return np.asarray(p1 @ x), np.zeros(1) if p2 is None else np.asarray(p2 @ x)


def _smallest(f: Array) -> Index:
    """Positions of the JOINING smallest entries, ascending."""
    return np.arange(len(f)) if len(f) <= JOINING else np.sort(np.argpartition(f, JOINING - 1)[:JOINING])


def _on_all_points(inner: Nearest, p1: Points, p2: Points | None, set1: Index, set2: Index, steps: int) -> Nearest:
    """The working sets' solution with weights for all points, and with the slab and epsilon that hold for all points."""
    alpha = np.zeros(p1.shape[0])
    beta = np.zeros(1 if p2 is None else p2.shape[0])
    alpha[set1], beta[set2] = inner.alpha, inner.beta
    a, c, reached = inner.a, inner.c, inner.epsilon
    if inner.x is not None and inner.distance > 0:
        f1, f2 = _project(p1, p2, inner.x)
        a, c = float(f1.min()) / inner.distance, float(f2.max()) / inner.distance
        reached = 1 - (a - c) / inner.distance
    return replace(inner, alpha=alpha, beta=beta, a=a, c=c, width=a - c, epsilon=reached, steps=steps)
