"""Residuals and Farkas proofs against small cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.backends.kkt import residuals
from mipclass.backends.rays import proves_infeasible
from mipclass.backends.square_root import square_root
from mipclass.modelling.program import Program


def textbook() -> Program:
    """min -3x - 5y, x <= 4, 2y <= 12, 3x + 2y <= 18, x, y >= 0: optimum (2, 6), multipliers (0, -3/2, -1)."""
    return Program(
        c=np.array([-3.0, -5.0]),
        A=sp.csr_array(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 2.0]])),
        row_lower=np.full(3, -np.inf),
        row_upper=np.array([4.0, 12.0, 18.0]),
        lower=np.zeros(2),
        upper=np.full(2, np.inf),
        integer=np.zeros(2, dtype=bool),
    )


RIGHT = (np.array([2.0, 6.0]), np.array([0.0, -1.5, -1.0]), np.zeros(2))


def test_zero_at_the_optimum() -> None:
    assert residuals(textbook(), *RIGHT).worst == 0.0


@pytest.mark.parametrize(
    ("part", "change", "where"),
    [
        (0, np.array([1.0, 0.0]), "primal"),  # 3x + 2y = 21 > 18
        (1, np.array([1.0, 0.0, 0.0]), "dual"),  # a positive multiplier on a row without a lower side
        (2, np.array([0.5, 0.0]), "dual"),  # stationarity is off by 0.5
        (1, np.array([-1.0, 0.0, 0.0]), "gap"),  # a multiplier on a row with slack 2
    ],
)
def test_each_fault_shows_where_it_is(part: int, change: np.ndarray, where: str) -> None:
    pair = list(RIGHT)
    pair[part] = pair[part] + change
    assert getattr(residuals(textbook(), *pair), where) > 1e-2


def test_farkas_by_hand() -> None:
    """x + y >= 3 against x, y <= 1: multiplier 1 on the row and -1 on each upper bound add up to 1 > 0."""
    program = Program(
        c=np.zeros(2),
        A=sp.csr_array(np.ones((1, 2))),
        row_lower=np.array([3.0]),
        row_upper=np.array([np.inf]),
        lower=np.zeros(2),
        upper=np.ones(2),
        integer=np.zeros(2, dtype=bool),
    )
    row = np.array([1.0])
    assert proves_infeasible(program, row)
    assert proves_infeasible(program, 1e6 * row)
    assert not proves_infeasible(program, -row)  # on absent and on the wrong sides
    assert not proves_infeasible(program, 0 * row)
    assert not proves_infeasible(program.replace_with(row_lower=np.array([2.0])), row)  # feasible at (1, 1)
    assert not proves_infeasible(program.replace_with(upper=np.array([1.0, np.inf])), row)  # feasible at (0, 3)


@given(st.integers(0, 1000), st.integers(1, 6), st.integers(0, 6))
@settings(max_examples=50, deadline=None)
def test_square_root_squared_is_q(seed: int, n: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n, rank)) * (rng.random((n, rank)) < 0.6)
    Q = half @ half.T
    program = Program(
        np.zeros(n), sp.csr_array((0, n)), np.zeros(0), np.zeros(0), np.zeros(n), np.ones(n), np.zeros(n, bool), Q=Q
    )
    if program.Q is not None:
        F = square_root(program)
        assert F is not None
        np.testing.assert_allclose((F.T @ F).toarray(), Q, atol=1e-9 * max(1.0, np.abs(Q).max()))


def test_square_root_of_a_saddle_is_refused() -> None:
    Q = sp.csc_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert square_root(textbook().replace_with(Q=Q)) is None
