"""Peers of the benchmarks that are written here: they must reach what they claim, or the comparison is worth nothing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from benchmarks.peers.newton_svm import fit_svm
from benchmarks.peers.partial_auc import fit_partial_auc
from benchmarks.studies.tau_fpl import algorithm_1
from mipclass.methods.tau_fpl.gap import primal_value
from mipclass.methods.tau_fpl.ranking import RankingData
from mipclass.methods.tau_fpl.smoothed_primal import train
from mipclass.protocol.run import Run


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


@pytest.mark.parametrize("tau", [0.2, 0.5, 1.0])
def test_partial_auc_is_minimised(tau: float) -> None:
    """One feature: the objective of SVM-pAUC-tight on a fine grid of w, summed pair by pair."""
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(0.7, 1.0, (6, 1)), rng.normal(0.0, 1.0, (5, 1))])
    y = np.repeat([1.0, -1.0], [6, 5])
    R, j = 0.1, round(5 * tau)

    def objective(w: float) -> float:
        top = np.sort(w * X[6:, 0])[-j:]
        return 0.05 * w * w + sum(max(0.0, 1 - w * x + t) for x in X[:6, 0] for t in top) / (6 * j)

    best = min(objective(w) for w in np.linspace(-20, 20, 8001))
    assert objective(float(fit_partial_auc(X, y, tau, R)[0])) == pytest.approx(best, rel=2e-3)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_algorithm_1_ends_at_the_optimum_for_a_small_epsilon_only(form, monkeypatch) -> None:
    rng = np.random.default_rng(1)
    y = np.repeat([1.0, -1.0], [40, 160])
    X = form(rng.normal(size=(200, 5)) + 0.5 * (y > 0)[:, None])
    data = RankingData.build(X, y, None, 4.0, 0.1)
    best = train(data, Run.quiet(), 1e-6, 2000).objective

    def excess(epsilon: float) -> float:
        monkeypatch.setattr(algorithm_1, "EPSILON", epsilon)
        w = algorithm_1.stopped_early(data, [0.1], 0)[0.1]
        return primal_value(data, w, X @ w) / best - 1.0

    assert excess(1e-10) < 1e-3
    assert excess(0.3) > 0.1
