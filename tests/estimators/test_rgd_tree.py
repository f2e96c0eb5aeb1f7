"""RGDTreeSVC and RGDTreeOneClass: scikit-learn's own checks, what the attributes promise, and kindness to bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from mipclass import RGDTreeOneClass, RGDTreeSVC
from mipclass.errors import InvalidInputError, MipclassWarning
from mipclass.estimators.soft_margin import CANDIDATES, HELD_OUT, SPLITS
from mipclass.estimators.splits import row_hashes, split


def known_failures(estimator):
    if isinstance(estimator, RGDTreeOneClass):
        return {}
    reason = "with class weights of 1e7 to 1 a tenth of the weight is more than the light class, which is refused: any margin is possible without it"
    return {"check_class_weight_classifiers": reason}


@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
@parametrize_with_checks(
    [RGDTreeSVC(), RGDTreeOneClass(height=3, n_rounds=2)],
    expected_failed_checks=known_failures,
    xfail_strict=True,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
@parametrize_with_checks(
    [RGDTreeSVC(C=None, height=3, n_rounds=2)], expected_failed_checks=known_failures, xfail_strict=True
)
def test_scikit_learn_checks_without_a_soft_margin(estimator, check):
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
    clf = RGDTreeSVC(outlier_fraction=0.1, C=None).fit(X, y)
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
    clf = RGDTreeSVC(outlier_fraction=share, C=None).fit(X, words)
    assert np.array_equal(np.flatnonzero(clf.outliers_), np.sort(flipped))
    assert clf.score(X[~clf.outliers_], words[~clf.outliers_]) == 1


def test_sparse_input_gives_the_same_rule(noisy):
    X, y, _ = noisy
    dense = RGDTreeSVC().fit(X, y)
    sparse = RGDTreeSVC().fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-8)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X)), dense.predict(X))


@pytest.mark.parametrize("C", [None, "auto"])
def test_one_seed_one_answer(noisy, C):
    X, y, _ = noisy
    first, second = (RGDTreeSVC(polish=False, random_state=7, C=C).fit(X, y) for _ in range(2))
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
        clf = RGDTreeSVC(outlier_fraction=0.05, C=None).fit(X, y)
    assert clf.margin_ <= 0
    assert clf.result_.claim == "none"
    assert not clf.result_.values
    assert np.isfinite(clf.decision_function(X)).all()


def test_soft_margin_on_the_points_that_stay(noisy):
    X, y, _ = noisy
    clf = RGDTreeSVC(C=0.1, reselect=False).fit(X, y)
    kept = ~clf.outliers_
    by_hand = LinearSVC(C=0.1, dual=False).fit(X[kept], y[kept])
    np.testing.assert_allclose(clf.coef_, by_hand.coef_)


@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
@pytest.mark.parametrize("fraction", [0.2, {0: 0.05, 1: 0.2}])
def test_reselected_outliers_are_the_worst_to_the_soft_margin(fraction):
    """Overlapping classes: the points left out at the end are those furthest on the wrong side, at most as many as asked for,
    and the squared hinge of the points that stay plus one for each that does not is not above that of the tree's choice."""
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
        assert 0 < (group & again.outliers_).sum() <= (group & first.outliers_).sum()
        assert margins[group & again.outliers_].max() < 0
        if (group & again.outliers_).sum() < (group & first.outliers_).sum():
            assert margins[group & ~again.outliers_].min() >= 0
        assert margins[group & again.outliers_].max() <= margins[group & ~again.outliers_].min()

    def objective(clf):
        hinge = np.maximum(0, 1 - signs * clf.decision_function(X))[~clf.outliers_]
        return 0.5 * (np.sum(clf.coef_**2) + np.sum(clf.intercept_**2)) + 0.1 * (np.sum(hinge**2) + clf.outliers_.sum())

    assert objective(again) < objective(first)


def test_defaults_on_overlapping_classes_do_not_warn_and_are_near_the_linear_svm():
    X, y = make_classification(1000, 10, n_informative=4, flip_y=0.2, class_sep=0.8, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MipclassWarning)
        clf = RGDTreeSVC().fit(X[:500], y[:500])
    assert clf.margin_ <= 0  # the classes overlap without the outliers too
    assert 40 < clf.outliers_.sum() <= 50
    assert clf.score(X[500:], y[500:]) >= LinearSVC(dual=False).fit(X[:500], y[:500]).score(X[500:], y[500:]) - 0.01


