"""The normal form of the hard-margin loss: a |w|^2 + C (number of points with y (w.x + b) < 1), linear rule with a free offset."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...arrays import Array, Mask
from ...certificates.certificate import HardMarginStatement, dense
from ...modelling.model import Model
from ...modelling.problem import Problem
from ...models.penalties import L2
from ...models.rules import Linear
from ...models.zero_one_loss import ZeroOne
from ..base import Refusal

SMALLEST_GROWTH = 2.0**-50
"""Relative growth of a rule whose points miss their margins by rounding; doubled until every point reaches its margin exactly."""

AT_MARGIN = 1e-9
"""A computed margin may lie this far below 1 and still belong to a point that should reach it."""

ROUNDING = 2.0**-51
"""Relative error of one operation, with room: d + 2 times this, times the sizes of the terms, bounds the error of a margin."""

MOST_PAIRS = 1_000_000
"""Pairs of a positive and a negative, at most: one box goes through all of them, and that takes about a second here."""


@dataclass(frozen=True, eq=False)
class HardMarginForm:
    """Minimise  a |w|^2 + C sum_i [y_i (w.x_i + b) < 1];  every point costs the same."""

    model: Model
    a: float
    C: float

    @cached_property
    def X(self) -> Array:
        """The points, dense."""
        return dense(self.model.X)

    @cached_property
    def positive(self) -> Mask:
        """Which points have label +1."""
        return np.asarray(self.model.y_pm1 > 0)

    @cached_property
    def P(self) -> Array:
        """The positives."""
        return np.ascontiguousarray(self.X[self.positive])

    @cached_property
    def N(self) -> Array:
        """The negatives."""
        return np.ascontiguousarray(self.X[~self.positive])

    @property
    def statement(self) -> HardMarginStatement:
        """The problem, as a certificate states it."""
        return HardMarginStatement(self.a, self.C)

    def feasible(self, w: Array, b: float) -> tuple[Array, float, Fraction]:
        """The rule enlarged until its points reach their margins in exact arithmetic, and its exact cost."""
        margins = self.model.y_pm1 * (self.X @ w + b)
        kept = margins >= 1 - AT_MARGIN
        least = float(margins[kept].min(initial=1.0))
        w, b = (w / least, b / least) if least < 1 else (w, b)
        growth = SMALLEST_GROWTH
        while (self._errors(w, b) & kept).any():
            w, b, growth = w * (1 + growth), b * (1 + growth), 2 * growth
        square = sum((Fraction(v) ** 2 for v in w.tolist()), Fraction(0))
        return w, float(b), Fraction(self.a) * square + Fraction(self.C) * int(self._errors(w, b).sum())

    def _errors(self, w: Array, b: float) -> Mask:
        """The points below their margins, in exact arithmetic where a float cannot decide."""
        margins = self.model.y_pm1 * (self.X @ w + b)
        wrong = np.asarray(margins < 1)
        unsure = np.abs(margins - 1) <= ROUNDING * (self.X.shape[1] + 2) * (np.abs(self.X) @ np.abs(w) + abs(b) + 1)
        exact = [Fraction(v) for v in w.tolist()]
        for i in np.flatnonzero(unsure).tolist():
            terms = zip(exact, self.X[i].tolist(), strict=True)
            wrong[i] = int(self.model.y_pm1[i]) * sum((v * Fraction(x) for v, x in terms), Fraction(b)) < 1
        return wrong


def match_hard_margin(problem: Problem) -> HardMarginForm | Refusal:
    """The hard-margin problem that `problem` states, or why it states none."""
    if not isinstance(problem, Model):
        return Refusal("it takes a Model that minimises 0.5 * L2() + C * ZeroOne(margin=1), not a general program.")
    penalty, loss = problem.term(L2), problem.term(ZeroOne)
    if penalty is None or loss is None or len(problem.terms) != 2 or loss[1].margin != 1 or loss[1].on != "all":
        return Refusal(
            f"it takes 0.5 * L2() + C * ZeroOne(margin=1); this model minimises {problem.objective.formula()}."
        )
    if penalty[0] <= 0 or loss[0] <= 0:
        return Refusal("the penalty and the loss both need a positive multiple.")
    if problem.constraints:
        return Refusal(
            f"it takes no side constraint such as {problem.constraints[0].formula()}; use solver='scip' or 'highs'."
        )
    if not isinstance(problem.rule, Linear) or problem.rule.intercept is not True:
        return Refusal("its rule must be Linear() with a free offset; use solver='scip' or 'highs'.")
    weights = np.asarray(problem.weights)
    if (weights != weights[0]).any() or weights[0] <= 0:
        return Refusal("its points must have equal weights; use solver='scip' or 'highs'.")
    positives = int((problem.y_pm1 > 0).sum())
    if positives * (len(weights) - positives) > MOST_PAIRS:
        return Refusal(
            f"it takes at most {MOST_PAIRS:,} pairs of a positive and a negative; use solver='scip' or 'highs'."
        )
    return HardMarginForm(problem, float(penalty[0]), float(loss[0] * weights[0]))
