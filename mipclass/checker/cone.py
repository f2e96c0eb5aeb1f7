"""Homogeneous rows a.W >= 0 in a box proof: each is one more point, wrong where a.W <= 0, of a weight that the certificate chooses.

The certificate gives a rule W0 with a.W0 > 0 for every row. Let a rule W keep the rows. Moved towards W0 by little enough it has a.W > 0
for all of them, and its right points stay right (by the relative margin, if they were right by one), since finitely many strict inequalities
hold near W. So W costs no less than a rule at which no row counts as wrong. A bound for those rules, of points and rows together, is
a bound for W whatever the rows weigh.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from .arithmetic import Rejected, field, rationals, whole
from .problem import ExactProblem


class Cone(NamedTuple):
    """Rows a over (w, b) that every rule in question keeps, a.W >= 0, and which rows of a proof are these, taken for points."""

    rows: list[list[Fraction]]
    places: frozenset[int] = frozenset()

    def behind(self, n: int) -> Cone:
        """The same, with all rows behind n points."""
        return Cone(self.rows, frozenset(range(n, n + len(self.rows))))

    def among(self, chosen: list[int]) -> Cone:
        """The same for a proof about some of the rows."""
        return Cone(self.rows, frozenset(k for k, i in enumerate(chosen) if i in self.places))


EVERY_RULE = Cone([])
"""No rows."""


def read_cone(lower: Any, problem: ExactProblem) -> Cone:
    """The rows of the problem, which must be scale-free with a free offset; Rejected without a rule in their interior."""
    if problem.margin or not problem.intercept:
        raise Rejected("lower", "proofs by boxes are about the 0-1 loss without a margin and with a free offset")
    if not problem.rows:
        return EVERY_RULE
    if any(end != 0 for _, end in problem.rows):
        raise Rejected("lower", "proofs by boxes take rows that are homogeneous, a.(w, b) >= 0")
    rows = [row for row, _ in problem.rows]
    interior = rationals(field(lower, "interior", "lower"), len(rows[0]), "lower, interior")
    for number, row in enumerate(rows):
        if sum((a * value for a, value in zip(row, interior, strict=True)), Fraction(0)) <= 0:
            raise Rejected("lower, interior", f"row {number} is not positive there")
    return Cone(rows)


def row_weights(content: Any, cone: Cone) -> list[int]:
    """The weight of each row; Rejected when it is negative."""
    if not cone.rows:
        return []
    weight = whole(field(content, "row_weight", "lower"), "lower, row_weight")
    if weight < 0:
        raise Rejected("lower, row_weight", "it is negative")
    return [weight] * len(cone.rows)
