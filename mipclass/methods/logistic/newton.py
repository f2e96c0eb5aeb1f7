"""newton: logistic regression with L1, L2 and bounds, by a proximal Newton method with a duality gap.

    minimise  a sum_i c_i log(1 + exp(-y_i (w.x_i + b) / multiplier)) + l1 |w|_1 + l2 w'w    within bounds

Each step minimises the quadratic model of the loss plus the penalties within the bounds, exactly (Cholesky) where neither bounds
nor L1 matter and by coordinate descent on the d x d matrix otherwise, then searches along the step (Lee, Sun and Saunders 2014). On many points the
first steps use a sample of them. The end is decided by the gap to a dual bound that is recomputed from the data (`gap`), not by the
size of a step. With more than LARGEST features only those that are not held at zero by L1 or at a bound enter the matrix; without
L1 the steps are found by conjugate gradients.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit

from ...arrays import Array, Index
from ...modelling.problem import Problem
from ...numeric.blas import one_blas_thread
from ...protocol.options import Option, Options, number
from ...protocol.result import Claim, Outcome, Status
from ...protocol.run import Run
from ..base import Method, Refusal
from .design import Design
from .form import LogisticForm, read_form
from .gap import lower_bound

LARGEST = 2_000
"""Coordinates up to which the whole matrix of second derivatives is formed."""

SAMPLED_FROM = 20_000
"""Points from which on the first steps use a sample."""

SAMPLE = 0.1
"""Fraction of the points in the sample: its steps are cheap and end within a few per cent of the optimal weights."""

SAMPLE_GAP = 1e-3
"""Relative decrease below which steps on the sample end."""

FAST = 0.01
"""On many points second derivatives are kept while each step promises at most this fraction of the one before: a step with kept ones
costs two passes over the points, one with new ones five times as much at 50 features."""

FIRST_SWEEPS, SWEEPS_PER_FACE, MOST_FACES = 20, 3, 60
"""Sweeps of coordinate descent before the first linear system and after each, and linear systems at most, per Newton step."""

MODEL_ACCURACY = 1e-16
"""The quadratic model is minimised until a sweep changes it by at most this fraction of the change of the first sweeps."""

NEAR = 30.0
"""The dual bound is computed once a step promised at most this multiple of the tolerance: the next point is then near enough."""

LEAST_TOLERANCE = 1e-12
"""A smaller tolerance than this is not expected to be reached; the bound is computed all the same."""

ARMIJO = 1e-4
"""Fraction of the decrease that the model promises which a step must achieve."""

ROUNDING = 1e-14
"""Relative change of the objective that rounding alone may cause. Steps within it are taken: the dual bound still gains by them, for its
distance is of the order of the weights' error, not of its square."""

NO_PROMISE = 1e-26
"""A step that promises less than this fraction of the objective changes weights by rounding errors only."""

HALVINGS = 40
"""Times that a step is halved at most."""

RIDGE = 1e-13
"""Added to the diagonal in units of its mean, so that rounding cannot make the matrix indefinite."""


class Newton(Method[LogisticForm]):
    """Logistic loss with L1, L2 and bounds; no whole numbers, no limit on features."""

    name: ClassVar[str] = "newton"
    promise: ClassVar[str] = "proven: within a relative duality gap of 1e-9 (option tolerance)"
    options: ClassVar[Options] = {
        "tolerance": Option(
            1e-9, "relative duality gap to stop at when solve(gap=...) is left at 0", number(at_least=0)
        ),
        "max_iterations": Option(200, "Newton steps at most", number(at_least=1, integer=True)),
    }

    def match(self, problem: Problem) -> LogisticForm | Refusal:
        """The problem's form, where it is convex."""
        form = read_form(problem)
        if isinstance(form, Refusal):
            return form
        if form.whole or form.most < form.d or form.l0:
            return Refusal("whole weights, L0() and MaxFeatures(...) are not convex; use solver='lattice'.")
        if form.has_free_multiplier:
            return Refusal(
                "a multiplier can be chosen for whole weights only; real weights contain it. Use Logistic()."
            )
        return form

    def solve(self, form: LogisticForm, run: Run) -> Outcome:
        """Newton steps until the duality gap is closed."""
        if form.is_empty:
            return Outcome(
                Status.INFEASIBLE, "proven", None, None, float("inf"), raw_status="the bounds admit no weights"
            )
        with one_blas_thread():
            return self._descend(form, run)

    def _descend(self, form: LogisticForm, run: Run) -> Outcome:
        design = Design.of(form)
        descent = Descent(design, run)
        descent.x = np.clip(_start(form, design, run), design.lower, design.upper)
        if len(design.y) >= SAMPLED_FROM and design.size <= LARGEST:
            descent.keeps = True
            descent.x, descent.kept = _sampled_start(design, descent.x, run)
        status, words = descent.loop()
        x, d = descent.x, form.d
        values = {"w": x[:d].copy(), "b": np.asarray(x[d] if design.has_offset else 0.0)}
        bound = None if np.isinf(descent.bound) else descent.bound
        claim: Claim = "proven" if status is Status.OPTIMAL else "heuristic"
        extra = {"duality_gap": descent.value - descent.bound, "tolerance": run.gap or run.options["tolerance"]}
        return Outcome(
            status, claim, values, descent.value, bound, iterations=descent.steps, raw_status=words, extra=extra
        )


