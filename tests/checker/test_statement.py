"""The checker reads a Model by itself: it agrees with the prover, and notices when the prover misreads."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.checker import check
from mipclass.checker.statement import zero_one_problem
from mipclass.methods.exact import form as proof_form
from mipclass.methods.exact.statement import statement_of


def points(n: int = 24) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 2))
    return X, np.where(X.sum(axis=1) + rng.standard_normal(n) > 0, 1, -1)


def limited() -> models.Model:
    X, y = points()
    problem = models.neyman_pearson(X, y, 0.2, sample_weight=np.where(y > 0, 2.0, 0.5))
    return problem.subject_to(problem.w["x0"] + problem.b >= 0, models.Monotone({"x1": 1}))


def margin() -> models.Model:
    bounds = models.Bounds(w={"x0": (-2.5, 0.75)})
    return models.Model(*points(), minimize=3 * models.ZeroOne(margin=1), subject_to=[bounds])


def through_the_origin() -> models.Model:
    return models.Model(*points(), rule=models.Linear(intercept=False), minimize=models.ZeroOne())


@pytest.mark.parametrize("make", [limited, margin, through_the_origin, lambda: models.zero_one(*points())])
def test_both_readings_agree(make):
    model = make()
    ours, theirs = zero_one_problem(model), statement_of(model)
    assert ours.costs == theirs.costs.tolist()
    assert (ours.margin, ours.intercept) == (theirs.margin, theirs.intercept)
    assert ours.limits == [(coefficients.tolist(), at_most) for coefficients, at_most in theirs.limits]
    assert sorted(ours.rows) == sorted((row.tolist(), at_least) for row, at_least in theirs.rows)
    assert mipclass.solve(model, solver="iis").certified


MISREADINGS = {
    "costs": lambda s: {"costs": 2 * s.costs},
    "no limit": lambda s: {"limits": ()},
    "a looser limit": lambda s: {"limits": tuple((c, k + 1) for c, k in s.limits)},
    "no rows": lambda s: {"rows": ()},
    "a row turned round": lambda s: {"rows": tuple((-a, c) for a, c in s.rows)},
}


@pytest.mark.parametrize("what", MISREADINGS)
def test_a_misreading_of_the_prover_is_noticed(monkeypatch, what):
    """The wrong problem is solved and proven; the model's certificate would have to state another one."""

    def misread(model: models.Model) -> object:
        true = statement_of(model)
        return dataclasses.replace(true, **MISREADINGS[what](true))

    monkeypatch.setattr(proof_form, "statement_of", misread)
    problem = limited()
    result = mipclass.solve(problem, solver="iis")
    assert result.certificate is not None
    assert not result.certified
    verdict = check(result.certificate, problem)
    assert verdict.place == "problem"
    assert "states another problem" in verdict.reason


def test_a_model_that_no_certificate_covers_is_rejected():
    X, y = points()
    certificate = mipclass.solve(models.zero_one(X, y), solver="exact").certificate
    few = models.zero_one(X, y, subject_to=[models.MaxFeatures(1)])
    assert "does not" not in check(certificate, models.zero_one(X, y)).reason
    assert "number of features" in check(certificate, few).reason
    whole = models.zero_one(X, y, subject_to=[models.IntegerCoefficients(2)])
    assert "whole numbers" in check(certificate, whole).reason
    hard = models.Model(X, y, minimize=models.ZeroOne(margin=1), subject_to=models.HardMargin(outliers=0.1))
    assert "do not cover" in check(certificate, hard).reason
    assert "0-1 loss" in check(certificate, models.Model(X, y, minimize=models.Hinge())).reason
    assert "Model" in check(certificate, models.zero_one(X, y).program()).reason


def test_a_margin_certificate_is_about_its_own_model():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 0.0]])
    y = [0, 0, 1, 1]
    hard = models.outlier_svm(X, y, 0.0)
    certificate = mipclass.solve(hard, solver="gilbert").certificate
    assert check(certificate, hard)
    doubled = models.Model(X, y, minimize=models.L2(), subject_to=[models.HardMargin()])
    assert "states another problem" in check(certificate, doubled).reason
    assert "left out" in check(certificate, models.outlier_svm(X, y, 0.25)).reason
    assert not check(certificate, models.zero_one(X, y))


def test_a_share_that_rounding_puts_just_below_one_point_leaves_one_out_for_the_checker_too():
    """1/6 of six points of weight 0.7 is one of them, although 0.7 > (6 * 0.7) / 6 in float64 sums; without it the margin is wider."""
    X, y = np.array([[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]]), [-1, -1, -1, 1, 1, 1]
    of_all = models.outlier_svm(X, y, 0.0, sample_weight=[0.7] * 6)
    certificate = mipclass.solve(of_all, solver="gilbert").certificate
    assert check(certificate, of_all)
    assert "left out" in check(certificate, models.outlier_svm(X, y, 1 / 6, sample_weight=[0.7] * 6)).reason
