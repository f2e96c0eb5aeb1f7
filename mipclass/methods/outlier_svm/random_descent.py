"""The random gradient descent tree (Ding & Xu 2015): a wide slab with outliers left out.

A node is a point x of the Minkowski difference conv(P1) - conv(P2); its direction u = x/|x| has a slab (see slab.py). A
Gilbert step would move x towards the difference p - q of the two worst projections, but those may be outliers. Therefore
a node draws several pairs among its ceil((1 + delta) gamma n) worst projections and has one child for each,

    x' = x + lambda (s - x),   lambda = clip(-<x, s - x> / |s - x|^2, 0, 1),   s = p - q,

the point of the segment [x, s] nearest to the origin. If (1 + 1/delta)^2 ln(h/mu) pairs are drawn, then with probability
(1 - mu)(1 - gamma1)(1 - gamma2) some path from the root meets inliers only, and along it |x|^2 falls by the factor
1 - (epsilon rho/(D + rho))^2 until the slab is (1 - epsilon) times the widest. At most `max_nodes` nodes of a level are
kept, those of the widest slabs. The projections of a level are one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, log

import numpy as np

from ...arrays import Array, Index
from ...protocol.result import Status
from ...protocol.run import Run
from .slab import Budget, Cloud, Slabs, project, slabs, unit, unit_rows, worst

STABLE = 1e-3
"""Boosting stops when a tree widens the slab by at most this fraction."""

ROUNDED_MOVE = 1e-12
"""Moves of a child (and lengths of its x), relative to its parent's, that are rounding: such children are dropped."""


@dataclass(frozen=True)
class Growth:
    """How a tree grows: its levels, the nodes kept on a level, the children of a node, delta (see the module's docstring).

    Children are ranked on a random sample of a class that has more than `subsample` points.
    """

    height: int = 5
    max_nodes: int = 5
    n_children: int = 20
    delta: float = 0.5
    subsample: int = 1000


def sample_size(height: int, delta: float, mu: float, *, two_class: bool = True) -> int:
    """Children a node needs so that with probability 1 - mu/h one of them was drawn among the inliers (Lemma 4).

    Of the ceil((1 + delta) gamma n) worst at least delta/(1 + delta) are inliers; for two classes both points must be.
    """
    share = delta / (1 + delta)
    return max(1, ceil(log(max(height, 1) / mu) / (share**2 if two_class else share)))


def tree_height(epsilon: float, ratio: float) -> int:
    """Height that guarantees a width of (1 - epsilon) rho (Theorem 2): 3 ((r + 1)/epsilon)^2 ln(r + 1), r = D/rho."""
    return ceil(3 * ((ratio + 1) / epsilon) ** 2 * log(ratio + 1))


@dataclass(eq=False)
class SlabNode:
    """A point x of the tree and the faces of the slab along it; `parent` is a position in the tree's list of nodes."""

    x: Array
    a: float
    c: float
    level: int
    parent: int | None

    @property
    def width(self) -> float:
        """Width of the slab; negative when the points that stay overlap along x."""
        return self.a - self.c

    @property
    def u(self) -> Array:
        """The direction x/|x|."""
        return unit(self.x)


@dataclass
class DescentTree:
    """All kept nodes in the order of their levels; `best` has the widest slab."""

    nodes: list[SlabNode] = field(default_factory=list)
    status: Status | None = None

    @property
    def best(self) -> SlabNode:
        """The node with the widest slab."""
        return max(self.nodes, key=lambda node: node.width)


def grow(
    p1: Cloud, p2: Cloud, budget: Budget, root: Array, growth: Growth, rng: np.random.Generator, run: Run
) -> DescentTree:
    """One tree from `root`; O(height max_nodes (n + n_children subsample) d) time, two levels' memory besides the nodes."""
    ranking = WidthRanking(p1, p2, budget, growth, rng)
    tree = DescentTree()
    points, parents = root[None, :], np.array([-1])
    for level in range(growth.height + 1):
        first = len(tree.nodes)
        u = unit_rows(points)
        f1, f2 = project(p1, p2, u)
        faces = slabs(f1, f2, budget, p1.weights, p2.weights)
        for v, parent in enumerate(parents.tolist()):
            node = SlabNode(points[v], float(faces.a[v]), float(faces.c[v]), level, parent if parent >= 0 else None)
            tree.nodes.append(node)
        tree.status = run.stop()
        if level == growth.height or tree.status is not None:
            break
        children, origin = offspring(p1, p2, points, f1, f2, faces, budget, growth, rng)
        if not len(children):
            break
        chosen = ranking.widest(children)
        points, parents = children[chosen], first + origin[chosen]
    return tree


