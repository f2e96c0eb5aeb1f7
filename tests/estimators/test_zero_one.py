"""ZeroOneClassifier: scikit-learn's own checks, losses against brute force, weights, scales, budgets and bad input."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from mipclass import ZeroOneClassifier, models, solve
from mipclass.errors import InvalidInputError, OptionError, SolverNotFoundError, UnsupportedProgramError
from tests.truth.zero_one import KINDS, least_loss, tiny_instance

# With all the weight on one class the fewest errors still leave the other class whatever the first one does not need;
# scikit-learn's check expects nearly every new point to be given to the heavy class.
EXPECTED = {
    "check_class_weight_classifiers": "the least 0-1 loss wins points of the light class wherever they are free"
}


@parametrize_with_checks(
    [ZeroOneClassifier("csa", options={"steps": 300}), ZeroOneClassifier("sla")],
    expected_failed_checks=lambda estimator: EXPECTED if estimator.solver == "csa" else {},
    xfail_strict=True,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def outliers() -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping clouds in 4 dimensions and 12 far points of the wrong label."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(200) > 0, "yes", "no")
    X[:12, 0] = np.where(y[:12] == "yes", -9.0, 9.0)
    return X, y


@pytest.mark.parametrize("kind", KINDS)
def test_small_data_is_proven(kind):
    for seed in range(200, 203):
        X, y, weights = tiny_instance(seed, kind)
        clf = ZeroOneClassifier().fit(X, y, sample_weight=weights)
        assert clf.result_.claim == "proven"
        assert clf.bound_ == clf.loss_ == least_loss(X, y, weights)
        assert weights[clf.predict(X) != y].sum() == clf.loss_


@pytest.mark.parametrize("solver", ["csa", "sla", "local", "pcs"])
def test_fewer_errors_than_logistic_regression(outliers, solver):
    X, y = outliers
    options = {"pencils": 20_000} if solver == "pcs" else None
    clf = ZeroOneClassifier(solver, options=options).fit(X, y)
    errors = (clf.predict(X) != y).sum()
    assert errors == clf.loss_ == clf.result_.objective
    assert clf.result_.recounted
    assert errors < (LogisticRegression().fit(X, y).predict(X) != y).sum()


def test_units_do_not_matter(outliers):
    X, y = outliers
    clf = ZeroOneClassifier("csa").fit(X, y)
    scaled = ZeroOneClassifier("csa").fit(X * [1e6, 1e-6, 1.0, 100.0] + [0, 0, 1e4, 0], y)
    assert scaled.loss_ == clf.loss_


def test_weights_are_repetitions_and_classes_weigh(outliers):
    X, y = outliers
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    weighted = ZeroOneClassifier("csa").fit(X, y, sample_weight=weights)
    repeated = ZeroOneClassifier("csa").fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.array_equal(weighted.coef_, repeated.coef_)
    careful = ZeroOneClassifier("csa", class_weight={"no": 50.0, "yes": 1.0}).fit(X, y)
    assert (careful.predict(X[y == "no"]) == "yes").sum() == 0


def test_restarts_only_help_and_repeat_on_any_number_of_workers(outliers):
    X, y = outliers
    y = y[np.random.default_rng(3).permutation(len(y))]  # pure noise: many local optima
    few = {"steps": 30}
    one = ZeroOneClassifier("csa", options=few, random_state=4).fit(X, y)
    many = ZeroOneClassifier("csa", options=few, random_state=4, n_restarts=6).fit(X, y)
    with parallel_config("threading"):
        parallel = ZeroOneClassifier("csa", options=few, random_state=4, n_restarts=6, n_jobs=2).fit(X, y)
    assert many.loss_ <= one.loss_
    assert np.array_equal(many.coef_, parallel.coef_)


def test_constraints_go_to_a_solver_that_takes_them():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 2))
    y = (X[:, 0] + rng.standard_normal(40) > 0).astype(int)
    clf = ZeroOneClassifier("highs", subject_to=models.FalsePositiveRate(at_most=0.05)).fit(X, y)
    assert (clf.predict(X[y == 0]) == 1).mean() <= 0.05
    with pytest.raises(UnsupportedProgramError, match="no side constraints"):
        ZeroOneClassifier("csa", subject_to=[models.FalsePositiveRate(at_most=0.05)]).fit(X, y)


def test_sparse_input_gives_the_same_rule(outliers):
    X, y = outliers
    dense = ZeroOneClassifier("sla").fit(X, y)
    assert np.array_equal(ZeroOneClassifier("sla").fit(sp.csr_array(X), y).coef_, dense.coef_)


def test_limits_return_the_best_rule_so_far(outliers):
    X, y = outliers
    for solver in ("pcs", "csa", "sla", "local"):
        problem = models.zero_one(X, y)
        result = solve(problem, solver=solver, time_limit=1e-6)
        assert result.status == "time_limit"
        assert result.recounted
        seen = []
        stopped = solve(problem, solver=solver, callback=lambda event, seen=seen: seen.append(event) or len(seen) < 2)
        assert stopped.status in ("interrupted", "optimal")
        assert stopped.recounted


@pytest.mark.parametrize("solver", ["pcs", "csa", "local", "bnb"])
def test_ctrl_c_returns_the_best_rule_so_far(solver):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 6)), rng.choice([0, 1], 400)
    problem = models.zero_one(X, y)
    endless = {"steps": 10**9} if solver in ("csa", "local") else {}
    solve(problem, solver=solver, time_limit=0.2, options=endless)  # compiled before the clock starts
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    result = solve(problem, solver=solver, options=endless, time_limit=60)
    timer.join()
    assert result.status == "interrupted"
    assert result.recounted
    assert result.seconds < 30


def test_a_quick_rule_warm_starts_a_mip_solver():
    X, y = np.random.default_rng(5).standard_normal((30, 2)), np.arange(30) % 2
    problem = models.zero_one(X, y)
    quick = solve(problem, solver="local")
    result = solve(problem, solver="highs", warm_start=quick, options={"node_limit": 1})
    assert result.objective <= quick.objective
    assert result.recounted


def test_grid_search_and_more_classes(outliers):
    X, y = outliers
    search = GridSearchCV(ZeroOneClassifier("sla"), {"options": [{"K_max": 2.0}, {"K_max": 200.0}]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    assert OneVsRestClassifier(ZeroOneClassifier("sla")).fit(X, three).score(X, three) > 0.5


def test_estimators_with_rows_on_the_weights_are_cloned_copied_and_searched():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=40) > 0
    w = models.zero_one(X, y).w
    clf = ZeroOneClassifier(subject_to=[w[0] - 2 * w[1] >= 0]).fit(X, y)
    for again in (clone(clf).fit(X, y), pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        assert np.array_equal(again.coef_, clf.coef_)
        assert np.array_equal(again.predict(X), clf.predict(X))
    search = GridSearchCV(clf, {"class_weight": [None, "balanced"]}, cv=2, n_jobs=2).fit(X, y)
    assert search.best_estimator_.coef_[0] @ [1.0, -2.0] >= -1e-6


def test_bad_parameters_are_explained(outliers):
    X, y = outliers
    with pytest.raises(SolverNotFoundError, match="Did you mean 'csa'"):
        ZeroOneClassifier("cSa").fit(X, y)
    with pytest.raises(OptionError, match="has no option 'step'"):
        ZeroOneClassifier("csa", options={"step": 5}).fit(X, y)
    with pytest.raises(InvalidInputError, match="n_restarts must be a whole number >= 1; got 0"):
        ZeroOneClassifier(n_restarts=0).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        ZeroOneClassifier().fit(X[y == "yes"], y[y == "yes"])
    with pytest.raises(UnsupportedProgramError, match=r"it minimises ZeroOne\(\) alone"):
        solve(models.Model(X, y, minimize=models.Hinge()), solver="sla")
