"""Checks a proof of the robust SVM: a |w|^2 + sum_i c_i loss(z_i.w) is nowhere below the bound B, where z_i = y_i x_i and

    loss(m) = [1 - m]_+  for m >= s,     1 - s + theta (s - m)  below,      0 <= theta <= 1,  s <= 0.

1. Equal points count as one with the sum of their costs. A node knows an interval [low_i, high_i] of every margin m_i = z_i.w; the root's
   hold all rules with a |w|^2 < B.
2. A round of multipliers alpha: c_i loss(m) + alpha_i m is piecewise linear in m, so its least value e_i on the interval is at an end, at s or
   at 1. With v = sum_i alpha_i z_i every rule of the node costs at least  a |w|^2 + sum_i e_i - v.w = D + a |w - v / (2 a)|^2, where
   D = sum_i e_i - |v|^2 / (4 a).
3. When D >= B the node is closed. Else rules that cost less than B lie in the ball around v / (2 a) of radius sqrt((B - D) / a), and the
   intervals are cut to its margins. A node is closed too when an interval becomes empty.
4. A record closes its node, or is followed by another round with the new intervals, or by two children: margin p <= s and margin p >= s.

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

Intervals = tuple[list[int], list[int]]
"""The least and the largest margin of each point."""


@dataclass(frozen=True)
class _Problem:
    a: Fraction
    bound: Fraction
    theta: Fraction
    s: Fraction
    points: list[list[int]]  # z_ik 2^digits, of each distinct point
    digits: int
    costs: list[Fraction]


def check_ramp(content: Any, X: Any, y: Any) -> tuple[Fraction, Fraction, int]:
    """(bound, cost of the rule, rounds) of a certificate that holds; Rejected otherwise."""
    matrix, signs = read_data(content, X, y)
    statement = field(content, "problem", "problem")
    a, theta, s = (
        rational(field(statement, name, "problem"), f"problem, {name}") for name in ("coefficient", "theta", "s")
    )
    costs = rationals(field(statement, "costs", "problem"), len(matrix), "problem, costs")
    intercept = field(statement, "intercept", "problem")
    if a <= 0 or min(costs) < 0 or not 0 <= theta <= 1 or s > 0 or intercept not in (False, "penalised"):
        raise Rejected(
            "problem",
            "the coefficient must be positive, no cost negative, theta from 0 to 1, s <= 0, and b 0 or penalised",
        )
    rows = [[Fraction(value) for value in row] for row in matrix.tolist()]
    if intercept:
        rows = [[*row, Fraction(1)] for row in rows]
    signed = [[int(sign) * value for value in row] for row, sign in zip(rows, signs, strict=True)]
    cost = _cost(field(content, "upper", "upper"), signed, costs, (a, theta, s), intercept)
    lower = field(content, "lower", "lower")
    bound = rational(field(lower, "bound", "lower"), "lower, bound")
    if bound > cost:
        raise Rejected("lower", "the bound exceeds the cost of the certificate's own rule")
    if field(lower, "kind", "lower") != "balls":
        raise Rejected("lower", "a ramp loss is proven by balls")
    if bound <= 0:
        return bound, cost, 0
    digits = max((value.denominator.bit_length() - 1 for row in signed for value in row), default=0)
    points, merged = _distinct(lower, signed, [int(sign) for sign in signs], costs)
    whole = [[int(value * 2**digits) for value in row] for row in points]
    return bound, cost, _Walk(_Problem(a, bound, theta, s, whole, digits, merged), lower).check()


def _loss(m: Fraction, theta: Fraction, s: Fraction) -> Fraction:
    return max(Fraction(0), 1 - m) if m >= s else 1 - s + theta * (s - m)


def _cost(
    upper: Any,
    signed: list[list[Fraction]],
    costs: list[Fraction],
    terms: tuple[Fraction, Fraction, Fraction],
    intercept: Any,
) -> Fraction:
    """What the certificate's rule costs."""
    a, theta, s = terms
    w = rationals(field(upper, "w", "upper"), len(signed[0]) - bool(intercept), "upper, w")
    b = rational(field(upper, "b", "upper"), "upper, b")
    if intercept:
        w = [*w, b]
    elif b:
        raise Rejected("upper", "the rule has an offset, and the problem has none")
    total = a * sum((v * v for v in w), Fraction(0))
    for row, cost in zip(signed, costs, strict=True):
        look()
        total += cost * _loss(sum((v * x for v, x in zip(w, row, strict=True)), Fraction(0)), theta, s)
    return total


