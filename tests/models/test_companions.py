"""Parts that meet in one model: what each means must not depend on its companions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from mipclass import models, solve
from mipclass.errors import InvalidInputError
from mipclass.modelling.expression import Variables
from mipclass.models import (
    L0,
    L1,
    L2,
    Bounds,
    FalsePositiveRate,
    Hinge,
    IntegerCoefficients,
    Kernel,
    Linear,
    MaxFeatures,
    Model,
    Monotone,
    Polyhedron,
    Ramp,
    RateParity,
    ZeroOne,
)


def noisy(n: int = 14) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def hinge_without_false_positives(X: np.ndarray, y: np.ndarray, penalty: float) -> float:
    """min penalty |w|_1 + sum hinge with every negative's score < -1e-3, as an LP over (w+, w-, b, slack)."""
    n, d = X.shape
    s = np.where(y == 1, 1.0, -1.0)[:, None]
    hinge = np.hstack([-s * X, s * X, -s, -np.eye(n)])
    negative = y == 0
    calm = np.hstack([X, -X, np.ones((n, 1)), np.zeros((n, n))])[negative]
    cost = np.concatenate([np.full(2 * d, penalty), [0.0], np.ones(n)])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
    limits = np.concatenate([-np.ones(n), np.full(int(negative.sum()), -1e-3)])
    found = linprog(cost, np.vstack([hinge, calm]), limits, bounds=bounds)
    return float(found.fun)


def test_a_rate_limit_does_not_ask_for_the_margin_of_the_hinge() -> None:
    X, y = noisy()
    problem = Model(X, y, minimize=0.5 * L1() + Hinge(), subject_to=FalsePositiveRate(at_most=0.0))
    result = solve(problem, "highs")
    assert result.objective == pytest.approx(hinge_without_false_positives(X, y, 0.5), rel=1e-6)
    assert result.claim == "proven"
    assert "0.001" in result.extra["scope"]


def test_hinge_and_ramp_keep_their_own_slacks() -> None:
    X, y = noisy(10)
    objectives = []
    for terms in (Hinge() + 1.0 * Ramp(), 1.0 * Ramp() + Hinge()):
        problem = Model(X, y, rule=Linear("penalised"), minimize=0.5 * L2() + terms)
        result = solve(problem, "highs")
        assert result.recounted
        objectives.append(result.objective)
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)


def test_counting_features_leaves_the_offset_of_the_hinge_alone() -> None:
    X, y = noisy()
    result = solve(Model(X, y, minimize=Hinge() + 0.5 * L0(), subject_to=Bounds(w=(-3, 3))), "highs")
    assert result.recounted
    assert result.claim == "proven"


def test_a_term_may_occur_twice() -> None:
    X, y = noisy()
    twice = solve(Model(X, y, minimize=0.5 * L1() + 0.5 * L1() + Hinge()), "highs")
    once = solve(Model(X, y, minimize=L1() + Hinge()), "highs")
    assert twice.objective == pytest.approx(once.objective, rel=1e-9)
    limits = [MaxFeatures(1), MaxFeatures(2)]
    assert np.count_nonzero(solve(Model(X, y, minimize=ZeroOne(), subject_to=limits), "highs").values["w"]) <= 1


def test_a_box_follows_from_calling_every_point_positive() -> None:
    X, y = noisy(10)
    problem = Model(X, y, minimize=ZeroOne(margin=1) + 0.1 * L1(), subject_to=models.FalseNegativeRate(at_most=0.0))
    result = solve(problem, "highs")
    # The same problem with classes and scores turned round.
    turned = Model(-X, 1 - y, minimize=ZeroOne(margin=1) + 0.1 * L1(), subject_to=FalsePositiveRate(at_most=0.0))
    assert result.recounted
    assert result.objective == pytest.approx(solve(turned, "highs").objective, rel=1e-6)


@pytest.mark.parametrize("far", [100.0, -100.0])
def test_an_offset_far_from_the_data_is_not_infeasible(far: float) -> None:
    X, y = noisy()
    problem = Model(X, y, minimize=ZeroOne(margin=1), subject_to=Bounds(w=(-1, 1)))
    expected = float((y == (far < 0)).sum())  # every point is called by the offset alone
    bounded = Model(
        X, y, minimize=ZeroOne(margin=1), subject_to=Bounds(w=(-1, 1), b=(min(far, 2 * far), max(far, 2 * far)))
    )
    row = problem.subject_to(problem.b >= far) if far > 0 else problem.subject_to(2 * problem.b <= 2 * far)
    for model in (bounded, row):
        result = solve(model, "highs")
        assert (result.status, result.objective, result.recounted) == ("optimal", expected, True)


