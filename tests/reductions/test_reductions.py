"""Reductions against their definition: the same feasible points with the same objective, and a way back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.errors import UnsupportedProgramError
from mipclass.modelling.builder import Builder
from mipclass.modelling.expression import ranged
from mipclass.modelling.indicators import Indicators
from mipclass.modelling.program import Program
from mipclass.reductions.base import Answer, Reduction
from mipclass.reductions.chain import Chain
from mipclass.reductions.constant_to_column import ConstantToColumn
from mipclass.reductions.indicator_to_bigm import IndicatorToBigM, _with_entries, big_m
from mipclass.reductions.ranged_to_pairs import RangedToPairs

ALL: list[Reduction] = [
    IndicatorToBigM(),
    RangedToPairs(),
    ConstantToColumn(),
    Chain([RangedToPairs(), IndicatorToBigM(), ConstantToColumn()]),
    Chain([ConstantToColumn(), IndicatorToBigM(), RangedToPairs()]),
]


def name_of(reduction: Reduction) -> str:
    steps = reduction.reductions if isinstance(reduction, Chain) else (reduction,)
    return "-".join(type(step).__name__ for step in steps)


def random_program(seed: int) -> Program:
    """Four bounded continuous columns, three binaries, rows of every sort, some switched, some on their own switch."""
    rng = np.random.default_rng(seed)
    n, binaries, m = 7, 3, 6
    A = rng.integers(-3, 4, (m, n)) * (rng.random((m, n)) < 0.7)
    middle = rng.integers(-3, 4, m).astype(float)
    width = rng.choice([0.0, 2.0], m)
    sort = rng.integers(0, 3, m)
    lower = np.full(n, -1.0) - rng.integers(0, 2, n).astype(float)
    upper = np.full(n, 1.0) + rng.integers(0, 2, n).astype(float)
    lower[-binaries:], upper[-binaries:] = 0.0, 1.0
    switched = np.flatnonzero(rng.random(m) < 0.7)
    half = rng.normal(size=(n, n))
    return Program(
        c=rng.normal(size=n),
        A=sp.csr_array(A.astype(float)),
        row_lower=np.where(sort == 1, -np.inf, middle - width),
        row_upper=np.where(sort == 2, np.inf, middle + width),
        lower=lower,
        upper=upper,
        integer=np.arange(n) >= n - binaries,
        Q=sp.csc_array(half @ half.T) if seed % 2 else None,
        constant=float(rng.integers(-1, 2)),
        indicators=Indicators(
            switched, rng.integers(n - binaries, n, len(switched)), rng.integers(0, 2, len(switched)).astype(np.int8)
        ),
    )


def random_points(program: Program, seed: int, count: int = 80) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.uniform(program.lower, program.upper, (count, program.n_columns))
    corners = rng.random(x.shape) < 0.5
    x = np.where(corners, np.where(rng.random(x.shape) < 0.5, program.lower, program.upper), x)
    return np.where(program.integer, np.round(x), x)


@pytest.mark.parametrize("reduction", ALL, ids=name_of)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=12, deadline=None)
def test_same_points_same_objective(reduction: Reduction, seed: int) -> None:
    program = random_program(seed)
    reduced, receipt = reduction.apply(program)
    assert reduction.apply(reduced)[0] is reduced or isinstance(reduction, Chain)
    for x in random_points(program, seed):
        start = receipt.forward(x)
        assert (program.violation(x) <= 1e-9) == (reduced.violation(start) <= 1e-9)
        assert reduced.objective(start) == pytest.approx(program.objective(x), abs=1e-12)
        np.testing.assert_array_equal(receipt.back(Answer(start)).x, x)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_row_duals_come_back_as_sums_of_sides(seed: int) -> None:
    """A' row_duals is what stationarity uses; splitting rows must not change it."""
    program = random_program(seed)
    reduced, receipt = RangedToPairs().apply(program)
    duals = np.random.default_rng(seed).normal(size=reduced.n_rows)
    back = receipt.back(Answer(row_duals=duals)).row_duals
    np.testing.assert_allclose(program.A.T @ back, reduced.A.T @ duals, atol=1e-12)