def _distinct(
    lower: Any, signed: list[list[Fraction]], signs: list[int], costs: list[Fraction]
) -> tuple[list[list[Fraction]], list[Fraction]]:
    """The points that the certificate names, which must be all distinct ones of positive cost, and the sums of their costs.

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
    return [signed[row] for row in rows], sums


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
        reach = self._reach(self.problem.bound / self.problem.a)
        pending: list[Intervals | None] = [([-value for value in reach], reach)]  # None: below a node that is closed
        for number, (op, precise) in enumerate(zip(self.ops, self.precise, strict=True)):
            look()
            place = f"record {number}"
            if not pending:
                raise Rejected("lower, ops", "the tree ends before its list of records does")
            numbers = next(self.numbers[bool(precise)], None)
            if numbers is None or not AGAIN <= op < len(self.norms):
                raise Rejected(place, "its multipliers are missing, or it branches on a point that does not exist")
            node = pending.pop()
            after = None if node is None else self._round(*node, numbers, bool(precise))
            if op == CLOSED and after is not None:
                raise Rejected(place, "it does not close its node")
            if op == AGAIN:
                pending.append(after)
            elif op >= 0:
                pending.extend((None, None) if after is None else self._children(after, op))
        if pending:
            raise Rejected("lower, ops", "the tree ends before all of its nodes are closed")
        return len(self.ops)

    def _children(self, node: Intervals, point: int) -> tuple[Intervals, Intervals]:
        """The node with margin >= s of the point, and the one with margin <= s, which comes first in the tree."""
        (low, high), above, below = node, list(node[0]), list(node[1])
        above[point], below[point] = max(low[point], self.s), min(high[point], self.s)
        return (above, high), (low, below)

    def _reach(self, square: Fraction) -> list[int]:
        """|z_i| times the root of a number, in units of 1 / grid, rounded up."""
        root = (isqrt(-(-(square.numerator << 2 * GRID) // square.denominator)) + 1) * self.grid
        shift = 2 * GRID + self.problem.digits
        return [(norm * root >> shift) + 1 for norm in self.norms]

    def _round(self, low: list[int], high: list[int], numbers: list[int], precise: bool) -> Intervals | None:
        """The intervals after a round of multipliers; None when the node is closed."""
        problem, unit = self.problem, self.units[precise]
        if any(first > last for first, last in zip(low, high, strict=True)):
            return None
        v = [0] * len(problem.points[0])
        for k, row in zip(numbers, problem.points, strict=True):
            if k:
                v = [value + k * x for value, x in zip(v, row, strict=True)]
        total = Fraction(self._least(numbers, low, high, self.factors[precise]), self.value)
        square = unit * unit * Fraction(sum(value * value for value in v), 1 << 2 * problem.digits)
        missing = problem.bound - total + square / (4 * problem.a)  # B - D
        if missing <= 0:
            return None
        reach = self._reach(missing / problem.a)
        factor = unit / (2 * problem.a) * Fraction(self.grid, 1 << 2 * problem.digits)
        low, high = list(low), list(high)
        for i, row in enumerate(problem.points):
            product = factor.numerator * sum(value * x for value, x in zip(v, row, strict=True))
            margin = product // factor.denominator
            low[i], high[i] = max(low[i], margin - reach[i]), min(high[i], margin + 1 + reach[i])
            if low[i] > high[i]:
                return None
        return low, high

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
