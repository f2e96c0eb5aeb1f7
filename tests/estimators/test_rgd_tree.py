"""RGDTreeSVC and RGDTreeOneClass: scikit-learn's own checks, what the attributes promise, and kindness to bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mipclass import RGDTreeOneClass, RGDTreeSVC
from mipclass.errors import InvalidInputError, MipclassWarning


@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
@parametrize_with_checks([RGDTreeSVC(height=3, n_rounds=2), RGDTreeOneClass(height=3, n_rounds=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def noisy():
    """Two blobs, 10 of 100 labels flipped."""
    X, y = make_blobs(n_samples=100, centers=[[-4.0, 0.0], [4.0, 1.0]], cluster_std=1.0, random_state=0)
    flipped = np.random.default_rng(0).choice(100, size=10, replace=False)
    y[flipped] = 1 - y[flipped]
    return X, y, flipped


def test_finds_the_flipped_points_and_the_margin_is_true(noisy):
    X, y, flipped = noisy
    clf = RGDTreeSVC(outlier_fraction=0.1).fit(X, y)
    assert np.array_equal(np.flatnonzero(clf.outliers_), np.sort(flipped))
    assert clf.margin_ == pytest.approx(2 / np.linalg.norm(clf.coef_))
    signed = np.where(y == 1, 1, -1) * clf.decision_function(X)
    assert signed[~clf.outliers_].min() == pytest.approx(1)
    assert clf.margin_ >= clf.tree_margin_ > 0
    assert clf.result_.recounted


def test_labels_may_be_words_and_fractions_may_be_by_class(noisy):
    X, y, flipped = noisy
    words = np.where(y == 1, "spam", "ham")
    share = {
        "spam": np.mean(np.isin(np.flatnonzero(y == 1), flipped)),
        "ham": np.mean(np.isin(np.flatnonzero(y == 0), flipped)),
    }
    clf = RGDTreeSVC(outlier_fraction=share).fit(X, words)
    assert np.array_equal(np.flatnonzero(clf.outliers_), np.sort(flipped))
    assert clf.score(X[~clf.outliers_], words[~clf.outliers_]) == 1


def test_sparse_input_gives_the_same_rule(noisy):
    X, y, _ = noisy
    dense = RGDTreeSVC().fit(X, y)
    sparse = RGDTreeSVC().fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-8)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X)), dense.predict(X))


def test_one_seed_one_answer(noisy):
    X, y, _ = noisy
    first, second = (RGDTreeSVC(polish=False, random_state=7).fit(X, y) for _ in range(2))
    assert np.array_equal(first.coef_, second.coef_)
    assert np.array_equal(first.intercept_, second.intercept_)


def test_a_fraction_below_one_point_leaves_none_out():
    X, y = make_blobs(n_samples=30, centers=[[-4.0, 0.0], [4.0, 1.0]], random_state=0)
    clf = RGDTreeSVC(outlier_fraction=0.03).fit(X, y)
    assert not clf.outliers_.any()
    assert clf.margin_ == pytest.approx(RGDTreeSVC(outlier_fraction=0.0).fit(X, y).margin_)


def test_overlapping_classes_give_a_warning_and_the_best_node():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.repeat([0, 1], 100)
    with pytest.warns(MipclassWarning, match="no separating slab"):
        clf = RGDTreeSVC(outlier_fraction=0.05).fit(X, y)
    assert clf.margin_ <= 0
    assert clf.result_.claim == "none"
    assert not clf.result_.values
    assert np.isfinite(clf.decision_function(X)).all()


def test_soft_margin_on_the_points_that_stay(noisy):
    from sklearn.svm import LinearSVC

    X, y, _ = noisy
    clf = RGDTreeSVC(C=0.1).fit(X, y)
    kept = ~clf.outliers_
    by_hand = LinearSVC(C=0.1, dual=False).fit(X[kept], y[kept])
    np.testing.assert_allclose(clf.coef_, by_hand.coef_)


@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
@pytest.mark.parametrize("fraction", [0.2, {0: 0.05, 1: 0.2}])
def test_reselected_outliers_are_the_worst_to_the_soft_margin(fraction):
    """Overlapping classes: the points left out at the end are those furthest on the wrong side, as many as asked for,
    and the squared hinge on the points that stay is not above that of the tree's choice."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(120, 3)), np.repeat([0, 1], 60)
    X[:, 0] += 1.2 * y
    flipped = rng.choice(120, 15, replace=False)
    y[flipped] = 1 - y[flipped]
    first, again = (RGDTreeSVC(fraction, C=0.1, reselect=r, polish=False).fit(X, y) for r in (False, True))
    assert (first.outliers_ != again.outliers_).any()
    signs = np.where(y == 1, 1.0, -1.0)
    groups = [y == 0, y == 1] if isinstance(fraction, dict) else [np.ones(120, dtype=bool)]
    margins = signs * again.decision_function(X)
    for group in groups:
        assert (group & again.outliers_).sum() == (group & first.outliers_).sum()
        assert margins[group & again.outliers_].max() <= margins[group & ~again.outliers_].min()

    def objective(clf):
        hinge = np.maximum(0, 1 - signs * clf.decision_function(X))[~clf.outliers_]
        return 0.5 * (np.sum(clf.coef_**2) + np.sum(clf.intercept_**2)) + 0.1 * np.sum(hinge**2)

    assert objective(again) < objective(first)


