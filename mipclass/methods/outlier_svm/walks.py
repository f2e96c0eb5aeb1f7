"""Walks to the point of conv(P1) - conv(P2) nearest to the origin: Gilbert's, with away steps, and Wolfe's.

A walk holds x = sum alpha_i p_i - sum beta_j q_j. `look` finds the vertex of the difference with the smallest inner
product with x and the gap |x|^2 - min over vertices p of p.x; `step` moves x. See `polytope` for what they guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from ...arrays import Array, Mask
from ...protocol.result import Status
from .point_spaces import KernelSpace, LinearSpace, Pair
from .slab import dense_rows

SPENT = 1e-15
"""Weight (all weights of a class sum to one) at which a vertex that a full away step empties is dropped: rounding of 1."""

VANISHING = 1e-14
"""Weight of a vertex up to which Wolfe's algorithm counts it as zero: rounding of weights that sum to one."""

DEPENDENT = 1e-14
"""A vertex whose squared distance to the affine hull of those in use is at most this fraction of its squared length is
affinely dependent on them up to rounding; its pivot in the Cholesky factor would be noise."""

LEAST_SHIFT = 1e-300
"""Keeps t of the matrix V V' + t e e' positive when the first vertex is the origin."""


@dataclass(frozen=True)
class Nearest:
    """An epsilon-approximation: x = sum alpha_i p_i - sum beta_j q_j with alpha, beta in the simplices.

    `epsilon` is the reached one; `distance` is |x| >= rho; `width` <= rho is the slab along x (negative when x's direction
    does not separate). `x` is None in a kernel's feature space.
    """

    x: Array | None
    alpha: Array
    beta: Array
    distance: float
    width: float
    a: float
    c: float
    epsilon: float
    steps: int
    status: Status


class GilbertWalk:
    """Gilbert's algorithm: each step moves x to the nearest point of the segment from x to the vertex found."""

    def __init__(self, space: LinearSpace | KernelSpace) -> None:
        self.space = space
        self.steps, self.stuck = 0, False
        n2 = len(self.space.project(space.vertex((0, 0)))) - space.n1
        self.alpha, self.beta = np.zeros(space.n1), np.zeros(n2)
        pair = self.first()
        self.alpha[pair[0]] = self.beta[pair[1]] = 1.0
        self.x = space.vertex(pair)
        self.norm2 = float(space.inner(self.x, pair, self.x))

    def first(self) -> Pair:
        """One class: the point nearest to the origin (Algorithm 1). Two: the p nearest to some q."""
        space = self.space
        if isinstance(space, LinearSpace):
            if space.origin_class:
                return int(np.argmin(space.squares[: space.n1])), 0
            start = dense_rows(space.points, np.array([space.n1]))[0]
            distance = space.squares - 2 * space.project(start)
            return int(np.argmin(distance[: space.n1])), 0
        return 0, 0

    def look(self) -> None:
        """Find the vertex with the smallest inner product with x, and the gap."""
        f = self.space.project(self.x)
        self.f1, self.f2 = f[: self.space.n1], f[self.space.n1 :]
        self.pair = (int(np.argmin(self.f1)), int(np.argmax(self.f2)))
        self.gap = self.norm2 - float(self.f1[self.pair[0]] - self.f2[self.pair[1]])

    def step(self) -> None:
        """Move to the nearest point of the segment [x, vertex]."""
        vertex = self.space.vertex(self.pair)
        inner = self.norm2 - self.gap
        length2 = self.norm2 - 2 * inner + float(self.space.inner(vertex, self.pair, vertex))
        self.move(vertex, self.pair, min(1.0, self.gap / length2) if length2 > 0 else 0.0)

    def move(self, vertex: Array, pair: Pair, share: float) -> None:
        """x + share (vertex - x); a negative share moves away from the vertex."""
        self.stuck = share == 0.0
        self.steps += 1
        self.x = self.x + share * (vertex - self.x)
        for weights, index in ((self.alpha, pair[0]), (self.beta, pair[1])):
            weights *= 1 - share
            weights[index] += share
        self.measure()

    def measure(self) -> None:
        """Set the squared norm of x."""
        if isinstance(self.space, LinearSpace):
            self.norm2 = float(self.x @ self.x)
        else:
            used1, used2 = np.flatnonzero(self.alpha), np.flatnonzero(self.beta)
            self.norm2 = float(self.alpha[used1] @ self.x[used1] - self.beta[used2] @ self.x[self.space.n1 + used2])

    def result(self, status: Status) -> Nearest:
        """Where the walk stands, with the slab along x as `look` found it last."""
        distance = float(np.sqrt(max(self.norm2, 0.0)))
        scale = distance if distance > 0 else 1.0
        a, c = float(self.f1.min()) / scale, float(self.f2.max()) / scale
        x = self.x if isinstance(self.space, LinearSpace) else None
        reached = 1 - (a - c) / distance if distance > 0 else float("inf")
        return Nearest(x, self.alpha, self.beta, distance, a - c, a, c, reached, self.steps, status)


