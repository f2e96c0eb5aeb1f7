"""Joint lemmas of a box proof under limits: points that cost so much while the limits leave so much room for their errors.

A lemma about points S holds for every rule: if l_k(S) <= room_k for each limit, then c(S) >= bound, where c and l_k count the wrong points of S. On
a box let some points be lost, none of them in S. A rule there that keeps the limits has l_k(S) <= L_k - l_k(lost). If that is at most
room_k for each limit, the rule costs at least c(lost) + bound. A bound above all costs of S means that there is no such rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .arithmetic import Rejected, field, rationals, whole_list
from .cone import Cone
from .iis import check_cover, merged_limits
from .patience import look
from .points.images import rounded_images
from .points.merged import ProofRows, check_rows
from .problem import ExactProblem, Row
from .scope import Scope

GRID_BITS = 20
"""Boxes have corners on the grid of 2^-GRID_BITS."""


@dataclass(frozen=True)
class _Lemma:
    """Rows, the room for their errors, and what they cost at least; None: no rule leaves that room."""

    rows: list[int]
    rooms: list[Fraction]
    bound: int | None


@dataclass(frozen=True)
class Joint:
    """All points, classes counted apart, in the coordinates of the boxes, with the lemmas about them."""

    points: Any
    half_errors: Any
    rows: ProofRows
    limits: list[Row]
    lemmas: list[_Lemma]

    def cost(self, number: int, low: Any, high: Any, place: str) -> Fraction | None:
        """What a rule in the box that keeps the limits costs at least by a lemma; None when there is none. Rejected if the lemma does
        not hold there."""
        look()
        if not 0 <= number < len(self.lemmas):
            raise Rejected(place, f"there is no joint lemma {number}")
        lemma = self.lemmas[number]
        highest = np.maximum(self.points * low, self.points * high).sum(axis=1)
        slack = self.half_errors * (self.points.shape[1] << GRID_BITS)
        lost = np.flatnonzero(2 * highest + slack <= 0).tolist()
        if set(lost) & set(lemma.rows):
            raise Rejected(place, f"joint lemma {number} counts a point twice")
        for (coefficients, at_most), room in zip(self.limits, lemma.rooms, strict=True):
            if at_most - sum((coefficients[i] for i in lost), Fraction(0)) > room:
                raise Rejected(place, f"a limit leaves more room than joint lemma {number} allows for")
        if lemma.bound is None:
            return None
        return self.rows.constant + self.rows.unit * (sum(self.rows.weights[i] for i in lost) + lemma.bound)


def read_joint(content: Any, lower: Any, problem: ExactProblem, scope: Scope, cone: Cone) -> tuple[Joint, int]:
    """The points and lemmas, each of them checked, and the nodes of their trees."""
    from . import box_kernel as kernel

    place = "joint"
    rows = check_rows(content, problem)
    vectors = problem.signed_rows(rows.points)
    points, half_errors = rounded_images(lower, vectors, kernel.POINT_BITS, place)
    limits = merged_limits(problem, rows)
    items = field(content, "lemmas", place)
    if not isinstance(items, list):
        raise Rejected(place, "expected a list of lemmas")
    lemmas, nodes = [], 0
    for number, item in enumerate(items):
        where = f"joint lemma {number}"
        chosen = whole_list(field(item, "rows", where), where)
        if len(set(chosen)) != len(chosen) or not all(0 <= i < len(vectors) for i in chosen):
            raise Rejected(where, "its rows repeat or do not exist")
        rooms = rationals(field(item, "rooms", where), len(limits), where)
        own = [([c[i] for i in chosen], room) for (c, _), room in zip(limits, rooms, strict=True)]
        weights = [rows.weights[i] for i in chosen]
        bound, more = check_cover(item, [vectors[i] for i in chosen], weights, scope, where, own, cone)
        nodes += more
        lemmas.append(_Lemma(chosen, rooms, None if bound > sum(weights) else bound))
    return Joint(points, half_errors, rows, limits, lemmas), nodes
