"""Rules of related heuristics as first rules of proofs of the hard-margin loss."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.arrays import Array
from mipclass.methods.hard_margin.form import HardMarginForm, match_any
from mipclass.methods.hard_margin.incumbents import Rule, with_related
from mipclass.models import L2, Linear, Model, ZeroOne
from mipclass.protocol.run import Run
from mipclass.solving.relatives import related_rules


def overlapping(n: int, d: int, apart: float = 0.7) -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    y = np.where(np.arange(n) % 2, 1, -1)
    return rng.normal(size=(n, d)) + apart * y[:, None], y


def hard_margin(X: Array, y: Array, **how: Any) -> Model:
    return Model(X, y, minimize=0.5 * L2() + 10 * ZeroOne(margin=1), **how)


def rules(problem: Model, errors: int = 3, time_limit: float | None = None) -> list[Array]:
    return list(related_rules(problem, Run(time_limit=time_limit), errors))


def test_all_four_heuristics_take_equal_weights_and_a_free_offset() -> None:
    X, y = overlapping(40, 3)
    found = rules(hard_margin(X, y))
    assert [w.shape for w in found] == [(3,)] * 4
    shares = [max(np.mean(y * (X @ w + b) > 0) for b in np.linspace(-5, 5, 201)) for w in found]
    assert min(shares) > 0.8  # each is a sensible rule, not a constant one


def test_weights_and_no_offset_leave_the_heuristics_of_the_ramp_loss() -> None:
    X, y = overlapping(40, 3)
    assert len(rules(hard_margin(X, y, sample_weight=1.0 + np.arange(40) % 2))) == 3
    assert len(rules(hard_margin(X, y, rule=Linear(intercept=False)))) == 3


def test_a_number_of_outliers_leaves_the_rgd_tree() -> None:
    X, y = overlapping(40, 3)
    assert len(rules(models.outlier_svm(X, y, 8), errors=8)) == 1


def test_a_class_that_could_be_left_out_whole_has_no_tree() -> None:
    X, y = overlapping(40, 3)
    assert len(rules(hard_margin(X, y), errors=20)) == 3


def test_no_time_gives_no_rules() -> None:
    assert rules(hard_margin(*overlapping(40, 3)), time_limit=0.0) == []


def test_other_problems_have_no_relatives() -> None:
    assert rules(models.zero_one(*overlapping(40, 3))) == []


def test_a_poor_rule_is_replaced() -> None:
    problem = hard_margin(*overlapping(60, 4))
    form, run = match_any(problem), Run()
    assert isinstance(form, HardMarginForm)
    constant: Rule = (300.0, np.zeros(4), 1.0)
    assert with_related(form, constant, run) == constant
    run.related = partial(related_rules, problem, run)
    cost, w, b = with_related(form, constant, run)
    assert cost < 0.5 * 300
    assert problem.recount({"w": w, "b": np.asarray(b)}) == pytest.approx(cost, rel=1e-9)


def test_a_proof_without_descents_gets_its_rule_from_relatives() -> None:
    problem = hard_margin(*overlapping(120, 8, apart=0.2))
    none = {"starts": 0, "kicks": 0, "certificate": False}
    first, later = (
        mipclass.solve(problem, "subsystems", options={**none, "node_limit": nodes}) for nodes in (1, 5_100)
    )
    assert later.objective < first.objective