class AwayWalk(GilbertWalk):
    """Gilbert's step, or a step away from the worst vertex in use when that promises more."""

    def step(self) -> None:
        """Move towards the vertex found, or away from the vertex in use with the largest inner product with x."""
        used1, used2 = np.flatnonzero(self.alpha), np.flatnonzero(self.beta)
        away = (int(used1[np.argmax(self.f1[used1])]), int(used2[np.argmin(self.f2[used2])]))
        away_gap = float(self.f1[away[0]] - self.f2[away[1]]) - self.norm2
        if away_gap <= self.gap:
            super().step()
            return
        vertex = self.space.vertex(away)
        length2 = self.norm2 - 2 * (self.norm2 + away_gap) + float(self.space.inner(vertex, away, vertex))
        ends = [w[i] / (1 - w[i]) for w, i in ((self.alpha, away[0]), (self.beta, away[1])) if w[i] < 1]
        end = min(ends)
        share = min(end, away_gap / length2) if length2 > 0 else end
        self.move(vertex, away, -share)
        if share == end:  # the vertex that ran out of weight leaves for good, whatever the rounding
            for weights, index in ((self.alpha, away[0]), (self.beta, away[1])):
                if weights[index] <= SPENT:
                    weights[index] = 0.0


class WolfeWalk(GilbertWalk):
    """Wolfe's nearest point algorithm: x is the nearest point of the hull of the pairs in use.

    With V the vertices in use (rows), the nearest point of their affine hull has weights proportional to the solution of
    (V V' + t e e') c = e; its Cholesky factor is kept, a row appended or deleted at O(m^2).
    """

    def __init__(self, space: LinearSpace | KernelSpace) -> None:
        super().__init__(space)
        self.pairs: list[Pair] = []
        self.shift = max(self.norm2, LEAST_SHIFT)
        self.vertices = np.zeros((0, len(self.x)))
        self.factor = np.zeros((0, 0))
        self.weights = np.ones(0)
        self.append((int(np.argmax(self.alpha)), int(np.argmax(self.beta))), 1.0)

    def append(self, pair: Pair, weight: float) -> bool:
        """Add a vertex; False when it depends on those in use (up to rounding)."""
        vertex = self.space.vertex(pair)
        square = float(self.space.inner(vertex, pair, vertex)) + self.shift
        cross = self.space.inner(self.vertices, pair, vertex) + self.shift
        m = len(self.pairs)
        row = solve_triangular(self.factor, cross, lower=True) if m else np.zeros(0)
        rest = square - float(row @ row)
        if rest <= DEPENDENT * square:
            return False
        grown = np.zeros((m + 1, m + 1))
        grown[:m, :m], grown[m, :m], grown[m, m] = self.factor, row, np.sqrt(rest)
        self.factor = grown
        self.pairs.append(pair)
        self.vertices = np.vstack([self.vertices, vertex])
        self.weights = np.append(self.weights, weight)
        return True

    def delete(self, position: int) -> None:
        """Remove a vertex from those in use."""
        keep = np.arange(len(self.pairs)) != position
        self.factor = delete_row(self.factor, position)
        self.vertices, self.weights = self.vertices[keep], self.weights[keep]
        self.pairs.pop(position)

    def affine_weights(self) -> Array:
        """Weights, of sum one, of the nearest point of the affine hull of the vertices in use."""
        half = solve_triangular(self.factor, np.ones(len(self.pairs)), lower=True)
        c = solve_triangular(self.factor.T, half, lower=False)
        return np.asarray(c / c.sum())

    def step(self) -> None:
        """Add the vertex found, then move to the nearest point of the hull of those in use, dropping vertices on the way."""
        self.steps += 1
        before = self.norm2
        if self.pair in self.pairs or not self.append(self.pair, 0.0):
            self.stuck = True
            return
        while True:
            target = self.affine_weights()
            if np.all(target > VANISHING):
                self.weights = target
                break
            falling = target < self.weights
            leaving = falling & (target <= VANISHING)
            ratio = np.where(leaving, self.weights / np.where(falling, self.weights - target, 1.0), np.inf)
            share = min(1.0, float(ratio.min()))
            self.weights = self.weights + share * (target - self.weights)
            self.weights = np.maximum(self.weights, 0.0)
            self.delete(int(np.argmin(ratio)))
        self.weights /= self.weights.sum()
        self.x = self.weights @ self.vertices
        self.alpha[:] = 0.0
        self.beta[:] = 0.0
        np.add.at(self.alpha, [i for i, _ in self.pairs], self.weights)
        np.add.at(self.beta, [j for _, j in self.pairs], self.weights)
        self.measure()
        self.stuck = self.norm2 >= before


def delete_row(factor: Array, k: int) -> Array:
    """Lower Cholesky factor after deleting row and column k of the matrix; O(m^2) by a rank-one update of the rows behind k."""
    m = factor.shape[0]
    kept: Mask = np.arange(m) != k
    out = factor[np.ix_(kept, kept)]
    tail = out[k:, k:]  # a view
    x = factor[k + 1 :, k].copy()
    for i in range(m - 1 - k):
        diagonal = np.hypot(tail[i, i], x[i])
        cosine, sine = diagonal / tail[i, i], x[i] / tail[i, i]
        tail[i, i] = diagonal
        if i + 1 < m - 1 - k:
            tail[i + 1 :, i] = (tail[i + 1 :, i] + sine * x[i + 1 :]) / cosine
            x[i + 1 :] = cosine * x[i + 1 :] - sine * tail[i + 1 :, i]
    return np.asarray(out)
