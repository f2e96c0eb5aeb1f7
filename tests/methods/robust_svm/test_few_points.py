"""Paths of few points: their own kernels give the path of the general ones, and little is compiled for them."""

import os
import subprocess
import sys

import numpy as np
import pytest

from mipclass import models, solve
from mipclass.methods.robust_svm.kernels import few_rows
from mipclass.methods.robust_svm.kernels.active_set import ActiveSet
from mipclass.methods.robust_svm.kernels.few_rows import join_few, leave_few


def points(kind, seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 150)), int(rng.integers(1, 10))
    X = rng.normal(size=(n, d))
    if kind == "rounded":  # many points tie, some lie at the origin
        X = np.round(X)
    if kind == "scaled":
        X *= 10.0 ** rng.uniform(-2, 2, d)
    y = np.where(X[:, 0] + np.abs(X[:, 0]).mean() * rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    return X, y, 10.0 ** rng.uniform(-2, 1.5)


@pytest.mark.parametrize("parameter", ["theta", "s"])
@pytest.mark.parametrize("kind", ["plain", "rounded", "scaled"])
@pytest.mark.parametrize("seed", range(6))
def test_few_points_have_the_path_that_the_general_kernels_find(parameter, kind, seed, monkeypatch):
    X, y, C = points(kind, seed)
    model = models.robust_svm(X, y, C, 0.2, -0.5)
    few = solve(model, "outlier-path", options={"path": parameter})
    monkeypatch.setattr(few_rows, "FEW_POINTS", 0)
    general = solve(model, "outlier-path", options={"path": parameter})
    assert few.claim == general.claim == "local"
    assert few.objective == pytest.approx(general.objective, rel=1e-9)
    path, other = few.extra["path"], general.extra["path"]
    assert len(path) == len(other)
    np.testing.assert_allclose(path.values, other.values, atol=1e-8)
    np.testing.assert_allclose(path.objective, other.objective, rtol=1e-8)


def test_the_factor_of_few_rows_follows_points_that_join_and_leave():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 6))
    Z[7] = 2.0 * Z[3] - Z[11]
    diagonal, active_set = (Z**2).sum(axis=1), ActiveSet.empty(30)
    for j in (3, 11, 20, 5, 2):
        assert join_few(Z, diagonal, active_set, j) > 1e-6
        leave_few(active_set, j)
        join_few(Z, diagonal, active_set, j)
    assert join_few(Z, diagonal, active_set, 7) < 1e-24  # in the span of 3 and 11
    active_set.drop_last()
    for j in (11, 2, 3):
        leave_few(active_set, j)
        A, k = active_set.members, active_set.size[0]
        U = np.triu(active_set.U[:k, :k])
        np.testing.assert_allclose(U.T @ U, Z[A] @ Z[A].T, atol=1e-12)
        np.testing.assert_array_equal(active_set.position[A], np.arange(k))
    assert active_set.members.tolist() == [20, 5]


COLD = """
import numpy as np
from mipclass.kernels.decorator import event
heard = []
class Heard(event.Listener):
    def on_start(self, found): heard.append(found.data["dispatcher"].py_func.__name__)
    def on_end(self, found): pass
event.register("numba:compile", Heard())
from mipclass import OutlierPathSVC
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
OutlierPathSVC().fit(X, X[:, 0] + rng.normal(size=60) > 0)
print(len(heard), "follow" in heard, "follow_few" in heard)
"""


@pytest.mark.slow
def test_a_first_fit_of_few_points_compiles_few_functions(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", COLD], env=environment, capture_output=True, text=True, check=True
    ).stdout
    count, general, few = told.split()
    assert (general, few) == ("False", "True")
    assert int(count) <= 20
