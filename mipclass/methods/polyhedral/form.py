"""The normal form of polyhedral separation: two point sets, h hyperplanes and the model whose rule they make."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Array
from ...modelling.model import Model
from ...modelling.problem import Problem
from ...models.losses import AverageViolation
from ...models.penalties import L1
from ...models.point_sets import PointSets
from ...models.polyhedral import point_sets
from ...models.rules import Linear, Polyhedron
from ...protocol.result import Values
from ..base import Refusal


@dataclass(frozen=True, eq=False)
class PolyhedralForm:
    """AverageViolation(), optionally plus L1(), over h hyperplanes without side constraints; h = 1 for a linear rule."""

    model: Model
    h: int
    is_linear: bool

    @cached_property
    def sets(self) -> PointSets:
        """A (inside) and B (outside): merged points in an order that the points decide, with weights and l1 prices."""
        return point_sets(self.model)

    def values(self, planes: Array) -> Values:
        """Hyperplanes as values of the model: the rows (v_j, g_j), or w = -v and b = g of a linear rule."""
        v, g = planes[:, :-1], planes[:, -1]
        return {"w": -v[0], "b": np.asarray(g[0])} if self.is_linear else {"v": v.copy(), "g": g.copy()}


def match_polyhedral(problem: Problem) -> PolyhedralForm | Refusal:
    """The problem as one of polyhedral separation, or the reason why it is none."""
    if not isinstance(problem, Model):
        return Refusal("it takes models.polyhedral(...) or models.rlp(...), not a general program.")
    rule = problem.rule
    if not isinstance(rule, Polyhedron) and rule != Linear():
        return Refusal(
            f"its rule is {type(rule).__name__}; slp takes rule=Polyhedron(h), or Linear() with a free offset."
        )
    if problem.constraints:
        return Refusal(
            "it has side constraints, which slp cannot keep; use solver='scip', or 'highs' with l1 > 0 or a box."
        )
    kinds = [type(term) for coefficient, term in problem.terms if coefficient > 0]
    if kinds.count(AverageViolation) != 1 or not set(kinds) <= {AverageViolation, L1}:
        return Refusal("slp minimises AverageViolation(), alone or plus a multiple of L1().")
    return PolyhedralForm(problem, rule.h if isinstance(rule, Polyhedron) else 1, isinstance(rule, Linear))
