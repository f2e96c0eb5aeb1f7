"""OutlierPathSVC: scikit-learn's checks, selection inside the training part, kernels, weights, clear errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mipclass import OutlierPathSVC
from mipclass.errors import InvalidInputError
from tests.truth.outlier_path import noisy


@parametrize_with_checks([OutlierPathSVC(), OutlierPathSVC("s", kernel="rbf", selection="cv", n_folds=3)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("path", ["theta", "s"])
def test_flipped_labels_are_found(path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    X += np.sign(X[:, [0]]) * [1.0, 0.0]
    truth = np.where(X[:, 0] > 0, "yes", "no")
    flipped = rng.random(200) < 0.15
    y = np.where(flipped, np.where(truth == "yes", "no", "yes"), truth)
    plain = OutlierPathSVC(path, selection=1.0 if path == "theta" else -1e6).fit(X, y)
    robust = OutlierPathSVC(path, selection=0.0).fit(X, y)
    assert not plain.outliers_.any()
    np.testing.assert_array_equal(robust.outliers_, flipped)
    assert (robust.predict(X) == truth).all()


def test_selected_value_minimises_the_held_out_errors_and_ignores_the_rest():
    X, y = noisy(150, 3, 0, flip=0.25)
    clf = OutlierPathSVC(C=[0.1, 1.0], refit=False).fit(X, y)
    errors = np.array([e for _, _, e in clf.validation_errors_])
    chosen = [(c, v) for c, v, e in clf.validation_errors_ if e == errors.min()]
    assert (clf.C_, clf.theta_) in chosen
    assert any(v == 1.0 for _, v, _ in clf.validation_errors_)  # the plain SVM is a candidate
    again = OutlierPathSVC(C=[0.1, 1.0], refit=False).fit(X, y)
    np.testing.assert_array_equal(again.coef_, clf.coef_)


def test_score_is_what_the_dual_coefficients_say():
    X, y = noisy(80, 3, 1)
    clf = OutlierPathSVC("s", kernel="rbf", gamma=0.5).fit(X, y)
    by_hand = (rbf_kernel(X, X[clf.support_], gamma=0.5) + 1.0) @ clf.dual_coef_[0]
    np.testing.assert_allclose(clf.decision_function(X), by_hand, atol=1e-10)
    K = rbf_kernel(X, gamma=0.5)
    same = OutlierPathSVC("s", kernel="precomputed", selection=clf.s_).fit(K, y)
    np.testing.assert_allclose(same.decision_function(K), by_hand, atol=1e-6)


def test_weights_are_repetitions():
    X, y = noisy(60, 2, 2)
    weights = np.random.default_rng(0).integers(0, 3, 60)
    weights[:2] = 1
    one = OutlierPathSVC().fit(X, y, sample_weight=weights)
    two = OutlierPathSVC().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-8)


FITS = {
    "theta": {},
    "s": {"path": "s"},
    "folds": {"selection": "cv", "n_folds": 3},
    "no refit": {"refit": False},
    "no selection": {"selection": 0.3},
    "rbf": {"kernel": "rbf"},
    "precomputed": {"kernel": "precomputed"},
    "precomputed folds": {"kernel": "precomputed", "selection": "cv"},
    "balanced": {"class_weight": "balanced", "C": [0.1, 1.0]},
}


def weighted_points(seed):
    """Points with weights 0, 1 and 2; every other seed has few places."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (40, 2)) * 1.0 if seed % 2 else rng.normal(size=(40, 2))
    return X, (X[:, 0] + 0.7 * rng.normal(size=40) > 0).astype(int), rng.integers(0, 3, 40)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_weight_zero_is_removal(fit, seed):
    X, y, weights = weighted_points(seed)
    kept = np.flatnonzero(weights)
    new = X if "precomputed" not in fit else rbf_kernel(X)
    part = X[kept] if "precomputed" not in fit else new[np.ix_(kept, kept)]
    clf = OutlierPathSVC(**FITS[fit]).fit(new, y, sample_weight=weights)
    removed = OutlierPathSVC(**FITS[fit]).fit(part, y[kept], sample_weight=weights[kept])
    assert (clf.C_, clf.theta_, clf.s_) == (removed.C_, removed.theta_, removed.s_)
    assert clf.validation_errors_ == removed.validation_errors_
    np.testing.assert_array_equal(clf.dual_coef_, removed.dual_coef_)
    np.testing.assert_array_equal(clf.support_, kept[removed.support_])
    np.testing.assert_array_equal(clf.path_rows_, kept[removed.path_rows_])
    assert clf.outliers_.shape == (40,)
    np.testing.assert_array_equal(np.flatnonzero(clf.outliers_), kept[np.flatnonzero(removed.outliers_)])
    known = new if "precomputed" not in fit else new[:, kept]
    np.testing.assert_allclose(clf.decision_function(new), removed.decision_function(known), rtol=0, atol=1e-12)
    if "precomputed" not in fit:
        sparse = OutlierPathSVC(**FITS[fit]).fit(sp.csr_array(X), y, sample_weight=weights)
        np.testing.assert_array_equal(sparse.dual_coef_, clf.dual_coef_)
        np.testing.assert_array_equal(sparse.support_, clf.support_)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_whole_weights_are_repetitions_in_the_splits_too(fit, seed):
    X, y, weights = weighted_points(seed)
    copies = np.repeat(np.arange(40), weights)
    K = rbf_kernel(X)
    data = (X, X[copies]) if "precomputed" not in fit else (K, K[np.ix_(copies, copies)])
    clf = OutlierPathSVC(**FITS[fit]).fit(data[0], y, sample_weight=weights)
    repeated = OutlierPathSVC(**FITS[fit]).fit(data[1], y[copies])
    assert clf.theta_ == pytest.approx(repeated.theta_, abs=1e-9)
    assert clf.s_ == pytest.approx(repeated.s_, abs=1e-9)
    np.testing.assert_array_equal(clf.outliers_[copies], repeated.outliers_)
    new = (X, X) if "precomputed" not in fit else (K, K[:, copies])
    np.testing.assert_allclose(clf.decision_function(new[0]), repeated.decision_function(new[1]), rtol=0, atol=1e-7)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("label", [0, 1])
