"""The costs of points as whole numbers, so that sums of costs are exact.

Every float64 is a whole number times a power of two, so the costs of all points are whole numbers times one common power of two:

    cost_i = whole_i * 2^exponent.

Sums of whole numbers do not depend on their order, and two sums are equal or they are not: nothing has to be called equal up to
rounding. The searches count in float64 and int64, where sums below 2^COUNT_BITS are exact. Whole numbers whose sum is larger (random
weights, or huge weights beside tiny ones) are rounded down to multiples of a unit. A bound on the rounded costs is a bound on the
costs, and what the rounding takes away is part of the distance between bound and loss that the answer shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Positions

COUNT_BITS = 52
"""Binary digits of the sum of all counted costs, at most: sums stay exact in float64, and their doubles too."""

PROOF_BITS = 60
"""The same for proofs of the plain loss, which count in int64 alone: the two class weights of "balanced" stay exact up to a hundred
points."""

MANTISSA_BITS = 53
"""Binary digits of a float64."""

INT64_BITS = 62
"""Binary digits of a sum up to which whole costs are held as int64; beyond that as Python's integers."""


@dataclass(frozen=True, eq=False)
class ExactCosts:
    """Costs whole_i * 2^exponent, exactly. `whole` holds int64, or Python's integers where their sum needs more than 62 digits."""

    whole: NDArray[Any]
    exponent: int

    @property
    def unit(self) -> Fraction:
        """What one stands for."""
        return Fraction(2) ** self.exponent

    @property
    def total(self) -> Fraction:
        """The sum of all costs."""
        return self.unit * int(self.whole.sum())

    def sum(self, chosen: NDArray[Any]) -> Fraction:
        """The sum of the chosen costs (a mask or positions)."""
        return self.unit * int(self.whole[chosen].sum())

    def summed_by(self, group: Positions, count: int) -> ExactCosts:
        """The sums over the members of each of so many groups; members of group -1 are left out."""
        kept = group >= 0
        sums = np.zeros(count, dtype=self.whole.dtype)
        np.add.at(sums, group[kept], self.whole[kept])
        return ExactCosts(sums, self.exponent)


def exact_costs(costs: Array) -> ExactCosts:
    """Float64 costs >= 0 as whole numbers, with the largest exponent that allows it. O(n)."""
    positive = costs[costs > 0]
    if not len(positive):
        return ExactCosts(np.zeros(len(costs), dtype=np.int64), 0)
    share, exponents = np.frexp(positive)
    digits = np.ldexp(share, MANTISSA_BITS).astype(np.int64)
    trailing = np.frexp((digits & -digits).astype(np.float64))[1] - 1  # zeros at the end of the digits
    exponent = int((exponents - MANTISSA_BITS + trailing).min())
    if int(exponents.max()) - exponent + len(positive).bit_length() <= INT64_BITS:
        return ExactCosts(np.ldexp(costs, -exponent).astype(np.int64), exponent)
    whole = np.zeros(len(costs), dtype=object)
    shifts = exponents - MANTISSA_BITS - exponent
    whole[costs > 0] = [_shifted(d, s) for d, s in zip(digits.tolist(), shifts.tolist(), strict=True)]
    return ExactCosts(whole, exponent)


def _shifted(value: int, places: int) -> int:
    return value << places if places >= 0 else value >> -places


@dataclass(frozen=True, eq=False)
class Counts:
    """Whole numbers of a bounded sum and the unit that they count: counts_i * unit <= cost_i.

    is_exact : equal for every i.
    """

    counts: NDArray[np.int64]
    unit: Fraction
    is_exact: bool


def count_costs(costs: ExactCosts, at_most: int | None = None, bits: int = COUNT_BITS) -> Counts:
    """Costs as counts: divided by their greatest common divisor, or rounded down to a grid where their sum is too large.

    at_most : count no cost higher than this whole number. Where some rule costs that much in all, an error that costs more is as
        bad as the rule, and the grid of what is left may be finer.
    bits : the sum of all counts is below 2^bits.
    """
    whole = costs.whole
    total = int(whole.sum())
    if not total:
        return Counts(np.zeros(len(whole), dtype=np.int64), costs.unit, True)
    common = int(np.gcd.reduce(whole)) if whole.dtype != object else gcd(*whole.tolist())
    if total // common < 1 << bits:
        return Counts((whole // common).astype(np.int64), costs.unit * common, True)
    if at_most is not None:
        whole = np.minimum(whole, at_most)
        total = int(whole.sum())
    shift = max(0, total.bit_length() - bits)
    return Counts((whole >> shift).astype(np.int64), costs.unit * 2**shift, False)
