"""Rows of zeros: no rule moves their margin, so they are never active, and a path with them is that of the other points."""

from __future__ import annotations

import numpy as np
import pytest

from mipclass import OutlierPathSVC, models, solve
from mipclass.methods.robust_svm.kernels.active_set import ActiveSet
from mipclass.methods.robust_svm.kernels.operators import SignedRows
from mipclass.methods.robust_svm.local_optimality import local_optimality
from tests.truth.outlier_path import worst_condition

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

X = np.array([[0, 0], [0, 1], [0, 1], [1, 0], [1, 1], [1, 1]], float)
Y = np.array([-1, -1, 1, -1, -1, 1])
WEIGHTS = [1004.0, 2006.001, 1000.001, 1002.01, 4005.006, 2002.0]


def test_a_proof_of_the_ramp_loss_takes_a_row_of_zeros():
    result = solve(models.robust_svm(X, Y, C=1e6, sample_weight=WEIGHTS))
    margins = Y * (X @ result.values["w"])
    loss = np.clip(1 - margins, 0, 1)
    truth = 0.5 * np.sum(result.values["w"] ** 2) + 1e6 * np.dot(WEIGHTS, loss)
    assert result.claim == "proven"
    assert result.objective == pytest.approx(truth, rel=1e-9)


def test_a_path_without_offset_takes_a_row_of_zeros():
    model = OutlierPathSVC("s", C=100.0, fit_intercept=False, selection=0.0).fit(100 * X, Y, sample_weight=WEIGHTS)
    margins = Y * model.decision_function(100 * X)
    assert margins[0] == 0.0
    assert np.isfinite(margins).all()


def with_zeros(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of which a third are at the origin, in a small lattice, where many are equal, or more than 100 different ones."""
    rng = np.random.default_rng(seed)
    points = rng.integers(-1, 2, (n, d)).astype(float) if n <= 100 else rng.standard_normal((n, d))
    points[rng.random(n) < 0.3] = 0.0
    y = rng.choice([-1, 1], n)
    points[0], y[:2] = 0.0, (-1, 1)
    return points, y


@pytest.mark.parametrize("parameter", ["theta", "s"])
@pytest.mark.parametrize(
    ("n", "d", "d_step"),
    [
        *((n, d, d_step) for n, d in [(14, 1), (18, 3), (24, 30)] for d_step in ["homotopy", "piqp"]),
        (
            430,
            3,
            "homotopy",
        ),  # the kernels for any number of points; a QP for each of hundreds of jumps would take minutes
    ],
)
@pytest.mark.parametrize("theta", [0.0, 0.5])
def test_every_breakpoint_beside_rows_of_zeros_is_optimal(n, d, theta, d_step, parameter):
    if d_step == "piqp":
        pytest.importorskip("piqp")
    for seed in range(3):
        points, y = with_zeros(n, d, seed)
        model = models.robust_svm(points, y, C=1.0, s=0.0, theta=theta)
        result = solve(model, "outlier-path", options={"path": parameter, "d_step": d_step})
        path, rows = result.extra["path"], points[model.points.first]
        K = rows @ rows.T
        assert result.status == "optimal"
        for k in range(len(path)):
            parts = path.alpha(k), path.C, path.theta[k], path.s[k]
            assert worst_condition(K, path.y, *parts, path.outliers(k)) <= 1e-8, (seed, k)
        alpha = path.alpha(-1)
        signed = path.y[:, None] * rows
        margins = signed @ (signed.T @ alpha)
        scale = 1.0 + np.abs(signed @ signed.T) @ np.abs(alpha)
        end = local_optimality(alpha, margins, path.C, float(path.theta[-1]), float(path.s[-1]), scale=scale)
        assert end.violation <= 1e-8


@pytest.mark.parametrize("d", [2, 30])
def test_a_row_of_zeros_lies_in_every_span(d):
    Z = np.zeros((3, d))
    Z[0, 0], Z[1, 1] = 1.0, 2.0
    operator, active_set = SignedRows.of(Z), ActiveSet.empty(3)
    assert operator.join(active_set, 2) == 0.0
    active_set.drop_last()
    assert [operator.join(active_set, j) for j in (0, 1, 2)] == [1.0, 1.0, 0.0]