def test_reselect_needs_a_soft_margin(noisy):
    X, y, _ = noisy
    with pytest.raises(InvalidInputError, match="give its C"):
        RGDTreeSVC(reselect=True).fit(X, y)


def test_tree_on_request(noisy):
    X, y, _ = noisy
    clf = RGDTreeSVC(keep_tree=True, height=4).fit(X, y)
    widths = [w for _, w in clf.tree_.nodes(data="width")]
    assert max(widths) == pytest.approx(clf.tree_margin_)
    assert all(clf.tree_.in_degree(v) <= 1 for v in clf.tree_)


def test_grid_search_in_a_pipeline(noisy):
    X, y, _ = noisy
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), RGDTreeSVC(height=3, n_rounds=2)),
        {"rgdtreesvc__outlier_fraction": [0.15, 0.25]},
        cv=2,
    ).fit(X, y)
    assert grid.best_score_ > 0.8


@pytest.mark.parametrize("fraction", [1.0, -0.1, 1.5, float("nan"), "many", True, {0: 2.0}])
def test_fraction_outside_its_range(noisy, fraction):
    X, y, _ = noisy
    with pytest.raises(InvalidInputError, match=r"outlier_fraction must be a number in \[0, 1\)"):
        RGDTreeSVC(outlier_fraction=fraction).fit(X, y)


def test_a_class_smaller_than_its_outliers(noisy):
    X, y, _ = noisy
    small = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:3]])
    with pytest.raises(InvalidInputError, match="all 3 points of class 1"):
        RGDTreeSVC(outlier_fraction=0.2).fit(X[small], y[small])


def test_nan_is_refused(noisy):
    X, y, _ = noisy
    X = X.copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        RGDTreeSVC().fit(X, y)


def test_unknown_label_in_the_fractions(noisy):
    X, y, _ = noisy
    with pytest.raises(InvalidInputError, match="not a label"):
        RGDTreeSVC(outlier_fraction={7: 0.1}).fit(X, y)


def test_one_class_leaves_out_the_planted_outliers():
    rng = np.random.default_rng(0)
    inliers = rng.normal(size=(95, 3)) * 0.5 + np.array([5.0, 5.0, 5.0])
    X = np.vstack([inliers, -inliers[:5]])
    clf = RGDTreeOneClass(outlier_fraction=0.05).fit(X)
    assert np.array_equal(np.flatnonzero(clf.outliers_), np.arange(95, 100))
    assert clf.margin_ == pytest.approx(1 / np.linalg.norm(clf.result_.values["w"]))
    assert np.array_equal(clf.predict(X), np.where(clf.outliers_, -1, 1))
    assert np.linalg.norm(clf.coef_) == pytest.approx(1)


def test_one_class_with_the_origin_inside():
    X = np.random.default_rng(0).normal(size=(100, 2))
    with pytest.warns(MipclassWarning, match="origin"):
        clf = RGDTreeOneClass(outlier_fraction=0.05).fit(X)
    assert clf.margin_ <= 0


def test_drawing_a_tree(noisy):
    from mipclass.plots import RGDTreeDisplay

    X, y, _ = noisy
    clf = RGDTreeSVC(keep_tree=True, height=3, n_rounds=3).fit(X, y)
    display = RGDTreeDisplay.from_estimator(clf)
    drawn = display.ax_.collections[0].get_offsets()
    assert len(drawn) == clf.tree_.number_of_nodes()
    assert display.ax_.get_ylabel() == "width of the slab"
    rerooted = [edge for edge in clf.tree_.edges(data="reroot") if edge[2]]
    assert len(rerooted) == max(tree for _, tree in clf.tree_.nodes(data="tree"))
    with pytest.raises(InvalidInputError, match="keep_tree=True"):
        RGDTreeDisplay.from_estimator(RGDTreeSVC(height=2, n_rounds=1).fit(X, y))


@pytest.mark.parametrize(
    "estimator", [RGDTreeSVC({0: 0.1, 1: 0.1}, keep_tree=True, height=3), RGDTreeOneClass(0.5, height=3)]
)
@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
def test_saved_and_loaded_without_pickle(estimator, noisy, tmp_path):
    from mipclass.app.saving import load, save

    X, y, _ = noisy
    fitted = estimator.fit(X, y)
    save(fitted, tmp_path / "model.json")
    back = load(tmp_path / "model.json")
    np.testing.assert_array_equal(back.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(back.outliers_, fitted.outliers_)