class WidthRanking:
    """Orders candidate points by the width of their slabs, on a random sample of a class that has many points."""

    def __init__(self, p1: Cloud, p2: Cloud, budget: Budget, growth: Growth, rng: np.random.Generator) -> None:
        self.keep = growth.max_nodes
        self.few1, self.few2 = (_sample(p, growth.subsample, rng) for p in (p1, p2))
        ratio1, ratio2 = self.few1.weight / p1.weight, self.few2.weight / p2.weight
        ratio = (self.few1.weight + self.few2.weight) / (p1.weight + p2.weight)
        self.budget = budget.scaled(ratio1, ratio2, ratio)

    def widest(self, points: Array) -> Index:
        """The `max_nodes` points of the widest slabs, widest first."""
        u = unit_rows(points)
        f1, f2 = project(self.few1, self.few2, u)
        width = slabs(f1, f2, self.budget, self.few1.weights, self.few2.weights).width
        return np.argsort(-width, kind="stable")[: self.keep]


def _sample(cloud: Cloud, size: int, rng: np.random.Generator) -> Cloud:
    return cloud if cloud.n <= size else cloud.take(np.sort(rng.choice(cloud.n, size, replace=False)))


def offspring(
    p1: Cloud,
    p2: Cloud,
    points: Array,
    f1: Array,
    f2: Array,
    faces: Slabs,
    budget: Budget,
    growth: Growth,
    rng: np.random.Generator,
) -> tuple[Array, Index]:
    """Children of every node of a level and the position of their parents; those that did not move are left out."""
    drawn1, drawn2 = [], []
    for v in range(len(points)):
        amount1, amount2 = candidates(faces, v, budget, growth.delta, (p1.lightest, p2.lightest))
        drawn1.append(draw(f1[v], amount1, p1.weights, growth.n_children, rng))
        drawn2.append(draw(-f2[v], amount2, p2.weights, growth.n_children, rng))
    parent = np.repeat(np.arange(len(points)), growth.n_children)
    base = points[parent]
    step = p1.rows(np.concatenate(drawn1)) - p2.rows(np.concatenate(drawn2)) - base
    length2 = np.einsum("ij,ij->i", step, step)
    inner = -np.einsum("ij,ij->i", base, step)
    # Pairs drawn twice, and pairs of equal points, make the same child: parent, inner product and length identify it.
    once = np.sort(np.unique(np.column_stack([parent, inner, length2]), axis=0, return_index=True)[1])
    floor = ROUNDED_MOVE * np.einsum("ij,ij->i", base, base)
    moved = once[(inner[once] > floor[once]) & (length2[once] > 0)]
    share = np.minimum(inner[moved] / length2[moved], 1.0)
    children = base[moved] + share[:, None] * step[moved]
    # A child at the origin has no direction: the points drawn on the way to it are not separable.
    real = np.linalg.norm(children, axis=1) > ROUNDED_MOVE * np.linalg.norm(base[moved], axis=1)
    return children[real], parent[moved[real]]


def candidates(
    faces: Slabs, v: int, budget: Budget, delta: float, lightest: tuple[float, float]
) -> tuple[float, float]:
    """The weight of worst projections of each class to draw from at node v: (1 + delta) gamma n, and more than is left out.

    With a total budget, gamma n of a class is what the node's own split leaves out of it. The weight of the lightest point
    more is enough to reach the next projection.
    """
    if budget.total is None:
        amount1, amount2 = budget.amounts
    else:
        amount1, amount2 = float(faces.out1[v]), float(faces.out2[v])
    more1, more2 = lightest
    return max(faces.out1[v] + more1, (1 + delta) * amount1), max(faces.out2[v] + more2, (1 + delta) * amount2)


def draw(f: Array, amount: float, weights: Array | None, count: int, rng: np.random.Generator) -> Index:
    """Random positions among the smallest projections that make up `amount`, by weight, with replacement.

    Positions are drawn along the order of the projections, so that a weight of two draws like two equal points.
    """
    order, summed = worst(f, amount, weights)
    return np.asarray(order[np.searchsorted(summed, rng.random(count) * summed[-1], side="right")])


def boost(
    p1: Cloud, p2: Cloud, budget: Budget, root: Array, growth: Growth, rounds: int, rng: np.random.Generator, run: Run
) -> Iterator[DescentTree]:
    """Trees one after the other, each rooted at the widest node so far, until one widens it by less than STABLE (Section 3)."""
    width = -np.inf
    for _ in range(rounds):
        tree = grow(p1, p2, budget, root, growth, rng, run)
        yield tree
        best = tree.best
        if tree.status is not None or best.width <= width + STABLE * abs(width):
            return
        root, width = best.x, best.width
