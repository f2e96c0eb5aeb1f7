"""Reads a robust SVM out of a Model: 1/2 |w|^2 + C Ramp, rule Linear without a free offset or Kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import InvalidInputError
from ...modelling.algebra import Rule
from ...modelling.model import Model
from ...models.penalties import L2
from ...models.ramp import Ramp
from ...models.rules import Kernel, Linear
from ...protocol.result import Values

KERNEL_BYTES = 8 << 30


@dataclass(frozen=True, eq=False)
class RobustProblem:
    """Distinct weighted points of a robust SVM in the form of the paper, and the way back to the model's values.

    `Z` : rows y_i x_i (with a constant column for a penalised offset) when `linear`, else Q = (y y') * K.
    `C` : weight of each point's loss once the penalty is 1/2 |w|^2.     `scale` : model objective = scale * this one.
    """

    model: Model
    Z: Array
    linear: bool
    y: Array
    C: Array
    theta: float
    s: float
    scale: float

    def margins(self, alpha: Array) -> Array:
        """Q alpha."""
        return np.asarray(self.Z @ (self.Z.T @ alpha) if self.linear else self.Z @ alpha)

    def margin_scale(self, alpha: Array) -> Array:
        """1 + sum_j |Q_ij alpha_j|, against which the residual of point i is judged."""
        size = np.abs(alpha)
        used = np.flatnonzero(size)
        if not self.linear:
            return np.asarray(1.0 + np.abs(self.Z[:, used]) @ size[used])
        scale = np.ones(len(alpha))
        for start in range(0, len(alpha), 2000):
            rows = slice(start, start + 2000)
            scale[rows] += np.abs(self.Z[rows] @ self.Z[used].T) @ size[used]
        return scale

    def values(self, alpha: Array) -> Values:
        """The model's values from multipliers of the distinct points."""
        model = self.model
        if not self.linear:
            c = np.zeros(model.data.n)
            c[model.points.first] = self.y * alpha
            assert isinstance(model.rule, Kernel)
            return model.rule.values(c, model.data.X)
        w = self.Z.T @ alpha
        if _has_constant(model.rule):
            return {"w": w[:-1], "b": np.asarray(w[-1])}
        return {"w": w, "b": np.zeros(())}


def _has_constant(rule: Rule) -> bool:
    """Whether the offset is a penalised weight, that of a constant column."""
    return isinstance(rule, Linear) and rule.intercept == "penalised"


def refusal(problem: Any) -> str | None:
    """Why `problem` is not a robust SVM, or None."""
    if not isinstance(problem, Model):
        return "it takes a declared Model; build one with models.robust_svm(X, y, C, theta, s)."
    kinds = sorted(type(term).__name__ for _, term in problem.terms)
    if kinds != ["L2", "Ramp"]:
        return f"it takes 0.5 * L2() + C * Ramp(theta, s); this model minimises {problem.objective.formula()}."
    if any(coefficient <= 0 for coefficient, _ in problem.terms):
        return "the penalty and the loss both need a positive multiple."
    if problem.constraints:
        return f"it takes no side constraint such as {problem.constraints[0].formula()}; use solver='scip' or 'highs'."
    rule = problem.rule
    if isinstance(rule, Linear):
        if rule.intercept is True:
            return "a free offset is outside its theory; use Linear(intercept='penalised') or intercept=False."
        return None
    if isinstance(rule, Kernel):
        return None
    return f"it takes rule Linear or Kernel, not {type(rule).__name__}."


def read(problem: Model) -> RobustProblem:
    """The arrays of an accepted problem."""
    found_penalty, found_loss = problem.term(L2), problem.term(Ramp)
    assert found_penalty is not None
    assert found_loss is not None
    penalty, loss = found_penalty[0], found_loss[0]
    ramp: Ramp = found_loss[1]
    points, rule = problem.points, problem.rule
    y = points.y_pm1
    if isinstance(rule, Kernel):
        if 8 * points.n**2 > KERNEL_BYTES:
            raise InvalidInputError(
                f"the kernel matrix of {points.n} points takes {8e-9 * points.n**2:.0f} GB; the limit is "
                f"{KERNEL_BYTES >> 30} GB. Use a linear rule on explicit features (e.g. sklearn's Nystroem) or fewer points."
            )
        Z = rule.training_gram(problem.X, points.first)
        Z *= y[:, None]
        Z *= y
    else:
        X = points.X.toarray() if hasattr(points.X, "toarray") else points.X
        if _has_constant(rule):
            X = np.hstack([X, np.ones((len(X), 1))])
        Z = np.ascontiguousarray(y[:, None] * X)
    linear = isinstance(rule, Linear)
    C = points.weights * (loss / (2.0 * penalty))
    return RobustProblem(problem, Z, linear, y, C, ramp.theta, ramp.s, 2.0 * penalty)
