"""Data that rounding blurred: proven within the relative margin that scope and certificate state, against brute force in fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.methods.exact.within_margin import inverse_within_margin, multipliers_within_margin
from mipclass.methods.zero_one.prepared import prepare, whitening
from mipclass.methods.zero_one.scope import RELATIVE_MARGIN, column_scales
from tests.breadth import mostly_slow
from tests.truth.relative_margin import least_loss_within

SOLVERS = ("exact", "box", "iis", "pcs")


def blurred(kind: str, seed: int, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Everyday tables whose columns or points depend on each other up to rounding."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9)) if n is None else n
    whole = rng.integers(0, 4, (n, 2)).astype(float)
    celsius = np.round(rng.normal(20.0, 8.0, n), 1)
    kilograms = rng.normal(70.0, 12.0, n)
    shares = rng.random((n, 3))
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    X = {
        "celsius": np.column_stack([celsius, 1.8 * celsius + 32]),
        "pounds": np.column_stack([kilograms, 2.20462262 * kilograms]),
        "shares": shares / shares.sum(axis=1, keepdims=True),
        "standardised": (whole - whole.mean(axis=0)) / np.maximum(whole.std(axis=0), 0.1),
        "turned": whole @ turn,
        "twins": whole / 10 * (1 + 2e-16 * rng.integers(-2, 3, (n, 2))),
        "far": np.column_stack([whole[:, 0] / 10 + 1e6, 0.3 * whole[:, 0] - 1e3]),
    }[kind]
    y = rng.integers(0, 2, n)
    y[0], y[1] = 0, 1
    return X, y


KINDS = ("celsius", "pounds", "shares", "standardised", "turned", "twins", "far")


@cache
def losses_of_blurred(kind: str, seed: int) -> tuple[int, int]:
    """The least losses of every rule and of the rules within the margin."""
    X, y = blurred(kind, seed)
    signs = np.where(y > 0, 1, -1)
    return least_loss_within(X, signs, Fraction(0)), least_loss_within(X, signs, RELATIVE_MARGIN)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", mostly_slow(range(3), fast=[0]))
def test_a_proof_says_which_rules_it_is_about(seed, kind, solver):
    X, y = blurred(kind, seed)
    result = mipclass.solve(models.zero_one(X, y), solver=solver)
    assert (result.status, result.claim, result.bound) == ("optimal", "proven", result.objective)
    assert result.certified == (solver != "pcs")
    every, in_scope = losses_of_blurred(kind, seed)
    if result.extra["scope"]:
        assert every <= result.objective <= in_scope
        assert "stay right when every value moves" in result.extra["scope"]
    else:
        assert result.objective == every


@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_no_proof_of_blurred_data_is_wrong(kind, seed):
    X, y = blurred(kind, seed)
    result = mipclass.solve(models.zero_one(X, y), solver="exact", options={"local_steps": 100})
    verdict = mipclass.verify(result.certificate, X, y)
    assert result.certified
    assert verdict.lower <= least_loss_within(X, np.where(y > 0, 1, -1), verdict.relative_margin)
    assert result.claim == "proven"


def test_noise_of_the_columns_is_no_feature():
    """Fahrenheit from Celsius: rules on the rounding alone make fewer errors, and none of them is meant."""
    X, y = blurred("celsius", 3, n=8)
    signs = np.where(y > 0, 1, -1)
    assert least_loss_within(X, signs, Fraction(0)) < least_loss_within(X, signs, RELATIVE_MARGIN)
    result = mipclass.solve(models.zero_one(X, y), solver="exact")
    assert result.objective == least_loss_within(X, signs, RELATIVE_MARGIN)
    assert result.certified
    assert result.extra["scope"]


@pytest.mark.parametrize("level", [1e-5, 1e-8, 1e-10])
def test_small_differences_above_the_margin_are_features(level):
    rng = np.random.default_rng(3)
    first = rng.normal(size=8)
    X = np.column_stack([first, 1.7 * first + level * rng.normal(size=8)])
    y = rng.integers(0, 2, 8)
    result = mipclass.solve(models.zero_one(X, y), solver="exact")
    assert result.certified
    assert result.objective == result.bound == least_loss_within(X, np.where(y > 0, 1, -1), RELATIVE_MARGIN)


@pytest.mark.parametrize("tau", [0.1, 0.3])
@pytest.mark.parametrize("seed", mostly_slow(range(4), fast=[0]))
def test_limits_on_errors_are_proven_within_the_margin(seed, tau):
    X, y = blurred("standardised", seed, n=24)
    result = mipclass.solve(models.neyman_pearson(X, y, tau), solver="exact")
    assert (result.status, result.claim, result.certified) == ("optimal", "proven", True)


def test_whole_numbers_keep_the_statement_about_every_rule():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (60, 3)).astype(float)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])  # dependent, exactly
    y = rng.integers(0, 2, 60)
    for solver in ("box", "iis"):
        result = mipclass.solve(models.zero_one(X, y), solver=solver)
        assert result.certified
        assert result.extra["scope"] == ""
        assert mipclass.verify(result.certificate, X, y).relative_margin == 0


def test_constant_columns_take_part_in_the_inverse():
    X, y = blurred("celsius", 1, n=12)
    X = np.column_stack([X, np.full(12, 3.3)])
    result = mipclass.solve(models.zero_one(X, y), solver="box")
    assert result.certified
    assert result.extra["scope"]


def test_an_inverse_is_confirmed_exactly():
    X, y = blurred("pounds", 0, n=20)
    Z = prepare(X, np.where(y > 0, 1.0, -1.0)).Z
    M, scales = whitening(Z), column_scales(Z)
    assert M.shape[1] == 2
    assert inverse_within_margin(Z, M, scales) is not None
    assert inverse_within_margin(Z, M, scales / 1e6) is None
    assert inverse_within_margin(Z, M[:, :1], scales) is None


def test_multipliers_are_confirmed_exactly():
    rows = [[1, 3], [-1, -3]]
    A = np.array(rows, dtype=float)
    first, second = multipliers_within_margin(A, rows, [1, 1], 2)
    assert 0 <= 2**40 * 3 * abs(first - second) <= first + second
    assert multipliers_within_margin(A, [[1, 3], [-1, -2]], [1, 1], 2) is None
    assert multipliers_within_margin(A, [[2**41, 3], [1 - 2**41, -3]], [2**41, 1], 2) is not None
    assert multipliers_within_margin(np.array([[1.0, 0.0], [0.0, 1.0]]), [[1, 0], [0, 1]], [1, 1], 2) is None


def test_an_answer_that_is_not_settled_says_what_to_do(monkeypatch):
    from mipclass.methods.exact.box.search import BoxSearch

    monkeypatch.setattr("mipclass.methods.exact.box.search.inverse_within_margin", lambda *_: None)
    assert not BoxSearch(prepare(*blurred("celsius", 0)).Z, np.ones(8, np.int64)).reaches_all
    result = mipclass.solve(models.zero_one(*blurred("celsius", 5, n=9)), solver="box")
    assert (result.status, result.claim) == ("numerical_error", "heuristic")
    assert "Round the features" in result.raw_status