def test_a_class_of_weight_zero_is_named(fit, label):
    X, y, _ = weighted_points(0)
    with pytest.raises(
        InvalidInputError, match=f"all points of class {label} have weight zero, so that one class is left"
    ):
        OutlierPathSVC(**FITS[fit]).fit(
            X if "precomputed" not in fit else rbf_kernel(X), y, sample_weight=(y != label) * 1.0
        )


@pytest.mark.slow
def test_grid_search_in_two_processes():
    X, y = noisy(60, 2, 4)
    search = GridSearchCV(OutlierPathSVC(), {"C": [0.1, 1.0]}, n_jobs=2, cv=2).fit(X, y)
    assert search.best_score_ > 0.5


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"path": "x"}, "path must be"),
        ({"C": 0.0}, "positive number"),
        ({"C": []}, "empty list"),
        ({"C": [1.0, 2.0], "selection": 0.0}, "choose among"),
        ({"selection": "best"}, "selection must be"),
        ({"selection": 1.5}, "from 0 to 1"),
        ({"path": "s", "selection": 0.5}, "must be <= 0"),
        ({"kernel": "sigmoid"}, "kernel must be"),
        ({"n_folds": 1}, "n_folds"),
        ({"validation_fraction": 1.0}, "strictly between"),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    X, y = noisy(20, 2, 0)
    with pytest.raises(InvalidInputError, match=words):
        OutlierPathSVC(**parameters).fit(X, y)


def test_a_matrix_that_is_no_kernel_is_refused():
    X, y = noisy(20, 2, 0)
    K = rbf_kernel(X)
    K[0, 1] = K[1, 0] = 5.0
    with pytest.raises(InvalidInputError, match="positive semidefinite"):
        OutlierPathSVC(kernel="precomputed", selection=0.0).fit(K, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_points_give_the_fit_of_dense_ones(kernel):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.4)
    y = (X.sum(axis=1) + 0.3 * rng.normal(size=80) > 0).astype(int)
    dense = OutlierPathSVC(kernel=kernel).fit(X, y)
    sparse = OutlierPathSVC(kernel=kernel).fit(sp.csr_array(X), y)
    assert np.array_equal(sparse.dual_coef_, dense.dual_coef_)
    assert np.allclose(sparse.decision_function(sp.csr_matrix(X)), dense.decision_function(X), rtol=0, atol=1e-12)


def test_sparse_points_too_large_to_be_made_dense_are_refused_before_any_work():
    X = sp.eye_array(30_000, 30_000, format="csr")
    with pytest.raises(ValueError, match=r"made dense.* 7 GB.*RGDTreeSVC"):
        OutlierPathSVC().fit(X, np.arange(30_000) % 2)
