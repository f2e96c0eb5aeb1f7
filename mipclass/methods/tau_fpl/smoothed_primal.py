"""L-BFGS on the smoothed primal of tau-FPL, stopped by the certified duality gap of the true problem.

T(w), the mean of the k largest negative scores, is replaced by T_eps (kernels/topk_smooth). The gap of the true problem
at w then splits into two parts: the curvature part |gradient|^2/(2R), which L-BFGS reduces, and the rest, which comes
from the smoothing. eps shrinks whenever the rest is the larger part. Scores are linear along a search direction, so one
iteration costs one product X d, one product X'z that skips the rows with z = 0, and a line search without products.

If NEWTON_AFTER iterations do not reach the gap and the features are few, Newton's method on another smoothing takes over
(`newton`). Large data are first solved on a random tenth of the rows, whose solution, eps and curvature pairs are the
start of the whole problem.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...arrays import Array
from ...protocol.result import Status
from ...protocol.run import Run
from .gap import dual_bound, is_close_enough, primal_value, relative_gap
from .newton import EntropicLoss, is_affordable, newton_direction
from .ranking import RankingData

FIRST_EPS = 0.3
"""First width of the smoothing, in units of the margin of one."""

SHRINK_EPS = 0.3
"""Factor by which eps falls when the smoothing is the larger part of the gap, or when a line search fails."""

LEAST_EPS = 1e-14
"""eps below which the smoothing is lost in the rounding of scores of order one."""

FURTHER_EPS = 10.0
"""A problem with another R starts with this multiple of the eps where the last one ended."""

SUBSAMPLE = 0.1
"""Share of the rows of large data that is solved first."""

SUBSAMPLE_GAP = 10.0
"""Gap to which the sample is solved, in units of the tolerance: its solution is only a start."""

SUBSAMPLE_FROM = 2_000_000
"""Entries of X from which a sample is solved first."""

SUBSAMPLE_ROWS = 2_000
"""Positives, and negatives, that the whole data need for a sample to be representative."""

SUBSAMPLE_TOP = 20
"""k of the whole data from which a sample's own k is at least 2."""

NEWTON_AFTER = 60
"""Iterations of L-BFGS after which Newton's directions are used where d is small."""

ENTROPIC = 0.25
"""eps of the entropic smoothing over that of the ramp at the same slope of c: the logistic function's steepest slope."""

MEMORY = 12
"""Curvature pairs that L-BFGS keeps."""

LEAST_CURVATURE = 1e-12
"""Cosine of the angle between s and y below which a pair carries no curvature beyond rounding."""

SLOPE_DECREASE = 0.5
"""A step is accepted when the slope's absolute value has fallen to this share of the first one."""

LINE_SEARCH_STEPS = 30
"""Trial steps at most."""


@dataclass
class Trained:
    """Where training stands: the best point, the best bound, and what a similar problem can start from."""

    w: Array
    objective: float
    bound: float = 0.0
    iterations: int = 0
    status: Status | None = None
    eps: float = FIRST_EPS
    by_newton: bool = False
    pairs: deque[tuple[Array, Array, float]] = field(default_factory=lambda: deque(maxlen=MEMORY))

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return relative_gap(self.objective, self.bound)


class SmoothedLoss:
    """T_eps and its duals at given scores; remembers the last threshold as its next guess."""

    def __init__(self, data: RankingData, eps: float) -> None:
        from .kernels import topk_smooth

        self.data, self.eps, self.theta, self.kernels = data, eps, 0.0, topk_smooth

    def top(self, neg: Array) -> float:
        """T_eps; sets theta."""
        data, kernels = self.data, self.kernels
        low, high = float(neg.min()) - self.eps, float(neg.max())
        self.theta = kernels.smooth_threshold(neg, data.weight_neg, data.k, self.eps, self.theta, low, high)
        mass, first, square = kernels.smooth_top_mean(neg, data.weight_neg, self.theta, self.eps)
        if mass == 0.0:  # eps is below the rounding of the scores: the largest of them are the top
            self.theta = float(np.nextafter(high, -np.inf))
            mass, first, square = kernels.smooth_top_mean(neg, data.weight_neg, self.theta, self.eps)
        return float((first - 0.5 * self.eps * square) / mass)

    def duals(self, pos: Array, neg: Array, top: float) -> tuple[Array, Array, float]:
        """(alpha, g, A) at scores whose T_eps was asked for last: alpha = 2 o [1 - s + T_eps]_+, g the weights of the top."""
        alpha = 2.0 * self.data.weight_pos * np.maximum(1.0 + top - pos, 0.0)
        g = self.data.weight_neg * np.clip((neg - self.theta) / self.eps, 0.0, 1.0)
        return alpha, g / g.sum(), float(alpha.sum())


