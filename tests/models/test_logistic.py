"""The logistic loss as a declared term: its value, its tangents, its multiplier."""

from __future__ import annotations

import numpy as np
import pytest

from mipclass import models
from mipclass.errors import InvalidInputError
from tests.truth.logistic import loss

X = np.array([[0.0, 1.0], [2.0, -1.0], [1.0, 1.0], [0.5, 3.0]])
Y = np.array([1, -1, 1, -1])


def test_its_value_is_the_weighted_sum() -> None:
    w, b, c = np.array([0.7, -0.4]), 0.3, np.array([1.0, 2.0, 0.5, 3.0])
    problem = models.Model(X, Y, minimize=2.0 * models.Logistic(), sample_weight=c)
    assert problem.recount({"w": w, "b": b}) == pytest.approx(2.0 * loss(X, Y, w, b, c=c))
    scaled = models.Model(X, Y, minimize=models.Logistic(multiplier=4.0))
    assert scaled.recount({"w": w, "b": b}) == pytest.approx(loss(X, Y, w, b, 4.0))
    free = models.Model(X, Y, minimize=models.Logistic((0.5, 8.0)))
    assert free.recount({"w": w, "b": b, "multiplier": 3.0}) == pytest.approx(loss(X, Y, w, b, 3.0))
    with pytest.raises(InvalidInputError, match="multiplier"):
        free.recount({"w": w, "b": b})


@pytest.mark.parametrize("term", [models.Logistic(), models.Logistic(2.0), models.SquaredHinge(), models.Squared()])
def test_tangents_touch_the_loss_and_stay_below(term: models.Term) -> None:
    rng = np.random.default_rng(0)
    rules = tuple({"w": rng.normal(size=2), "b": np.asarray(rng.normal())} for _ in range(4))
    problem = models.Model(X, Y, minimize=models.OuterApproximation(term, rules))
    program = problem.program()
    tangents = program.A.toarray(), program.row_lower
    assert program.n_rows == 4
    for rule in (*rules, *({"w": rng.normal(size=2), "b": np.asarray(rng.normal())} for _ in range(20))):
        x = program.join({"w": rule["w"], "b": rule["b"], "loss": problem.recount(rule)})
        slack = tangents[0] @ x - tangents[1]
        assert slack.min() >= -1e-9
        if rule is rules[0]:
            assert slack[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("multiplier", [0, -1.0, "a", (2.0, 1.0), (0.0, 1.0), (1.0,), np.nan])
def test_a_wrong_multiplier_is_refused(multiplier: object) -> None:
    with pytest.raises(InvalidInputError, match="multiplier"):
        models.Logistic(multiplier)  # type: ignore[arg-type]


def test_the_formula_says_what_is_minimised() -> None:
    assert "log(1 + exp(-margin_i))" in str(models.Model(X, Y, minimize=models.Logistic()))
    assert "multiplier in [0.5, 8]" in models.Logistic((0.5, 8.0)).formula()
    assert r"\log" in models.Logistic().latex()
