"""Program and Builder: assembly against dense NumPy, names, checks, equality, printing."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mipclass.errors import InvalidInputError
from mipclass.modelling.builder import Builder
from mipclass.modelling.indicators import Indicators
from mipclass.modelling.program import Feature, Program


def small(
    rng: np.random.Generator, n: int = 5, d: int = 3, sparse: bool = False
) -> tuple[Program, dict[str, np.ndarray]]:
    X, y = np.round(rng.normal(size=(n, d)), 2), rng.choice([-1.0, 1.0], n)
    build = Builder("small")
    w = build.variables("w", labels=[f"f{j}" for j in range(d)], lower=-1, upper=1)
    b = build.variables("b")
    z = build.binaries("error", n)
    matrix = sp.csr_array(X) if sparse else X
    build.subject_to("margin", y * (matrix @ w + b) >= 1, when=(z, 0))
    build.subject_to("mixed", matrix @ w - 2 * w[0] + z <= 3)
    build.subject_to("total", z.sum() + w[1:].sum() == 1.5)
    build.minimize(z.sum() + 4.0)
    build.add_square(X @ w + b - 1.0, np.arange(1.0, n + 1))
    return build.build(), {"X": X, "y": y}


@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), d=st.integers(2, 4), sparse=st.booleans())
def test_assembly_matches_dense_arithmetic(seed: int, n: int, d: int, sparse: bool) -> None:
    rng = np.random.default_rng(seed)
    program, data = small(rng, n, d, sparse)
    X, y = data["X"], data["y"]
    x = rng.normal(size=program.n_columns)
    w, b, z = x[:d], x[d], x[d + 1 :]
    activity = np.concatenate([y * (X @ w + b), X @ w - 2 * w[0] + z, [z.sum() + w[1:].sum()]])
    assert np.allclose(program.A @ x, activity)
    assert np.allclose(program.objective(x), z.sum() + 4 + np.arange(1.0, n + 1) @ (X @ w + b - 1) ** 2)
    assert np.array_equal(program.row_lower, np.r_[np.ones(n), np.full(n, -np.inf), 1.5])
    assert np.array_equal(program.row_upper, np.r_[np.full(n, np.inf), np.full(n, 3.0), 1.5])
    assert np.array_equal(program.indicators.row, np.arange(n))
    assert np.array_equal(program.indicators.column, d + 1 + np.arange(n))


def test_violation_counts_only_switched_on_rows() -> None:
    build = Builder()
    x = build.variables("x", lower=0, upper=5)
    z = build.binaries("z")
    build.subject_to("r", x >= 3, when=(z, 0))
    program = build.build()
    assert program.violation([1.0, 0.0]) == 2.0
    assert program.violation([1.0, 1.0]) == 0.0
    assert program.violation([6.0, 1.0]) == 1.0
    assert program.violation([4.0, 0.25]) == 0.25


def test_kind_and_needs() -> None:
    program, _ = small(np.random.default_rng(0))
    assert program.kind is Feature.MIQP
    assert program.needs == {Feature.MIQP, Feature.INDICATOR}
    lp = Program([1.0], np.eye(1), [0.0], [1.0], [0.0], [1.0], [False])
    assert lp.kind is Feature.LP
    assert lp.replace_with(integer=[True]).kind is Feature.MIP
    assert lp.replace_with(Q=np.eye(1)).kind is Feature.QP


def test_names_split_and_join() -> None:
    program, _ = small(np.random.default_rng(1), n=2, d=2)
    assert program.column_names() == ["w[f0]", "w[f1]", "b", "error[0]", "error[1]"]
    assert program.row_names()[-1] == "total"
    x = np.arange(5.0)
    parts = program.split(x)
    assert parts["b"].shape == ()
    assert np.array_equal(program.join(parts), x)
    assert np.isnan(program.join({"w": [1.0, 2.0]})[2:]).all()


def test_equality_pickling_and_read_only() -> None:
    program, _ = small(np.random.default_rng(2))
    again, _ = small(np.random.default_rng(2))
    assert program == again
    assert pickle.loads(pickle.dumps(program)) == program
    assert program != program.replace_with(constant=1.0)
    assert program != small(np.random.default_rng(3))[0]
    with pytest.raises(ValueError, match="read-only"):
        program.c[0] = 1.0


def counting(*costs: float) -> Program:
    build = Builder()
    z = build.binaries("z", len(costs))
    build.minimize(np.array(costs) @ z + 0.25)
    return build.build()


def test_bounds_round_up_to_multiples_of_the_objectives_step() -> None:
    program = counting(2, 4, 6)
    assert program.objective_step() == 2
    assert program.round_bound(1.4) == 2.25
    assert program.round_bound(2.2500000001) == 2.25
    small = counting(1e-12, 1e-12)
    assert small.objective_step() == Fraction(1e-12)
    assert small.round_bound(0.25 + 1.4e-12) == 0.25 + 2e-12


def test_bounds_of_objectives_without_a_step_stay() -> None:
    assert counting(0.1, 0.37).objective_step() is None
    assert counting(0.1, 0.37).round_bound(0.3) == 0.3
    build = Builder()
    build.minimize(build.binaries("z", 1)[0] + build.variables("x", lower=0.0))
    assert build.build().objective_step() is None


def test_printing_says_sizes_and_blocks() -> None:
    text = str(small(np.random.default_rng(0), n=4)[0])
    assert "MIQP with 8 columns, 4 binary, 9 rows (4 with an indicator)" in text
    assert "variables w[3]" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"c": [1.0, 2.0]}, "shape"),
        ({"c": [np.nan]}, "c holds NaN"),
        ({"lower": [np.nan]}, "bounds hold NaN"),
        ({"A": np.array([[np.inf]])}, "A holds NaN or infinity"),
        ({"indicators": Indicators(np.array([0]), np.array([0]), np.array([0], np.int8))}, "not binary"),
    ],
)
def test_bad_programs_are_refused(change: dict[str, object], message: str) -> None:
    good = Program([1.0], np.eye(1), [0.0], [1.0], [0.0], [1.0], [False])
    with pytest.raises(InvalidInputError, match=message):
        good.replace_with(**change)


def test_builder_refuses_what_cannot_be_placed() -> None:
    build = Builder("b")
    w = build.variables("w", 2)
    with pytest.raises(InvalidInputError, match="already has"):
        build.variables("w", 2)
    with pytest.raises(InvalidInputError, match="needs a comparison"):
        build.subject_to("r", w)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="must be a scalar"):
        build.minimize(w)
    z = build.binaries("z", 2)
    build.subject_to("r", w >= 1, when=(z[0] + z, 0))
    with pytest.raises(InvalidInputError, match="binary variable itself"):
        build.build()
