"""The normal form of a problem with the logistic loss: points, penalties and bounds, as the methods of the family read them.

minimise    a sum_i c_i log(1 + exp(-y_i (w.x_i + b) / multiplier)) + l1 |w|_1 + l2 w'w + l0 |w|_0
subject to  lower <= w <= upper, b within b_range, at most `most` features, whole w and b where asked for
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...arrays import Array
from ...modelling.algebra import Constraint
from ...modelling.expression import Rows
from ...modelling.model import Model
from ...modelling.points import Points
from ...modelling.problem import Problem
from ...models.coefficient_constraints import WHOLE_TOLERANCE, IntegerCoefficients, MaxFeatures
from ...models.logistic import Logistic
from ...models.penalties import L0, L1, L2
from ...models.rules import Linear
from ..base import Refusal

SHAPE = "it takes one Logistic() loss with L1(), L2(), L0() penalties and rule Linear()"


@dataclass(frozen=True, eq=False)
class LogisticForm:
    """A logistic problem whose constraints are bounds, whole numbers and a number of features.

    b_range is (0, 0) without an offset. `penalised_offset` charges penalties for b as for a weight. `multipliers` is the range of
    the multiplier, two equal numbers when it is fixed. `others` are constraints of other kinds, such as error rates.
    """

    model: Model
    coefficient: float
    l1: float
    l2: float
    l0: float
    lower: Array
    upper: Array
    b_range: tuple[float, float]
    penalised_offset: bool
    whole: bool
    whole_offset: bool
    most: int
    multipliers: tuple[float, float]
    others: tuple[Constraint, ...] = ()

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.lower)

    @property
    def has_free_multiplier(self) -> bool:
        """The multiplier is chosen by the solver."""
        return self.multipliers[0] < self.multipliers[1]

    @property
    def is_empty(self) -> bool:
        """No rule satisfies the bounds."""
        return bool((self.lower > self.upper).any() or self.b_range[0] > self.b_range[1])

    @cached_property
    def points(self) -> Points:
        """The distinct points, weighted; rows that are equal with equal labels have become one."""
        return self.model.points

    @property
    def weights(self) -> Array:
        """The weight of each distinct point in the objective."""
        return np.asarray(self.coefficient * self.points.weights)


def read_form(problem: Problem, *, with_others: bool = False) -> LogisticForm | Refusal:
    """The problem's parts, or why it has other parts than these; constraints of other kinds only if asked for."""
    if not isinstance(problem, Model) or not isinstance(problem.rule, Linear):
        return Refusal(f"{SHAPE}.")
    loss = problem.term(Logistic)
    kinds = [type(term) for coefficient, term in problem.terms if coefficient > 0 or isinstance(term, Logistic)]
    if loss is None or loss[0] <= 0 or not set(kinds) <= {Logistic, L0, L1, L2}:
        return Refusal(f"{SHAPE}; this objective is {problem.objective.formula()}.")
    limits = [int(c.at_most) for c in problem.constraints if isinstance(c, MaxFeatures)]
    whole = [c for c in problem.constraints if isinstance(c, IntegerCoefficients)]
    others = [c for c in problem.constraints if not isinstance(c, MaxFeatures | IntegerCoefficients)]
    strange = [
        c for c in others if c.weight_rows(problem) is None or not all(map(_are_bounds, c.weight_rows(problem) or []))
    ]
    if strange and not with_others:
        return Refusal(
            f"it takes bounds, signs, whole numbers and a number of features; {strange[0].formula()!r} is another kind of "
            "constraint, which solver 'cutting-plane' takes."
        )
    bounds = [rows for c in others if c not in strange for rows in c.weight_rows(problem) or []]
    return replace(_with_bounds(problem, loss, bounds, whole, limits), others=tuple(strange))


def _with_bounds(
    problem: Model, loss: tuple[float, Logistic], rows: list[Rows], cards: list[IntegerCoefficients], limits: list[int]
) -> LogisticForm:
    """The form with all bounds collected."""
    d = problem.data.d
    has_b = "b" in problem.rule.variables(problem.data)
    box = {"w": [np.full(d, -np.inf), np.full(d, np.inf)], "b": [np.full(1, -np.inf), np.full(1, np.inf)]}
    for row in rows:
        name, low, high = _bounds_of(row)
        box[name] = [np.maximum(box[name][0], low), np.minimum(box[name][1], high)]
    for card in cards:
        low, high = card.weight_box(problem.data)
        box["w"] = [np.maximum(box["w"][0], low), np.minimum(box["w"][1], high)]
    lower, upper = box["w"]
    b_lower, b_upper = (float(box["b"][0][0]), float(box["b"][1][0])) if has_b else (0.0, 0.0)
    whole, whole_offset = bool(cards), has_b and any(card.intercept for card in cards)
    if whole:
        lower, upper = np.ceil(lower - WHOLE_TOLERANCE), np.floor(upper + WHOLE_TOLERANCE)
    if whole_offset:
        b_lower, b_upper = float(np.ceil(b_lower - WHOLE_TOLERANCE)), float(np.floor(b_upper + WHOLE_TOLERANCE))
    sums = {kind: sum(c for c, term in problem.terms if isinstance(term, kind)) for kind in (L1, L2, L0)}
    free = loss[1].range
    return LogisticForm(
        model=problem,
        coefficient=loss[0],
        l1=sums[L1],
        l2=sums[L2],
        l0=sums[L0],
        lower=np.array(lower),
        upper=np.array(upper),
        b_range=(b_lower, b_upper),
        penalised_offset=isinstance(problem.rule, Linear) and problem.rule.intercept == "penalised",
        whole=whole,
        whole_offset=whole_offset,
        most=min([d, *limits]),
        multipliers=(float(free[0]), float(free[1])),
    )


def _are_bounds(rows: Rows) -> bool:
    """Every row has one number other than zero, so that it bounds one variable."""
    terms = list(rows.expression.terms.values())
    return len(terms) == 1 and bool((np.diff(sp.csr_array(terms[0]).indptr) == 1).all())


def _bounds_of(rows: Rows) -> tuple[str, Array, Array]:
    """(variable, lower, upper) of rows that each bound one variable."""
    expression = rows.expression
    [(variables, M)] = expression.terms.items()
    matrix = sp.coo_array(sp.csr_array(M))
    lower, upper = np.full(variables.size, -np.inf), np.full(variables.size, np.inf)
    low = np.broadcast_to(rows.lower, expression.shape).ravel() - expression.constant
    high = np.broadcast_to(rows.upper, expression.shape).ravel() - expression.constant
    for i, j, a in zip(*matrix.coords, matrix.data, strict=True):
        ends = sorted((low[i] / a, high[i] / a))
        lower[j], upper[j] = max(lower[j], ends[0]), min(upper[j], ends[1])
    return variables.name, lower, upper
