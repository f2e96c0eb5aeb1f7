"""Expressions against plain NumPy, on random shapes and operations."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mipclass.errors import InvalidInputError
from mipclass.modelling.expression import Variables, ranged

seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds, n=st.integers(1, 6), d=st.integers(1, 4), sparse=st.booleans())
def test_algebra_agrees_with_numpy(seed: int, n: int, d: int, sparse: bool) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n)
    w, b, z = Variables("w", (d,)), Variables("b"), Variables("z", (n,))
    values = {"w": rng.normal(size=d), "b": rng.normal(), "z": rng.normal(size=n)}
    matrix = sp.csr_array(X) if sparse else X
    expression = y * (matrix @ w + b - 2.0) / 3 + z - (-z) * 0.5 + sum([w[0], b])
    expected = y * (X @ values["w"] + values["b"] - 2.0) / 3 + 1.5 * values["z"] + values["w"][0] + values["b"]
    assert np.allclose(expression.evaluate(values), expected)
    total = expression.sum() + y @ z + (z @ y)
    assert np.isclose(total.evaluate(values), expected.sum() + 2 * y @ values["z"])


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, np.asarray])
def test_matrix_products_of_all_kinds(kind: type) -> None:
    X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    w = Variables("w", (2,))
    assert np.allclose((kind(X) @ w).evaluate({"w": [1.0, 10.0]}), [1.0, 20.0, 3.0])


def test_indexing_by_position_and_name() -> None:
    w = Variables("w", (3,), (("age", "dose", "sex"),))
    values = {"w": [1.0, 2.0, 3.0]}
    assert w["dose"].evaluate(values) == 2.0
    assert w["dose"].shape == ()
    assert np.array_equal(w[["sex", "age"]].evaluate(values), [3.0, 1.0])
    assert np.array_equal(w[1:].evaluate(values), [2.0, 3.0])
    assert np.array_equal(w[np.array([True, False, True])].evaluate(values), [1.0, 3.0])
    V = Variables("V", (2, 3), (None, ("age", "dose", "sex")))
    assert V[1, "sex"].evaluate({"V": np.arange(6.0).reshape(2, 3)}) == 5.0
    assert np.array_equal(V[1].evaluate({"V": np.arange(6.0).reshape(2, 3)}), [3.0, 4.0, 5.0])


def test_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(InvalidInputError, match=r"no entry named 'weight'; it has age, dose"):
        Variables("w", (2,), (("age", "dose"),))["weight"]


def test_no_truth_value_so_chained_comparisons_fail() -> None:
    w = Variables("w", (2,))
    with pytest.raises(TypeError, match="chained comparison"):
        0 <= w <= 1  # noqa: B015
    with pytest.raises(TypeError, match="no truth value"):
        bool(w)


def test_products_of_expressions_are_refused() -> None:
    w = Variables("w", (2,))
    with pytest.raises(InvalidInputError, match="not affine"):
        w * w
    with pytest.raises(InvalidInputError, match="divided by an expression"):
        w / w


@pytest.mark.parametrize("bad", [np.ones(3), np.ones((3, 3))])
def test_shapes_that_do_not_fit(bad: np.ndarray) -> None:
    with pytest.raises(InvalidInputError, match="shapes"):
        bad @ Variables("w", (2,))


def test_rows_know_their_violation() -> None:
    w = Variables("w", (2,))
    assert (w >= [1.0, 0.0]).violation({"w": [0.5, 3.0]}) == 0.5
    assert (w.sum() == 3).violation({"w": [1.0, 1.0]}) == 1.0
    assert ranged(w, 0, 1).violation({"w": [0.0, 1.25]}) == 0.25


def test_rows_read_like_formulas() -> None:
    w, b = Variables("w", (2,), (("age", "dose"),)), Variables("b")
    assert (w["age"] >= 0).text(0) == "w[age] >= 0"
    assert (w["age"] - 2 * w["dose"] <= b + 1).text(0) == "w[age] - 2 w[dose] - b <= 1"
    assert (-w == [0, 3]).text(1) == "-w[dose] == 3"
    assert ranged(w.sum(), -1, 1).text(0) == "-1 <= w[age] + w[dose] <= 1"


@pytest.mark.parametrize("sign", [">", "<"])
def test_strict_inequalities_say_what_to_write(sign: str) -> None:
    w = Variables("w", (2,), (("age", "dose"),))
    for compared in (w, w["age"], 2.0 * w["age"] + 1.0):
        with pytest.raises(InvalidInputError, match=f"cannot be strict.*Write `{sign}=`"):
            _ = compared > 0 if sign == ">" else compared < 0
    with pytest.raises(InvalidInputError, match="State the side that is meant"):
        _ = w["age"] != 0
    assert (w != Variables("w", (3,))) is True
