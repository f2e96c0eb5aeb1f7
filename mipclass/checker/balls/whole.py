"""Rounds of a proof by balls in whole numbers and fractions: margins are whole multiples of 1 / grid, rounded so that intervals only grow."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt, lcm
from typing import NamedTuple

from .tree import BallProblem, Multipliers, loss_of

GRID = 80
"""Binary digits of margins, at least."""

Intervals = tuple[list[int], list[int], tuple[int, int]]
"""The least and the largest margin of each point, and the ends of the offset's interval."""


class _Ball(NamedTuple):
    """The rules with |w - unit v / (2 a 2^digits)|^2 <= missing / a."""

    v: list[int]
    unit: Fraction
    missing: Fraction


class _Node(NamedTuple):
    """What is known of the rules of a node that cost less than the bound."""

    intervals: Intervals
    ball: _Ball


class WholeRounds:
    """Costs, multipliers and losses have common denominators."""

    def __init__(self, problem: BallProblem, units: list[Fraction]) -> None:
        self.problem, self.units = problem, units
        self.grid = problem.s.denominator << GRID
        self.norms = [
            isqrt(sum(x * x for x in row) << 2 * GRID) + 1 for row in problem.points
        ]  # |z_i| 2^(GRID + digits), up
        dearest = lcm(*(value.denominator for value in (*problem.costs, *units)))
        self.costs = [int(cost * dearest) for cost in problem.costs]
        self.factors = [int(unit * dearest) * problem.theta.denominator for unit in units]
        self.value = dearest * problem.theta.denominator * self.grid  # values are whole multiples of 1 / value
        self.s = int(problem.s * self.grid)

    def root(self) -> _Node:
        """The intervals of all rules that cost less than the bound, and their ball."""
        reach, labels = self._reach(self.problem.bound / self.problem.a), self.problem.labels
        first = -max((self.grid + reach[i] for i, label in enumerate(labels) if label < 0), default=self.grid)
        last = max((self.grid + reach[i] for i, label in enumerate(labels) if label > 0), default=self.grid)
        ends = [sorted((label * first, label * last)) for label in labels]
        low = [least - value for value, (least, _) in zip(reach, ends, strict=True)]
        high = [most + value for value, (_, most) in zip(reach, ends, strict=True)]
        ball = _Ball([0] * len(self.problem.points[0]), Fraction(1), self.problem.bound)
        return _Node((low, high, (first, last)), ball)

    def children(self, node: _Node, point: int) -> tuple[_Node, _Node]:
        """The node with margin >= s of the point, and the one with margin <= s, which comes first in the tree."""
        low, high, offset = node.intervals
        above, below = list(low), list(high)
        above[point], below[point] = max(low[point], self.s), min(high[point], self.s)
        return _Node((above, high, offset), node.ball), _Node((low, below, offset), node.ball)

    def _reach(self, square: Fraction) -> list[int]:
        """|z_i| times the root of a number, in units of 1 / grid, rounded up."""
        root = self._root_of(square) * self.grid
        shift = 2 * GRID + self.problem.digits
        return [(norm * root >> shift) + 1 for norm in self.norms]

    def round(self, node: _Node, record: Multipliers) -> _Node | None:
        """The node after a round of multipliers; None when it is closed."""
        low, high, (first, last) = node.intervals
        problem, unit = self.problem, self.units[record.precise] * Fraction(2) ** record.shift
        if any(least > most for least, most in zip(low, high, strict=True)):
            return None
        numbers = record.numbers.tolist()
        groups = [0] * len(numbers) if record.groups is None else record.groups.tolist()
        beside = [i for i, group in enumerate(groups) if not group]
        v, beta = self._sums(numbers, beside)
        factor, finer = self.factors[record.precise] << max(0, record.shift), max(0, -record.shift)
        least = self._least(numbers, beside, low, high, factor, finer)
        total = Fraction(least - factor * max(beta * first, beta * last), self.value << finer)
        for group in set(groups) - {0}:
            total += self._charge(node, numbers, [i for i, other in enumerate(groups) if other == group], unit)
        square = unit * unit * Fraction(sum(value * value for value in v), 1 << 2 * problem.digits)
        missing = problem.bound - total + square / (4 * problem.a)  # B - D
        if missing <= 0:
            return None
        if beta:
            far = self._up(missing * self.grid / abs(beta * unit))
            first, last = (max(first, last - far), last) if beta > 0 else (first, min(last, first + far))
        share = unit / (2 * problem.a) * Fraction(self.grid, 1 << 2 * problem.digits)
        products = [sum(value * x for value, x in zip(v, row, strict=True)) for row in problem.points]
        margins = [share.numerator * product // share.denominator for product in products]
        after = self._cut(low, high, (first, last), margins, self._reach(missing / problem.a))
        return None if after is None else _Node(after, _Ball(v, unit, missing))

    def _sums(self, numbers: list[int] | dict[int, int], points: list[int]) -> tuple[list[int], int]:
        """sum_i k_i z_i and sum_i k_i y_i over some points."""
        v, beta = [0] * len(self.problem.points[0]), 0
        for i in points:
            k = numbers[i]
            if k:
                v = [value + k * x for value, x in zip(v, self.problem.points[i], strict=True)]
                beta += k * self.problem.labels[i]
        return v, beta

    def _charge(self, node: _Node, numbers: list[int], members: list[int], unit: Fraction) -> Fraction:
        """What every rule of the node that costs less than the bound pays for the points of a group."""
        problem, (low, high, (first, last)), ball = self.problem, node.intervals, node.ball
        kept = {i: min(max(0, numbers[i]), problem.costs[i] // unit) for i in members}  # 0 <= alpha_i <= c_i
        g, beta = self._sums(kept, members)
        along = sum(x * q for x, q in zip(g, ball.v, strict=True)) * ball.unit / (2 * problem.a)
        away = Fraction(self._root_of(ball.missing / problem.a * sum(x * x for x in g)), 1 << GRID)
        inliers = sum(kept.values()) - along / (1 << 2 * problem.digits)
        inliers -= away / (1 << problem.digits) + Fraction(max(beta * first, beta * last), self.grid)
        floors = {
            i: problem.costs[i] * loss_of(Fraction(high[i], self.grid), problem.theta, problem.s) for i in members
        }
        floor = sum(floors.values(), Fraction(0))
        outliers = [(1 - problem.s) * problem.costs[i] - floors[i] for i in members if low[i] < self.s]
        return min([max(floor, unit * inliers), *(floor + more for more in outliers)])

    @staticmethod
    def _root_of(square: Fraction) -> int:
        """2^GRID times the root of a number, rounded up."""
        return isqrt(-(-(square.numerator << 2 * GRID) // square.denominator)) + 1

    def _cut(
        self, low: list[int], high: list[int], offset: tuple[int, int], margins: list[int], reach: list[int]
    ) -> Intervals | None:
        """The intervals of rules with z_i.w from margins_i - reach_i to margins_i + 1 + reach_i; None when none is left."""
        labels, (first, last) = self.problem.labels, offset
        for i, label in enumerate(labels):
            if label:
                ends = label * (low[i] - margins[i] - 1 - reach[i]), label * (high[i] - margins[i] + reach[i])
                first, last = max(first, min(ends)), min(last, max(ends))
        if first > last:
            return None
        low, high = list(low), list(high)
        for i, label in enumerate(labels):
            ends = label * first, label * last
            low[i] = max(low[i], margins[i] - reach[i] + min(ends))
            high[i] = min(high[i], margins[i] + 1 + reach[i] + max(ends))
            if low[i] > high[i]:
                return None
        return low, high, (first, last)

    @staticmethod
    def _up(value: Fraction) -> int:
        return -(-value.numerator // value.denominator)

    def _least(
        self, numbers: list[int], beside: list[int], low: list[int], high: list[int], factor: int, finer: int
    ) -> int:
        """The sum over the points in no group of min cost loss(m) + alpha m over the interval, in units of 1 / (value 2^finer)."""
        grid, s, up, down = self.grid, self.s, self.problem.theta.denominator, self.problem.theta.numerator
        at_s, total = (grid - s) * up, 0
        for i in beside:
            alpha, cost, first, last = numbers[i] * factor, self.costs[i] << finer, low[i], high[i]
            found = []
            for m in (first, last):
                loss = max(0, grid - m) * up if m >= s else at_s + down * (s - m)
                found.append(cost * loss + alpha * m)
            if first < s < last:
                found.append(cost * at_s + alpha * s)
            if first < grid < last:
                found.append(alpha * grid)
            total += min(found)
        return total
