"""Checks a proof of the hard-margin loss: a |w|^2 + the costs of the points with y (w.x + b) < 1 is nowhere below the bound B.

Trees over points are checked in `subsystems`; here is the proof over boxes of directions, where b is free and every point costs C.

1. The rule w = 0 gets one class wrong at least: C min(n+, n-) must reach B. Every other w is a positive multiple of some u / s with u on a
   face of the cube |u|_max = 1; s_k = 2^exponent_k. The tree halves the faces into boxes.
2. On each leaf every level k with C k < B is closed: no rule of the box has exactly k errors and |w| < rho_k = sqrt((B - C k) / a). All
   rules then cost at least B. Lower levels have larger rho, so what conflicts below rho_k does so at all later levels.
3. Positive x and negative z conflict when u.(rho (x - z) - 2 g) / s <= 0 all over the box, for a vector g with |g| <= 1: if both were
   right then w.(x - z) >= 2 > 2 |w| / rho >= 2 g.w / rho. This file takes g along the box's centre.
4. m disjoint conflicts below rho_k close the levels k to m - 1. If m = k, rules at level k err on one point of each pair and no
   other: unmatched points are right, what conflicts with a right point is wrong, and the mate of a wrong point is right. For v in
   conv(right positives) - conv(right negatives), |w| >= 2 / |v|, which closes level k when |v|^2 (B - C k) <= 4 a.

All numbers are whole numbers or fractions; square roots are rounded to the safe side. Conflicts that float64 shows beyond its rounding errors are not
computed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from operator import gt
from typing import Any

import numpy as np

from .arithmetic import Rejected, field, rational, rationals, unpack, whole, whole_list
from .patience import look
from .problem import read_data
from .subsystems import Clouds, check_point_tree

GRID, ROOT_BITS, LEAF = 44, 60, 255
"""Binary digits of boxes, binary digits of rounded roots, and the byte of a leaf."""

FEW = 4
"""Pairs below which whole numbers are as quick as arrays of float64."""

SPARE = 40
"""Rounding errors per term of a sum in float64, at most."""

TINY = 1e-290
"""More than all errors by underflow."""


@dataclass(frozen=True)
class _Problem:
    a: Fraction
    C: Fraction
    bound: Fraction
    positives: list[list[int]]  # x_ik 2^digits
    negatives: list[list[int]]
    digits: int
    shifts: list[int]  # largest exponent - exponent_k

    @cached_property
    def floats(self) -> tuple[Any, Any, Any]:
        """The points as float64 numbers, as which they were read, and 2^shift of each feature."""
        scale = Fraction(1, 1 << self.digits)
        P, N = (
            np.array([[float(value * scale) for value in row] for row in rows])
            for rows in (self.positives, self.negatives)
        )
        with np.errstate(over="ignore"):
            return P, N, np.ldexp(1.0, np.array(self.shifts))

    @property
    def levels(self) -> int:
        """The number of levels k with C k < B."""
        return max(0, -(-self.bound // self.C))

    def left(self, k: int) -> Fraction:
        """B - C k."""
        return self.bound - self.C * k


def check_hard_margin(content: Any, X: Any, y: Any) -> tuple[Fraction, Fraction, int]:
    """(bound, cost of the rule, nodes) of a certificate that holds; Rejected otherwise."""
    matrix, signs = read_data(content, X, y)
    statement = field(content, "problem", "problem")
    a = rational(field(statement, "coefficient", "problem"), "problem, coefficient")
    costs = rationals(field(statement, "costs", "problem"), len(matrix), "problem, costs")
    intercept = field(statement, "intercept", "problem")
    if a <= 0 or min(costs) <= 0 or intercept not in (True, False):
        raise Rejected("problem", "the coefficient and the costs must be positive, and the offset free or absent")
    exact = [[Fraction(value) for value in row] for row in matrix.tolist()]
    limits = _limits(statement, costs, intercept)
    wrong, norm = _errors(field(content, "upper", "upper"), exact, signs, costs, intercept)
    upper = a * norm + (sum(wrong) if limits is None else 0)
    if limits is not None and (sum(wrong) > limits[0] or any(map(gt, wrong, limits[1:]))):
        raise Rejected("upper", f"the rule leaves out {wrong[0]} positives and {wrong[1]} negatives, more than allowed")
    claimed = rational(field(content["upper"], "loss", "upper"), "upper, loss")
    if claimed != upper:
        raise Rejected("upper", f"the rule's exact cost is {float(upper):.17g}, not {float(claimed):.17g}")
    lower = field(content, "lower", "lower")
    bound = rational(field(lower, "bound", "lower"), "lower, bound")
    if bound > upper:
        raise Rejected("lower", "the bound exceeds the cost of the certificate's own rule")
    clouds = _clouds(exact, [int(sign) for sign in signs], costs, intercept)
    kind = field(lower, "kind", "lower")
    if kind == "subsystems":
        return bound, upper, check_point_tree(lower, clouds, a, bound, limits)
    if kind != "directions":
        raise Rejected("lower", "a hard-margin loss is proven by boxes of directions or by subsystems of points")
    if not intercept or min(costs) != max(costs) or limits is not None:
        raise Rejected("lower", "boxes of directions prove losses with a free offset and equal costs")
    exponents = whole_list(field(lower, "exponents", "lower"), "lower, exponents")
    if len(exponents) != matrix.shape[1] or any(abs(e) > 1100 for e in exponents):
        raise Rejected("lower, exponents", "expected one exponent of a float64 per feature")
    positives, negatives = clouds.positives, clouds.negatives
    if bound > costs[0] * min(len(positives), len(negatives)):
        raise Rejected("lower", "the rule w = 0 costs less than the bound")
    shifts = [max(exponents) - e for e in exponents]
    problem = _Problem(a, costs[0], bound, positives, negatives, clouds.digits, shifts)
    return bound, upper, _check_tree(lower, problem)


def _clouds(exact: list[list[Fraction]], signs: list[int], costs: list[Fraction], intercept: bool) -> Clouds:
    """Positives and negatives in whole numbers; without an offset the points times their labels, and the origin."""
    digits = max((value.denominator.bit_length() - 1 for row in exact for value in row), default=0)
    whole = [[int(value * 2**digits) for value in row] for row in exact]
    if not intercept:
        signed = [[sign * value for value in row] for row, sign in zip(whole, signs, strict=True)]
        return Clouds(signed, [[0] * len(whole[0])], digits, costs, 1)
    order = [[i for i, sign in enumerate(signs) if sign == which] for which in (1, -1)]
    positives, negatives = ([whole[i] for i in indices] for indices in order)
    return Clouds(positives, negatives, digits, [costs[i] for indices in order for i in indices], 2)


def _errors(
    upper: Any, exact: list[list[Fraction]], signs: Any, costs: list[Fraction], intercept: bool
) -> tuple[list[Fraction], Fraction]:
    """The costs of the positives and of the negatives that the certificate's rule gets wrong, and |w|^2."""
    w = rationals(field(upper, "w", "upper"), len(exact[0]), "upper, w")
    b = rational(field(upper, "b", "upper"), "upper, b")
    if b and not intercept:
        raise Rejected("upper", "the rule has an offset, and the problem has none")
    wrong = [Fraction(0), Fraction(0)]
    for row, sign, cost in zip(exact, signs, costs, strict=True):
        look()
        wrong[int(sign < 0)] += cost * (int(sign) * sum((v * x for v, x in zip(w, row, strict=True)), b) < 1)
    return wrong, sum((v * v for v in w), Fraction(0))


