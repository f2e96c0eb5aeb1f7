"""The prover's reading of a Model: the 0-1 problem that a proof is about.

The checker reads a Model by code of its own (`mipclass.checker.statement`), so that a mistake here is noticed there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...certificates.certificate import Statement
from ...modelling.expression import Rows
from ...modelling.model import Model
from ...models.rules import Linear
from ...models.zero_one_loss import ZeroOne
from ..base import Refusal


def statement_of(model: Model) -> Statement | Refusal:
    """The statement of a Model with one ZeroOne loss, or what it has beyond that."""
    loss = model.term(ZeroOne)
    if loss is None or len(model.terms) != 1 or not isinstance(model.rule, Linear):
        return Refusal("certificates are about one ZeroOne loss of a Linear rule, with limits and linear rows.")
    if model.other_constraints() or model.rule.intercept == "penalised":
        return Refusal("certificates take limits on errors and linear rows on (w, b) as side constraints only.")
    coefficient, term = loss
    everything = np.ones(model.data.n, dtype=bool)
    counted = {"all": everything, "positives": model.y_pm1 > 0, "negatives": model.y_pm1 < 0}[term.on]
    limits = tuple((np.asarray(limit.coefficients), float(limit.at_most)) for limit in model.error_limits())
    rows = tuple(row for block in model.weight_rows() for row in _one_sided(block, model.data.d))
    return Statement(
        np.where(counted, coefficient * model.weights, 0.0), term.margin, model.rule.intercept is True, limits, rows
    )


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
