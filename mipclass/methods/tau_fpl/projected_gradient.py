"""The paper's dual projected gradient for tau-FPL (Algorithm 1), with Nesterov's acceleration, backtracking and restart.

Minimise    g(alpha, beta) = |v|^2/(2mR) + sum_i (alpha_i^2/4 - alpha_i),    v = X+'alpha - X-'beta
Subject to  (alpha, beta) in the top-k simplex;    w = v/(mR) and P* = -g*/m.

Only products with the rows are needed, so a kernel matrix serves as well: v is then known by z = (alpha, -beta), its squared
norm is z'Kz and the scores are K z/(mR). The scores of an extrapolated point are extrapolated scores, and g is quadratic,
so a step costs one pair of products with the rows (or one product with K).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...protocol.result import Status
from ...protocol.run import Run
from .gap import dual_bound, is_close_enough, relative_gap, top_mean
from .kernels.topk import project_topk
from .ranking import RankingData

FIRST_CURVATURE = 0.5
"""First guess of L: the curvature of alpha^2/4, the least that g has along alpha."""

SHRINK, GROW = 1.1, 2.0
"""L is divided by SHRINK before each step and multiplied by GROW until its quadratic model lies above g."""

MODEL_ROUNDING = 1e-12
"""Relative excess of the curvature over L that counts as rounding."""


@dataclass
class DualTrained:
    """The best dual point, as z in row order (alpha for positives, -beta for negatives), with w for linear rows."""

    z: Array
    w: Array | None
    objective: float
    bound: float
    iterations: int = 0
    status: Status | None = None

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return relative_gap(self.objective, self.bound)


@dataclass
class DualPoint:
    """z with everything linear in it: v (linear rows only), the products u = X v or K z, and the squared norm of v."""

    z: Array
    v: Array | None
    u: Array
    square: float

    def beyond(self, before: DualPoint, momentum: float) -> DualPoint:
        """self + momentum (self - before)."""
        z = self.z + momentum * (self.z - before.z)
        u = self.u + momentum * (self.u - before.u)
        if self.v is None or before.v is None:
            return DualPoint(z, None, u, float(z @ u))
        v = self.v + momentum * (self.v - before.v)
        return DualPoint(z, v, u, float(v @ v))


class Dual:
    """g, its gradient and the primal value over dual points."""

    def __init__(self, data: RankingData, gram: Array | None) -> None:
        self.data, self.gram = data, gram
        self.m, self.k = data.pos.size, int(data.k)

    def point(self, z: Array) -> DualPoint:
        """z with its products, which cost one pass over the rows each (or one product with K)."""
        if self.gram is not None:
            u = self.gram @ z
            return DualPoint(z, None, u, float(z @ u))
        v = self.data.rows.combine(z)
        return DualPoint(z, v, self.data.rows.scores(v), float(v @ v))

    def value(self, point: DualPoint) -> float:
        """g."""
        alpha = point.z[self.data.pos]
        return point.square / (2.0 * self.m * self.data.R) + 0.25 * float(alpha @ alpha) - float(alpha.sum())

    def gradient(self, point: DualPoint) -> Array:
        """The gradient of g with respect to z, which is minus that with respect to beta in the negatives."""
        out = point.u / (self.m * self.data.R)
        out[self.data.pos] += 0.5 * point.z[self.data.pos] - 1.0
        return out

    def project(self, z: Array) -> Array:
        """The nearest z whose (alpha, beta) lies in the top-k simplex."""
        alpha, beta = z[self.data.pos], -z[self.data.neg]
        project_topk(alpha, beta, self.k, alpha, beta)
        out = np.zeros(z.size)
        out[self.data.pos], out[self.data.neg] = alpha, -beta
        return out

    def bounds(self, point: DualPoint) -> tuple[float, float]:
        """(P(w), the certified bound) at the best multiple of the point: w = t v/(mR) with t = A/(2q)."""
        data, scale = self.data, self.best_multiple(point)
        alpha = point.z[data.pos]
        scores = point.u * (scale / (self.m * data.R))
        hinge = np.maximum(1.0 - scores[data.pos] + top_mean(scores[data.neg], data.weight_neg, data.k), 0.0)
        ridge = 0.5 * data.R * point.square * (scale / (self.m * data.R)) ** 2
        return float(hinge @ hinge) / self.m + ridge, dual_bound(
            data, float(alpha.sum()), float(alpha @ alpha), point.square
        )

    def best_multiple(self, point: DualPoint) -> float:
        """t = A/(2q), which minimises g along the ray t z; q = |alpha|^2/4 + |v|^2/(2mR)."""
        alpha = point.z[self.data.pos]
        q = 0.25 * float(alpha @ alpha) + point.square / (2.0 * self.m * self.data.R)
        return float(alpha.sum()) / (2.0 * q) if q > 0.0 else 0.0

    def weights(self, point: DualPoint) -> tuple[Array, Array | None]:
        """z and w at the best multiple of the point."""
        scale = self.best_multiple(point)
        return scale * point.z, None if point.v is None else (scale / (self.m * self.data.R)) * point.v


def train_dual(
    data: RankingData, run: Run, tolerance: float, max_iterations: int, *, gram: Array | None = None,
    start: Array | None = None, paper_epsilon: float | None = None,
) -> DualTrained:  # fmt: skip
    """Minimise g to a relative duality gap of `tolerance`.

    With `paper_epsilon` the paper's own rule decides instead: stop when g changes by at most that much, from a random
    (projected) start. `start` is a z to go on from.
    """
    dual = Dual(data, gram)
    if start is None:
        guess = np.random.default_rng(run.seed).random(data.rows.shape[0]) if paper_epsilon is not None else None
        start = (
            _first_point(data) if guess is None else np.where(np.isin(np.arange(guess.size), data.pos), guess, -guess)
        )
    here = dual.point(dual.project(start))
    value = dual.value(here)
    objective, bound = dual.bounds(here)
    best, best_point = DualTrained(here.z, None, min(objective, 1.0), bound), here if objective <= 1.0 else None
    before, momentum_t, L = here, 1.0, FIRST_CURVATURE
    while True:
        t_next = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum_t * momentum_t))
        base = here.beyond(before, (momentum_t - 1.0) / t_next)
        step = _step(dual, base, L, run)
        if step is None:
            best.status = run.stop() or Status.NUMERICAL_ERROR
            break
        after, L = step
        value_after = dual.value(after)
        settled = paper_epsilon is not None and abs(value_after - value) <= paper_epsilon
        if value_after > value and momentum_t > 1.0:  # restart: momentum has overshot
            before, momentum_t = here, 1.0
            continue
        before, here, value, momentum_t = here, after, value_after, t_next
        best.iterations += 1
        objective, bound = dual.bounds(here)
        best.bound = max(best.bound, bound)
        if objective < best.objective:
            best.objective, best_point = objective, here
        run.report(objective=best.objective, bound=best.bound, iterations=best.iterations)
        best.status = _verdict(best, run, tolerance, max_iterations, settled, paper_epsilon is not None)
        if best.status is not None:
            break
    if best_point is None:
        zero = np.zeros(here.z.size)
        best.z, best.w = zero, None if here.v is None else np.zeros(here.v.size)
    else:
        best.z, best.w = dual.weights(best_point)
    return best


def _step(dual: Dual, base: DualPoint, L: float, run: Run) -> tuple[DualPoint, float] | None:
    """A projected gradient step with the smallest L = previous / SHRINK * GROW^i whose quadratic model lies above g.

    None when stopped, or when products of the data have overflowed, and no L helps.
    """
    gradient = dual.gradient(base)
    L /= SHRINK
    m, R = dual.m, dual.data.R
    while np.isfinite(L) and np.isfinite(gradient).all():
        after = dual.point(dual.project(base.z - gradient / L))
        move = after.z - base.z
        if after.v is not None and base.v is not None:
            bend = float(np.sum((after.v - base.v) ** 2))
        else:
            bend = float(move @ (after.u - base.u))
        alpha = move[dual.data.pos]
        curvature = bend / (m * R) + 0.5 * float(alpha @ alpha)
        if curvature <= L * float(move @ move) * (1.0 + MODEL_ROUNDING) or not move.any():
            return after, L
        if run.stop() is not None:
            return None
        L *= GROW
    return None


def dual_start(data: RankingData, scores: Array) -> Array:
    """The dual point that scores suggest: alpha = 2 [1 - u]_+ and the k largest negatives at the cap."""
    z = np.zeros(scores.size)
    negatives = scores[data.neg]
    top = np.argsort(-negatives, kind="stable")[: int(data.k)]
    alpha = 2.0 * np.maximum(0.0, 1.0 - scores[data.pos] + float(negatives[top].mean()))
    z[data.pos], z[data.neg[top]] = alpha, -float(alpha.sum()) / data.k
    return z


def _first_point(data: RankingData) -> Array:
    """What w = 0 suggests: equal weights on the positives and on the negatives."""
    z = np.zeros(data.rows.shape[0])
    z[data.pos], z[data.neg] = 1.0, -data.pos.size / data.neg.size
    return z


def _verdict(
    best: DualTrained, run: Run, tolerance: float, max_iterations: int, settled: bool, by_paper: bool
) -> Status | None:
    """Why the iteration ends here, or None to go on; the paper's rule asks for `settled` instead of the gap."""
    close = is_close_enough(best.objective, best.bound, tolerance)
    if close if not by_paper else settled:
        return Status.OPTIMAL if close else Status.ITERATION_LIMIT
    if best.gap == 0.0:
        return Status.OPTIMAL
    if best.iterations >= max_iterations:
        return Status.ITERATION_LIMIT
    return run.stop()
