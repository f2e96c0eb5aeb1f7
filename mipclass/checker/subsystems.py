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

All numbers are whole numbers or fractions, except for bounds of |v| in float64 that allow for every rounding error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isfinite, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arithmetic import Rejected, field, unpack
from .patience import look

FREE, RIGHT, WRONG = range(3)
NEVER = -1
"""Stands for: conflicts whatever has been paid. Costs are at least 0."""

SPARE = 40
"""Rounding errors per term of a sum in float64, at most."""

TINY = 1e-290
"""More than all errors by underflow."""

AT_ONCE = 1 << 10
"""Subsystems between two looks at the clock."""


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
    if limits is not None:
        goal = limits[0] * unit + 1
    conflicts = _Conflicts(lower, clouds, a, bound, unit, None if limits is None else goal)
    n_p, n = len(clouds.positives), len(clouds.positives) + len(clouds.negatives)
    tree = unpack(field(lower, "tree", "lower"), "i4", "lower, tree").tolist()
    walk = _Walk(costs, n, goal, conflicts)
    if limits is not None and len(limits) == 3:
        walk.left, walk.side = list(limits[1:]), [int(point >= n_p) for point in range(n)]
    return walk.check(tree)


class _Conflicts:
    """The points of each subsystem, and the cost from which on it conflicts.

    That cost grows with |v|. It is first taken from an upper bound of |v| in float64: a sum of k products is off by at most (k + a few) 2^-53 times the
    sum of the absolute products, which `rate` doubles. Where such a cost is too large for a leaf, it is computed in whole numbers.
    """

    def __init__(
        self, lower: Any, clouds: Clouds, a: Fraction, bound: Fraction, unit: int, limited: int | None
    ) -> None:
        self.clouds, self.a, self.bound, self.unit, self.limited = clouds, a, bound, unit, limited
        d, n_p = len(clouds.positives[0]), len(clouds.positives)
        flat = unpack(field(lower, "members", "lower"), "i4", "lower, members")
        weights = unpack(field(lower, "weights", "lower"), "i8", "lower, weights")
        width = d + 2
        if len(flat) != 2 * len(weights) or len(weights) % width:
            raise Rejected("lower, members", f"expected {width} pairs of points and weights for each subsystem")
        if (weights < 0).any():
            raise Rejected("lower, weights", "convex weights must not be negative")
        self._pairs, self._weights = flat.reshape(-1, width, 2), weights.reshape(-1, width)
        first, second = self._pairs[:, :, 0], self._pairs[:, :, 1] - n_p
        stray = (first < 0) | (first >= n_p) | (second < 0) | (second >= len(clouds.negatives))
        for wrong, why in (
            (stray.any(axis=1), "its pairs need a positive and a negative of the data"),
            (~self._weights.any(axis=1), "its weights are all zero"),
        ):
            if wrong.any():
                raise Rejected(f"subsystem {int(wrong.argmax())}", why)
        self.members = [sorted(set(points)) for points in self._pairs.reshape(-1, 2 * width).tolist()]
        self.needed = [self._cost(value) for value in self._least_at_most().tolist()]
        self._is_exact = [False] * len(self.needed)

    def exactly(self, number: int) -> int:
        """The cost from which on a subsystem conflicts."""
        if not self._is_exact[number]:
            self.needed[number], self._is_exact[number] = self._cost(self._least(number)), True
        return self.needed[number]

    def _cost(self, least: Fraction | float) -> int:
        """B - a |w|^2 as a whole multiple of 1 / unit, rounded up; with a limit instead of prices 0 or what no leaf has paid."""
        if self.limited is not None:
            return 0 if least <= 0 else self.limited
        if isinstance(least, float) and not isfinite(least):
            return NEVER if least < 0 else ceil((self.bound + 1) * self.unit)
        return ceil(Fraction(least) * self.unit)

    def _least_at_most(self) -> NDArray[np.float64]:
        """At least B - a |w|^2 of each subsystem, in float64; infinity where that says nothing."""
        clouds, found = self.clouds, np.zeros(len(self._pairs))
        scale = Fraction(1, 1 << clouds.digits)
        P, N = (_nearest(rows, scale) for rows in (clouds.positives, clouds.negatives))
        rate = (self._pairs.shape[1] + P.shape[1] + SPARE) * 2.0**-52
        most, part = float(np.nextafter(float(self.bound), np.inf)), float(self.a * clouds.reach**2) * (1 - rate)
        for start in range(0, len(found), AT_ONCE):
            look()
            chosen = slice(start, start + AT_ONCE)
            weights = self._weights[chosen].astype(np.float64)
            weights /= weights.sum(axis=1, keepdims=True)
            first, second = self._pairs[chosen, :, 0], self._pairs[chosen, :, 1] - len(P)
            with np.errstate(all="ignore"):
                x, z = P[first], N[second]
                v = np.abs((weights[:, :, None] * (x - z)).sum(axis=1))
                v += rate * (weights[:, :, None] * (np.abs(x) + np.abs(z))).sum(axis=1)
                norm = part / ((v**2).sum(axis=1) * (1 + rate) + TINY)
                found[chosen] = most - norm + rate * (most + norm)
        return np.where(np.isnan(found), np.inf, found)

    def _least(self, number: int) -> Fraction:
        """B - a |w|^2 of a subsystem."""
        clouds, n_p = self.clouds, len(self.clouds.positives)
        part = self._weights[number].tolist()
        v, total = [0] * len(clouds.positives[0]), sum(part)
        for (p, q), weight in zip(self._pairs[number].tolist(), part, strict=True):
            if weight:
                x, z = clouds.positives[p], clouds.negatives[q - n_p]
                v = [value + weight * (s - t) for value, s, t in zip(v, x, z, strict=True)]
        square = sum(value * value for value in v)
        if not square:
            return Fraction(NEVER)
        return self.bound - self.a * clouds.reach**2 * Fraction((total << clouds.digits) ** 2, square)


def _nearest(rows: list[list[int]], scale: Fraction) -> NDArray[np.float64]:
    """The points as float64 numbers, as which they were read."""
    return np.array([[float(value * scale) for value in row] for row in rows])


class _Walk:
    """The tree in preorder, with the points that are wrong or right on the way."""

    def __init__(self, costs: list[int], n: int, goal: int, conflicts: _Conflicts) -> None:
        self.costs, self.goal, self.conflicts, self.members = costs, goal, conflicts, conflicts.members
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
            if paid < self.conflicts.needed[number] and paid < self.conflicts.exactly(number):
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
