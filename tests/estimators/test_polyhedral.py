"""PolyhedralClassifier as scikit-learn and as its users see it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mipclass import PolyhedralClassifier, datasets, models, solve
from mipclass.errors import InvalidInputError, MipclassError
from mipclass.solving.driver import solve_within


def expected_failures(estimator):
    if estimator.n_hyperplanes == 1:
        return {}
    return {
        "check_class_weight_classifiers": (
            "With a weight ratio of 1e7 the optimum keeps every training point of the heavy class inside its polyhedron "
            "and cuts off what it can of the other for free; the check expects a rule that calls nearly all points heavy."
        )
    }


@parametrize_with_checks(
    [PolyhedralClassifier(options={"rounds": 1}), PolyhedralClassifier(n_hyperplanes=1)],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def ring(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.where(np.hypot(*X.T) < 1.1, "in", "out")


def test_scores_labels_and_hyperplanes_agree():
    X, y = ring()
    model = PolyhedralClassifier(n_hyperplanes=4, inside="in").fit(X, y)
    inside = (model.offsets_ > X @ model.hyperplanes_.T).all(axis=1)
    assert np.array_equal(model.predict(X) == "in", inside)
    assert np.array_equal(model.decision_function(X) > 0, model.predict(X) == model.classes_[1])
    assert model.inside_ == "in"
    assert model.hyperplanes_.shape == (4, 2)
    assert model.result_.recounted
    assert model.score(X, y) > 0.95


def test_auto_keeps_the_better_class_inside():
    X, y = ring()
    both = {label: PolyhedralClassifier(3, inside=label).fit(X, y).result_.objective for label in ("in", "out")}
    model = PolyhedralClassifier(3).fit(X, y)
    assert model.inside_ == "in"
    assert model.result_.objective == pytest.approx(min(both.values()))
    assert both["in"] < both["out"]


def test_auto_decides_on_a_sample_of_many_points(monkeypatch):
    monkeypatch.setattr("mipclass.estimators.polyhedral.MANY_POINTS", 300)
    monkeypatch.setattr("mipclass.estimators.polyhedral.CHOICE_POINTS", 100)
    solved = []

    def solve_and_count(run, problem, *arguments, **more):
        solved.append(problem.points.n)
        return solve_within(run, problem, *arguments, **more)

    monkeypatch.setattr("mipclass.estimators.polyhedral.solve_within", solve_and_count)
    X, y = ring(n=400)
    model = PolyhedralClassifier(4).fit(X, y)
    assert model.inside_ == "in"
    # A quarter of each class, and at least 50 points of it.
    sample = sum(max(50, (y == label).sum() // 4) for label in ("in", "out"))
    assert solved == [sample, sample, 400]
    alone = PolyhedralClassifier(4, inside="in").fit(X, y)
    assert model.result_.objective == alone.result_.objective


def test_one_hyperplane_is_the_robust_lp():
    X, y = datasets.nguyen_sanner(80, 3, random_state=0)
    model = PolyhedralClassifier(n_hyperplanes=1).fit(X, y)
    by_lp = solve(models.rlp(X, y), "highs")
    assert model.result_.objective == pytest.approx(by_lp.objective, abs=1e-7)
    assert model.result_.claim == "proven"
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_, model.decision_function(X), atol=1e-9)


def test_weights_mean_repetition_and_zero_means_absence():
    X, y = ring(n=40)
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = PolyhedralClassifier(2, "in").fit(X, y, sample_weight=weights)
    repeated = PolyhedralClassifier(2, "in").fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.result_.objective == pytest.approx(repeated.result_.objective, rel=1e-12)
    np.testing.assert_array_equal(weighted.hyperplanes_, repeated.hyperplanes_)


def test_the_order_of_rows_does_not_matter():
    X, y = ring()
    shuffled = np.random.default_rng(3).permutation(len(X))
    first, second = (PolyhedralClassifier(3, "in").fit(X[s], y[s]) for s in (slice(None), shuffled))
    np.testing.assert_array_equal(first.hyperplanes_, second.hyperplanes_)


def test_class_weight_multiplies_the_class_averages():
    X, y = ring(n=50)
    plain = PolyhedralClassifier(1).fit(X, y)
    lenient = PolyhedralClassifier(1, class_weight={"in": 5.0}).fit(X, y)
    assert (lenient.predict(X) == "in").sum() >= (plain.predict(X) == "in").sum()
    margins = np.where(y == lenient.classes_[1], 1, -1) * lenient.decision_function(X)
    loss = np.maximum(0, 1 - margins)
    expected = 5.0 * loss[y == "in"].mean() + loss[y == "out"].mean()
    assert lenient.result_.objective == pytest.approx(expected)
    balanced = PolyhedralClassifier(1, class_weight="balanced").fit(X, y)
    assert balanced.result_.objective == pytest.approx(plain.result_.objective)


def test_l1_makes_coefficients_sparse():
    X, y = ring()
    X = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 4))])
    free, priced = (PolyhedralClassifier(2, "in", l1=l1).fit(X, y) for l1 in (0.0, 0.05))
    assert np.count_nonzero(np.abs(priced.hyperplanes_) > 1e-9) < np.count_nonzero(np.abs(free.hyperplanes_) > 1e-9)
    assert np.abs(priced.hyperplanes_).sum() < np.abs(free.hyperplanes_).sum()


def test_exact_solver_on_small_data():
    X, y = ring(n=30)
    exact = PolyhedralClassifier(2, "in", l1=0.01, solver="highs").fit(X, y)
    searched = PolyhedralClassifier(2, "in", l1=0.01).fit(X, y)
    assert exact.result_.claim == "proven"
    assert searched.result_.objective == pytest.approx(exact.result_.objective, abs=1e-6)


def test_in_pipelines_searches_and_one_against_rest():
    X, y = ring()
    pipeline = make_pipeline(StandardScaler(), PolyhedralClassifier(inside="in", options={"rounds": 1}))
    search = GridSearchCV(pipeline, {"polyhedralclassifier__n_hyperplanes": [1, 3]}, cv=3).fit(X, y)
    assert search.best_params_["polyhedralclassifier__n_hyperplanes"] == 3
    three = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.7, 0.7])]
    many = OneVsRestClassifier(PolyhedralClassifier(2, options={"rounds": 2})).fit(X, three)
    assert many.score(X, three) == 1.0


def test_pickle_clone_and_frames():
    X, y = ring()
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = PolyhedralClassifier(2, "in", random_state=7).fit(frame, y)
    assert list(model.feature_names_in_) == ["east", "north"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(clone(model).fit(frame, y).hyperplanes_, model.hyperplanes_)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_hyperplanes": 0}, "whole number >= 1"),
        ({"n_hyperplanes": 2.5}, "whole number >= 1"),
        ({"inside": "nowhere"}, "one of the labels"),
        ({"l1": -1.0}, "l1 must be"),
        ({"solver": "slq"}, "Did you mean 'slp'"),
        ({"options": {"round": 3}}, "Did you mean 'rounds'"),
        ({"options": {"variant": "mine"}}, "'majorise', 'paper'"),
        ({"options": {"lp": "osq"}}, "no solver 'osq'"),
        ({"time_limit": -1}, "time_limit"),
    ],
)
def test_bad_parameters_say_what_is_allowed(parameters, words):
    X, y = ring(n=20)
    with pytest.raises(MipclassError, match=words):
        PolyhedralClassifier(**parameters).fit(X, y)


def test_bad_data():
    X, y = ring(n=20)
    with pytest.raises(ValueError, match="one class"):
        PolyhedralClassifier().fit(X, np.full(20, "in"))
    with pytest.raises(ValueError, match="Only binary"):
        PolyhedralClassifier().fit(X, np.arange(20) % 3)
    with pytest.raises(ValueError, match="NaN"):
        PolyhedralClassifier().fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(InvalidInputError, match="weight zero"):
        PolyhedralClassifier().fit(X, y, sample_weight=(y == "in").astype(float))


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**30])
def test_huge_and_tiny_scales_give_the_same_classifier(scale):
    X, y = ring()
    X = np.hstack([X, np.full((len(X), 1), 3.0)])  # a constant column must not hurt
    plain, scaled = PolyhedralClassifier(3, "in").fit(X, y), PolyhedralClassifier(3, "in").fit(scale * X, y)
    assert scaled.result_.objective == pytest.approx(plain.result_.objective, abs=1e-6)


def test_inseparable_sets_give_the_best_found_and_no_failure():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 2)), 2, axis=0)
    y = np.tile([0, 1], 20)  # every point carries both labels
    model = PolyhedralClassifier(2).fit(X, y)
    assert model.result_.objective == pytest.approx(2.0)
    assert model.result_.recounted
