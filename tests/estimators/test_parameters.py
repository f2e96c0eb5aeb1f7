"""What all estimators share: parameters that round-trip, refits that forget, class weights, progress, the default seed."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import mipclass
from mipclass.errors import InvalidInputError
from mipclass.estimators import ESTIMATORS
from tests.breadth import mostly_slow

NAMES = sorted(ESTIMATORS)
OTHER = {
    "ZeroOneClassifier": {"solver": "csa", "n_restarts": 2, "class_weight": {0: 2.0}, "random_state": 3},
    "RiskScoreClassifier": {"max_features": 2, "points": 3, "thresholds": 2, "class_weight": "balanced"},
    "PolyhedralClassifier": {"n_hyperplanes": 1, "inside": 1, "l1": 0.01, "class_weight": {1: 2.0}},
    "OutlierPathSVC": {
        "path": "s",
        "kernel": "rbf",
        "C": [0.1, 1.0],
        "selection": "cv",
        "n_folds": 3,
        "class_weight": {1: 3},
    },
    "RGDTreeSVC": {
        "outlier_fraction": {0: 0.1, 1: 0.0},
        "C": None,
        "keep_tree": True,
        "height": 3,
        "class_weight": {0: 2},
    },
    "RGDTreeOneClass": {"outlier_fraction": 0.2, "height": 3, "keep_tree": True},
    "TauFPLClassifier": {
        "tau": 0.2,
        "ranking_tau": 0.4,
        "kernel": "rbf",
        "threshold": "train",
        "class_weight": "balanced",
    },
}
"""Parameters other than the defaults, under which a fit sets other attributes."""


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    return rng.normal(size=(80, 2)) + 2.5 * y[:, None] + 3.0, y


def fitted_names(estimator):
    return {name for name in vars(estimator) if name.endswith("_")}


@pytest.mark.parametrize("name", NAMES)
def test_parameters_round_trip(name):
    kind = getattr(mipclass, name)
    other = kind(**OTHER[name])
    through = kind().set_params(**other.get_params())
    assert through.get_params() == other.get_params() == clone(other).get_params()
    assert vars(through) == vars(other)  # __init__ stores parameters and nothing else
    assert set(vars(other)) == set(inspect.signature(kind).parameters)
    assert kind().set_params(**kind().get_params()).get_params() == kind().get_params()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
def test_a_refit_with_other_parameters_forgets_the_first(name, points):
    """Back and forth: the attributes and the predictions are those of a fresh estimator with the same parameters."""
    X, y = points
    kind = getattr(mipclass, name)
    used = kind().fit(X, y)
    for parameters in (OTHER[name], kind().get_params()):
        fresh = kind(**parameters).fit(X, y)
        used.set_params(**parameters).fit(X, y)
        assert fitted_names(used) == fitted_names(fresh)
        np.testing.assert_array_equal(used.predict(X), fresh.predict(X))
        np.testing.assert_array_equal(used.decision_function(X), fresh.decision_function(X))


@pytest.mark.parametrize("name", NAMES)
def test_every_estimator_has_a_seed_a_limit_and_progress(name):
    parameters = inspect.signature(getattr(mipclass, name)).parameters
    assert parameters["random_state"].default == 0
    assert parameters["time_limit"].default is None
    assert parameters["progress"].default is False
    assert name == "RGDTreeOneClass" or parameters["class_weight"].default is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
def test_progress_writes_to_stderr_and_changes_nothing(name, points, capfd):
    X, y = points
    kind = getattr(mipclass, name)
    quiet = kind().fit(X, y)
    capfd.readouterr()
    told = kind(progress=True).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert err
    np.testing.assert_array_equal(told.decision_function(X), quiet.decision_function(X))


WEIGHED = [(name, weight) for weight in ({0: 2, 1: 3}, "balanced") for name in NAMES if name != "RGDTreeOneClass"]


@pytest.mark.parametrize(
    ("name", "class_weight"),
    mostly_slow(WEIGHED, fast=[pair for pair in WEIGHED if pair != ("RiskScoreClassifier", "balanced")]),
)
@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
def test_class_weight_means_the_product_with_sample_weight(name, class_weight, points):
    """For "balanced" with sample weights too: both classes then weigh the same."""
    X, y = points
    X = X + np.random.default_rng(5).normal(size=X.shape)  # overlapping, so that weights matter
    if name == "PolyhedralClassifier":
        pytest.skip("its class weights are factors of class averages, out of which weights of whole classes cancel")
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    factors = class_weight
    if class_weight == "balanced":
        factors = {label: weights.sum() / (2 * weights[y == label].sum()) for label in (0, 1)}
    product = weights * np.where(y == 1, factors[1], factors[0])
    kind = getattr(mipclass, name)
    weighed = kind(class_weight=class_weight).fit(X, y, sample_weight=weights)
    by_hand = kind().fit(X, y, sample_weight=product)
    np.testing.assert_allclose(weighed.decision_function(X), by_hand.decision_function(X), rtol=1e-9, atol=1e-12)


def test_class_weights_of_the_outlier_path_equal_repeated_rows(points):
    X, y = points
    X = X + np.random.default_rng(5).normal(size=X.shape)
    copies = np.where(y == 1, 3, 1)
    for selection in ("validation", "cv", 0.0):
        how = {"selection": selection}
        weighed = mipclass.OutlierPathSVC(class_weight={1: 3}, **how).fit(X, y)
        repeated = mipclass.OutlierPathSVC(**how).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
        np.testing.assert_allclose(weighed.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-8)
        assert weighed.theta_ == pytest.approx(repeated.theta_, rel=1e-6)


CLASSIFIERS = sorted(set(ESTIMATORS) - {"RGDTreeOneClass"})  # the one-class tree reads no labels


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("labels", [[None, "b"], ["b", None], np.array(["b", 1], dtype=object)])
def test_labels_that_cannot_be_compared_are_refused_in_one_sentence(name, labels):
    y = np.array([labels[k % 2] for k in range(10)], dtype=object)
    with pytest.raises(InvalidInputError, match="must be comparable with each other"):
        getattr(mipclass, name)().fit(np.arange(20.0).reshape(10, 2), y)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_missing_label_of_pandas_is_refused_in_one_sentence(name):
    y = pytest.importorskip("pandas").Series([None, "b"] * 5, dtype="string")
    with pytest.raises(InvalidInputError, match="must be comparable with each other"):
        getattr(mipclass, name)().fit(np.arange(20.0).reshape(10, 2), y)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_single_class_is_named_as_a_plain_value(name):
    with pytest.raises(ValueError, match=r"one class \(3\)"):
        getattr(mipclass, name)().fit(np.arange(20.0).reshape(10, 2), np.full(10, 3))