def test_an_offset_tied_to_the_weights_is_honoured_far_from_the_origin() -> None:
    x = 1e4 + np.arange(6.0)
    problem = Model(x[:, None], [0, 0, 0, 1, 1, 1], minimize=ZeroOne())
    through = problem.copy().subject_to(problem.b == -(1e4 + 2.5) * problem.w[0])
    result = solve(through, "highs")
    assert (result.objective, result.recounted) == (0.0, True)
    fixed = problem.copy().subject_to(problem.b == 0)
    assert solve(fixed, "highs").objective == 3.0


@pytest.mark.parametrize("solver", ["highs", "osqp", "piqp"])
def test_rounding_in_a_users_row_is_no_violation(solver: str) -> None:
    pytest.importorskip(solver if solver != "highs" else "highspy")
    X, y = noisy()
    problem = Model(X, y, minimize=0.5 * L2() + Hinge())
    for model in (
        problem.copy().subject_to(problem.w["x0"] + problem.w["x1"] == 0.3),
        problem.copy().subject_to(Monotone({"x0": "decreasing", "x1": "decreasing"})),
    ):
        result = solve(model, solver)
        assert result.recounted, result.extra
        assert model.violations(result.values) == {}
    assert problem.subject_to(problem.w["x0"] <= 0.1).violations({"w": np.array([0.2, 0.0]), "b": 0.0})


def test_a_penalised_offset_is_free_of_ties_too() -> None:
    X, y = np.array([[0.0], [1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    problem = Model(X, y, rule=Linear("penalised"), minimize=ZeroOne())
    result = solve(problem, "highs")
    assert (problem.predict(result.values) != y).sum() == result.objective == 1.0


@pytest.mark.parametrize(
    "rule", [Kernel("rbf"), Polyhedron(2, box=3.0), Linear(intercept=False)], ids=lambda r: r.formula()
)
@pytest.mark.parametrize(
    "constraint",
    [Bounds(w=(0, 1), b=(0, 1)), MaxFeatures(1), Monotone({"x0": 1}), IntegerCoefficients(-2, 2, intercept=True)],
    ids=lambda c: type(c).__name__,
)
def test_constraints_on_variables_that_a_rule_lacks_are_refused(
    rule: models.Rule, constraint: models.Constraint
) -> None:
    X, y = noisy()
    if isinstance(rule, Linear) and isinstance(constraint, MaxFeatures | Monotone):
        assert Model(X, y, rule=rule, minimize=Hinge(), subject_to=constraint).program().n_columns
        return
    with pytest.raises(InvalidInputError, match=r"speaks of '[wb]', which the rule"):
        Model(X, y, rule=rule, minimize=Hinge(), subject_to=constraint)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda X, y: Model(X, y, minimize=Hinge(), rule="linear"), "takes a rule such as"),
        (lambda X, y: Model(X, y, minimize=Hinge(), subject_to=None), "takes constraints"),
        (lambda X, y: Model(X, y, minimize=Hinge(), class_weight={0: 1, 1: np.nan}), "finite weights"),
        (lambda X, y: Model(X, y, minimize=Hinge(), class_weight={0: "a"}), "must hold numbers"),
        (lambda X, y: Model(X, y, minimize=Hinge(), class_weight=[0, 1]), "must be a mapping"),
        (lambda X, y: Model(X, y, minimize=Hinge(), sample_weight=["a"] * len(y)), "must hold numbers"),
        (lambda X, y: Model(X, np.array([None, "a"] * (len(y) // 2), object), minimize=Hinge()), "cannot be sorted"),
        (lambda X, y: Model(X, y, rule=Kernel(), minimize=Hinge() + L0()).program(), "no weight for each feature"),
        (lambda X, y: Model(X, y, minimize=Hinge(), subject_to=Variables("q") >= 1), "speaks of 'q'"),
        (lambda X, y: IntegerCoefficients(0, np.inf), "whole numbers"),
        (lambda X, y: IntegerCoefficients("a", 3), "whole numbers"),
        (lambda X, y: Bounds(w=3), "pairs"),
        (lambda X, y: Bounds(w=("a", 3)), "pairs"),
        (lambda X, y: Monotone(["x0"]), "by feature name"),
        (lambda X, y: Monotone({"x0": [1]}), "direction"),
    ],
)
def test_parts_of_the_wrong_kind_are_explained(build: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        build(*noisy())  # type: ignore[operator]


def test_groups_with_a_missing_label_are_a_group() -> None:
    X, y = noisy()
    parity = RateParity([None] * 7 + ["b"] * 7, at_most=0.2)
    problem = Model(X, y, minimize=ZeroOne(), subject_to=parity)
    assert set(parity.rates(problem, {"w": np.ones(2), "b": 0.0})) == {"None", "b"}
