"""The scope of a bound: a certificate that states another relative margin than its proof needs, or bends its numbers, is rejected."""

from __future__ import annotations

import base64
import copy
import zlib
from fractions import Fraction

import numpy as np
import pytest

import mipclass
from mipclass import models


@pytest.fixture(scope="module")
def proofs():
    """solver -> (X, y, certificate content) of a table with Celsius and Fahrenheit; "lemmas": standardised whole numbers."""
    rng = np.random.default_rng(4)
    celsius = np.round(rng.normal(20.0, 8.0, 30), 1)
    X = np.column_stack([celsius, 1.8 * celsius + 32])
    y = (celsius + rng.normal(0, 6, 30) > 20).astype(int)
    found = {}
    for solver in ("box", "iis"):
        result = mipclass.solve(models.zero_one(X, y), solver=solver)
        found[solver] = (X, y, result.certificate.content)
    rng = np.random.default_rng(2)
    whole = rng.integers(0, [5, 7], (60, 2))
    X = (whole - whole.mean(axis=0)) / whole.std(axis=0)
    y = (whole.sum(axis=1) + rng.normal(0, 2, 60) > 5).astype(int)
    result = mipclass.solve(models.zero_one(X, y), solver="box")
    found["lemmas"] = (X, y, result.certificate.content)
    return found


NAMES = ("box", "iis", "lemmas")


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_states_the_scope(proofs, name):
    X, y, content = proofs[name]
    verdict = mipclass.verify(content, X, y)
    assert verdict.optimal
    assert verdict.relative_margin == Fraction(1, 2**40)
    assert "no rule whose right points stay right when every value moves by up to 9.1e-13 of the largest" in str(
        verdict
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stated", ["0", None, f"1/{2**70}"])
def test_a_smaller_margin_than_the_proof_needs_is_rejected(proofs, name, stated):
    X, y, content = proofs[name]
    lower = {**content["lower"], "relative_margin": stated}
    if stated is None:
        del lower["relative_margin"]
    assert not mipclass.verify({**content, "lower": lower}, X, y)


@pytest.mark.parametrize("stated", [f"1/{2**39}", "1", "-1/2", "nonsense", "inf"])
def test_a_margin_out_of_range_is_rejected(proofs, stated):
    X, y, content = proofs["box"]
    verdict = mipclass.verify({**content, "lower": {**content["lower"], "relative_margin": stated}}, X, y)
    assert not verdict
    assert verdict.place == "lower, relative_margin"


def test_scales_are_those_of_the_data(proofs):
    """Whatever scales a certificate brings along are not read."""
    X, y, content = proofs["iis"]
    lower = {**content["lower"], "relative_margin": f"1/{2**70}", "scales": ["1e30"] * 3}
    assert not mipclass.verify({**content, "lower": lower, "scales": ["1e30"] * 3}, X, y)


def test_an_inverse_that_loses_more_is_rejected(proofs):
    X, y, content = proofs["box"]
    for entry in range(len(content["lower"]["proof"]["inverse"])):
        bad = copy.deepcopy(dict(content))
        value = float.fromhex(bad["lower"]["proof"]["inverse"][entry])
        bad["lower"]["proof"]["inverse"][entry] = (value + 1e-9 * max(1.0, abs(value))).hex()
        verdict = mipclass.verify(bad, X, y)
        assert not verdict
        assert "than the relative margin allows" in verdict.reason
    bad = copy.deepcopy(dict(content))
    del bad["lower"]["proof"]["inverse"]
    assert "misses rules" in mipclass.verify(bad, X, y).reason
    bad["lower"]["proof"]["inverse"] = ["0x0p0"]
    assert not mipclass.verify(bad, X, y)


def test_multipliers_that_leave_more_than_the_margin_are_rejected(proofs):
    X, y, content = proofs["iis"]
    packed = content["lower"]["supports"]["multipliers"]
    words = zlib.decompress(base64.b64decode(packed)).decode().split()
    for at in range(len(words)):
        changed = [*words]
        changed[at] = f"{int(words[at], 16) + int(words[at], 16) // 10**6 + 1:x}"
        bad = copy.deepcopy(dict(content))
        bad["lower"]["supports"]["multipliers"] = base64.b64encode(zlib.compress(" ".join(changed).encode())).decode()
        verdict = mipclass.verify(bad, X, y)
        if int(words[at], 16) > 10**6:
            assert not verdict
            assert "its combination is not zero" in verdict.reason


def test_a_margin_of_one_has_no_relative_margin():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    problem = models.Model(X, y, minimize=models.ZeroOne(margin=1))
    result = mipclass.solve(problem, solver="iis")
    content = result.certificate.content
    assert result.certified
    bad = {**content, "lower": {**content["lower"], "relative_margin": f"1/{2**40}"}}
    assert mipclass.verify(bad, X, y).place == "lower, relative_margin"


def test_the_problem_in_words_names_the_scope(proofs):
    X, y, content = proofs["iis"]
    verdict = mipclass.verify(content, X, y)
    assert "every rule (w, b) of any size whose right points stay right" in verdict.problem.scope
    assert verdict.as_dict()["relative_margin"] == f"1/{2**40}"
