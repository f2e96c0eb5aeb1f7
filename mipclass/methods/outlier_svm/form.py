"""The normal form of the widest-margin problem with outliers: two clouds of points and what may be left out of them.

All three methods of this family (gilbert, rgd-tree, enumerate) match models through `match_outliers` and answer with a
slab, which `OutlierForm.values` turns into a rule of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Index
from ...modelling.model import Model
from ...modelling.problem import Problem
from ...models.outlier_svm import HardMargin, OutlierLimits, in_units, limit_tolerance, weight_unit
from ...models.penalties import L2
from ...models.rules import Linear
from ...protocol.result import Values
from ..base import Refusal
from .slab import Budget, Cloud, origin
from .slab_widening import Slab


@dataclass(frozen=True, eq=False)
class OutlierForm:
    """Minimise coefficient |w|^2 subject to y_i (w.x_i + b) >= 1 for all points but outliers within `limits`.

    With an offset, P1 is the positive class and P2 the negative one. Without an offset (always so for one class) the
    problem is a one-class problem of the points y_i x_i: they are P1, and P2 is the origin. Points of weight zero belong
    to neither. `rows1` and `rows2` are the data rows of the points of P1 and P2.
    """

    model: Model
    coefficient: float
    limits: OutlierLimits
    has_offset: bool

    @property
    def keeps_all_points(self) -> bool:
        """Whether the limits are below the weight of every point, so that no point can be left out."""
        weights = self.model.weights
        return self.limits.most < weights[weights > 0].min() - limit_tolerance(weights)

    @cached_property
    def unit(self) -> float:
        """The unit of the clouds' weights and of the budget; equal weights are one each."""
        weights = self.model.weights
        return weight_unit(weights[weights > 0])

    @cached_property
    def rows1(self) -> Index:
        """The data rows of P1."""
        used = self.model.weights > 0
        return np.flatnonzero(used & self.model.data.positive if self.has_offset else used)

    @cached_property
    def rows2(self) -> Index:
        """The data rows of P2; -1 for the origin."""
        if not self.has_offset:
            return np.array([-1])
        return np.flatnonzero((self.model.weights > 0) & ~self.model.data.positive)

    @cached_property
    def p1(self) -> Cloud:
        """The class whose projections bound the slab from above."""
        return self._cloud(self.model.X if self.has_offset else _signed(self.model), self.rows1)

    @cached_property
    def p2(self) -> Cloud:
        """The class whose projections bound the slab from below."""
        return self._cloud(self.model.X, self.rows2) if self.has_offset else origin(self.model.data.d)

    @property
    def budget(self) -> Budget:
        """The weight that may be left out of P1 and P2, in units."""
        limits = self.limits
        total = None if limits.total is None else limits.total / self.unit
        if self.has_offset:
            return Budget(limits.positives / self.unit, limits.negatives / self.unit, total)
        return Budget(limits.positives / self.unit if total is None else total)

    def _cloud(self, points: Any, rows: Index) -> Cloud:
        # Both classes have weights or neither has: whether it has is decided by all weights.
        used = self.model.weights > 0
        weights = in_units(self.model.weights[used], self.unit)
        if (weights == 1).all():
            return Cloud(points, None, rows)
        scaled = np.zeros(len(used))
        scaled[used] = weights
        return Cloud(points, scaled[rows], rows)

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


def match_outliers(problem: Problem) -> OutlierForm | Refusal:
    """The problem as a widest-margin problem with outliers, or the reason why it is none."""
    if not isinstance(problem, Model):
        return Refusal("it takes models.outlier_svm(...), not a general program.")
    terms = [(coefficient, term) for coefficient, term in problem.terms if coefficient > 0]
    if [type(term) for _, term in terms] != [L2]:
        return Refusal(
            "it minimises a multiple of L2() alone; losses have no place here. Use models.outlier_svm(X, y, outliers)."
        )
    if [type(constraint) for constraint in problem.constraints] != [HardMargin]:
        return Refusal(
            "it takes exactly one constraint, HardMargin(outliers=...); for others use solver='scip' or 'highs'."
        )
    if not isinstance(problem.rule, Linear) or problem.rule.intercept not in (True, False):
        return Refusal("its rule must be Linear() or Linear(intercept=False); scale features and kernels beforehand.")
    [constraint] = problem.constraints
    assert isinstance(constraint, HardMargin)
    limits = constraint.limits(problem.data)
    if problem.rule.intercept is False and limits.total is None and not problem.data.positive.all():
        return Refusal("without an offset the share of outliers must be one number, not one for each class.")
    return OutlierForm(problem, terms[0][0], limits, problem.rule.intercept is True)


def _signed(model: Model) -> Any:
    """The points y_i x_i, dense or CSR like X."""
    if sp.issparse(model.X):
        return sp.csr_array(sp.diags_array(model.y_pm1) @ model.X)
    return model.y_pm1[:, None] * model.X
