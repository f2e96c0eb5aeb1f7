"""Checks a proof of the robust SVM: a |w|^2 + sum_i c_i loss(m_i) is nowhere below the bound B, where m_i = z_i.w + y_i b, z_i = y_i x_i and

    loss(m) = [1 - m]_+  for m >= s,     1 - s + theta (s - m)  below,      0 <= theta <= 1,  s <= 0.

1. The offset b is 0, or penalised (the weight of one more feature, 1), or free; then x_i stands for the point minus the certificate's centre,
   which only moves b. Equal points count as one with the sum of their costs.
2. A node knows an interval [low_i, high_i] of every margin, and one of b. Rules that cost less than B have a |w|^2 < B. Given w, positive
   points have no loss from b = 1 + max |z_i| |w| (over them) on, and no other loss falls as b grows: some best b is not larger, and by
   the same argument not smaller than -1 - max |z_i| |w| over the negative points. These are the root's intervals.
3. A round of multipliers alpha: c_i loss(m) + alpha_i m is piecewise linear in m, so its least value e_i on the interval is at an end, at s or
   at 1. With v = sum_i alpha_i z_i and beta = sum_i alpha_i y_i every rule of the node costs at least
   a |w|^2 + sum_i e_i - v.w - beta b = D_0 - beta b + a |w - v / (2 a)|^2, where D_0 = sum_i e_i - |v|^2 / (4 a). D is the least D_0 - beta b.
4. When D >= B the node is closed. Else rules that cost less than B lie in the ball around v / (2 a) of radius sqrt((B - D) / a) and have
   D_0 - beta b < B. The intervals are cut: that of b to what is left of m_i - z_i.w, those of the margins to z_i.w + y_i b.
   A node is closed too when an interval becomes empty.
5. A record closes its node, or is followed by another round with the new intervals, or by two children: margin p <= s and margin p >= s.

All numbers are whole numbers or fractions. Margins are whole multiples of 1 / grid, rounded so that intervals only grow.
A certificate may hold for a larger bound than it claims: the tree then goes on below nodes that are closed already, which is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, lcm
from typing import Any

from .arithmetic import Rejected, field, rational, rationals, unpack, whole_list
from .patience import look
from .problem import read_data

GRID = 80
"""Binary digits of margins, at least."""

CLOSED, AGAIN = -1, -2

Intervals = tuple[list[int], list[int], tuple[int, int]]
"""The least and the largest margin of each point, and the ends of the offset's interval."""


@dataclass(frozen=True)
class _Problem:
    a: Fraction
    bound: Fraction
    theta: Fraction
    s: Fraction
    points: list[list[int]]  # z_ik 2^digits, of each distinct point
    digits: int
    costs: list[Fraction]
    labels: list[int]  # y_i, or 0 for each point where the offset is not free


def check_ramp(content: Any, X: Any, y: Any) -> tuple[Fraction, Fraction, int]:
    """(bound, cost of the rule, rounds) of a certificate that holds; Rejected otherwise."""
    matrix, signs = read_data(content, X, y)
    statement = field(content, "problem", "problem")
    a, theta, s = (
        rational(field(statement, name, "problem"), f"problem, {name}") for name in ("coefficient", "theta", "s")
    )
    costs = rationals(field(statement, "costs", "problem"), len(matrix), "problem, costs")
    intercept = field(statement, "intercept", "problem")
    if a <= 0 or min(costs) < 0 or not 0 <= theta <= 1 or s > 0:
        raise Rejected(
            "problem",
            "the coefficient must be positive, no cost negative, theta from 0 to 1, and s <= 0",
        )
    if not isinstance(intercept, bool) and intercept != "penalised":
        raise Rejected("problem", "the intercept must be true, false or 'penalised'")
    rows = [[Fraction(value) for value in row] for row in matrix.tolist()]
    cost = _cost(field(content, "upper", "upper"), rows, signs, costs, (a, theta, s), intercept)
    lower = field(content, "lower", "lower")
    bound = rational(field(lower, "bound", "lower"), "lower, bound")
    if bound > cost:
        raise Rejected("lower", "the bound exceeds the cost of the certificate's own rule")
    if field(lower, "kind", "lower") != "balls":
        raise Rejected("lower", "a ramp loss is proven by balls")
    if bound <= 0:
        return bound, cost, 0
    if intercept == "penalised":
        rows = [[*row, Fraction(1)] for row in rows]
    elif intercept:
        centre = rationals(field(lower, "centre", "lower"), len(rows[0]), "lower, centre")
        rows = [[x - middle for x, middle in zip(row, centre, strict=True)] for row in rows]
    signed = [[int(sign) * value for value in row] for row, sign in zip(rows, signs, strict=True)]
    chosen, merged = _distinct(lower, signed, [int(sign) for sign in signs], costs)
    points = [signed[row] for row in chosen]
    labels = [int(signs[row]) if intercept is True else 0 for row in chosen]
    common = lcm(*(value.denominator for row in points for value in row))
    if common & (common - 1):
        raise Rejected("lower, centre", "its values must be binary fractions, as float64 numbers are")
    digits = common.bit_length() - 1
    whole = [[int(value * 2**digits) for value in row] for row in points]
    return bound, cost, _Walk(_Problem(a, bound, theta, s, whole, digits, merged, labels), lower).check()


