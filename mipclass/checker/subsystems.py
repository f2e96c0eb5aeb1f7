"""Checks a tree over points: no rule costs less than B, where cost = a |w|^2 + the costs of the points with y (w.x + b) < 1.

1. A node says of some points that they are right and of some that they are wrong; the wrong ones cost c. Its two children say of one more
   point that it is wrong, and that it is right; so the leaves cover all rules.
2. A subsystem is a set of pairs of a positive and a negative with convex weights; v is the weighted sum of the differences. A rule that gets all
   its points right has w.v >= 2, so |w| >= 2 / |v|. Without an offset the pairs are of a point times its label and the origin, w.v >= 1.
3. Rules of a leaf that cost less than B have a |w|^2 < B - c. If a 4 / |v|^2 >= B - c, one point of the subsystem is wrong; when all of them
   are said to be right there is no such rule, else c grows by the least cost of its free points. So with the next one, which must have
   other free points. The leaf is closed when c reaches B.

4. With a limit on the wrong points instead of a price, the cost is a |w|^2 alone: all of B is left at any c, and c above the limit closes the leaf.
   With limits for both classes, a class with as many wrong points as its limit has no free points, and more of them close the leaf.

All numbers are whole numbers or fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm
from typing import Any

from .arithmetic import Rejected, field, unpack
from .patience import look

FREE, RIGHT, WRONG = range(3)
NEVER = -1
"""Stands for: conflicts whatever has been paid. Costs are at least 0."""


@dataclass(frozen=True)
class Clouds:
    """The points between which rules keep a distance: positives and negatives, or points times labels and the origin."""

    positives: list[list[int]]  # x_ik 2^digits
    negatives: list[list[int]]
    digits: int
    costs: list[Fraction]  # of the positives, then of the negatives; the origin has none
    reach: int  # w.(p - q) that a rule keeps: 2, or 1 without an offset


def check_point_tree(lower: Any, clouds: Clouds, a: Fraction, bound: Fraction, limits: tuple[int, ...] | None) -> int:
    """The number of nodes of a tree that proves the bound; Rejected otherwise.

    limits : how many points may be wrong: of all, then of the positives and of the negatives where these have limits.
    """
    unit = lcm(bound.denominator, *(cost.denominator for cost in clouds.costs))
    goal, costs = int(bound * unit), [int(cost * unit) for cost in clouds.costs]
    members, needed = _subsystems(lower, clouds, a, bound, unit)
    if limits is not None:
        goal = limits[0] * unit + 1
        needed = [0 if value <= 0 else goal for value in needed]
    n_p, n = len(clouds.positives), len(clouds.positives) + len(clouds.negatives)
    tree = unpack(field(lower, "tree", "lower"), "i4", "lower, tree").tolist()
    walk = _Walk(costs, n, goal, members, needed)
    if limits is not None and len(limits) == 3:
        walk.left, walk.side = list(limits[1:]), [int(point >= n_p) for point in range(n)]
    return walk.check(tree)


def _subsystems(
    lower: Any, clouds: Clouds, a: Fraction, bound: Fraction, unit: int
) -> tuple[list[list[int]], list[int]]:
    """The points of each subsystem, and the cost from which on it conflicts."""
    d, n_p = len(clouds.positives[0]), len(clouds.positives)
    flat = unpack(field(lower, "members", "lower"), "i4", "lower, members").tolist()
    weights = unpack(field(lower, "weights", "lower"), "i8", "lower, weights").tolist()
    width = d + 2
    if len(flat) != 2 * len(weights) or len(weights) % width:
        raise Rejected("lower, members", f"expected {width} pairs of points and weights for each subsystem")
    if any(value < 0 for value in weights):
        raise Rejected("lower, weights", "convex weights must not be negative")
    members, needed = [], []
    for start in range(0, len(weights), width):
        look()
        place = f"subsystem {start // width}"
        points, part = flat[2 * start : 2 * (start + width)], weights[start : start + width]
        if not all(0 <= p < n_p for p in points[::2]) or not all(
            0 <= q - n_p < len(clouds.negatives) for q in points[1::2]
        ):
            raise Rejected(place, "its pairs need a positive and a negative of the data")
        v, total = [0] * d, sum(part)
        if total <= 0:
            raise Rejected(place, "its weights are all zero")
        for p, q, weight in zip(points[::2], points[1::2], part, strict=True):
            if weight:
                x, z = clouds.positives[p], clouds.negatives[q - n_p]
                v = [value + weight * (s - t) for value, s, t in zip(v, x, z, strict=True)]
        square = sum(value * value for value in v)
        least = (
            bound - a * clouds.reach**2 * Fraction((total << clouds.digits) ** 2, square) if square else Fraction(NEVER)
        )
        members.append(sorted(set(points)))
        needed.append(ceil(least * unit))
    return members, needed


class _Walk:
    """The tree in preorder, with the points that are wrong or right on the way."""

    def __init__(self, costs: list[int], n: int, goal: int, members: list[list[int]], needed: list[int]) -> None:
        self.costs, self.goal, self.members, self.needed = costs, goal, members, needed
        self.state = [FREE] * len(costs) + [RIGHT] * (n - len(costs))
        self.paid = 0
        self.trail: list[int] = []
        self.left: list[int] = [n]  # how many more points of each class may be wrong
        self.side = [0] * n  # the class of each point

    def check(self, tree: list[int]) -> int:
        """The number of nodes; Rejected unless every leaf is closed."""
        pending: list[tuple[int, int]] = []
        at, nodes = 0, 0
        while at < len(tree):
            look()
            value, nodes = tree[at], nodes + 1
            at += 1
            if value >= 0:
                if value >= len(self.costs) or self.state[value] != FREE:
                    raise Rejected(f"node {nodes}", "it branches on a point that is not free")
                pending.append((value, len(self.trail)))
                self._say(value, WRONG)
                continue
            count = -1 - value
            self._check_leaf(tree[at : at + count], count, f"node {nodes}")
            at += count
            if not pending:
                break
            point, length = pending.pop()
            while len(self.trail) > length:
                self._unsay()
            self._say(point, RIGHT)
        else:
            raise Rejected("lower, tree", "it ends before all of its leaves are closed")
        if at != len(tree):
            raise Rejected("lower, tree", "it goes on after its last leaf")
        return nodes

    def _say(self, point: int, state: int) -> None:
        self.state[point] = state
        self.trail.append(point)
        if state == WRONG:
            self.paid += self.costs[point]
            self.left[self.side[point]] -= 1

    def _unsay(self) -> None:
        point = self.trail.pop()
        if self.state[point] == WRONG:
            self.paid -= self.costs[point]
            self.left[self.side[point]] += 1
        self.state[point] = FREE

    def _check_leaf(self, numbers: Sequence[int], count: int, place: str) -> None:
        if len(numbers) != count or not all(0 <= number < len(self.members) for number in numbers):
            raise Rejected(place, "its subsystems are incomplete or unknown")
        if min(self.left) < 0:
            return
        paid, used = self.paid, set[int]()
        for number in numbers:
            if paid < self.needed[number]:
                raise Rejected(place, f"subsystem {number} does not conflict: its points can all be right")
            free = {p for p in self.members[number] if self.state[p] == FREE and self.left[self.side[p]] > 0}
            if any(self.state[point] == WRONG for point in self.members[number]) or free & used:
                raise Rejected(place, f"subsystem {number} has a point that is wrong already or counted before")
            if not free:
                return
            used |= free
            paid += min(self.costs[point] for point in free)
        if paid < self.goal:
            raise Rejected(place, "it is not closed")
