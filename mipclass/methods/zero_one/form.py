"""The normal form of the plain weighted 0-1 loss, which bnb, pcs, csa, sla and local share.

    minimise over (w, b)   scale * sum_i weights_i [ t_i (w.x_i + b) <= 0 ]

A form is matched once for a solve. What is expensive (dense points, merged rows, whitened coordinates) is computed when it
is first asked for, and kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...arrays import Array
from ...modelling.model import Model
from ...modelling.problem import Problem
from ...models.rules import Linear
from ...models.zero_one_loss import ZeroOne
from ..base import Refusal
from .costs import ExactCosts, exact_costs
from .prepared import ZeroOneData, prepare

MOST_DENSE_ENTRIES = 50_000_000
"""Entries of a sparse X up to which it is made dense: 400 MB of float64."""


@dataclass(frozen=True, eq=False)
class ZeroOneForm:
    """A Model whose objective is scale * (weights of the misclassified points), seen as rows for a search."""

    problem: Model
    weights: Array
    scale: float

    @cached_property
    def X(self) -> Array:
        """The user's points as a dense float64 array."""
        X = self.problem.X
        return np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)

    @property
    def y(self) -> Array:
        """The labels as -1 and +1."""
        return self.problem.y_pm1

    @cached_property
    def costs(self) -> ExactCosts:
        """The weights of the user's points, exactly."""
        return exact_costs(self.weights)

    @cached_property
    def data(self) -> ZeroOneData:
        """The rows that are left to decide: merged, and opposite labels on equal points cancelled."""
        return prepare(self.X, self.y, self.weights)

    @cached_property
    def points(self) -> ZeroOneData:
        """The merged rows before cancelling, for what is not a 0-1 loss (an SVM, means and variances)."""
        return prepare(self.X, self.y, self.weights, cancel=False) if self.data.constant else self.data

    def value(self, data: ZeroOneData, cost: float) -> float:
        """A cost in units of the prepared rows' weights as a value of the objective."""
        return float(Fraction(self.scale) * (data.constant + data.counts.unit * int(cost)))


def match_plain(problem: Problem) -> ZeroOneForm | Refusal:
    """The form of a Model that minimises ZeroOne() over Linear() with a free offset and nothing else; else the reason."""
    if not isinstance(problem, Model):
        return Refusal("it takes a Model that minimises ZeroOne(); use solver='highs' for a Program.")
    term = problem.term(ZeroOne)
    if len(problem.terms) != 1 or term is None:
        return Refusal(
            f"it minimises ZeroOne() alone, and the objective is {problem.objective.formula()}; use solver='highs'."
        )
    if term[1].margin != 0 or term[1].on != "all":
        return Refusal(
            "it minimises the scale-free loss of all points, ZeroOne(margin=0, on='all'); use solver='highs'."
        )
    if not isinstance(problem.rule, Linear) or problem.rule.intercept is not True:
        return Refusal("it takes rule=Linear() with a free offset (intercept=True); use solver='highs'.")
    if problem.constraints:
        return Refusal(
            f"it takes no side constraints, and there is {problem.constraints[0].formula()}; use solver='exact' or 'highs'."
        )
    if hasattr(problem.X, "toarray") and np.prod(problem.X.shape) > MOST_DENSE_ENTRIES:
        return Refusal(
            f"X is sparse with {problem.X.shape} entries, too many to hold as a dense array; select features or rows first."
        )
    return ZeroOneForm(problem, problem.weights, term[0])
