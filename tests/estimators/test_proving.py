"""`prove=seconds` of OutlierPathSVC and RGDTreeSVC: bounds and gaps against other solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mipclass
from mipclass import OutlierPathSVC, RGDTreeSVC, models
from mipclass.arrays import Array
from mipclass.errors import InvalidInputError
from tests.truth.ramp import least_ramp


def points(n: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    X = rng.standard_normal((n, 2)) + 1.5 * y[:, None]
    return X, np.where(np.arange(n) < 2, -y, y)


@pytest.mark.parametrize("path", ["theta", "s"])
def test_the_outlier_path_tells_its_gap(path: Any) -> None:
    X, y = points(7, 0)
    fitted = OutlierPathSVC(path, selection=0.0, prove=30).fit(X, y)
    truth = least_ramp(y[:, None] * np.column_stack([X, np.ones(7)]), 0.5, np.ones(7), 0.0, 0.0)
    assert fitted.proof_.certified
    assert fitted.bound_ == pytest.approx(truth, rel=1e-6)
    assert fitted.gap_ == pytest.approx(1 - truth / fitted.result_.objective, abs=1e-6)


def test_the_plain_svm_at_the_start_of_an_s_path_has_no_gap() -> None:
    fitted = OutlierPathSVC("s", selection=-np.inf, prove=30).fit(*points(20, 1))
    assert fitted.gap_ == pytest.approx(0.0, abs=1e-6)


def test_a_kernel_gets_a_bound_without_a_certificate() -> None:
    fitted = OutlierPathSVC(kernel="rbf", selection=0.0, prove=30).fit(*points(12, 2))
    assert fitted.proof_.certificate is None
    assert "certificates cover linear rules" in fitted.proof_.extra["uncertified"]
    assert 0 <= fitted.gap_ < 1


def test_the_tree_tells_its_gap() -> None:
    X, y = points(20, 3)
    fitted = RGDTreeSVC(0.1, C=None, prove=30).fit(X, y)
    proven = mipclass.solve(models.outlier_svm(X, y, 2), "subsystems")
    assert fitted.proof_.certified
    assert fitted.bound_ == pytest.approx(proven.objective, rel=1e-6)
    assert fitted.gap_ == pytest.approx(1 - proven.objective / fitted.result_.objective, abs=1e-6)


def test_a_share_of_each_class_is_proven_and_certified() -> None:
    X, y = points(14, 4)
    limits = {label: int(0.2 * np.count_nonzero(y == label)) for label in (-1, 1)}
    fitted = RGDTreeSVC({1: 0.2, -1: 0.2}, C=None, prove=30).fit(X, y)
    by_enumeration = mipclass.solve(models.outlier_svm(X, y, limits), "enumerate").objective
    assert fitted.proof_.certified
    assert fitted.bound_ == pytest.approx(by_enumeration, rel=1e-6)
    assert fitted.bound_ <= fitted.result_.objective * (1 + 1e-6)
    assert fitted.gap_ is not None


def test_no_proof_is_made_unless_asked_for() -> None:
    fitted = RGDTreeSVC(0.1, C=None).fit(*points(20, 3))
    assert not hasattr(fitted, "bound_")


@pytest.mark.parametrize("estimator", [OutlierPathSVC, RGDTreeSVC])
def test_a_time_that_is_none_is_refused(estimator: Any) -> None:
    with pytest.raises(InvalidInputError, match="prove must be a positive number of seconds"):
        estimator(prove=-1).fit(*points(20, 3))