def _until_a_side(at: Array, step: Array, l1: Array, lower: Array, upper: Array) -> float:
    """The largest part of the step, at most all of it, after which no coordinate has passed a bound or, where L1 bends, zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where((l1 > 0) & (at > 0), np.maximum(lower, 0.0), lower)
        high = np.where((l1 > 0) & (at < 0), np.minimum(upper, 0.0), upper)
        parts = np.where(step < 0, (low - at) / step, np.where(step > 0, (high - at) / step, np.inf))
    return float(min(1.0, np.min(parts, initial=1.0)))


def _start(form: LogisticForm, design: Design, run: Run) -> Array:
    """The warm start where there is one, else zero."""
    x = np.zeros(design.size)
    given = run.warm_start or {}
    if "w" in given:
        x[: form.d] = np.ravel(given["w"])
    if "b" in given and design.has_offset:
        x[form.d] = float(np.ravel(given["b"])[0])
    return x


def _sampled_start(design: Design, x: Array, run: Run) -> tuple[Array, Array | None]:
    """A start from a sample of the points, and the second derivatives of the sample there."""
    rows = np.random.default_rng(run.seed).choice(len(design.y), int(SAMPLE * len(design.y)), replace=False)
    rows.sort()
    if len(np.unique(design.y[rows])) < 2:
        return x, None
    sample = Descent(design.part(rows), run)
    sample.x = x
    sample.coarse()
    return sample.x, sample.kept


class Descent:
    """The iterates of one Newton method."""

    def __init__(self, design: Design, run: Run) -> None:
        self.design, self.run = design, run
        self.x = np.zeros(design.size)
        self.value, self.bound = np.inf, -np.inf
        self.steps = 0
        self.keeps = False
        self.kept: Array | None = None
        self.plain = not design.l1.any() and bool(design.is_unbounded.all())

    def loop(self) -> tuple[Status, str]:
        """Steps until the gap is closed; why they ended."""
        run, design = self.run, self.design
        tolerance = run.gap or run.options["tolerance"]
        m = design.margins(self.x)
        self.value = design.loss(m) + design.penalty(self.x)
        promised = np.inf
        for _ in range(run.options["max_iterations"]):
            stopped = run.stop()
            if stopped is not None:
                self._raise_bound(expit(-m))
                return stopped, "stopped"
            p = expit(-m)
            if promised <= NEAR * max(tolerance, LEAST_TOLERANCE) * max(1.0, abs(self.value)):
                self._raise_bound(p)
                run.report(objective=self.value, bound=self.bound, iterations=self.steps)
                if self.value - self.bound <= tolerance * max(1.0, abs(self.value)):
                    return Status.OPTIMAL, ""
            before, used = promised, self.kept
            m, promised, moved = self._step(m, p)
            self.steps += 1
            is_stale = used is not None
            if is_stale and (not moved or promised > FAST * before):
                self.kept = None
            if not moved and is_stale:
                self.keeps = False
                continue
            if not moved:
                self._raise_bound(expit(-m))
                if self.value - self.bound <= tolerance * max(1.0, abs(self.value)):
                    return Status.OPTIMAL, ""
                return Status.NUMERICAL_ERROR, "no step lowers the objective, and the duality gap is not closed"
        words = "the duality gap is not closed; if a rule separates the classes, the loss without L1(), L2() or bounds has no minimum"
        return Status.ITERATION_LIMIT, words

    def coarse(self) -> None:
        """Steps until they promise little."""
        m = self.design.margins(self.x)
        self.value = self.design.loss(m) + self.design.penalty(self.x)
        self.keeps = True
        for _ in range(30):
            self.kept = None
            m, promised, moved = self._step(m, expit(-m))
            if not moved or promised <= SAMPLE_GAP * self.value or self.run.stop() is not None:
                return

    def _raise_bound(self, p: Array) -> None:
        self.bound = max(self.bound, lower_bound(self.design, p))

    def _step(self, m: Array, p: Array) -> tuple[Array, float, bool]:
        """(new margins, decrease that the model promised, whether the objective fell)."""
        design = self.design
        q = design.c * p
        g = -design.transposed(q) + 2.0 * design.l2 * self.x
        u = self._direction(g, q * (1.0 - p))
        along = design.margins(u)
        slope = float(g @ u) + float(design.l1 @ (np.abs(self.x + u) - np.abs(self.x)))
        length = 1.0
        for _ in range(HALVINGS):
            x = np.clip(self.x + length * u, design.lower, design.upper)
            margins = m + length * along
            value = design.loss(margins) + design.penalty(x)
            if value <= self.value + ARMIJO * length * slope + ROUNDING * abs(self.value):
                fell = value < self.value or -slope > NO_PROMISE * abs(self.value)
                self.x, self.value = x, value
                return margins, -slope, fell
            length *= 0.5
        return m, -slope, False

    def _direction(self, g: Array, h: Array) -> Array:
        """The minimiser of the quadratic model with the penalties, within the bounds."""
        design = self.design
        if design.size > LARGEST and not design.l1.any():
            return self._by_conjugate_gradients(g, h)
        active = self._active(g)
        if self.kept is None:
            H = design.hessian(h, active)
            self.kept = H.copy() if self.keeps else None
        else:
            H = self.kept.copy()
        H[np.diag_indices(len(active))] += 2.0 * design.l2[active] + RIDGE * np.trace(H) / len(active)
        u = np.zeros(design.size)
        if self.plain:
            try:
                u[active] = -cho_solve(cho_factor(H), g[active])
                return u
            except LinAlgError:
                H[np.diag_indices(len(active))] += 1e-8 * np.trace(H) / len(active)
        u[active] = self._on_faces(g, H, active)
        return u

    def _on_faces(self, g: Array, H: Array, active: Index) -> Array:
        """The minimiser of the model with L1 and bounds: sweeps of coordinate descent find the face, a linear system its minimum.

        Coordinates at zero or at a bound stay there in the linear system; its step ends where another one gets there.
        """
        from .kernels.descent import newton_step

        design, x, l1 = self.design, self.x[active], self.design.l1[active]
        lower, upper = design.lower[active], design.upper[active]
        u = np.zeros(len(active))
        first = newton_step(g, H, self.x, design.l1, design.lower, design.upper, active, u, FIRST_SWEEPS)
        for _ in range(MOST_FACES):
            at = x + u
            free = np.flatnonzero(((at != 0) | (l1 == 0)) & (at > lower) & (at < upper))
            sign = np.sign(at[free]) * l1[free]
            face = H[np.ix_(free, free)]
            right = -(g[active][free] + sign + H[free] @ u)
            step: Array = np.linalg.lstsq(face, right, rcond=None)[0].astype(np.float64) if len(free) else np.zeros(0)
            u[free] += _until_a_side(at[free], step, l1[free], lower[free], upper[free]) * step
            left = newton_step(g, H, self.x, design.l1, design.lower, design.upper, active, u, SWEEPS_PER_FACE)
            if left <= MODEL_ACCURACY * first or left == 0.0:
                break
        return u

    def _active(self, g: Array) -> Index:
        """All coordinates when they are few; else those that may move from zero or from a bound."""
        design = self.design
        if design.size <= LARGEST:
            return np.arange(design.size)
        still = (self.x == 0) & (np.abs(g) <= design.l1)
        still |= ((self.x <= design.lower) & (g >= 0)) | ((self.x >= design.upper) & (g <= 0))
        found = np.flatnonzero(~still)
        if len(found) > LARGEST:
            worst = np.argsort(-(np.abs(g[found]) + (self.x[found] != 0) * 1e300), kind="stable")
            found = np.sort(found[worst[:LARGEST]])
        return found

    def _by_conjugate_gradients(self, g: Array, h: Array) -> Array:
        """A Newton step in many features without L1; coordinates at a bound that pushes them stay."""
        design = self.design
        moves = ~(((self.x <= design.lower) & (g > 0)) | ((self.x >= design.upper) & (g < 0)))

        def product(u: Array) -> Array:
            u = np.where(moves, u, 0.0)
            curved = design.transposed(h * design.margins(u)) + 2.0 * design.l2 * u
            return np.where(moves, curved, u)

        operator = LinearOperator((design.size, design.size), matvec=product)
        accuracy = min(0.1, float(np.sqrt(np.abs(g[moves]).max(initial=0.0))))
        step, _ = cg(operator, np.where(moves, -g, 0.0), rtol=max(1e-8, accuracy), maxiter=500)
        reach = np.clip(self.x + step, design.lower, design.upper) - self.x
        return np.asarray(reach)