def _loss(m: Fraction, theta: Fraction, s: Fraction) -> Fraction:
    return max(Fraction(0), 1 - m) if m >= s else 1 - s + theta * (s - m)


def _cost(
    upper: Any,
    rows: list[list[Fraction]],
    signs: Any,
    costs: list[Fraction],
    terms: tuple[Fraction, Fraction, Fraction],
    intercept: Any,
) -> Fraction:
    """What the certificate's rule costs."""
    a, theta, s = terms
    w = rationals(field(upper, "w", "upper"), len(rows[0]), "upper, w")
    b = rational(field(upper, "b", "upper"), "upper, b")
    if b and not intercept:
        raise Rejected("upper", "the rule has an offset, and the problem has none")
    total = a * sum((v * v for v in w), b * b if intercept == "penalised" else Fraction(0))
    for row, sign, cost in zip(rows, signs, costs, strict=True):
        look()
        total += cost * _loss(int(sign) * sum((v * x for v, x in zip(w, row, strict=True)), b), theta, s)
    return total


def _distinct(
    lower: Any, signed: list[list[Fraction]], signs: list[int], costs: list[Fraction]
) -> tuple[list[int], list[Fraction]]:
    """The rows that the certificate names, which must hold all distinct points of positive cost, and the sums of their costs.

    Points with equal features and labels are one: their margins are equal for every rule.
    """
    rows = whole_list(field(lower, "points", "lower"), "lower, points")
    if not all(0 <= row < len(signed) for row in rows):
        raise Rejected("lower, points", "it names a point that the data do not have")
    sums = [Fraction(0)] * len(rows)
    of_row = {(signs[row], *signed[row]): k for k, row in enumerate(rows)}
    for row, sign, cost in zip(signed, signs, costs, strict=True):
        look()
        k = of_row.get((sign, *row))
        if k is not None:
            sums[k] += cost
        elif cost:
            raise Rejected("lower, points", "a point of positive cost is missing")
    return rows, sums


