"""Attainable sums, listed by the prover and by the checker in code of their own, against all subsets."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mipclass.checker import arithmetic as of_the_checker
from mipclass.methods.exact import sums as of_the_prover
from mipclass.methods.exact.sums import Sums


def by_subsets(values: list[int], bound: int) -> int:
    sums = {
        sum(v for v, used in zip(values, chosen, strict=True) if used) for chosen in product((0, 1), repeat=len(values))
    }
    return min((s for s in sums if s >= bound), default=bound)


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 60))
def test_the_least_sum_from_a_bound_on(values, bound):
    assert Sums(values).least_from(bound) == by_subsets(values, bound)
    assert of_the_checker.least_sum(values, bound) == by_subsets(values, bound)


def test_sums_beyond_64_bits_are_exact():
    values = [3**50, 5**40, 7**35]
    assert Sums(values).least_from(3**50 + 1) == by_subsets(values, 3**50 + 1)
    thirds = [Fraction(1, 3), Fraction(1, 7)]
    assert of_the_checker.least_sum(thirds, Fraction(2, 5)) == Fraction(10, 21)


def test_too_many_sums_leave_the_bound_as_it_is():
    values = (2.0 ** np.arange(60)).astype(np.int64).tolist()
    assert not Sums(values).known
    assert Sums(values).least_from(12345) == 12345
    assert of_the_checker.least_sum(values, 12345) == 12345


@pytest.mark.parametrize("count", [10, 1000])
def test_two_costs_are_listed_whatever_their_number(count):
    a, b = 1153846153846153, 882352941176470
    assert Sums([a] * count + [b] * count).least_from(10 * a - 5) == 10 * a


def test_the_checker_lists_no_fewer_sums_than_the_prover():
    assert of_the_checker.MOST_SUMS >= of_the_prover.MOST_SUMS
