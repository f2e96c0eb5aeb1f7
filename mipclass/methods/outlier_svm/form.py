"""The widest-margin problem with outliers as two clouds of points, and slabs as rules of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Array, Index
from ...modelling.model import Model
from ...models.outlier_svm import HardMargin
from ...models.penalties import L2
from ...models.rules import Linear
from ...protocol.result import Values
from .slab import Budget, Cloud, origin
from .slab_widening import Slab


@dataclass(frozen=True, eq=False)
class OutlierProblem:
    """P1 and P2 with what may be left out of them; `rows1`, `rows2` are the data rows of their points.

    Without an offset (always so for one class) a two-class problem is a one-class problem of the points y_i x_i: then
    `has_offset` is false and P2 is the origin.
    """

    p1: Cloud
    p2: Cloud
    budget: Budget
    rows1: Index
    rows2: Index
    has_offset: bool
    coefficient: float

    def values(self, slab: Slab) -> Values:
        """The rule of a slab of positive width: scores +1 and -1 on its faces (without offset: +1 on the upper one)."""
        if self.has_offset:
            return {"w": 2 * slab.u / slab.width, "b": np.asarray(-(slab.a + slab.c) / slab.width)}
        return {"w": slab.u / slab.a, "b": np.zeros(())}

    def objective(self, width: float) -> float:
        """coefficient |w|^2 of the rule of a slab this wide."""
        return self.coefficient * ((2.0 if self.has_offset else 1.0) / width) ** 2

    def left_out(self, slab: Slab) -> Index:
        """Data rows of the points that a slab leaves out."""
        return np.sort(np.concatenate([self.rows1[slab.out1], self.rows2[slab.out2]]))


def refusal(problem: Any) -> str | None:
    """Why a model is not the widest-margin problem with outliers; None when it is."""
    if not isinstance(problem, Model):
        return "it takes models.outlier_svm(...), not a general program."
    if [type(term) for coefficient, term in problem.terms if coefficient > 0] != [L2]:
        return (
            "it minimises a multiple of L2() alone; losses have no place here. Use models.outlier_svm(X, y, outliers)."
        )
    if [type(constraint) for constraint in problem.constraints] != [HardMargin]:
        return "it takes exactly one constraint, HardMargin(outliers=...); for others use solver='scip' or 'highs'."
    if not isinstance(problem.rule, Linear) or problem.rule.intercept not in (True, False):
        return "its rule must be Linear() or Linear(intercept=False); scale features and kernels beforehand."
    limits = hard_margin(problem).limits(problem.data)
    if problem.rule.intercept is False and limits.total is None and not problem.data.positive.all():
        return "without an offset the share of outliers must be one number, not one for each class."
    return None


def hard_margin(problem: Model) -> HardMargin:
    [constraint] = problem.constraints
    assert isinstance(constraint, HardMargin)
    return constraint


def read(problem: Model) -> OutlierProblem:
    """The clouds of a model that `refusal` accepts; points of weight zero are gone."""
    limits = hard_margin(problem).limits(problem.data)
    [(coefficient, _)] = [(c, t) for c, t in problem.terms if c > 0]
    weights = None if (problem.weights == 1).all() else problem.weights
    used = problem.weights > 0
    has_offset = getattr(problem.rule, "intercept", True) is True

    def cloud(points: Any, rows: Index) -> Cloud:
        return Cloud(points, None if weights is None else weights[rows], rows)

    if has_offset:
        rows1, rows2 = np.flatnonzero(used & problem.data.positive), np.flatnonzero(used & ~problem.data.positive)
        budget = Budget(limits.positives, limits.negatives, limits.total)
        return OutlierProblem(cloud(problem.X, rows1), cloud(problem.X, rows2), budget, rows1, rows2, True, coefficient)
    rows = np.flatnonzero(used)
    signed = sp.diags_array(problem.y_pm1) @ problem.X if sp.issparse(problem.X) else problem.y_pm1[:, None] * problem.X
    budget = Budget(limits.positives if limits.total is None else limits.total)
    signed = sp.csr_array(signed) if sp.issparse(signed) else signed
    return OutlierProblem(cloud(signed, rows), origin(problem.data.d), budget, rows, np.array([-1]), False, coefficient)


def unit(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x))