class _Walk:
    """The tree in preorder. Margins are whole multiples of 1 / grid; costs, multipliers and losses have common denominators too."""

    def __init__(self, problem: _Problem, lower: Any) -> None:
        self.problem = problem
        self.ops = unpack(field(lower, "ops", "lower"), "i4", "lower, ops").tolist()
        self.precise = unpack(field(lower, "precise", "lower"), "u1", "lower, precise").tolist()
        if len(self.ops) != len(self.precise):
            raise Rejected("lower, precise", "expected one entry for each record")
        self.numbers = [
            _in_groups(unpack(field(lower, name, "lower"), kind, f"lower, {name}").tolist(), len(problem.points))
            for name, kind in (("coarse", "i4"), ("fine", "i8"))
        ]
        self.units = rationals(field(lower, "units", "lower"), 2, "lower, units")
        self.grid = problem.s.denominator << GRID
        self.norms = [
            isqrt(sum(x * x for x in row) << 2 * GRID) + 1 for row in problem.points
        ]  # |z_i| 2^(GRID + digits), up
        dearest = lcm(*(value.denominator for value in (*problem.costs, *self.units)))
        self.costs = [int(cost * dearest) for cost in problem.costs]
        self.factors = [int(unit * dearest) * problem.theta.denominator for unit in self.units]
        self.value = dearest * problem.theta.denominator * self.grid  # values are whole multiples of 1 / value
        self.s = int(problem.s * self.grid)

    def check(self) -> int:
        """The number of records; Rejected unless every node is closed."""
        pending: list[Intervals | None] = [self._root()]  # None: below a node that is closed
        for number, (op, precise) in enumerate(zip(self.ops, self.precise, strict=True)):
            look()
            place = f"record {number}"
            if not pending:
                raise Rejected("lower, ops", "the tree ends before its list of records does")
            numbers = next(self.numbers[bool(precise)], None)
            if numbers is None or not AGAIN <= op < len(self.norms):
                raise Rejected(place, "its multipliers are missing, or it branches on a point that does not exist")
            node = pending.pop()
            after = None if node is None else self._round(node, numbers, bool(precise))
            if op == CLOSED and after is not None:
                raise Rejected(place, "it does not close its node")
            if op == AGAIN:
                pending.append(after)
            elif op >= 0:
                pending.extend((None, None) if after is None else self._children(after, op))
        if pending:
            raise Rejected("lower, ops", "the tree ends before all of its nodes are closed")
        return len(self.ops)

    def _root(self) -> Intervals:
        """The intervals of all rules that cost less than the bound."""
        reach, labels = self._reach(self.problem.bound / self.problem.a), self.problem.labels
        first = -max((self.grid + reach[i] for i, label in enumerate(labels) if label < 0), default=self.grid)
        last = max((self.grid + reach[i] for i, label in enumerate(labels) if label > 0), default=self.grid)
        ends = [sorted((label * first, label * last)) for label in labels]
        low = [least - value for value, (least, _) in zip(reach, ends, strict=True)]
        high = [most + value for value, (_, most) in zip(reach, ends, strict=True)]
        return low, high, (first, last)

    def _children(self, node: Intervals, point: int) -> tuple[Intervals, Intervals]:
        """The node with margin >= s of the point, and the one with margin <= s, which comes first in the tree."""
        (low, high, offset), above, below = node, list(node[0]), list(node[1])
        above[point], below[point] = max(low[point], self.s), min(high[point], self.s)
        return (above, high, offset), (low, below, offset)

    def _reach(self, square: Fraction) -> list[int]:
        """|z_i| times the root of a number, in units of 1 / grid, rounded up."""
        root = (isqrt(-(-(square.numerator << 2 * GRID) // square.denominator)) + 1) * self.grid
        shift = 2 * GRID + self.problem.digits
        return [(norm * root >> shift) + 1 for norm in self.norms]

    def _round(self, node: Intervals, numbers: list[int], precise: bool) -> Intervals | None:
        """The intervals after a round of multipliers; None when the node is closed."""
        low, high, (first, last) = node
        problem, unit = self.problem, self.units[precise]
        if any(least > most for least, most in zip(low, high, strict=True)):
            return None
        v = [0] * len(problem.points[0])
        for k, row in zip(numbers, problem.points, strict=True):
            if k:
                v = [value + k * x for value, x in zip(v, row, strict=True)]
        beta = sum(k * label for k, label in zip(numbers, problem.labels, strict=True))
        least = self._least(numbers, low, high, self.factors[precise])
        total = Fraction(least - self.factors[precise] * max(beta * first, beta * last), self.value)
        square = unit * unit * Fraction(sum(value * value for value in v), 1 << 2 * problem.digits)
        missing = problem.bound - total + square / (4 * problem.a)  # B - D
        if missing <= 0:
            return None
        if beta:
            far = self._up(missing * self.grid / abs(beta * unit))
            first, last = (max(first, last - far), last) if beta > 0 else (first, min(last, first + far))
        factor = unit / (2 * problem.a) * Fraction(self.grid, 1 << 2 * problem.digits)
        products = [sum(value * x for value, x in zip(v, row, strict=True)) for row in problem.points]
        margins = [factor.numerator * product // factor.denominator for product in products]
        return self._cut(low, high, (first, last), margins, self._reach(missing / problem.a))

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

    def _least(self, numbers: list[int], low: list[int], high: list[int], factor: int) -> int:
        """The sum over the points of min cost loss(m) + alpha m over the interval, in units of 1 / value."""
        grid, s, up, down = self.grid, self.s, self.problem.theta.denominator, self.problem.theta.numerator
        at_s, total = (grid - s) * up, 0
        for k, cost, first, last in zip(numbers, self.costs, low, high, strict=True):
            alpha = k * factor
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


def _in_groups(numbers: list[int], size: int) -> Iterator[list[int]]:
    """So many numbers at a time."""
    return iter([numbers[k : k + size] for k in range(0, len(numbers) - size + 1, size)])
