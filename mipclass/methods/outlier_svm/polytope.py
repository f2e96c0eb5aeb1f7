"""Polytope distance: the point of conv(P1) - conv(P2) nearest to the origin, i.e. the widest slab between two classes.

The vertices p - q of the Minkowski difference are never formed: the one with the smallest inner product with x is the
worst p minus the worst q, found in O(n d). Three ways to use it:

    plain       Gilbert 1966: move to the nearest point of the segment [x, vertex]; at most 2 ceil(2 E / epsilon) steps,
                E = (D/rho)^2, D the diameter of the difference and rho its distance (Gaertner & Jaggi 2009).
    away        Frank-Wolfe with away steps: also moves away from the worst vertex in use, which makes convergence linear.
    corrective  Wolfe 1976: moves to the nearest point of the hull of all vertices in use; finite, exact up to rounding.

All stop at an epsilon-approximation (Definition 1 of Ding & Xu 2015): |x| <= p.x/|x| + epsilon |x| for every vertex p.
Then (1 - epsilon)|x| <= width <= rho <= |x|: the slab along x is a proof of how far it can be from the widest.

A kernel replaces inner products: x then lives in the feature space, known by its inner products with all points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from ...arrays import Array
from ...protocol.result import Status
from ...protocol.run import Run
from .slab import Points, dense_rows

Kernel = Callable[[Points, Points], Array]
Pair = tuple[int, int]


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


def polytope_distance(
    p1: Points,
    p2: Points | None = None,
    *,
    epsilon: float = 1e-9,
    rule: str = "corrective",
    max_steps: int = 100_000,
    kernel: Kernel | None = None,
    run: Run | None = None,
) -> Nearest:
    """Nearest point to the origin of conv(p1) - conv(p2), or of conv(p1) when p2 is None.

    `status` is OPTIMAL when epsilon was reached; INFEASIBLE when the origin lies in the difference up to rounding (the
    hulls meet: there is no slab); ITERATION_LIMIT, TIME_LIMIT or INTERRUPTED otherwise, with the best x so far.
    """
    space: LinearSpace | KernelSpace = LinearSpace(p1, p2) if kernel is None else KernelSpace(p1, p2, kernel)
    walk = {"plain": Walk, "away": AwayWalk, "corrective": CorrectiveWalk}[rule](space)
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
            if walk.steps % 64 == 0:
                run.report(iterations=walk.steps, distance=float(np.sqrt(walk.norm2)))
    return walk.result(status)


class LinearSpace:
    """Points as they are; a vector x is a d-vector."""

    def __init__(self, p1: Points, p2: Points | None) -> None:
        self.n1 = p1.shape[0]
        d = p1.shape[1]
        self.origin_class = p2 is None
        lower = np.zeros((1, d)) if p2 is None else p2
        both = [p1, lower]
        is_sparse = sp.issparse(p1) or sp.issparse(lower)
        self.points: Points = sp.vstack(both, format="csr") if is_sparse else np.vstack(both)
        if not is_sparse and p2 is not None:
            # The difference of the hulls does not change when both move; a far origin would cost digits.
            self.points -= self.points.mean(axis=0)
        if is_sparse:
            self.squares = np.asarray(sp.csr_array(self.points).power(2).sum(axis=1)).ravel()
        else:
            self.squares = np.einsum("ij,ij->i", self.points, self.points)
        # Below this squared norm, x cannot be told from the origin in float64.
        self.zero = float((64 * np.finfo(float).eps) ** 2 * self.squares.max() * max(1, d))

    def vertex(self, pair: Pair) -> Array:
        both = dense_rows(self.points, np.array([pair[0], self.n1 + pair[1]]))
        return np.asarray(both[0] - both[1])

    def project(self, x: Array) -> Array:
        return np.asarray(self.points @ x)

    def inner(self, many: Array, pair: Pair, vertex: Array) -> Array:
        return np.asarray(many @ vertex)


class KernelSpace:
    """Points in the kernel's feature space; a vector x is known by its inner products with all n points."""

    def __init__(self, p1: Points, p2: Points | None, kernel: Kernel) -> None:
        self.n1, self.kernel = p1.shape[0], kernel
        self.origin_class = p2 is None
        stacked = [p1] if p2 is None else [p1, p2]
        self.points = sp.vstack(stacked, format="csr") if sp.issparse(p1) else np.vstack(stacked)
        self.columns: dict[int, Array] = {}
        largest = max(float(self.kernel(self.points[i : i + 1], self.points[i : i + 1])[0, 0]) for i in range(self.n1))
        self.zero = float(64 * np.finfo(float).eps * largest)

    def column(self, i: int) -> Array:
        if i not in self.columns:
            inner = np.asarray(self.kernel(self.points, self.points[i : i + 1])).ravel()
            # The origin stands for the other class when there is only one: its inner products are zero.
            self.columns[i] = np.append(inner, 0.0) if self.origin_class else inner
        return self.columns[i]

    def vertex(self, pair: Pair) -> Array:
        if self.origin_class:
            return self.column(pair[0]).copy()
        return self.column(pair[0]) - self.column(self.n1 + pair[1])

    def project(self, x: Array) -> Array:
        return x

    def inner(self, many: Array, pair: Pair, vertex: Array) -> Array:
        return np.asarray(many[..., pair[0]] - many[..., self.n1 + pair[1]])


