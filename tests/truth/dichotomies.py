"""The least weighted 0-1 loss of few points in the plane under limits on errors, in fractions: all ways in which a line can divide them.

Between two neighbouring directions that are perpendicular to the difference of two points, the order of the points along a direction does not
change. It is that of either end, with ties broken by the position along the line. Each order is cut at every place. A point on the line is wrong
under either label, so that moving the line off it costs nothing and exceeds no limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from mipclass.certificates.certificate import Statement


def dichotomies(points: Sequence[Sequence[int]]) -> set[tuple[bool, ...]]:
    """Which points lie on the positive side, for every line that meets none of them; coordinates are whole."""
    differences = {(p - r, q - s) for p, q in points for r, s in points} - {(0, 0)} or {(1, 0)}
    found = set()
    for dx, dy in differences:
        for tie in (1, -1):
            places = [(-dy * x + dx * y, tie * (dx * x + dy * y)) for x, y in points]
            found |= {tuple(place >= cut for place in places) for cut in places}
    return found | {(False,) * len(points)}


def least_limited_loss(points: Sequence[Sequence[int]], y_pm1: Any, statement: Statement) -> Fraction | None:
    """The least sum of costs of wrong points over the rules that keep the limits, exactly; None when no rule does."""
    signs = [label > 0 for label in y_pm1]
    best: Fraction | None = None
    for sides in dichotomies(points):
        wrong = [i for i, (side, sign) in enumerate(zip(sides, signs, strict=True)) if side != sign]
        if all(_total(c, wrong) <= Fraction(float(at_most)) for c, at_most in statement.limits):
            cost = _total(statement.costs, wrong)
            best = cost if best is None else min(best, cost)
    return best


def _total(values: Any, chosen: Sequence[int]) -> Fraction:
    return sum((Fraction(float(values[i])) for i in chosen), Fraction(0))
