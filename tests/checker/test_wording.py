"""A verdict says which problem it is about, and can be asked to hold for a given model."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.modelling.model import Model

X = np.array([[-1.0], [-2.0], [-3.0], [1.0], [2.0], [3.0]])
y = np.array([0, 0, 0, 1, 1, 1])


def with_row() -> Model:
    """Separable data with the row w <= 0: three errors are the optimum there, none without it."""
    problem = models.zero_one(X, y)
    return problem.subject_to(problem.w[0] <= 0)


def others() -> dict[str, Model]:
    return {
        "rows": with_row(),
        "limits": models.zero_one(X, y, subject_to=[models.FalsePositiveRate(at_most=0.4)]),
        "weights": models.zero_one(X, y, sample_weight=[2, 1, 1, 1, 1, 1]),
        "offset": models.Model(X, y, minimize=models.ZeroOne(), rule=models.Linear(intercept=False)),
    }


def test_the_verdict_states_the_row() -> None:
    result = mipclass.solve(with_row(), "exact")
    assert result.objective == 3
    verdict = mipclass.verify(result.certificate, X, y)
    assert verdict.optimal
    assert verdict.problem is not None
    assert verdict.problem.rows == [{"w": [-1.0], "b": 0.0, "at_least": 0.0}]
    assert "no rule of the problem below has a loss below 3" in str(verdict)
    assert "-1 w[0] >= 0" in str(verdict)
    assert "-1 w[age] >= 0" in verdict.in_words(["age"])
    assert "every rule (w, b) of any size that keeps the rows above" in str(verdict)
    assert json.loads(json.dumps(verdict.as_dict()))["problem"]["rows"] == verdict.problem.rows


@pytest.mark.parametrize("part", sorted(others()))
def test_a_certificate_of_another_problem_is_rejected_for_a_model(part: str) -> None:
    other, plain = others()[part], models.zero_one(X, y)
    made = {
        name: mipclass.solve(problem, "exact").certificate for name, problem in (("other", other), ("plain", plain))
    }
    assert mipclass.verify(made["other"], X, y)
    assert mipclass.verify(made["other"], X, y, problem=other)
    assert mipclass.verify(made["plain"], X, y, problem=plain)
    for certificate, problem in ((made["other"], plain), (made["plain"], other)):
        verdict = mipclass.verify(certificate, X, y, problem=problem)
        assert not verdict
        assert verdict.place == "problem"
        assert f"its {part}" in verdict.reason
        assert verdict.problem is not None


def test_a_model_of_other_data_is_rejected() -> None:
    certificate = mipclass.solve(models.zero_one(X, y), "exact").certificate
    assert not mipclass.verify(certificate, X, y, problem=models.zero_one(X + 1, y))
    assert not mipclass.verify(certificate, X + 1, y, problem=models.zero_one(X, y))


def test_limits_and_weights_in_words() -> None:
    problem = models.zero_one(
        X, y, sample_weight=[0, 1, 1, 1, 1, 2.5], subject_to=[models.FalsePositiveRate(at_most=0.4)]
    )
    verdict = mipclass.verify(mipclass.solve(problem, "exact").certificate, X, y)
    assert "from 0 to 2.5, sum 6.5, 1 of them 0" in str(verdict)
    assert "limits" in str(verdict)
    assert verdict.problem is not None
    assert verdict.problem.weights == {"least": 0.0, "largest": 2.5, "sum": 6.5, "zero": 1}
    assert len(verdict.problem.limits) == 1


def test_a_plain_problem_and_a_margin_are_told_too() -> None:
    plain = str(mipclass.verify(mipclass.solve(models.zero_one(X, y), "exact").certificate, X, y))
    assert plain.startswith("accepted: no rule has a loss below 0, a rule with loss 0; the rule is optimal\n  problem")
    assert "weights     all 1" in plain
    assert "rows        none" in plain
    margin = mipclass.verify(mipclass.solve(models.outlier_svm(X, y, 0), "gilbert").certificate, X, y)
    assert "the widest margin between the classes" in str(margin)


@pytest.mark.parametrize(
    "problem", [None, [], 3, {"intercept": True}, {"kind": "maximum margin"}, {"kind": [], "intercept": 1}]
)
def test_a_statement_that_cannot_be_read_is_rejected_without_one(problem: object) -> None:
    content = dict(mipclass.solve(models.zero_one(X, y), "exact").certificate.content)
    verdict = mipclass.verify({**content, "problem": problem}, X, y)
    assert not verdict
    assert verdict.problem is None


def test_a_number_beyond_float64_is_no_raw_error() -> None:
    content = dict(mipclass.solve(models.zero_one(X, y), "exact").certificate.content)
    content["problem"] = {
        **content["problem"],
        "costs": [f"{10**400}"] * 6,
        "rows": [{"coefficients": ["0", f"-{10**400}"], "at_least": "0"}],
    }
    assert "inf" in str(mipclass.verify(content, X, y))
