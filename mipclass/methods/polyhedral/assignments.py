"""Assignments of B's points to hyperplanes: the first one, disturbances of a present one, and ties in order.

`k_means` starts a search. The disturbances (`DISTURBANCES`) are the moves of the iterated local search: each takes the
sets, the present hyperplanes and a random generator. `combination_order` lists the assignments of points that are tied
between hyperplanes, over which Theorem 4.1 of Astorino & Gaudioso (2002) is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...arrays import Array, Mask, Positions
from ...models.point_sets import PointSets

Disturbance = Callable[[PointSets, Array, np.random.Generator], Positions]


def combination_order(errors_b: Array, near_b: Mask, tolerance: float) -> Iterator[Positions]:
    """Assignments that put each near point on one of its active hyperplanes, in the order of a counter."""
    lowest = errors_b.min(axis=1, keepdims=True)
    active = errors_b - lowest <= tolerance
    base = active.argmax(axis=1).astype(np.intp)
    tied = np.flatnonzero(near_b & (active.sum(axis=1) > 1))
    tied = tied[np.argsort(-lowest[tied, 0], kind="stable")]
    options = [np.flatnonzero(active[point]) for point in tied]
    digits = np.zeros(len(tied), dtype=np.intp)
    while True:
        assignment = base.copy()
        for point, option, digit in zip(tied, options, digits, strict=True):
            assignment[point] = option[digit]
        yield assignment
        for place, option in enumerate(options):
            digits[place] += 1
            if digits[place] < len(option):
                break
            digits[place] = 0
        else:
            return


def flip_near_ties(sets: PointSets, planes: Array, rng: np.random.Generator) -> Positions:
    """Of the 2 to 30 % of points whose two best hyperplanes differ least, about half change to the second best."""
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
    """20 to 100 % of the points with an error, or with the least margin if few have one, go to random hyperplanes."""
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
    """Every point goes to its nearest hyperplane after noise of 10 to 100 % on the coefficients."""
    scale = rng.uniform(0.1, 1.0) * np.abs(planes).mean(axis=1, keepdims=True)
    return sets.nearest_plane(planes + scale * rng.normal(size=planes.shape))


def seize_neighbourhood(sets: PointSets, planes: Array, rng: np.random.Generator) -> Positions:
    """One hyperplane takes the 5 to 50 % of points of B that lie nearest to a misclassified one."""
    errors = sets.errors_b(planes)
    wrong = np.flatnonzero(errors.min(axis=1) > 0)
    centre = sets.B[rng.choice(wrong if len(wrong) else len(sets.B))]
    share = 1 + int(rng.uniform(0.05, 0.5) * len(sets.B))
    distance = ((sets.B - centre) ** 2).sum(axis=1)
    assignment: Positions = errors.argmin(axis=1)
    assignment[np.argpartition(distance, share - 1)[:share]] = rng.integers(len(planes))
    return assignment


def fan_out(sets: PointSets, planes: Array, rng: np.random.Generator) -> Positions:
    """A fresh start: h random directions from A's mean; every point goes with the one that it lies farthest along."""
    centre = sets.p @ sets.A[:, :-1] / sets.p.sum()
    directions = rng.normal(size=(len(planes), sets.A.shape[1] - 1))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(((sets.B[:, :-1] - centre) @ directions.T).argmax(axis=1), dtype=np.intp)


def reopen(sets: PointSets, planes: Array, rng: np.random.Generator) -> Positions:
    """About half of the hyperplanes keep their points; those of the others go with random directions."""
    assignment = sets.nearest_plane(planes)
    opened = rng.random(len(planes)) < 0.5
    return np.where(opened[assignment], fan_out(sets, planes, rng), assignment)


DISTURBANCES: tuple[Disturbance, ...] = (
    flip_near_ties,
    scatter_misclassified,
    shake_planes,
    seize_neighbourhood,
    fan_out,
    reopen,
)
"""The moves of the iterated local search, taken in turn."""


def k_means(points: Array, h: int, rng: np.random.Generator, sweeps: int = 20) -> Positions:
    """Lloyd's clusters from a k-means++ start, by at most `sweeps` sweeps: the first assignment of B."""
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
