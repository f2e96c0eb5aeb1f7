"""Explanations of infeasible models, checked by re-solving what they claim."""

from __future__ import annotations

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.analysis.explain import Explanation
from mipclass.errors import InvalidInputError
from tests.truth.zero_one import least_loss


def overlapping(n: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.array([0, 1] * (n // 2))
    return X, y


def is_infeasible(X: np.ndarray, y: np.ndarray, constraints: list[models.Constraint]) -> bool:
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=constraints)
    return mipclass.solve(problem, "highs").status == "infeasible"


@pytest.fixture(scope="module")
def explained() -> tuple[np.ndarray, np.ndarray, Explanation]:
    X, y = overlapping()
    rates = [models.FalsePositiveRate(0.0), models.MaxFeatures(2), models.FalseNegativeRate(0.0)]
    assert is_infeasible(X, y, rates)
    return X, y, mipclass.explain(models.Model(X, y, minimize=models.ZeroOne(), subject_to=rates))


def test_the_conflict_is_minimal(explained: tuple[np.ndarray, np.ndarray, Explanation]) -> None:
    assert explained[2].constraints == ("false-positive rate <= 0", "false-negative rate <= 0")


def test_the_moves_are_the_least_that_help(explained: tuple[np.ndarray, np.ndarray, Explanation]) -> None:
    X, y, explanation = explained
    by_name = {move.constraint: move for move in explanation.moves}
    fpr = by_name["false-positive rate <= 0"]
    negative = y == 0
    expected = least_loss(X, 2.0 * y - 1, negative.astype(float), allowed=lambda e: not e[~negative].any())
    assert fpr.proven
    assert fpr.needed == pytest.approx(expected / negative.sum())
    assert not is_infeasible(X, y, [models.FalsePositiveRate(fpr.needed), models.FalseNegativeRate(0.0)])
    assert "would have to become" in str(explanation)


def test_what_highs_leaves_open_is_proven_by_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two solvers that share nothing have to agree."""
    monkeypatch.setattr("mipclass.analysis.explain.A_MOMENT", 1e-3)
    X, y = overlapping(12)
    rates = [models.FalsePositiveRate(0.1), models.FalseNegativeRate(0.1)]
    explanation = mipclass.explain(models.Model(X, y, minimize=models.ZeroOne(), subject_to=rates))
    fpr = explanation.moves[0]
    missed = models.Model(X, y, minimize=models.ZeroOne(on="negatives"), subject_to=rates[1])
    expected = mipclass.solve(missed, "highs", time_limit=60)
    assert expected.claim == "proven"
    assert fpr.proven
    assert fpr.needed == pytest.approx(expected.objective / (y == 0).sum())


def test_the_rows_alone_conflict_and_no_fewer_do(explained: tuple[np.ndarray, np.ndarray, Explanation]) -> None:
    X, y, explanation = explained
    rows = explanation.rows
    assert explanation.rows_are_minimal
    assert least_loss(X[rows], 2.0 * y[rows] - 1) > 0
    for k in range(len(rows)):
        rest = np.delete(rows, k)
        assert least_loss(X[rest], 2.0 * y[rest] - 1) == 0


def test_contradictory_rows_on_weights() -> None:
    X, y = overlapping()
    problem = models.Model(X, y, minimize=0.5 * models.L2() + models.Hinge(), feature_names=["age", "dose"])
    problem = problem.subject_to(
        problem.w["age"] >= 2, problem.w["age"] + problem.w["dose"] <= 1, problem.w["dose"] >= 0
    )
    assert mipclass.solve(problem, "highs").status == "infeasible"
    explanation = mipclass.explain(problem)
    assert len(explanation.constraints) == 3
    assert [move.needed for move in explanation.moves] == pytest.approx([1.0, 1.0, 1.0], abs=1e-6)
    assert len(explanation.rows) == 0


def test_parity_says_what_gap_can_be_reached() -> None:
    X, y = overlapping()
    rest = [models.FalseNegativeRate(0.0), models.FalsePositiveRate(0.75)]
    limits = [models.RateParity(y, at_most=0.0, rate="positive"), *rest]  # equal rates for the classes themselves
    explanation = mipclass.explain(models.Model(X, y, minimize=models.ZeroOne(), subject_to=limits))
    [move] = [move for move in explanation.moves if "differ" in move.constraint]
    assert not is_infeasible(X, y, [models.RateParity(y, at_most=move.needed + 1e-6, rate="positive"), *rest])
    assert is_infeasible(X, y, [models.RateParity(y, at_most=move.needed - 0.01, rate="positive"), *rest])


def test_a_feature_limit_says_how_many_features_are_needed() -> None:
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 3.0], [3.0, 0.0]]), np.array([0, 0, 1, 1])  # x0 + x1 separates
    rates = [models.FalsePositiveRate(0.0), models.FalseNegativeRate(0.0)]
    explanation = mipclass.explain(
        models.Model(X, y, minimize=models.ZeroOne(), subject_to=[models.MaxFeatures(1), *rates])
    )
    [move] = [move for move in explanation.moves if "feature" in move.constraint]
    assert (move.needed, move.proven) == (2.0, True)


def test_feasible_problems_have_nothing_to_explain() -> None:
    X, y = overlapping()
    with pytest.raises(InvalidInputError, match="nothing to explain"):
        mipclass.explain(models.zero_one(X, y))


def test_latex_and_html() -> None:
    X, y = overlapping()
    problem = models.Model(
        X, y, minimize=models.ZeroOne(), subject_to=[models.FalsePositiveRate(0.1), models.Monotone({"x0": 1})]
    )
    assert r"\mathrm{FPR} \le 0.1" in problem._repr_latex_()
    assert problem.latex().count("&") == 4
    assert "<mtext>FPR</mtext>" in problem._repr_html_()


def test_weights_too_small_for_the_margin_are_part_of_the_conflict() -> None:
    """Without the whole numbers nothing bounds the weights, so that the others alone have no big-M form."""
    X, y = overlapping()
    limits = [models.IntegerCoefficients(5), models.FalsePositiveRate(0.5), models.FalseNegativeRate(0.5)]
    problem = models.Model(1e-3 * X, y, minimize=models.ZeroOne(margin=1) + models.L1(), subject_to=limits)
    result = mipclass.solve(problem, "highs")
    assert result.status == "infeasible"
    assert "mipclass.explain(problem)" in str(result)
    with pytest.raises(InvalidInputError, match="explain"):
        result.predict(X)
    explanation = mipclass.explain(problem)
    assert "w whole numbers in [-5, 5]" in explanation.constraints
    assert "drop: w whole numbers in [-5, 5] (not shown to suffice)" in str(explanation)
