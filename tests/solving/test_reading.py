"""What a Result says of its rule: predictions, a scikit-learn classifier, a sentence; all counted again from the data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models, solve
from mipclass.errors import InvalidInputError
from mipclass.modelling.readable_rule import readable
from mipclass.protocol.run import Run
from mipclass.solving.centred import centred


def flowers() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Versicolor and virginica, with the names of the four measurements."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    two = iris.target > 0
    return iris.data[two], iris.target_names[iris.target[two]], ["length", "width", "petal_length", "petal_width"]


def test_a_result_predicts_like_its_model_and_reports_the_same_errors() -> None:
    X, y, names = flowers()
    problem = models.zero_one(X, y, feature_names=names)
    result = solve(problem)
    assert int((result.predict(X) != y).sum()) == result.objective
    assert np.array_equal(result.decision_function(X), problem.scores(result.values))
    classifier = result.classifier()
    assert classifier.score(X, y) == 1 - result.objective / len(y)
    assert np.array_equal(
        np.ravel(X @ classifier.coef_.T + classifier.intercept_) > 0, result.predict(X) == "virginica"
    )
    again = pickle.loads(pickle.dumps(result))
    assert np.array_equal(again.predict(X), result.predict(X))
    assert again.rule == result.rule
    assert len(pickle.dumps(result.reading)) < 3000  # the training data stay behind


def test_a_frame_is_read_by_the_names_of_its_columns() -> None:
    pandas = pytest.importorskip("pandas")
    X, y, names = flowers()
    result = solve(models.zero_one(X, y, feature_names=names))
    frame = pandas.DataFrame(X, columns=names).assign(id=7)[["id", *reversed(names)]]
    assert np.array_equal(result.predict(frame), result.predict(X))
    with pytest.raises(InvalidInputError, match="4 columns of the training data"):
        result.predict(X[:, :2])


def test_a_rule_of_one_feature_is_shown_as_a_threshold() -> None:
    X, _, names = flowers()
    rule = readable(np.array([-1.111, 0.0, 0.0, 1.772e4]), -3.012e4, X, names)
    assert rule.sentence("virginica", "versicolor") == "virginica if petal_width > 1.75, else versicolor"
    falling = readable(np.array([0.0, 0.0, 0.0, -2.0]), 3.5, X, names)
    assert falling.condition() == "petal_width < 1.75"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans())
@example(368270, 5, False)  # a point on the boundary but for rounding
def test_the_shown_rule_decides_every_point_as_the_rule_does(seed: int, d: int, free: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (25, d)) * 10.0 ** rng.integers(-3, 4, d)
    w = rng.normal(size=d) * 10.0 ** rng.integers(-6, 7, d)
    b = float(rng.normal()) if free else 0.0
    rule = readable(w, b, X, [f"x{j}" for j in range(d)], free_offset=free)
    assert np.array_equal(X @ rule.w > rule.threshold, X @ w + b > 0)
    assert np.count_nonzero(rule.w) <= np.count_nonzero(w)


def test_whole_weights_stay_whole_beside_an_offset_that_is_not() -> None:
    X, _, names = flowers()
    scores = X @ np.array([-3.0, -3.0, 5.0, 4.0])
    rule = readable(np.array([-3.0, -3.0, 5.0, 4.0]), -4.1499999, X, names)
    assert rule.condition() == "-3 length - 3 width + 5 petal_length + 4 petal_width > 4.15"
    assert np.array_equal(scores > 4.15, scores - 4.1499999 > 0)


def test_a_rule_of_mostly_negative_weights_is_turned_round() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    rule = readable(np.array([-1.0, 0.3, -0.4]), 0.25, X, ["a", "b", "c"])
    assert rule.condition().startswith("a - ")
    assert " < " in rule.condition()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_the_rule_of_a_program_is_the_widest_of_its_cell(seed: int) -> None:
    """Same loss, same constraints, no narrower than the solver's own rule in the norm that is maximised."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (14, 3)) * 10.0 ** rng.integers(-3, 4, 3)
    y = rng.permutation(np.arange(14) % 2)
    problem = models.Model(
        X, y, minimize=models.ZeroOne(), subject_to=[models.MaxFeatures(2), models.FalsePositiveRate(0.3)]
    )
    problem.subject_to(problem.w["x0"] >= 0)
    given_values = {
        "w": np.array([abs(rng.normal()), 0.0, rng.normal()]) / np.abs(X).max(),
        "b": np.asarray(rng.normal()),
    }
    found = centred(problem, given_values, Run.quiet())
    right = problem.margins(given_values) > 0
    assert (problem.margins(found)[right] > 0).all()
    assert problem.recount(found) <= problem.recount(given_values)
    assert set(problem.violations(found)) <= set(problem.violations(given_values))
    assert np.count_nonzero(found["w"]) <= 2
    if not right.any():
        return
    spread = np.abs(X[right] - X[right].mean(axis=0)).max(axis=0)
    sizes = [np.abs(values["w"]) @ spread for values in (given_values, found)]
    least = [problem.margins(values)[right].min() for values in (given_values, found)]
    assert least[1] * sizes[0] >= least[0] * sizes[1] * (1 - 1e-6)


def test_the_demo_rule_has_no_vanishing_weight() -> None:
    X, y, names = flowers()
    limits = [models.FalsePositiveRate(at_most=0.02), models.MaxFeatures(2)]
    result = solve(models.Model(X, y, minimize=models.ZeroOne(), subject_to=limits, feature_names=names), "highs")
    assert (result.objective, result.claim) == (5.0, "proven")
    assert int((result.predict(X) != y).sum()) == 5
    assert "e-" not in result.rule
    used = np.abs(result.values["w"])[result.values["w"] != 0]
    assert used.max() / used.min() < 1000


def test_kernel_rules_say_what_they_sum() -> None:
    X, y, _ = flowers()
    rule = solve(models.Model(X, y, rule=models.Kernel("rbf"), minimize=0.5 * models.L2() + models.Hinge())).rule
    assert "exp(-0.25 |x - x_j|^2)" in rule
    assert "at row" in rule


def test_scorecards_and_constant_rules_are_shown_as_they_are() -> None:
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    assert readable(np.array([2.0, -3.0]), 1.0, X, ["a", "b"]).condition() == "2 a - 3 b > -1"
    assert readable(np.array([0.1, 0.3]), 9.5, X, ["a", "b"]).sentence("yes", "no") == "always yes"
    assert readable(np.zeros(2), -1.0, X, ["a", "b"]).sentence("yes", "no") == "always no"


def test_polyhedra_and_kernels_have_sentences() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (np.abs(X[:, 0]) < 1).astype(int)
    shape = solve(models.polyhedral(X, y, 2), "slp")
    assert shape.rule.startswith("1 if ")
    assert " and " in shape.rule
    curved = solve(models.robust_svm(X, y, C=1.0, theta=0.0, s=0.0, kernel=models.Kernel("rbf")))
    assert "training points" in curved.rule


def test_a_program_has_no_rule_and_says_so() -> None:
    build = mipclass.modelling.builder.Builder()
    x = build.variables("x", 2, lower=0)
    build.subject_to("row", x.sum() >= 1)
    build.minimize(x.sum())
    with pytest.raises(InvalidInputError, match="of a program, not of a Model"):
        solve(build.build()).predict([[0.0, 0.0]])
