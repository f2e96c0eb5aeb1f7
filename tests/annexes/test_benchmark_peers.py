"""Peers of the benchmarks that are written here: they must reach what they claim, or the comparison is worth nothing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from benchmarks.peers.newton_svm import fit_svm


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_newton_svm_reaches_linear_svcs_optimum(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8)) * np.logspace(-1, 1, 8)
    y = np.where(X @ rng.normal(size=8) + 3 * rng.normal(size=300) > 0, 1.0, -1.0)
    for C, ratio in ((0.01, 1.0), (1.0, 30.0)):
        cost = C * np.where(y < 0, ratio, 1.0)
        found = fit_svm(form(X), y, cost)
        peer = LinearSVC(C=C, class_weight={-1.0: ratio, 1.0: 1.0}, dual=False, tol=1e-10, max_iter=100_000).fit(X, y)

        def objective(w, b, cost=cost):
            return 0.5 * (w @ w + b * b) + cost @ np.maximum(0, 1 - y * (X @ w + b)) ** 2

        assert objective(found[:-1], found[-1]) <= objective(peer.coef_[0], peer.intercept_[0]) * (1 + 1e-7)
        np.testing.assert_allclose(found[:-1], peer.coef_[0], rtol=1e-3, atol=1e-5)
