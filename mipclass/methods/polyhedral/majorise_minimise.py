"""Majorise-minimise over assignments of B to hyperplanes, and iterated local search around it.

With every b_l assigned to a hyperplane s(l) that attains min_j r_lj, the LP over ALL points lies above f everywhere and
touches it at the current (V, g). Its minimiser therefore never has a larger f: no box, no step size, and finitely many
steps, because there are finitely many assignments. At the end Theorem 4.1 is tested: f is at a local minimum if and only
if no assignment of the tied points gives an LP value below f.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from ...arrays import Array, Positions
from ...models.point_sets import PointSets
from ...protocol.run import Run
from .assignment_lp import AssignmentLP
from .paper_descent import combination_order

# A decrease below this (f is at most 2 for weights that sum to one a class) is rounding.
DECREASE = 1e-9
_TIE = 1e-7
# Price of |V|_1 in standardised units, relative to the smaller class's weight, that only breaks ties.
SMALLEST_PRICE = 1e-6


class Point(NamedTuple):
    """Hyperplanes and f there; `local` when Theorem 4.1's condition was checked over every tied combination."""

    planes: Array
    value: float
    local: bool = False


@dataclass
class Search:
    """One search: the LP it uses, its limits, and counters that the trace and the result report."""

    sets: PointSets
    lp: AssignmentLP
    run: Run
    combinations: int = 64
    unit: float = 1.0  # of f, for reports in the user's units
    lps: int = 0
    descents: list[int] = field(default_factory=list)

    def solve(self, assignment: Positions) -> tuple[Array, float] | None:
        self.lps += 1
        return self.lp.solve(assignment, self.run)

    def report(self, point: Point) -> None:
        self.run.report(objective=self.unit * point.value, bound=0.0, iterations=self.lps)

    def descend(self, assignment: Positions, beat: float = np.inf) -> Point | None:
        """MM from an assignment until it repeats or f stops decreasing; None if stopped before the first LP ended.

        A descent that is far above `beat` and slowing down is given up: decreases shrink from step to step, so four
        times the last one is a generous guess of all that is to come.
        """
        best: Point | None = None
        started = self.lps
        while True:
            answer = self.solve(assignment) if self.run.stop() is None else None
            if answer is None:
                break
            value = self.sets.value(answer[0])
            if best is not None and value >= best.value - DECREASE:
                break
            hopeless = best is not None and value - 4.0 * (best.value - value) > beat
            best = Point(answer[0], value)
            if hopeless:
                break
            following = self.sets.nearest_plane(best.planes)
            if np.array_equal(following, assignment):
                break
            assignment = following
        self.descents.append(self.lps - started)
        return best

    def smallest(self, point: Point) -> Point:
        """Of the hyperplanes that minimise the LP at `point`, those of least |V|_1: the widest margins for the same f.

        The optimal faces of these LPs are large, and a simplex vertex hugs the data. A price on |V|_1 far below the
        weights picks the best point of the face; if it costs anything in f, the old point is kept.
        """
        if self.sets.l1.any():
            return point
        price = SMALLEST_PRICE * min(self.sets.p.sum(), self.sets.q.sum())
        self.lp.set_l1(np.append(np.full(self.sets.A.shape[1] - 1, price), 0.0))
        answer = self.solve(self.sets.nearest_plane(point.planes))
        self.lp.set_l1(self.sets.l1)
        if answer is None or self.sets.value(answer[0]) > point.value + DECREASE:
            return point
        return Point(answer[0], self.sets.value(answer[0]))

    def settle(self, point: Point) -> Point:
        """Descend from `point` until Theorem 4.1 holds, or `combinations` tied assignments have been tried in vain."""
        while self.run.stop() is None:
            point = self.smallest(point)
            if point.value <= DECREASE:
                break
            errors = self.sets.errors_b(point.planes)
            choices = combination_order(errors, errors.min(axis=1) >= -_TIE, _TIE)
            for assignment in islice(choices, self.combinations):
                answer = self.solve(assignment)
                if answer is None:
                    return point
                if self.sets.value(answer[0]) < point.value - DECREASE:
                    better = self.descend(self.sets.nearest_plane(answer[0]))
                    point = better if better is not None else Point(answer[0], self.sets.value(answer[0]))
                    break
            else:
                return point._replace(local=next(choices, None) is None)
        return point

    def improve(self, point: Point, rounds: int, rng: np.random.Generator) -> Point:
        """Iterated local search: disturb the assignment, descend, keep what is better."""
        moves = (flip_near_ties, scatter_misclassified, shake_planes, seize_neighbourhood, fan_out, reopen)
        for index in range(rounds):
            if self.run.stop() is not None or point.value <= DECREASE:
                break
            found = self.descend(moves[index % len(moves)](self.sets, point.planes, rng), beat=point.value)
            if found is not None and found.value < point.value - DECREASE:
                point = found
            self.report(point)
        return point


