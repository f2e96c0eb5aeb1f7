"""Equal points in one: what the distinct points of a problem cost, and the rows that stand for them in a proof."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import Rejected, field, rational, tally, whole_list
from ..patience import look
from ..problem import ExactProblem
from .vectors import Floats

IN_64_BITS = 2**62
"""Sums below this are added up in 64 bits, larger ones in Python's integers."""


def merged_costs(problem: ExactProblem) -> list[Fraction]:
    """The costs of the distinct points, and of the features: equal points of equal labels are wrong together."""
    masses, scale = _masses(problem, numbers_of_equals(problem.X.values))
    costs = [Fraction(mass, scale) for mass in masses.ravel().tolist() if mass]
    return [*costs, *([problem.feature_cost] * problem.X.width if problem.feature_cost else [])]


def numbers_of_equals(values: Floats) -> NDArray[np.intp]:
    """The same number for equal rows, counting from 0."""
    look()
    order = np.lexsort(values.T) if values.shape[1] else np.arange(len(values))
    is_new = np.zeros(len(values), np.bool_)
    for column in values.T:
        ordered = column[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    numbers = np.empty(len(values), np.intp)
    numbers[order] = np.cumsum(is_new)
    look()
    return numbers


def _masses(problem: ExactProblem, numbers: NDArray[np.intp]) -> tuple[NDArray[Any], int]:
    """The cost of all points of each number, of the negative and of the positive ones, as whole numbers over a common denominator."""
    different = tally(problem.costs)
    scale = lcm(*(cost.denominator for cost, _ in different))
    whole = {id(cost): cost.numerator * (scale // cost.denominator) for cost, _ in different}
    kind = np.int64 if sum(whole[id(cost)] * times for cost, times in different) < IN_64_BITS else object
    masses = np.zeros((int(numbers.max(initial=-1)) + 1, 2), kind)
    costs = np.array([whole[id(cost)] for cost in problem.costs], dtype=kind)
    np.add.at(masses, (numbers, (np.array(problem.y) > 0).astype(np.intp)), costs)
    return masses, scale


@dataclass(frozen=True)
class ProofRows:
    """Distinct points that stand for the data in a proof.

    Every loss is at least `constant + unit * sum_r weights_r [row r wrong]`.
    """

    points: list[int]
    weights: list[int]
    unit: Fraction
    constant: Fraction


def check_rows(lower: Any, problem: ExactProblem, *, may_repeat: bool = False) -> ProofRows:
    """Merge equal points, cancel opposite ones where the certificate's constant counts them, and hold its weights against it.

    Equal points with equal labels are wrong together, so their costs add. Of equal points with opposite labels at least one kind is
    wrong: min of the two masses is paid by every rule, and what is left on the heavier side can be avoided.
    may_repeat : several rows may stand for the same points, whose costs their weights share. Where rows carry more than a weight (the
        coefficients of limits), each point must have one row.
    """
    numbers = numbers_of_equals(problem.X.values)
    masses, scale = _masses(problem, numbers)
    constant = rational(field(lower, "constant", "lower"), "lower, constant")
    common = masses.min(axis=1) if constant else np.zeros_like(masses[:, 0])
    if constant * scale > sum(common.tolist()):
        raise Rejected("lower, constant", "it is more than opposite twins cost")
    unit = rational(field(lower, "unit", "lower"), "lower, unit")
    if unit <= 0:
        raise Rejected("lower, unit", "it must be positive")
    points = whole_list(field(lower, "points", "lower"), "lower, points")
    weights = whole_list(field(lower, "weights", "lower"), "lower, weights")
    if len(weights) != len(points):
        raise Rejected("lower, weights", f"there are {len(weights)} for {len(points)} points")
    n = problem.n
    for row, i in enumerate(points):
        if not 0 <= i < n:
            raise Rejected(f"lower, point {row}", f"the data have no point {i}")
    places = np.array(points, dtype=np.intp)
    kinds = 2 * numbers[places] + (np.array(problem.y)[places] > 0)
    if not may_repeat:
        is_first = np.zeros(len(kinds), np.bool_)
        is_first[np.unique(kinds, return_index=True)[1]] = True
        if not is_first.all():
            row = int(np.flatnonzero(~is_first)[0])
            raise Rejected(f"lower, point {row}", "it stands for a point that another one stands for already")
    _check_weights(weights, kinds, (masses - common[:, None]).ravel(), unit * scale)
    return ProofRows(points, weights, unit, constant)


def _check_weights(weights: list[int], kinds: NDArray[np.intp], most: NDArray[Any], unit: Fraction) -> None:
    """Rejected where a weight is negative, or the weights of a kind, times the unit, add up to more than `most` of it."""
    look()
    p, q = unit.numerator, unit.denominator
    # Where no weights are left, p and q themselves are still factors, and with small costs they exceed 64 bits.
    largest = max(p * max(1, sum(map(abs, weights))), q * max(1, int(most.max(initial=0))))
    exact = np.int64 if largest < IN_64_BITS else object
    given, taken = np.array(weights, dtype=exact), np.zeros(len(most), exact)
    np.add.at(taken, kinds, given)
    over = taken * p > most.astype(exact) * q
    if not over.any() and not (given < 0).any():
        return
    so_far: dict[int, int] = {}
    for row, (weight, kind) in enumerate(zip(weights, kinds.tolist(), strict=True)):
        so_far[kind] = so_far.get(kind, 0) + weight
        if weight < 0 or so_far[kind] * p > int(most[kind]) * q:
            raise Rejected(f"lower, weight {row}", "it is negative or more than its points cost")
