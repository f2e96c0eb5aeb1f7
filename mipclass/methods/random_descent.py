"""The random gradient descent tree (Ding & Xu 2015): a wide slab with outliers left out, by branching over who is one.

A node is a point x of the Minkowski difference conv(P1) - conv(P2); its direction u = x/|x| has a slab (see slab.py). A
Gilbert step would move x towards the difference p - q of the two worst projections, but those may be outliers. So a node
draws several pairs among its ceil((1 + delta) gamma n) worst projections and has one child for each,

    x' = x + lambda (s - x),   lambda = clip(-<x, s - x> / |s - x|^2, 0, 1),   s = p - q,

the point of the segment [x, s] nearest to the origin. If (1 + 1/delta)^2 ln(h/mu) pairs are drawn, then with probability
(1 - mu)(1 - gamma1)(1 - gamma2) some path from the root meets inliers only, and along it |x|^2 falls by the factor
1 - (epsilon rho/(D + rho))^2 until the slab is (1 - epsilon) times the widest. At most `max_nodes` nodes of a level are
kept, those of the widest slabs. A level is one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, log

import numpy as np

from ..result import Status
from ..run import Run
from .slab import Array, Budget, Ints, Points, Slabs, project, rows, slabs


@dataclass(frozen=True)
class Growth:
    """How a tree grows; see the module's text for the letters."""

    height: int = 5
    max_nodes: int = 5
    n_children: int = 20
    delta: float = 0.5
    subsample: int = 2000


def sample_size(height: int, delta: float, mu: float, *, two_class: bool = True) -> int:
    """Children a node needs so that with probability 1 - mu/h one of them was drawn among the inliers (Lemma 4).

    Of the ceil((1 + delta) gamma n) worst at least delta/(1 + delta) are inliers; for two classes both points must be.
    """
    share = delta / (1 + delta)
    return max(1, ceil(log(max(height, 1) / mu) / (share**2 if two_class else share)))


def tree_height(epsilon: float, ratio: float) -> int:
    """Height that guarantees the factor 1 - epsilon (Theorem 2), for ratio = D/rho: 3 ((ratio+1)/epsilon)^2 ln(ratio+1)."""
    return ceil(3 * ((ratio + 1) / epsilon) ** 2 * log(ratio + 1))


@dataclass
class Node:
    """A point of the tree and the slab of its direction."""

    x: Array
    width: float
    a: float
    c: float
    k1: int
    k2: int
    level: int
    parent: int | None

    @property
    def u(self) -> Array:
        return np.asarray(self.x / np.linalg.norm(self.x))


@dataclass
class Tree:
    """All kept nodes in the order of their levels; `best` has the widest slab."""

    nodes: list[Node] = field(default_factory=list)
    status: Status | None = None

    @property
    def best(self) -> Node:
        return max(self.nodes, key=lambda node: node.width)


def grow(
    p1: Points, p2: Points, budget: Budget, root: Array, growth: Growth, rng: np.random.Generator, run: Run
) -> Tree:
    """One tree from `root`; O(height (max_nodes n + max_nodes n_children subsample) d) time, two levels' memory."""
    judge = Judge(p1, p2, budget, growth, rng)
    tree = Tree()
    points, parents = root[None, :], [None]
    for level in range(growth.height + 1):
        first = len(tree.nodes)
        f1, f2 = judge.projections(points)
        faces = slabs(f1, f2, budget)
        for v, parent in enumerate(parents):
            tree.nodes.append(node_of(points[v], faces, v, level, parent))
        tree.status = run.stop()
        if level == growth.height or tree.status is not None:
            break
        children, origin = offspring(p1, p2, points, f1, f2, faces, budget, growth, rng)
        if not len(children):
            break
        chosen = judge.widest(children)
        points, parents = children[chosen], [first + int(origin[v]) for v in chosen]
    return tree


def node_of(x: Array, faces: Slabs, v: int, level: int, parent: int | None) -> Node:
    a, c = float(faces.a[v]), float(faces.c[v])
    return Node(x, a - c, a, c, int(faces.k1[v]), int(faces.k2[v]), level, parent)


class Judge:
    """Projections and widths of candidate points; ranks many of them on a subsample when there are many rows."""

    def __init__(self, p1: Points, p2: Points, budget: Budget, growth: Growth, rng: np.random.Generator) -> None:
        self.p1, self.p2, self.keep = p1, p2, growth.max_nodes
        n1, n2 = p1.shape[0], p2.shape[0]
        size1, size2 = min(n1, growth.subsample), min(n2, growth.subsample)
        self.few1 = p1 if size1 == n1 else p1[np.sort(rng.choice(n1, size1, replace=False))]
        self.few2 = p2 if size2 == n2 else p2[np.sort(rng.choice(n2, size2, replace=False))]
        self.few_budget = budget.scaled(size1 / n1, size2 / n2, (size1 + size2) / (n1 + n2))

    def projections(self, points: Array) -> tuple[Array, Array]:
        u = directions(points)
        return project(self.p1, u), project(self.p2, u)

    def widest(self, points: Array) -> Ints:
        """The `max_nodes` points of the widest slabs, widest first."""
        u = directions(points)
        width = slabs(project(self.few1, u), project(self.few2, u), self.few_budget).width
        return np.argsort(-width, kind="stable")[: self.keep]


def directions(points: Array) -> Array:
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def offspring(
    p1: Points,
    p2: Points,
    points: Array,
    f1: Array,
    f2: Array,
    faces: Slabs,
    budget: Budget,
    growth: Growth,
    rng: np.random.Generator,
) -> tuple[Array, Ints]:
    """Children of every node of a level and the position of their parents; those that did not move are left out."""
    drawn1, drawn2 = [], []
    for v in range(len(points)):
        m1, m2 = budget.candidates(int(faces.k1[v]), int(faces.k2[v]), growth.delta)
        drawn1.append(rng.choice(worst(f1[v], m1), growth.n_children))
        drawn2.append(rng.choice(worst(-f2[v], m2), growth.n_children))
    origin = np.repeat(np.arange(len(points)), growth.n_children)
    step = rows(p1, np.concatenate(drawn1)) - rows(p2, np.concatenate(drawn2))
    base = points[origin]
    step -= base
    length2 = np.einsum("ij,ij->i", step, step)
    inner = -np.einsum("ij,ij->i", base, step)
    moved = (inner > 0) & (length2 > 0)
    share = np.minimum(inner[moved] / length2[moved], 1.0)
    children = base[moved] + share[:, None] * step[moved]
    # A child at the origin has no direction; it says that the candidates are not separable.
    away = np.linalg.norm(children, axis=1) > 1e-12 * np.linalg.norm(base[moved], axis=1)
    return children[away], origin[moved][away]


def worst(f: Array, count: int) -> Ints:
    """Positions of the `count` smallest entries, in no particular order; O(n)."""
    if count >= f.shape[0]:
        return np.arange(f.shape[0])
    return np.argpartition(f, count - 1)[:count]


def boost(
    p1: Points, p2: Points, budget: Budget, root: Array, growth: Growth, rounds: int, rng: np.random.Generator, run: Run
) -> Iterator[Tree]:
    """Trees one after the other, each rooted at the widest node so far, until the width is stable (Section 3)."""
    width = -np.inf
    for _ in range(rounds):
        tree = grow(p1, p2, budget, root, growth, rng, run)
        yield tree
        best = tree.best
        if tree.status is not None or best.width <= width + 1e-6 * abs(width):
            return
        root, width = best.x, best.width