def _limits(statement: Any, costs: list[Fraction], intercept: bool) -> tuple[int, ...] | None:
    """How many points may be wrong: of all, then of the positives and of the negatives where these have limits; None without limits."""
    if "limit" not in statement:
        return None
    stated = statement["limit"]
    each = whole_list(stated, "problem, limit") if isinstance(stated, list) else []
    total = sum(each) if each else whole(stated, "problem, limit")
    if min([total, *each]) < 0 or len(each) not in (0, 2) or set(costs) != {1} or (each and not intercept):
        raise Rejected(
            "problem", "a limit on the wrong points is a number, or two with a free offset; and each point costs 1"
        )
    return total, *each


def _check_tree(lower: Any, problem: _Problem) -> int:
    """Walk the tree in preorder; the number of its nodes."""
    ops = unpack(field(lower, "ops", "lower"), "u1", "lower, ops").tolist()
    ints = _Reader(unpack(field(lower, "evidence", "lower"), "i4", "lower, evidence").tolist())
    weights = _Reader(unpack(field(lower, "weights", "lower"), "i8", "lower, weights").tolist())
    d = len(problem.shifts)
    stack = []
    for face in range(2 * d):
        centre, half = [0] * d, [1 << GRID] * d
        centre[face // 2], half[face // 2] = (1 if face % 2 else -1) << GRID, 0
        stack.append((centre, half))
    for node, op in enumerate(ops):
        look()
        if not stack:
            raise Rejected(f"node {node}", "the tree ends before its list of nodes does")
        centre, half = stack.pop()
        if op == LEAF:
            _Leaf(problem, centre, half, f"node {node}").check(ints, weights)
            continue
        if op >= d or half[op] < 2:
            raise Rejected(f"node {node}", "a coordinate is halved that does not exist or is too thin")
        part = half[op] // 2
        for step in (-part, part):
            stack.append(([*centre[:op], centre[op] + step, *centre[op + 1 :]], [*half[:op], part, *half[op + 1 :]]))
    if stack:
        raise Rejected("lower, ops", f"{len(stack)} boxes are not closed")
    return len(ops)


class _Reader:
    """Whole numbers, one after the other; Rejected after the last."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers, self._at = numbers, 0

    def take(self, count: int, place: str) -> list[int]:
        if count < 0 or self._at + count > len(self._numbers):
            raise Rejected(place, "its evidence is incomplete")
        self._at += count
        return self._numbers[self._at - count : self._at]


class _Leaf:
    """One box and the evidence that closes it."""

    def __init__(self, problem: _Problem, centre: list[int], half: list[int], place: str) -> None:
        self.problem, self.centre, self.half, self.place = problem, centre, half, place
        self.n_p = len(problem.positives)
        self.n = self.n_p + len(problem.negatives)
        # g is the centre's direction in the space of w, rounded towards zero, so |g| <= 1.
        along = [c << shift for c, shift in zip(centre, problem.shifts, strict=True)]
        length = isqrt(sum(value * value for value in along)) + 1
        g = [abs(value) * 2**ROOT_BITS // length * (1 if value > 0 else -1) for value in along]
        self.twice_g = [(2 * value << shift) << problem.digits for value, shift in zip(g, problem.shifts, strict=True)]
        self.g = np.array([value * 2.0**-ROOT_BITS for value in g])
        self.known: set[tuple[int, int]] = set()  # conflicts of this level or an earlier one

    def check(self, ints: _Reader, weights: _Reader) -> None:
        """Rejected unless every level is closed."""
        place, level = self.place, 0
        [records] = ints.take(1, place)
        for _ in range(records):
            shown, size = ints.take(2, place)
            if shown != level or level >= self.problem.levels:
                raise Rejected(place, "its levels are not closed one after the other")
            rho = self._rho(level)
            mates = self._matching(ints.take(2 * size, place), rho)
            right = self._right(ints, mates, rho)
            [hull] = ints.take(1, place)
            if size > level:
                if hull:
                    raise Rejected(place, "a level is closed twice")
                level = size
            else:
                if size < level:
                    raise Rejected(place, f"{size} conflicts do not close level {level}")
                self._check_hull(ints.take(2 * hull, place), weights.take(hull, place), right, level)
                level += 1
        if level < self.problem.levels:
            raise Rejected(place, f"level {level} is open")

    def _rho(self, level: int) -> int:
        """2^ROOT_BITS sqrt((B - C k) / a), rounded up."""
        value = self.problem.left(level) / self.problem.a
        return isqrt(-(-(value.numerator << 2 * ROOT_BITS) // value.denominator)) + 1

    def _look_at(self, flat: list[int], rho: int) -> None:
        """Note the pairs that conflict below rho beyond all rounding errors of float64; the others are left to whole numbers."""
        pairs = np.array(flat, dtype=np.int64).reshape(-1, 2)
        first, second = pairs.min(axis=1), pairs.max(axis=1) - self.n_p
        if (
            len(pairs) < FEW
            or first.min() < 0
            or first.max() >= self.n_p
            or not 0 <= second.min() <= second.max() < self.n - self.n_p
        ):
            return
        P, N, scales = self.problem.floats
        centre, half = (np.array(values, dtype=np.float64) * scales for values in (self.centre, self.half))
        x, z, length = P[first], N[second], rho * 2.0**-ROOT_BITS
        with np.errstate(all="ignore"):
            t = length * (x - z) - 2 * self.g
            sizes = length * (np.abs(x) + np.abs(z)) + 2 * np.abs(self.g) + TINY
            most = t @ centre + np.abs(t) @ half
            error = (len(scales) + SPARE) * 2.0**-52 * (sizes @ (np.abs(centre) + half))
            sure = most + error < 0
        self.known.update(zip(first[sure].tolist(), (second[sure] + self.n_p).tolist(), strict=True))

    def _in_conflict(self, first: int, second: int, rho: int) -> None:
        """Rejected unless the positive and the negative conflict below rho."""
        if not (0 <= first < self.n_p <= second < self.n):
            raise Rejected(self.place, "a conflict needs a positive and a negative of the data")
        if (first, second) in self.known:
            return
        x, z = self.problem.positives[first], self.problem.negatives[second - self.n_p]
        most = 0
        for k, shift in enumerate(self.problem.shifts):
            t = (rho * (x[k] - z[k]) << shift) - self.twice_g[k]
            most += self.centre[k] * t + self.half[k] * abs(t)
        if most > 0:
            raise Rejected(self.place, f"points {first} and {second} can both be right in this box")
        self.known.add((first, second))

    def _matching(self, flat: list[int], rho: int) -> dict[int, int]:
        mates: dict[int, int] = {}
        self._look_at(flat, rho)
        for first, second in zip(flat[::2], flat[1::2], strict=True):
            self._in_conflict(first, second, rho)
            if first in mates or second in mates:
                raise Rejected(self.place, "two conflicts share a point")
            mates[first], mates[second] = second, first
        return mates

    def _right(self, ints: _Reader, mates: dict[int, int], rho: int) -> set[int]:
        """The matched points that the steps show to be right."""
        right: set[int] = set()
        [steps] = ints.take(1, self.place)
        flat = ints.take(2 * steps, self.place)
        self._look_at(flat, rho)
        for v, wrong in zip(flat[::2], flat[1::2], strict=True):
            if (v in mates and v not in right) or wrong not in mates:
                raise Rejected(self.place, "a step starts from a point that is not known to be right")
            self._in_conflict(min(v, wrong), max(v, wrong), rho)
            right.add(mates[wrong])
        self._matched = set(mates)
        return right

    def _check_hull(self, flat: list[int], weights: list[int], right: set[int], level: int) -> None:
        """Rejected unless the right points force |w| >= rho."""
        problem, total = self.problem, sum(weights)
        if not weights or min(weights) < 0 or total <= 0:
            raise Rejected(self.place, "hull weights must be nonnegative, and not all zero")
        v = [0] * len(problem.shifts)
        for first, second, weight in zip(flat[::2], flat[1::2], weights, strict=True):
            if not (0 <= first < self.n_p <= second < self.n):
                raise Rejected(self.place, "a hull pair needs a positive and a negative of the data")
            if any(point in self._matched and point not in right for point in (first, second)):
                raise Rejected(self.place, "a hull uses a point that may be wrong")
            x, z = problem.positives[first], problem.negatives[second - self.n_p]
            v = [value + weight * (p - q) for value, p, q in zip(v, x, z, strict=True)]
        square = Fraction(sum(value * value for value in v), (total << problem.digits) ** 2)
        if square * problem.left(level) > 4 * problem.a:
            raise Rejected(self.place, f"the right points do not force the norm of level {level}")