def test_c_is_the_candidate_with_the_fewest_errors_on_held_out_points(noisy):
    """Recomputed from the splits: none of the candidates has fewer errors than the one that was chosen."""
    X, y, _ = noisy
    X = 0.01 * X  # in a far unit, where a small C cannot be right
    clf = RGDTreeSVC(outlier_fraction=0.0).fit(X, y)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    hashes = row_hashes(X)
    errors = {}
    for C in CANDIDATES:
        errors[C] = 0
        for s in range(SPLITS):
            held, train = split(hashes, np.where(y == 1, 1.0, -1.0), HELD_OUT, seed + 1 + s)
            train = train[np.lexsort((y[train], hashes[train]))]
            errors[C] += np.sum(LinearSVC(C=C, dual=False).fit(X[train], y[train]).predict(X[held]) != y[held])
    assert min(CANDIDATES, key=lambda C: errors[C]) == clf.C_


@pytest.mark.parametrize("seed", [0, 4, 65, 130, 133, 148])
@pytest.mark.parametrize("fraction", [0.1, {0: 0.1, 1: 0.2}])
def test_weights_and_repetitions_choose_the_same_c(seed, fraction):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(12, 60)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) if rng.random() < 0.5 else rng.integers(-2, 3, (n, d)) * 1.0
    y = (X[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(int)
    weights = rng.integers(0, 4, n)
    copies = np.repeat(np.arange(n), weights)
    weighed = RGDTreeSVC(fraction).fit(X, y, sample_weight=weights)
    repeated = RGDTreeSVC(fraction).fit(X[copies], y[copies])
    assert weighed.C_ == repeated.C_
    assert not weighed.outliers_[weights == 0].any()
    for clf, rows in ((weighed, np.arange(n)), (repeated, copies)):
        used = np.flatnonzero(weights[rows] > 0)
        together = {}
        for row in used.tolist():  # equal points are left out together
            together.setdefault((*X[rows[row]], y[rows[row]]), set()).add(bool(clf.outliers_[row]))
        assert all(len(masks) == 1 for masks in together.values())


def test_a_class_that_its_weights_make_lighter_than_the_outliers_is_refused(noisy):
    X, y, _ = noisy
    with pytest.raises(InvalidInputError, match="a share for each class"):
        RGDTreeSVC(class_weight={0: 1000.0, 1: 0.0001}).fit(X, y)
    by_class = RGDTreeSVC({0: 0.1, 1: 0.1}, class_weight={0: 1000.0, 1: 0.0001}, C=1.0).fit(X, y)
    assert np.mean(by_class.predict(X) == 0) > 0.87  # what scikit-learn's check asks for


def test_points_come_back_where_there_are_no_outliers():
    X, y = make_blobs(n_samples=100, centers=[[-4.0, 0.0], [4.0, 1.0]], cluster_std=1.0, random_state=0)
    clf = RGDTreeSVC(C=1.0).fit(X, y)
    assert not clf.outliers_.any()
    np.testing.assert_allclose(clf.coef_, LinearSVC(dual=False).fit(X, y).coef_)


@pytest.mark.parametrize("C", [None, 0.1, "auto"])
@pytest.mark.parametrize("class_weight", [{0: 2, 1: 3}, {1: 0.3}, "balanced"])
@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
def test_class_weight_is_a_factor_of_the_sample_weight(noisy, class_weight, C):
    X, y, _ = noisy
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    factors = class_weight
    if class_weight == "balanced":
        factors = {label: weights.sum() / (2 * weights[y == label].sum()) for label in (0, 1)}
    product = weights * np.where(y == 1, factors.get(1, 1), factors.get(0, 1))
    clf = RGDTreeSVC(C=C, height=3, n_rounds=2)
    weighed = clone(clf).set_params(class_weight=class_weight).fit(X, y, sample_weight=weights)
    by_hand = clone(clf).fit(X, y, sample_weight=product)
    np.testing.assert_array_equal(weighed.coef_, by_hand.coef_)
    np.testing.assert_array_equal(weighed.outliers_, by_hand.outliers_)
    if class_weight == {0: 2, 1: 3}:
        repeated = clone(clf).fit(np.repeat(X, product, axis=0), np.repeat(y, product))
        assert repeated.C_ == weighed.C_
        assert product[weighed.outliers_].sum() <= 0.1 * product.sum()


@pytest.mark.parametrize("C", [0.0, -1.0, "best", float("inf"), True])
def test_bad_c_is_named(noisy, C):
    X, y, _ = noisy
    with pytest.raises(InvalidInputError, match="C must be a positive number, 'auto' or None"):
        RGDTreeSVC(C=C).fit(X, y)


def test_tree_on_request(noisy):
    X, y, _ = noisy
    clf = RGDTreeSVC(keep_tree=True, height=4).fit(X, y)
    widths = [w for _, w in clf.tree_.nodes(data="width")]
    assert max(widths) == pytest.approx(clf.tree_margin_)
    assert all(clf.tree_.in_degree(v) <= 1 for v in clf.tree_)


def test_grid_search_in_a_pipeline(noisy):
    X, y, _ = noisy
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), RGDTreeSVC(height=3, n_rounds=2, C=1.0)),
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
