"""Of all rules with the same errors, one that people can read: few features, a wide margin.

A mixed-integer program fixes which points are right; its rule is any vertex of the cell of rules that get these points right, often one
that a rounding would spoil. Within the cell the linear program

    minimise  sum_j |u_j|   subject to   y_i (sum_j u_j (x_ij - mean_j) / s_j + b') >= 1   for the points i that are right,
              and the constraints' own rows on (w, b),        w_j = u_j / s_j,   b = b' - w.mean,   s_j = max_i |x_ij - mean_j|

has the widest margin in the largest-coordinate distance of the scaled features, and uses few of them. Only scale-free models have such
cells: elsewhere the scale of the rule is part of the objective.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, Mask
from ..modelling.model import Model
from ..modelling.problem import Problem
from ..modelling.program import Program
from ..models.coefficient_constraints import IntegerCoefficients
from ..models.rules import Linear
from ..protocol.result import Values
from ..protocol.run import Run

MOST_ENTRIES = 1_000_000
"""Entries of X up to which a rule is centred: the linear program then takes at most a few seconds."""

CONSTANT = 1e-12
"""A column whose values differ from their mean by less than this fraction of their size is constant up to rounding: part of the offset."""


def centred(problem: Problem, values: Values, run: Run) -> Values:
    """The readable rule with the same right points, or `values` where there is none, no time, or the scale of the rule matters."""
    if not isinstance(problem, Model) or not _has_cells(problem) or run.stop() is not None:
        return values
    right = problem.margins(values) > 0
    used = np.asarray(values["w"]) != 0
    if not used.any() or not right.any():
        return values
    found = _widest(problem, right, used, run)
    if found is None or (problem.margins(found)[right] <= 0).any():
        return values
    is_worse = problem.recount(found) > problem.recount(values)
    return values if is_worse or len(problem.violations(found)) > len(problem.violations(values)) else found


def _has_cells(model: Model) -> bool:
    """Whether rules with the same errors are all as good: a scale-free loss of a linear rule with weights that are not whole."""
    whole = any(isinstance(constraint, IntegerCoefficients) for constraint in model.constraints)
    loses = any(coefficient > 0 and term.is_loss for coefficient, term in model.terms)
    small = model.X.shape[0] * model.X.shape[1] <= MOST_ENTRIES
    return isinstance(model.rule, Linear) and model.is_scale_free and loses and not whole and small


def _widest(model: Model, right: Mask, used: Mask, run: Run) -> Values | None:
    """The solution of the linear program over the used features; None when a solver finds none in time."""
    from ..backends.linear_session import LinearSession

    X = model.X.toarray() if hasattr(model.X, "toarray") else np.asarray(model.X)
    X, y = X[np.ix_(right, used)], model.y_pm1[right]
    has_offset = model.rule.intercept is not False if isinstance(model.rule, Linear) else False
    mean = X.mean(axis=0) if has_offset else np.zeros(X.shape[1])
    size = np.abs(X - mean).max(axis=0)
    if not (size > CONSTANT * np.abs(X).max(axis=0)).all():
        return None
    r = X.shape[1]
    margins = y[:, None] * np.column_stack([(X - mean) / size, np.ones(len(y))])
    rows = [(margins, np.ones(len(y)), np.full(len(y), np.inf)), *_own_rows(model, used, mean, size)]
    A = np.vstack([matrix for matrix, _, _ in rows])
    if not np.isfinite(A).all():
        return None
    lp = Program(  # columns: the positive and the negative part of u, and b'
        c=np.append(np.ones(2 * r), 0.0),
        A=sp.csr_array(np.column_stack([A[:, :r], -A[:, :r], A[:, r]])),
        row_lower=np.concatenate([lower for _, lower, _ in rows]),
        row_upper=np.concatenate([upper for _, _, upper in rows]),
        lower=np.append(np.zeros(2 * r), -np.inf if has_offset else 0.0),
        upper=np.append(np.full(2 * r, np.inf), np.inf if has_offset else 0.0),
        integer=np.zeros(2 * r + 1, dtype=np.bool_),
        name="widest rule",
    )
    x = LinearSession(lp, presolve="choose").solve(run).x
    if x is None:
        return None
    w = np.zeros(len(used))
    w[used] = (x[:r] - x[r : 2 * r]) / size
    return {"w": w, "b": np.asarray(x[-1] - w[used] @ mean)} if has_offset else {"w": w, "b": np.zeros(())}


def _own_rows(model: Model, used: Mask, mean: Array, size: Array) -> list[tuple[Array, Array, Array]]:
    """(matrix over (u, b'), lower, upper) of the constraints' rows on (w, b); their sides are 0 or infinite."""
    found = []
    for rows in model.weight_rows():
        n = rows.expression.size
        blocks: Mapping[str, Any] = {block.name: matrix for block, matrix in rows.expression.terms.items()}
        on_w = _dense(blocks.get("w"), n, len(used))[:, used]
        on_b = _dense(blocks.get("b"), n, 1)[:, 0]
        matrix = np.column_stack([(on_w - on_b[:, None] * mean) / size, on_b])
        # Sides of 0 and infinity stay as they are when a row is divided by its largest coefficient.
        matrix /= np.maximum(np.abs(matrix).max(axis=1, keepdims=True, initial=0.0), np.finfo(float).tiny)
        shape = rows.expression.shape
        lower, upper = np.broadcast_to(rows.lower, shape).ravel(), np.broadcast_to(rows.upper, shape).ravel()
        found.append((matrix, lower.astype(np.float64), upper.astype(np.float64)))
    return found


def _dense(matrix: Any, n: int, width: int) -> Array:
    if matrix is None:
        return np.zeros((n, width))
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64).reshape(n, width)