def train(
    data: RankingData, run: Run, tolerance: float, max_iterations: int, start: Array | Trained | None = None
) -> Trained:
    """Minimise P to a relative duality gap of `tolerance`, or until the run or `max_iterations` stops it.

    `start` is a point, or what training ended with for another R.
    """
    N, d = data.rows.shape
    if isinstance(start, Trained):
        first = Trained(start.w, np.inf, eps=min(FIRST_EPS, FURTHER_EPS * start.eps), by_newton=start.by_newton)
    else:
        first = Trained(np.zeros(d), 1.0) if start is None else Trained(np.array(start, dtype=np.float64), np.inf)
    enough = min(data.pos.size, data.neg.size) >= SUBSAMPLE_ROWS and data.k >= SUBSAMPLE_TOP
    if start is None and N * d >= SUBSAMPLE_FROM and enough:
        # Values on the sample are not values of the problem, so they are not reported.
        sample = data.subsample(SUBSAMPLE, run.seed)
        part = _descend(sample, run.inner(), first, SUBSAMPLE_GAP * tolerance, max_iterations)
        first = Trained(part.w, np.inf, eps=part.eps, pairs=part.pairs)
    return _descend(data, run, first, tolerance, max_iterations)


def _descend(data: RankingData, run: Run, at: Trained, tolerance: float, max_iterations: int) -> Trained:
    w, R = at.w, data.R
    scores = data.rows.scores(w) if w.any() else np.zeros(data.rows.shape[0])
    best = Trained(w, primal_value(data, w, scores), pairs=at.pairs)
    affordable = is_affordable(data)
    loss: SmoothedLoss | EntropicLoss = SmoothedLoss(data, at.eps)
    if at.by_newton and affordable:
        loss = EntropicLoss(data, ENTROPIC * at.eps, 0.0)
    previous: tuple[Array, Array] | None = None
    while True:
        pos, neg = scores[data.pos], scores[data.neg]
        top = loss.top(neg)
        alpha, g, A = loss.duals(pos, neg, top)
        z = np.zeros(scores.size)
        z[data.pos], z[data.neg] = alpha, -A * g
        v = data.rows.combine(z)
        gradient = R * w - v / data.total
        bound = dual_bound(data, A, float(alpha**2 @ (1.0 / data.weight_pos)), float(v @ v))
        best.bound = max(best.bound, bound)
        objective = primal_value(data, w, scores)
        if objective < best.objective:
            best.w, best.objective = w, objective
        run.report(objective=best.objective, bound=best.bound, iterations=best.iterations, eps=loss.eps)
        best.status = _verdict(best, run, tolerance, max_iterations, loss.eps)
        if best.status is not None:
            best.by_newton = isinstance(loss, EntropicLoss)
            best.eps = loss.eps / ENTROPIC if best.by_newton else loss.eps
            return best
        if previous is not None:
            _remember(best.pairs, w - previous[0], gradient - previous[1])
        curvature_part = float(gradient @ gradient) / (2.0 * R)
        if objective - bound > 2.0 * curvature_part:
            loss.eps *= SHRINK_EPS
            previous = None
            continue
        if isinstance(loss, SmoothedLoss) and best.iterations >= NEWTON_AFTER and affordable:
            loss, previous = EntropicLoss(data, ENTROPIC * loss.eps, loss.theta), None
            continue
        if isinstance(loss, EntropicLoss):
            direction = newton_direction(loss, alpha, g, gradient)
        else:
            direction = -_times_inverse_hessian(best.pairs, gradient)
        along = data.rows.scores(direction)
        step = _line_search(
            loss, w, direction, pos, neg, along[data.pos], along[data.neg], float(gradient @ direction), R
        )
        if step == 0.0:
            best.pairs.clear()
            loss.eps *= SHRINK_EPS
            previous = None
            continue
        previous = (w, gradient)
        w = w + step * direction
        scores = scores + step * along
        best.iterations += 1


