"""Relaxations of constraints: for each kind, the term whose minimum is the least limit at which it could hold.

mipclass/analysis/explain.py minimises these terms to say how far each constraint would have to be relaxed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..modelling.algebra import Constraint, LinearConstraint, Term
from ..modelling.declaration import Declaration
from ..modelling.expression import Rows
from ..modelling.model import Model
from .coefficient_constraints import Bounds, MaxFeatures, Monotone
from .penalties import L0
from .rate_constraints import Errors, FalseNegativeRate, FalsePositiveRate, RateParity
from .zero_one_loss import ZeroOne, zero_one_margin


@dataclass(frozen=True, eq=False)
class Shortfall(Term):
    """The largest violation of the rows: the least t >= 0 with lower - t <= rows <= upper + t."""

    rows: tuple[Rows, ...]
    is_loss = False
    merges_points = True

    def declare(self, d: Declaration, coefficient: float) -> None:
        t = d.builder.variables("shortfall", lower=0.0)
        for k, rows in enumerate(self.rows):
            d.builder.subject_to(f"missed_below{k}", Rows(rows.expression + t, rows.lower, np.inf))
            d.builder.subject_to(f"missed_above{k}", Rows(rows.expression - t, -np.inf, rows.upper))
        d.builder.minimize(coefficient * t)

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return max(rows.violation(values) for rows in self.rows)

    def formula(self) -> str:
        return "the largest shortfall"


@dataclass(frozen=True, eq=False)
class ParityGap(Term):
    """The largest difference between the groups' rates."""

    parity: RateParity
    is_scale_free = True
    is_loss = False
    merges_points = True

    def declare(self, d: Declaration, coefficient: float) -> None:
        d.builder.minimize(coefficient * self.parity.declare_gap(d))

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        rates = self.parity.rates(model, values).values()
        return max(rates) - min(rates)

    def formula(self) -> str:
        return "the largest difference of rates"


def relaxation(constraint: Constraint, model: Model) -> tuple[Term, float] | None:
    """(term, unit) such that min term / unit is the least limit with which the constraint could hold.

    None for a constraint that has no limit to relax.
    """
    margin = zero_one_margin(model)
    positive = model.data.positive
    if isinstance(constraint, FalsePositiveRate):
        return ZeroOne(on="negatives", margin=margin), float(model.weights[~positive].sum())
    if isinstance(constraint, FalseNegativeRate):
        return ZeroOne(on="positives", margin=margin), float(model.weights[positive].sum())
    if isinstance(constraint, Errors):
        return ZeroOne(margin=margin), 1.0
    if isinstance(constraint, MaxFeatures):
        return L0(), 1.0
    if isinstance(constraint, RateParity):
        return ParityGap(constraint), 1.0
    if isinstance(constraint, Bounds | Monotone | LinearConstraint):
        return Shortfall(tuple(constraint.weight_rows(model))), 1.0
    return None