class Walk:
    """Gilbert's algorithm: state x with its weights; `look` finds the next vertex and the gap, `step` moves."""

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
        f = self.space.project(self.x)
        self.f1, self.f2 = f[: self.space.n1], f[self.space.n1 :]
        self.pair = (int(np.argmin(self.f1)), int(np.argmax(self.f2)))
        self.gap = self.norm2 - float(self.f1[self.pair[0]] - self.f2[self.pair[1]])

    def step(self) -> None:
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
        self.measure(vertex, pair, share)

    def measure(self, vertex: Array, pair: Pair, share: float) -> None:
        if isinstance(self.space, LinearSpace):
            self.norm2 = float(self.x @ self.x)
        else:
            used1, used2 = np.flatnonzero(self.alpha), np.flatnonzero(self.beta)
            self.norm2 = float(self.alpha[used1] @ self.x[used1] - self.beta[used2] @ self.x[self.space.n1 + used2])

    def result(self, status: Status) -> Nearest:
        distance = float(np.sqrt(max(self.norm2, 0.0)))
        scale = distance if distance > 0 else 1.0
        a, c = float(self.f1.min()) / scale, float(self.f2.max()) / scale
        x = self.x if isinstance(self.space, LinearSpace) else None
        reached = 1 - (a - c) / distance if distance > 0 else float("inf")
        return Nearest(x, self.alpha, self.beta, distance, a - c, a, c, reached, self.steps, status)


class AwayWalk(Walk):
    """Gilbert's step, or a step away from the worst vertex in use when that promises more."""

    def step(self) -> None:
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
                if weights[index] <= 1e-15:
                    weights[index] = 0.0


class CorrectiveWalk(Walk):
    """Wolfe's nearest point algorithm: x is the nearest point of the hull of the pairs in use.

    With V the vertices in use (rows), the nearest point of their affine hull has weights proportional to the solution of
    (V V' + t e e') c = e; its Cholesky factor is kept, a row appended or deleted at O(m^2).
    """

    def __init__(self, space: LinearSpace | KernelSpace) -> None:
        super().__init__(space)
        self.pairs: list[Pair] = []
        self.shift = max(self.norm2, 1e-300)
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
        if rest <= 1e-14 * square:
            return False
        grown = np.zeros((m + 1, m + 1))
        grown[:m, :m], grown[m, :m], grown[m, m] = self.factor, row, np.sqrt(rest)
        self.factor = grown
        self.pairs.append(pair)
        self.vertices = np.vstack([self.vertices, vertex])
        self.weights = np.append(self.weights, weight)
        return True

    def delete(self, position: int) -> None:
        keep = np.arange(len(self.pairs)) != position
        self.factor = delete_row(self.factor, position)
        self.vertices, self.weights = self.vertices[keep], self.weights[keep]
        self.pairs.pop(position)

    def affine_weights(self) -> Array:
        half = solve_triangular(self.factor, np.ones(len(self.pairs)), lower=True)
        c = solve_triangular(self.factor.T, half, lower=False)
        return np.asarray(c / c.sum())

    def step(self) -> None:
        self.steps += 1
        before = self.norm2
        if self.pair in self.pairs or not self.append(self.pair, 0.0):
            self.stuck = True
            return
        while True:
            target = self.affine_weights()
            if np.all(target > 1e-14):
                self.weights = target
                break
            falling = target < self.weights
            leaving = falling & (target <= 1e-14)
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
        self.measure(self.x, self.pair, 0.0)
        self.stuck = self.norm2 >= before


def delete_row(factor: Array, k: int) -> Array:
    """Lower Cholesky factor after deleting row and column k of the matrix; O(m^2) by a rank-one update."""
    m = factor.shape[0]
    kept: NDArray[np.bool_] = np.arange(m) != k
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
