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
