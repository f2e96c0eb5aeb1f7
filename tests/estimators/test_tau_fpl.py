"""TauFPLClassifier: scikit-learn's checks, thresholds and what they promise, kernels, blocks, scorers."""

from __future__ import annotations

import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mipclass import TauFPLClassifier, solve
from mipclass.analysis.metrics import np_score, np_scorer, rates, tpr_at_fpr_scorer
from mipclass.analysis.thresholds import rank_threshold, umbrella_negatives_needed
from mipclass.errors import InvalidInputError, MipclassWarning
from mipclass.models import tau_fpl
from tests.breadth import mostly_slow


def two_gaussians(n_neg, n_pos, d=2, shift=3.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n_neg, n_pos])
    return rng.standard_normal((n_neg + n_pos, d)) + shift * y[:, None] / np.sqrt(d), y


def known_failures(estimator):
    if estimator.threshold != "train":
        return {}
    reason = "threshold='train' promises nothing for new data, and the check counts positives among held-out points"
    return {"check_class_weight_classifiers": reason}


@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
@parametrize_with_checks([TauFPLClassifier()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
@parametrize_with_checks(
    [
        TauFPLClassifier(kernel="rbf"),
        TauFPLClassifier(threshold="train"),
        TauFPLClassifier(threshold="train", kernel="rbf"),
    ],
    expected_failed_checks=known_failures,
    xfail_strict=True,
)
def test_scikit_learn_checks_of_kernels_and_other_thresholds(estimator, check):
    check(estimator)


@pytest.mark.parametrize("threshold", ["train", "oob", "umbrella"])
def test_thresholds_keep_the_rate_where_they_promise_it(threshold):
    X, y = two_gaussians(400, 200)
    clf = TauFPLClassifier(tau=0.05, threshold=threshold, random_state=0).fit(X, y)
    fpr, tpr = rates(y, clf.predict(X))
    assert tpr > 0.4
    if threshold == "train":
        assert fpr <= 0.05
        assert fpr > 0.04  # not wastefully strict
    assert {"train": "training data", "oob": "on average", "umbrella": "<= 0.05 over samples"}[
        threshold
    ] in clf.guarantee_
    assert clf.threshold_ == -clf.intercept_[0]
    np.testing.assert_allclose(clf.decision_function(X), X @ clf.coef_[0] - clf.threshold_)
    assert clf.result_.claim == "proven"


def test_two_tau_ranks_with_twice_as_many_negatives():
    X, y = two_gaussians(400, 200)
    one = TauFPLClassifier(tau=0.05, ranking_tau=None, threshold="train").fit(X, y)
    two = TauFPLClassifier(tau=0.05, ranking_tau=0.1, threshold="train").fit(X, y)
    assert (one.k_, two.k_) == (20.0, 40.0)


@pytest.mark.parametrize("repetitions", mostly_slow([100, 500], fast=[100]))
def test_umbrella_coverage(repetitions):
    """Over many samples the rate of excess is not above delta, by a one-sided binomial test at 1e-3.

    The classes are Gaussian, so that the true false-positive rate of a linear rule is known exactly.
    """
    from scipy.stats import norm

    tau, delta, excess = 0.1, 0.1, 0
    for seed in range(repetitions):
        X, y = two_gaussians(120, 40, seed=seed)
        clf = TauFPLClassifier(tau=tau, ranking_tau=tau, threshold="umbrella", delta=delta, random_state=seed, R=0.1)
        clf.fit(X, y)
        fpr = norm.sf(clf.threshold_ / np.linalg.norm(clf.coef_))
        excess += fpr > tau
    assert binom.sf(excess - 1, repetitions, delta) > 1e-3
    assert excess > 0.3 * delta * repetitions  # and it is not absurdly strict


def test_umbrella_says_when_there_are_too_few_negatives():
    X, y = two_gaussians(40, 40)
    with pytest.raises(InvalidInputError, match="needs at least 59 held-out negatives"):
        TauFPLClassifier(threshold="umbrella").fit(X, y)


def test_weights_equal_repetition_and_order_does_not_matter():
    X, y = two_gaussians(60, 40)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    clf = TauFPLClassifier(tau=0.1, random_state=3, tolerance=1e-6)
    weighted = clone(clf).fit(X, y, sample_weight=weights)
    repeated = clone(clf).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    shuffle = np.random.default_rng(2).permutation(len(y))
    shuffled = clone(clf).fit(X[shuffle], y[shuffle], sample_weight=weights[shuffle])
    for other in (repeated, shuffled):
        np.testing.assert_allclose(other.coef_, weighted.coef_, rtol=1e-5)
        assert other.threshold_ == pytest.approx(weighted.threshold_, rel=1e-5)


def test_same_seed_same_bits_and_jobs_do_not_matter():
    X, y = two_gaussians(100, 60)
    a = TauFPLClassifier(random_state=0, n_rounds=4).fit(X, y)
    b = TauFPLClassifier(random_state=0, n_rounds=4).fit(X, y)
    with joblib.parallel_config("threading"):
        c = TauFPLClassifier(random_state=0, n_rounds=4, n_jobs=2).fit(X, y)
    assert (a.coef_ == b.coef_).all()
    assert (a.coef_ == c.coef_).all()
    assert a.threshold_ == b.threshold_ == c.threshold_


def test_sparse_float32_memory_map_and_dask_agree_with_dense(tmp_path):
    dask_array = pytest.importorskip("dask.array")
    X, y = two_gaussians(300, 150, d=5)
    X = np.where(np.abs(X) < 0.5, 0.0, X).astype(np.float32)
    mapped = np.memmap(tmp_path / "X.bin", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    clf = TauFPLClassifier(tau=0.1, random_state=0, n_rounds=3)
    dense = clone(clf).fit(X.astype(float), y)
    for other in (sp.csr_matrix(X.astype(float)), X, mapped, dask_array.from_array(X, chunks=(70, 5))):
        fitted = clone(clf).fit(other, y)
        np.testing.assert_allclose(fitted.coef_, dense.coef_, rtol=1e-9)
        assert fitted.threshold_ == pytest.approx(dense.threshold_, rel=1e-9)
        np.testing.assert_allclose(fitted.decision_function(other), dense.decision_function(X.astype(float)), atol=1e-9)
        assert fitted.result_.recounted


def test_kernels():
    X, y = two_gaussians(80, 60)
    how = {"tau": 0.1, "ranking_tau": None, "threshold": "train", "tolerance": 1e-7, "R": 0.1}
    linear = TauFPLClassifier(**how, solver="fista").fit(X, y)
    gram = TauFPLClassifier(**how, kernel="precomputed").fit(X @ X.T, y)
    np.testing.assert_allclose(gram.decision_function(X @ X.T), linear.decision_function(X), atol=1e-3)
    ring = np.random.default_rng(0).standard_normal((300, 2))
    inside = (np.linalg.norm(ring, axis=1) < 1.0).astype(int)
    rbf = TauFPLClassifier(tau=0.1, kernel="rbf", R=1e-3, random_state=0, n_rounds=3).fit(ring, inside)
    fpr, tpr = rates(inside, rbf.predict(ring))
    assert fpr < 0.1
    assert tpr > 0.7
    assert not hasattr(rbf, "coef_")


def test_repeated_points_with_fista():
    X, y = two_gaussians(60, 40)
    twice = TauFPLClassifier(tau=0.1, solver="fista", threshold="train", R=0.1).fit(np.vstack([X, X]), np.tile(y, 2))
    assert twice.k_ == 12.0


def overlapping(n_neg=200, n_pos=100, shift=0.05, seed=0):
    """Two classes of nearly equal mean: an average of few negatives is the mean of the positives."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n_neg, n_pos])
    return rng.standard_normal((n_neg + n_pos, 2)) + shift * y[:, None], y


@pytest.mark.parametrize("threshold", ["train", "oob", "umbrella"])
@pytest.mark.parametrize("asked", [None, 0.02])
def test_a_collapsed_ranking_is_raised_and_said(threshold, asked):
    X, y = overlapping(shift=0.5)
    collapsed = solve(tau_fpl(X, y, 0.02), "lbfgs", options={"warn_of_collapse": False})
    assert collapsed.extra["collapsed"]  # the problem as asked for has no ranking
    clf = TauFPLClassifier(tau=0.02, ranking_tau=asked, threshold=threshold, delta=0.2, random_state=0)
    with pytest.warns(MipclassWarning, match=r"ranking_tau=0.02 collapsed.*raised to") as told:
        clf.fit(X, y)
    assert len(told) == 1
    assert clf.ranking_tau_ > 0.02
    assert np.any(clf.coef_)
    assert not clf.result_.extra["collapsed"]


def test_the_default_chooses_a_ranking_that_finds_positives():
    """Of the candidates the default takes the one with the most positives found at the tolerated rate on held-out points."""
    X, y = make_classification(6000, 20, n_informative=10, flip_y=0.05, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MipclassWarning)
        clf = TauFPLClassifier().fit(X[:3000], y[:3000])
    candidates, found = zip(*clf.ranking_taus_, strict=True)
    assert candidates == tuple(0.05 * 2**j for j in range(len(candidates)))
    assert clf.ranking_tau_ == candidates[int(np.argmax(found))] > 0.05
    fpr, tpr = rates(y[3000:], clf.predict(X[3000:]))
    moved = LogisticRegression().fit(X[:3000], y[:3000]).decision_function(X)
    b = rank_threshold(moved[:3000][y[:3000] == 0], 0.05)
    assert tpr > np.mean(moved[3000:][y[3000:] == 1] > b)
    assert fpr < 0.08


def test_the_umbrella_chooses_without_its_held_out_negatives():
    """Moving the held-out negatives changes the threshold, and neither the tau that is chosen nor the score."""
    X, y = two_gaussians(400, 200)
    first = TauFPLClassifier(threshold="umbrella", delta=0.2, random_state=0).fit(X, y)
    negatives = np.flatnonzero(y == 0)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    held = np.random.default_rng(seed).permutation(negatives)[: len(negatives) // 2]
    moved = X.copy()
    moved[held] += 1.0
    second = TauFPLClassifier(threshold="umbrella", delta=0.2, random_state=0).fit(moved, y)
    assert len(first.ranking_taus_) > 1
    assert second.ranking_taus_ == first.ranking_taus_
    np.testing.assert_array_equal(second.coef_, first.coef_)
    assert second.threshold_ > first.threshold_


@pytest.mark.parametrize("threshold", ["train", "oob"])
def test_no_ranking_at_all_claims_nothing(threshold):
    """Classes of equal mean: w = 0 is optimal for every tau."""
    points = np.random.default_rng(0).standard_normal((200, 2))
    X, y = np.repeat(points, 2, axis=0), np.tile([0, 1], 200)
    with pytest.warns(MipclassWarning, match="no ranking was found") as told:
        clf = TauFPLClassifier(threshold=threshold).fit(X, y)
    assert len(told) == 1
    assert clf.result_.claim == "none"
    assert "no ranking" in clf.guarantee_
    assert not clf.predict(X).any()


@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
def test_tied_negatives_do_not_pass_the_threshold_together():
    """A tenth of the negatives are empty rows, so that no threshold just below zero keeps the rate: at most tau on the training data."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [2000, 300])
    X = (rng.random((2300, 30)) < np.where(y == 1, 0.12, 0.06)[:, None]).astype(float)
    X[:200] = 0.0
    for tau in (0.1, 0.2, 0.3, 0.5, 0.7):
        clf = TauFPLClassifier(tau, ranking_tau=0.4).fit(X, y)
        assert rates(y, clf.predict(X))[0] <= tau


KERNELS = ["linear", "rbf", "precomputed"]


def weighted_points(seed, kernel):
    """(points or kernel matrix, labels, weights 0 to 3, a function that takes some rows of the first)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] + 0.7 * rng.normal(size=120) > 0).astype(int)
    if kernel == "precomputed":
        X = rbf_kernel(X)
    return X, y, rng.integers(0, 4, 120), lambda rows: X[np.ix_(rows, rows)] if kernel == "precomputed" else X[rows]


@pytest.mark.parametrize("threshold", ["oob", "train", "umbrella"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_weight_zero_is_removal(threshold, kernel):
    X, y, weights, take = weighted_points(0, kernel)
    kept = np.flatnonzero(weights)
    clf = TauFPLClassifier(tau=0.1, delta=0.2, threshold=threshold, n_rounds=3, kernel=kernel)
    weighed, removed = clone(clf).fit(X, y, weights), clone(clf).fit(take(kept), y[kept], weights[kept])
    new = X[:, kept] if kernel == "precomputed" else X
    np.testing.assert_allclose(weighed.decision_function(X), removed.decision_function(new), rtol=0, atol=1e-9)
    assert weighed.guarantee_ == removed.guarantee_
    if kernel == "precomputed":
        assert weighed.dual_coef_.shape == (1, 120)
        assert not weighed.dual_coef_[0, weights == 0].any()


@pytest.mark.parametrize("threshold", ["oob", "train"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_whole_weights_are_repetitions_with_any_kernel(threshold, kernel):
    X, y, weights, take = weighted_points(1, kernel)
    copies = np.repeat(np.arange(120), weights)
    clf = TauFPLClassifier(tau=0.1, threshold=threshold, n_rounds=3, kernel=kernel)
    weighed, repeated = clone(clf).fit(X, y, weights), clone(clf).fit(take(copies), y[copies])
    new = X[:, copies] if kernel == "precomputed" else X
    np.testing.assert_allclose(weighed.decision_function(X), repeated.decision_function(new), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_umbrella_counts_a_negative_once_whatever_its_weight(kernel):
    """The order statistic of the guarantee is that of as many negatives as rows were held out, not of their weight."""
    X, y, _, take = weighted_points(2, kernel)
    clf = TauFPLClassifier(tau=0.1, delta=0.2, threshold="umbrella", kernel=kernel)
    plain, twice = clone(clf).fit(X, y), clone(clf).fit(X, y, np.full(120, 2))
    held = max(umbrella_negatives_needed(0.1, 0.2), (y == 0).sum() // 2)
    assert f"of {held} held-out negatives" in twice.guarantee_
    assert twice.guarantee_ == plain.guarantee_
    copies = np.repeat(np.arange(120), 2)
    assert clone(clf).fit(take(copies), y[copies]).guarantee_ != plain.guarantee_


@pytest.mark.parametrize("threshold", ["train", "oob"])
@pytest.mark.parametrize("class_weight", mostly_slow([{0: 2, 1: 3}, {1: 0.3}, "balanced"], fast=[{0: 2, 1: 3}]))
def test_class_weight_is_a_factor_of_the_sample_weight(threshold, class_weight):
    X, y = two_gaussians(60, 40)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    factors = class_weight
    if class_weight == "balanced":
        factors = {label: weights.sum() / (2 * weights[y == label].sum()) for label in (0, 1)}
    product = weights * np.where(y == 1, factors.get(1, 1), factors.get(0, 1))
    clf = TauFPLClassifier(tau=0.1, threshold=threshold, class_weight=class_weight)
    weighed = clone(clf).fit(X, y, sample_weight=weights)
    by_hand = clone(clf).set_params(class_weight=None).fit(X, y, sample_weight=product)
    np.testing.assert_array_equal(weighed.coef_, by_hand.coef_)
    assert weighed.threshold_ == by_hand.threshold_
    if class_weight == {0: 2, 1: 3}:
        repeated = clone(clf).set_params(class_weight=None).fit(np.repeat(X, product, axis=0), np.repeat(y, product))
        np.testing.assert_allclose(repeated.coef_, weighed.coef_, rtol=1e-9)


def test_kernels_take_weights_of_any_size():
    """Halved weights are the same problem as the repeated rows of the whole ones: k is whole in both."""
    X, y = two_gaussians(80, 40)
    weights = np.where(y == 1, 1, 2) * (1 + np.arange(len(y)) % 2)
    how = {"tau": 0.1, "ranking_tau": None, "kernel": "rbf", "R": 0.01, "tolerance": 1e-9, "max_iter": 10**5}
    whole = TauFPLClassifier(**how, threshold="train").fit(X, y, sample_weight=weights)
    parts = TauFPLClassifier(**how, threshold="train").fit(X, y, sample_weight=weights / 2)
    assert weights[y == 0].sum() == 240
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-3)


def test_too_few_negatives_give_k_one_and_a_warning():
    X, y = two_gaussians(8, 30)
    with pytest.warns(MipclassWarning, match="k = 1"):
        clf = TauFPLClassifier(tau=0.05, threshold="train").fit(X, y)
    assert clf.k_ == 1.0


def test_scorers_in_a_grid_search():
    X, labels = two_gaussians(120, 80)
    for scorer in (np_scorer(0.1), tpr_at_fpr_scorer(0.1)):
        search = GridSearchCV(
            TauFPLClassifier(tau=0.1, n_rounds=2, random_state=0), {"R": [1e-2, 1.0]}, scoring=scorer, cv=3
        )
        search.fit(X, labels)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": 0.0}, "tau must be a number in"),
        ({"tau": 1.0}, "tau must be a number in"),
        ({"tau": "5%"}, "tau must be a number in"),
        ({"ranking_tau": 2}, "ranking_tau must be a number in"),
        ({"ranking_tau": "best"}, "ranking_tau must be 'auto', None or a number in"),
        ({"class_weight": {2: 1.0}}, "class_weight names 2"),
        ({"delta": -1}, "delta must be a number in"),
        ({"R": 0.0}, "R must be a positive number"),
        ({"threshold": "cv"}, "threshold must be one of 'oob'"),
        ({"kernel": "poly"}, "kernel must be one of"),
        ({"kernel": "rbf", "gamma": -1.0}, "gamma must be"),
        ({"n_rounds": 0}, "n_rounds must be"),
        ({"tolerance": 0}, "tolerance must be"),
    ],
)
def test_bad_parameters_are_named(change, message):
    X, y = two_gaussians(30, 30)
    with pytest.raises(InvalidInputError, match=message):
        TauFPLClassifier(**change).fit(X, y)


def test_bad_data_are_named():
    X, y = two_gaussians(30, 30)
    with pytest.raises(ValueError, match="one class"):
        TauFPLClassifier().fit(X, np.zeros(60))
    with pytest.raises(ValueError, match="Only binary classification"):
        TauFPLClassifier().fit(X, np.arange(60) % 3)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        TauFPLClassifier().fit(X, y)
    with pytest.raises(ValueError, match="NaN or infinity in rows"):
        TauFPLClassifier().fit(X.astype(np.float32), y)
    with pytest.raises(InvalidInputError, match="two labels"):
        np_score([1, 1], [1, 1], tau=0.1)


def test_time_limit_returns_the_rounds_done():
    X, y = two_gaussians(200, 100)
    clf = TauFPLClassifier(n_rounds=500, time_limit=0.3, random_state=0).fit(X, y)
    assert 1 <= len(clf.results_) < 500
    assert np.isfinite(clf.threshold_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_saved_and_loaded_it_predicts_the_same(tmp_path, kernel):
    from mipclass import load, save

    X, y = two_gaussians(80, 60)
    clf = TauFPLClassifier(tau=0.1, kernel=kernel, n_rounds=2, random_state=0).fit(X, y)
    save(clf, tmp_path / "clf.json")
    again = load(tmp_path / "clf.json")
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))
    assert again.guarantee_ == clf.guarantee_