# -- moves: each returns a disturbed assignment -------------------------------------------------------------------------


def flip_near_ties(sets: PointSets, planes: Array, rng: np.random.Generator) -> Positions:
    """Of the points whose two best hyperplanes differ least, every second one changes to the other."""
    errors = sets.errors_b(planes)
    two = np.argsort(errors, axis=1)[:, :2]
    rows = np.arange(len(errors))
    gap = errors[rows, two[:, 1]] - errors[rows, two[:, 0]]
    share = max(2, int(rng.uniform(0.02, 0.3) * len(gap)))
    near = np.argsort(gap, kind="stable")[:share]
    chosen = near[rng.random(len(near)) < 0.5]
    assignment = two[:, 0].astype(np.intp)
    assignment[chosen] = two[chosen, 1]
    return assignment


def scatter_misclassified(sets: PointSets, planes: Array, rng: np.random.Generator) -> Positions:
    """A random share of the points with an error, or with the least margin if few have one, go to random hyperplanes."""
    errors = sets.errors_b(planes)
    lowest = errors.min(axis=1)
    wrong = np.flatnonzero(lowest > 0)
    if len(wrong) < 2 * len(planes):
        wrong = np.argsort(-lowest, kind="stable")[: max(2 * len(planes), len(lowest) // 5)]
    chosen = wrong[rng.random(len(wrong)) < rng.uniform(0.2, 1.0)]
    assignment: Positions = errors.argmin(axis=1)
    assignment[chosen] = rng.integers(0, len(planes), len(chosen))
    return assignment


def shake_planes(sets: PointSets, planes: Array, rng: np.random.Generator) -> Positions:
    """Every point goes to its nearest hyperplane after noise on the coefficients."""
    scale = rng.uniform(0.1, 1.0) * np.abs(planes).mean(axis=1, keepdims=True)
    return sets.nearest_plane(planes + scale * rng.normal(size=planes.shape))


def seize_neighbourhood(sets: PointSets, planes: Array, rng: np.random.Generator) -> Positions:
    """One hyperplane takes all points of B around a misclassified one."""
    errors = sets.errors_b(planes)
    wrong = np.flatnonzero(errors.min(axis=1) > 0)
    centre = sets.B[rng.choice(wrong if len(wrong) else len(sets.B))]
    share = 1 + int(rng.uniform(0.05, 0.5) * len(sets.B))
    distance = ((sets.B - centre) ** 2).sum(axis=1)
    assignment: Positions = errors.argmin(axis=1)
    assignment[np.argpartition(distance, share - 1)[:share]] = rng.integers(len(planes))
    return assignment


def fan_out(sets: PointSets, planes: Array, rng: np.random.Generator) -> Positions:
    """A fresh start: every point goes with the random direction from A's mean that it lies farthest along."""
    centre = sets.p @ sets.A[:, :-1] / sets.p.sum()
    directions = rng.normal(size=(len(planes), sets.A.shape[1] - 1))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(((sets.B[:, :-1] - centre) @ directions.T).argmax(axis=1), dtype=np.intp)


def reopen(sets: PointSets, planes: Array, rng: np.random.Generator) -> Positions:
    """About half of the hyperplanes keep their points; those of the others go with random directions."""
    assignment = sets.nearest_plane(planes)
    opened = rng.random(len(planes)) < 0.5
    return np.where(opened[assignment], fan_out(sets, planes, rng), assignment)


def k_means(points: Array, h: int, rng: np.random.Generator, sweeps: int = 20) -> Positions:
    """Lloyd's clusters from a k-means++ start: the first assignment of B."""
    centres = points[rng.integers(len(points))][None, :]
    for _ in range(1, h):
        distance = _squared_distances(points, centres).min(axis=1)
        total = distance.sum()
        nearest = rng.choice(len(points), p=distance / total) if total > 0 else rng.integers(len(points))
        centres = np.vstack([centres, points[nearest]])
    label: Positions = np.zeros(len(points), dtype=np.intp)
    for sweep in range(sweeps):
        new = _squared_distances(points, centres).argmin(axis=1)
        if sweep and np.array_equal(new, label):
            break
        label = new
        for j in range(h):
            if (label == j).any():
                centres[j] = points[label == j].mean(axis=0)
    return label


def _squared_distances(points: Array, centres: Array) -> Array:
    squares = (points**2).sum(axis=1)[:, None] - 2.0 * points @ centres.T + (centres**2).sum(axis=1)
    return np.asarray(squares.clip(min=0.0))