def train_path(
    data: RankingData, R_values: Sequence[float], run: Run, tolerance: float = 1e-3, max_iterations: int = 2000
) -> dict[float, Trained]:
    """Solutions for several R, each started from the one before; large R first, where w is small."""
    found: dict[float, Trained] = {}
    start = None
    for R in sorted(R_values, reverse=True):
        start = found[R] = train(data.with_R(R), run, tolerance, max_iterations, start)
        if run.stop() is not None:
            break
    return found


def _verdict(best: Trained, run: Run, tolerance: float, max_iterations: int, eps: float) -> Status | None:
    """Why the descent ends here, or None to go on."""
    if is_close_enough(best.objective, best.bound, tolerance):
        return Status.OPTIMAL
    if best.iterations >= max_iterations:
        return Status.ITERATION_LIMIT
    if eps < LEAST_EPS:
        return Status.NUMERICAL_ERROR
    return run.stop()


def _remember(pairs: deque[tuple[Array, Array, float]], s: Array, y: Array) -> None:
    """Keep the pair (step, change of gradient) if it carries curvature."""
    product = float(s @ y)
    if product > LEAST_CURVATURE * float(np.linalg.norm(s) * np.linalg.norm(y)):
        pairs.append((s, y, 1.0 / product))


def _times_inverse_hessian(pairs: deque[tuple[Array, Array, float]], gradient: Array) -> Array:
    """The two-loop recursion of L-BFGS."""
    q = gradient.copy()
    used: list[float] = []
    for s, y, rho in reversed(pairs):
        a = rho * float(s @ q)
        used.append(a)
        q -= a * y
    if pairs:
        _, y, rho = pairs[-1]
        q /= rho * float(y @ y)
    for (s, y, rho), a in zip(pairs, reversed(used), strict=True):
        q += (a - rho * float(y @ q)) * s
    return q


def _line_search(
    loss: SmoothedLoss | EntropicLoss, w: Array, direction: Array, pos: Array, neg: Array, along_pos: Array, along_neg: Array,
    slope0: float, R: float,
) -> float:  # fmt: skip
    """A step that at least halves the slope, or zero when the direction does not descend.

    The function is convex along the line, so that its slope increases: the root is bracketed and interpolated.
    """
    if not slope0 < 0.0:
        return 0.0
    wd, dd = float(w @ direction), float(direction @ direction)
    total = loss.data.total

    def slope(t: float) -> float:
        p, n = pos + t * along_pos, neg + t * along_neg
        alpha, g, A = loss.duals(p, n, loss.top(n))
        return (A * float(g @ along_neg) - float(alpha @ along_pos)) / total + R * (wd + t * dd)

    low, slope_low, high, slope_high = 0.0, slope0, np.inf, np.inf
    t = 1.0
    for _ in range(LINE_SEARCH_STEPS):
        here = slope(t)
        if abs(here) <= -SLOPE_DECREASE * slope0:
            return t
        if here < 0.0:
            low, slope_low = t, here
        else:
            high, slope_high = t, here
        if np.isinf(high):
            t = 2.0 * t if slope_low < 0.7 * slope0 else min(10.0, slope0 / (slope0 - slope_low)) * t
        else:
            share = slope_low / (slope_low - slope_high)
            t = low + min(max(share, 0.1), 0.9) * (high - low)
    return low
