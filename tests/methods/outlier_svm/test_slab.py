"""Slabs of weighted points: what lies beyond a face is what was counted, in every unit of weight."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mipclass
from mipclass import RGDTreeOneClass, RGDTreeSVC, models
from mipclass.methods.outlier_svm.slab import Budget, Cloud
from mipclass.methods.outlier_svm.slab_widening import slab_along

UNITS = [1.0, 1e-12, 1e-9, 1e8, 1e15]


def overlapping(n=20):
    """Two classes that overlap along the first feature, with irregular weights."""
    rng = np.random.default_rng(40)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1, -1), rng.random(n)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("seed", range(5))
def test_the_mask_and_the_faces_come_from_one_count(unit, seed):
    rng = np.random.default_rng(seed)
    f1, f2, w1, w2 = rng.normal(size=9), rng.normal(size=7), unit * rng.random(9), unit * rng.random(7)
    for budget in (Budget(0.3 * w1.sum(), 0.2 * w2.sum()), Budget(total=0.25 * (w1.sum() + w2.sum()))):
        slab = slab_along(Cloud(f1[:, None], w1), Cloud(f2[:, None], w2), budget, np.ones(1))
        assert slab.a == f1[~slab.out1].min()
        assert slab.c == f2[~slab.out2].max()
        left = [sum(map(Fraction, w[out].tolist())) for w, out in ((w1, slab.out1), (w2, slab.out2))]
        limits = [sum(left)] if budget.total is not None else left
        amounts = [budget.total] if budget.total is not None else budget.amounts
        assert all(
            weight <= Fraction(amount) * (1 + Fraction(1, 10**12))
            for weight, amount in zip(limits, amounts, strict=True)
        )


@pytest.mark.parametrize("unit", UNITS)
def test_kept_points_reach_the_margin_and_the_rest_weighs_no_more_than_the_share(unit):
    X, y, weights = overlapping()
    clf = RGDTreeSVC(outlier_fraction=0.2, C=None).fit(X, y, sample_weight=unit * weights)
    assert (y * clf.decision_function(X))[~clf.outliers_].min() == pytest.approx(1.0)
    assert weights[clf.outliers_].sum() <= 0.2 * weights.sum()
    same = RGDTreeSVC(outlier_fraction=0.2, C=None).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(clf.outliers_, same.outliers_)
    np.testing.assert_allclose(clf.coef_, same.coef_, rtol=1e-7)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("options", [{"variant": "paper"}, {"n_children": 4}, {"polish": False, "height": 3}])
def test_the_tree_does_not_depend_on_the_unit_of_weight(unit, options):
    X, y, weights = overlapping()
    X = X + 0.5 * y[:, None]
    found = [
        mipclass.solve(models.outlier_svm(X, y, 0.2, sample_weight=k * weights), "rgd-tree", options=options)
        for k in (1.0, unit)
    ]
    assert found[1].objective == pytest.approx(found[0].objective)
    assert found[1].claim == found[0].claim
    assert found[1].extra["outliers"].tolist() == found[0].extra["outliers"].tolist()
    assert found[1].recounted


@pytest.mark.parametrize("unit", UNITS)
def test_equal_weights_are_no_weights(unit):
    X, y, _ = overlapping()
    for plain, weighted in (
        (RGDTreeSVC(0.2, C=None).fit(X, y), RGDTreeSVC(0.2, C=None).fit(X, y, np.full(20, unit))),
        (RGDTreeOneClass(0.2).fit(X + 3.0), RGDTreeOneClass(0.2).fit(X + 3.0, None, np.full(20, unit))),
    ):
        np.testing.assert_array_equal(weighted.coef_, plain.coef_)
        np.testing.assert_array_equal(weighted.outliers_, plain.outliers_)