def test_m_is_the_smallest_that_interval_arithmetic_gives() -> None:
    build = Builder()
    w = build.variables("w", 2, lower=[-1, 0], upper=[2, 3])
    z = build.binaries("z", 2)
    build.subject_to("margin", np.array([[1.0, -2.0], [3.0, 1.0]]) @ w >= 1, when=(z, 0))
    program = build.build()
    M_lower, M_upper = big_m(program)
    # By hand: least of w0 - 2 w1 is -1 - 6 = -7, so M = 8; least of 3 w0 + w1 is -3, so M = 4.
    assert M_lower.tolist() == [8.0, 4.0]
    assert M_upper.tolist() == [0.0, 0.0]
    reduced, _ = IndicatorToBigM().apply(program)
    assert reduced.A.toarray().tolist() == [[1.0, -2.0, 8.0, 0.0], [3.0, 1.0, 0.0, 4.0]]
    assert reduced.row_lower.tolist() == [1.0, 1.0]
    assert reduced.rows == program.rows


def test_unbounded_row_is_refused_with_the_variable_to_bound() -> None:
    build = Builder("study")
    w = build.variables("w", labels=["age", "dose"], lower=[0, -np.inf], upper=[np.inf, 5])
    z = build.binaries("z", 1)
    build.subject_to("margin", np.array([[1.0, 2.0]]) @ w >= 1, when=(z, 0))
    with pytest.raises(UnsupportedProgramError) as caught:
        IndicatorToBigM().apply(build.build())
    message = str(caught.value)
    assert "margin[0]" in message
    assert "w[dose] (needs a lower bound)" in message
    assert "w[age]" not in message  # its infinite upper side does no harm here
    assert "scip" in message


def test_binary_fixed_at_the_switching_value_needs_no_m() -> None:
    build = Builder()
    w = build.variables("w")
    z = build.binaries("z", 1)
    build.subject_to("row", np.ones((1,)) * w >= 1, when=(z, 0))
    program = build.build()
    fixed = program.replace_with(upper=np.where(program.binary, 0.0, program.upper))
    reduced, _ = IndicatorToBigM().apply(fixed)
    assert reduced.A.toarray().tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("reduction", ALL, ids=name_of)
def test_nothing_to_do_returns_the_program_itself(reduction: Reduction) -> None:
    build = Builder()
    w = build.variables("w", 2, lower=0, upper=1)
    build.subject_to("row", w >= 0.5)
    program = build.build()
    reduced, receipt = reduction.apply(program)
    assert reduced is program
    np.testing.assert_array_equal(receipt.row_origin, np.arange(program.n_rows))


@given(seed=st.integers(0, 10_000), last=st.booleans())
@settings(max_examples=60, deadline=None)
def test_appending_entries_is_adding_them(seed: int, last: bool) -> None:
    rng = np.random.default_rng(seed)
    A = sp.csr_array(rng.integers(-2, 3, (5, 9)) * (np.arange(9) < 6))
    rows = np.flatnonzero(rng.random(5) < 0.6)
    columns = rng.integers(6, 9, len(rows)) if last else rng.integers(0, 9, len(rows))
    data = rng.normal(size=len(rows))
    expected = A.toarray().astype(float)
    expected[rows, columns] += data
    got = _with_entries(sp.csr_array(A, dtype=float), rows, columns, data)
    assert np.array_equal(got.toarray(), expected)
    assert got.has_sorted_indices


def test_a_models_own_big_m_survives_the_split() -> None:
    build = Builder()
    w = build.variables("w", 1, lower=-10, upper=10)
    z = build.binaries("z", 1)
    build.subject_to("window", ranged(1.0 * w, 0.0, 1.0), when=(z, 0))
    program = build.build()
    known = Indicators(program.indicators.row, program.indicators.column, program.indicators.value, np.array([3.0]))
    split, _ = RangedToPairs().apply(program.replace_with(indicators=known))
    M_lower, M_upper = big_m(split)
    assert np.maximum(M_lower, M_upper).tolist() == [3.0, 3.0]
