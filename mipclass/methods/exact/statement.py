"""The prover's reading of a Model: the 0-1 problem that a proof is about.

The checker reads a Model by code of its own (`mipclass.checker.statement`), so that a mistake here is noticed there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...certificates.certificate import Statement, WholeWeights
from ...modelling.expression import Rows
from ...modelling.model import Model
from ...models.coefficient_constraints import IntegerCoefficients, MaxFeatures
from ...models.penalties import L0
from ...models.rules import Linear
from ...models.zero_one_loss import ZeroOne
from ..base import Refusal


def statement_of(model: Model) -> Statement | Refusal:
    """The statement of a Model with ZeroOne losses of one margin (one of each class, say), a cost of features, or both; or what it has
    beyond that."""
    losses = [(coefficient, term) for coefficient, term in model.terms if isinstance(term, ZeroOne)]
    beside = [(coefficient, term) for coefficient, term in model.terms if not isinstance(term, ZeroOne)]
    of_features = [coefficient for coefficient, term in beside if isinstance(term, L0)]
    has_objective = len({term.margin for _, term in losses}) == 1 or (not losses and len(of_features) == 1)
    if not has_objective or len(of_features) < len(beside) or len(beside) > 1 or not isinstance(model.rule, Linear):
        return Refusal(
            "certificates are about ZeroOne losses of a Linear rule, all of one margin, with limits, linear rows and L0()."
        )
    others = model.other_constraints()
    counts = [int(constraint.at_most) for constraint in others if isinstance(constraint, MaxFeatures)]
    wholes = [constraint for constraint in others if isinstance(constraint, IntegerCoefficients)]
    if len(counts) + len(wholes) < len(others) or model.rule.intercept == "penalised":
        return Refusal(
            "certificates take limits on errors, linear rows on (w, b), MaxFeatures and IntegerCoefficients as side constraints only."
        )
    everything = np.ones(model.data.n, dtype=bool)
    counted = {"all": everything, "positives": model.y_pm1 > 0, "negatives": model.y_pm1 < 0}
    costs = np.zeros(model.data.n)
    for coefficient, term in losses:
        costs += np.where(counted[term.on], coefficient * model.weights, 0.0)
    limits = tuple((np.asarray(limit.coefficients), float(limit.at_most)) for limit in model.error_limits())
    rows = tuple(row for block in model.weight_rows() for row in _one_sided(block, model.data.d))
    return Statement(
        costs,
        losses[0][1].margin if losses else 0,
        model.rule.intercept is True,
        limits,
        rows,
        min(counts, default=None),
        float(sum(of_features)),
        _whole_weights(wholes),
    )


def _whole_weights(wholes: list[IntegerCoefficients]) -> WholeWeights | None:
    """All of the constraints at once; None without any."""
    if not wholes:
        return None
    lower, upper = max(int(c.lower) for c in wholes), min(int(c.upper) for c in wholes)
    return WholeWeights(lower, upper, any(c.intercept for c in wholes))


def _one_sided(rows: Rows, d: int) -> list[tuple[Array, float]]:
    """Rows lower <= A (w, b) + constant <= upper as rows a.(w, b) >= c; infinite sides are left out."""
    expression = rows.expression
    A = np.zeros((expression.size, d + 1))
    for block, matrix in expression.terms.items():
        part: Any = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
        if block.name == "w":
            A[:, :d] += part
        else:
            A[:, d:] += part
    lower = np.broadcast_to(np.ravel(rows.lower), expression.size) - expression.constant
    upper = np.broadcast_to(np.ravel(rows.upper), expression.size) - expression.constant
    found = [(a, float(c)) for a, c in zip(A, lower, strict=True) if np.isfinite(c)]
    return found + [(-a, -float(c)) for a, c in zip(A, upper, strict=True) if np.isfinite(c)]
