"""The interior point of the linear SVM's dual: its answer is held against the duality gap and the conditions, from the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from mipclass import models
from mipclass.methods.robust_svm.outlier_path import follow_path
from mipclass.methods.robust_svm.svm.interior import interior_point
from mipclass.protocol.run import Run
from tests.truth.outlier_path import form_of


def never() -> None:
    return None


def relative_gap(Z, C, a, w0=0.0) -> float:
    """(primal - dual) / (1 + primal) of min 1/2 |w|^2 + sum C [1 - Z w]_+ shifted by w0, recomputed."""
    w = w0 + Z.T @ a
    primal = 0.5 * w @ w + C @ np.maximum(0.0, 1.0 - Z @ w)
    dual = a.sum() + 0.5 * w @ w - w @ (w - w0)
    return (primal - dual) / (1.0 + abs(primal))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    d=st.integers(1, 8),
    log_C=st.floats(-3, 4),
    spread=st.floats(0, 3),
)
@example(4, 4, 4, 1.0, 2.0)  # a share of 2e-8 that is not zero
@example(363303, 3, 6, 3.406504078691319, 2.2958380237768305)
@example(504341, 1, 5, 3.5965522414527396, 0.6924579193668097)
@example(470, 17, 6, 3.9375, 0.34375)  # w and the multipliers drifted apart
def test_gap_closes_for_any_cost_scale_and_start(seed, n, d, log_C, spread):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d)) * np.logspace(-spread, 0, d)
    Z = Z[rng.integers(0, n, n)]  # some rows twice
    C = 10.0**log_C * rng.uniform(0.5, 2.0, n)
    w0 = rng.normal(size=d)
    a = interior_point(Z, C, 1e-10, never, w0)
    assert ((a >= 0) & (a <= C)).all()
    assert -1e-12 <= relative_gap(Z, C, a, w0) <= 1e-5


def test_weights_are_those_of_libsvm():
    rng = np.random.default_rng(1)
    X = np.hstack([rng.normal(size=(80, 3)), np.ones((80, 1))])
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=80) > 0, 1.0, -1.0)
    Z = y[:, None] * X
    a = interior_point(Z, np.full(80, 5.0), 1e-10, never)
    # LIBSVM's offset is free; a mirrored copy of every point, (-x, -y), has the same margins and makes the best offset 0.
    peer = SVC(kernel="linear", C=2.5, tol=1e-9).fit(np.vstack([X, -X]), np.concatenate([y, -y]))
    np.testing.assert_allclose(Z.T @ a, peer.coef_[0], rtol=1e-4, atol=1e-5)


def test_it_stops_when_asked_with_a_usable_point():
    rng = np.random.default_rng(2)
    C = np.ones(30)
    a = interior_point(rng.normal(size=(30, 3)), C, 1e-10, lambda: "now")
    assert ((a >= 0) & (a <= C)).all()


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_paths_start_on_heavy_tailed_features_where_descent_crawls(C):
    """A few values thirty deviations out: a thousand sweeps of descent leave violations of 0.2, from which the way was lost."""
    rng = np.random.default_rng(8)
    X = rng.lognormal(sigma=2.0, size=(600, 30)) * (rng.random((600, 30)) < 0.3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(X @ rng.normal(size=30) + 0.5 * rng.normal(size=600) > 0, 1, -1)
    y[rng.random(600) < 0.15] *= -1
    robust = form_of(models.robust_svm(X, y, C, intercept="penalised"))
    path, status = follow_path(robust, Run.quiet(), "theta")
    assert status is None
    assert path.complete
    assert relative_gap(robust.points.operator.matrix, robust.C, path.alpha(0)) <= 1e-9
