"""The normal form of the hard-margin loss: a |w|^2 plus the costs of the points with y (w.x + b) < 1, for a linear rule."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...arrays import Array, Mask
from ...certificates.certificate import HardMarginStatement, dense
from ...modelling.model import Model
from ...modelling.problem import Problem
from ...models.outlier_svm import HardMargin
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

ROUNDED_COUNT = 1e-9
"""Products such as 0.29 * 100 are not exact: a limit this little below a whole number of points counts as that number."""

MOST_PAIRS = 1_000_000
"""Pairs of a positive and a negative, at most: one box goes through all of them, and that takes about a second here."""


@dataclass(frozen=True, eq=False)
class HardMarginForm:
    """Minimise  a |w|^2 + sum_i costs_i [y_i (w.x_i + b) < 1]  with b free or 0.

    With a limit `most` the sum is no part of the objective, and at most `most`; `class_most` are limits of the positives and of the negatives.

    Methods see two clouds P and N and the rules that keep 2 between them. Without an offset these are the points y_i x_i and the origin,
    which is never wrong: w.(y_i x_i) >= 1 is 2 w.(y_i x_i - 0) >= 2, so that their w is twice the rule's and a is divided by 4.
    """

    model: Model
    a: float
    costs: Array
    intercept: bool
    most: float = np.inf
    class_most: tuple[float, float] = (np.inf, np.inf)

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
        """The positives; without an offset all points times their labels."""
        if not self.intercept:
            return np.ascontiguousarray(self.X * self.model.y_pm1[:, None])
        return np.ascontiguousarray(self.X[self.positive])

    @cached_property
    def N(self) -> Array:
        """The negatives; without an offset the origin."""
        return np.ascontiguousarray(self.X[~self.positive]) if self.intercept else np.zeros((1, self.X.shape[1]))

    @cached_property
    def cloud_costs(self) -> tuple[Array, Array]:
        """The costs of the points of P and of N."""
        if not self.intercept:
            return self.costs, np.array([np.inf])
        return self.costs[self.positive], self.costs[~self.positive]

    @property
    def scaled_a(self) -> float:
        """The multiple of |w|^2 of the rule between the clouds."""
        return self.a if self.intercept else self.a / 4

    @property
    def terms(self) -> tuple[float, float, float, float, float]:
        """(a, price of a cost, most that errors may cost: all, the positives, the negatives), as the kernels take them."""
        of_p, of_n = self.class_most
        return self.scaled_a, 1.0 if self.most == np.inf else 0.0, float(self.most), float(of_p), float(of_n)

    @cached_property
    def counted_costs(self) -> tuple[Array, Array]:
        """Costs whose sum is to be lowered until the limits are kept: an error weighs more where fewer are allowed."""
        if max(self.class_most) == np.inf:
            return self.cloud_costs
        of_p, of_n = self.class_most
        return np.full(len(self.P), 1 / (1 + of_p)), np.full(len(self.N), 1 / (1 + of_n))

    @property
    def equal_cost(self) -> float | None:
        """What every point costs, None when costs differ."""
        return float(self.costs[0]) if (self.costs == self.costs[0]).all() else None

    @property
    def statement(self) -> HardMarginStatement:
        """The problem, as a certificate states it."""
        limit: int | tuple[int, int] | None = None if self.most == np.inf else int(self.most)
        if max(self.class_most) < np.inf:
            limit = (int(self.class_most[0]), int(self.class_most[1]))
        return HardMarginStatement(self.a, self.costs, self.intercept, limit)

    def between_clouds(self, w: Array) -> Array:
        """A rule's w as the methods see it."""
        return w if self.intercept else 2 * w

    def rule(self, w: Array, b: float) -> tuple[Array, float]:
        """The rule of the model from one between the clouds."""
        return (w, b) if self.intercept else (w / 2, 0.0)

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
        return w, float(b), Fraction(self.a) * square + self._price(self._errors(w, b))

    def _price(self, wrong: Mask) -> Fraction:
        """What the wrong points cost, as part of the objective."""
        if self.most < np.inf:
            return Fraction(0)
        return sum((Fraction(cost) for cost in self.costs[wrong].tolist()), Fraction(0))

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
    if not isinstance(problem.rule, Linear) or problem.rule.intercept not in (True, False):
        return Refusal("its rule must be Linear(), with a free offset or none; use solver='scip' or 'highs'.")
    costs = loss[0] * np.asarray(problem.weights, dtype=np.float64)
    if not (costs > 0).all():
        return Refusal("every point needs a positive weight; leave out the points of weight 0.")
    return HardMarginForm(problem, float(penalty[0]), costs, bool(problem.rule.intercept))


def match_limited(problem: Problem) -> HardMarginForm | Refusal:
    """The widest margin with at most so many points left out, of all or of each class, or why `problem` does not ask for it."""
    assert isinstance(problem, Model)
    [constraint] = problem.constraints
    assert isinstance(constraint, HardMargin)
    penalty = problem.term(L2)
    if penalty is None or len(problem.terms) != 1 or penalty[0] <= 0:
        return Refusal("beside HardMargin(outliers=...) it minimises a positive multiple of L2() alone.")
    if not isinstance(problem.rule, Linear) or problem.rule.intercept not in (True, False):
        return Refusal("its rule must be Linear(), with a free offset or none; use solver='scip' or 'highs'.")
    limits, weights = constraint.limits(problem.data), np.asarray(problem.weights)
    if not (weights == weights[0]).all() or weights[0] <= 0:
        return Refusal("with a limit on outliers its points must have equal weights; use solver='scip' or 'highs'.")
    a, costs, intercept = float(penalty[0]), np.ones(len(weights)), bool(problem.rule.intercept)
    if limits.total is not None:
        return HardMarginForm(problem, a, costs, intercept, _whole(limits.total / weights[0]))
    if problem.data.positive.all():
        if intercept:
            return Refusal(
                "with one class and a free offset the rule w = 0, b = 1 keeps every margin; use Linear(intercept=False)."
            )
        return HardMarginForm(problem, a, costs, intercept, _whole(limits.positives / weights[0]))
    if not intercept:
        return Refusal(
            "without an offset it compares all points, times their labels, with the origin and counts the outliers of both classes "
            "together; give one limit for all points, HardMargin(outliers=number), or use solver='scip'."
        )
    each = (_whole(limits.positives / weights[0]), _whole(limits.negatives / weights[0]))
    return HardMarginForm(problem, a, costs, intercept, sum(each), each)


def _whole(amount: float) -> int:
    """A limit in points, rounded down."""
    return int(np.floor(amount + ROUNDED_COUNT))


def match_any(problem: Problem) -> HardMarginForm | Refusal:
    """The hard-margin loss, or the widest margin with a limited number of outliers."""
    if isinstance(problem, Model) and [type(constraint) for constraint in problem.constraints] == [HardMargin]:
        return match_limited(problem)
    return match_hard_margin(problem)


def match_few_pairs(problem: Problem) -> HardMarginForm | Refusal:
    """The same with a free offset, equal costs and few enough pairs of points for tables of all pairs."""
    form = match_hard_margin(problem)
    if isinstance(form, Refusal):
        return form
    if not form.intercept:
        return Refusal("its rule must have a free offset; use solver='subsystems'.")
    if form.equal_cost is None:
        return Refusal("its points must have equal weights; use solver='subsystems'.")
    if len(form.P) * len(form.N) > MOST_PAIRS:
        return Refusal(f"it takes at most {MOST_PAIRS:,} pairs of a positive and a negative; use solver='subsystems'.")
    return form
