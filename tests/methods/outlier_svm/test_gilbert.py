"""Polytope distance: certificates recomputed from the points, a QP solver as second opinion, the printed step bound."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass import models, solve
from mipclass.methods.outlier_svm.polytope import polytope_distance
from mipclass.methods.outlier_svm.sifting import nearest_points
from mipclass.methods.outlier_svm.walks import delete_row
from mipclass.protocol.result import Status


def two_clouds(seed, n=40, d=4, shift=3.0):
    rng = np.random.default_rng(seed)
    p1, p2 = rng.normal(size=(n, d)), rng.normal(size=(n + 3, d))
    p1[:, 0] += shift + 2.5
    p2[:, 0] -= shift
    return p1, p2


def distance_by_qp(p1, p2):
    """Nearest points of two hulls as a convex QP over the weights, by a solver that has nothing to do with ours."""
    import cvxpy as cp

    alpha, beta = cp.Variable(len(p1), nonneg=True), cp.Variable(len(p2), nonneg=True)
    gap = alpha @ p1 - beta @ p2
    problem = cp.Problem(cp.Minimize(cp.norm(gap)), [cp.sum(alpha) == 1, cp.sum(beta) == 1])
    return float(problem.solve(solver="CLARABEL"))


def check_certificate(found, p1, p2, epsilon):
    """Definition 1, from the data: x is a point of the difference and every vertex is at least (1 - epsilon)|x| away."""
    assert found.alpha.min() >= 0
    assert found.beta.min() >= 0
    assert found.alpha.sum() == pytest.approx(1)
    assert found.beta.sum() == pytest.approx(1)
    x = found.alpha @ p1 - found.beta @ p2
    np.testing.assert_allclose(found.x, x, atol=1e-9)
    length = np.linalg.norm(x)
    assert found.distance == pytest.approx(length)
    nearest = (p1 @ x).min() - (p2 @ x).max()
    assert length <= nearest / length + epsilon * length + 1e-12
    assert found.width == pytest.approx(nearest / length)


@pytest.mark.parametrize("rule", ["plain", "away", "corrective"])
def test_certificate_holds_on_the_data(rule):
    p1, p2 = two_clouds(0)
    found = polytope_distance(p1, p2, rule=rule, epsilon=1e-3)
    assert found.status is Status.OPTIMAL
    check_certificate(found, p1, p2, 1e-3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", ["away", "corrective"])
def test_equals_the_qp_optimum(rule, seed):
    p1, p2 = two_clouds(seed, d=3 + 2 * seed)
    found = polytope_distance(p1, p2, rule=rule, epsilon=1e-9)
    assert found.distance == pytest.approx(distance_by_qp(p1, p2), rel=1e-6)
    assert found.width == pytest.approx(found.distance, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.3, 0.1, 0.03])
@pytest.mark.parametrize("seed", range(3))
def test_plain_gilbert_keeps_its_step_bound(seed, epsilon):
    p1, p2 = two_clouds(seed)
    rho = polytope_distance(p1, p2, rule="corrective").distance
    differences = (p1[:, None] - p2[None]).reshape(-1, p1.shape[1])
    squares = (differences**2).sum(1)
    diameter2 = (squares[:, None] + squares[None] - 2 * differences @ differences.T).max()
    found = polytope_distance(p1, p2, rule="plain", epsilon=epsilon)
    assert found.status is Status.OPTIMAL
    assert found.steps <= 2 * ceil(2 * diameter2 / rho**2 / epsilon)
    assert found.distance >= rho * (1 - 1e-12)
    assert found.width >= (1 - epsilon) * rho


def test_one_class_is_the_distance_to_the_origin():
    p1, _ = two_clouds(1)
    found = polytope_distance(p1)
    assert found.distance == pytest.approx(distance_by_qp(p1, np.zeros((1, p1.shape[1]))), rel=1e-6)


def test_meeting_hulls_are_reported_and_not_a_direction():
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    found = polytope_distance(square, np.array([[0.2, 0.1], [3.0, 3.0]]))
    assert found.status is Status.INFEASIBLE
    assert found.distance == pytest.approx(0, abs=1e-7)


def test_sparse_points_give_the_same_answer():
    p1, p2 = two_clouds(2)
    p1[np.abs(p1) < 0.5] = 0
    dense = polytope_distance(p1, p2)
    sparse = polytope_distance(sp.csr_array(p1), sp.csr_array(p2))
    assert sparse.distance == pytest.approx(dense.distance, rel=1e-12)
    np.testing.assert_allclose(sparse.x, dense.x, atol=1e-10)


@pytest.mark.parametrize("rule", ["plain", "away", "corrective"])
def test_kernel_equals_its_explicit_features(rule):
    p1, p2 = two_clouds(3, n=20, d=2)

    def features(p):
        return np.column_stack([p**2, np.sqrt(2) * p[:, 0] * p[:, 1], np.sqrt(2) * p, np.ones(len(p))])

    def kernel(a, b):
        return (a @ b.T + 1.0) ** 2

    explicit = polytope_distance(features(p1), features(p2), rule=rule, epsilon=1e-2)
    implicit = polytope_distance(p1, p2, rule=rule, epsilon=1e-2, kernel=kernel)
    best = polytope_distance(features(p1), features(p2)).distance
    for found in (explicit, implicit):
        assert found.status is Status.OPTIMAL
        assert best * (1 - 1e-9) <= found.distance <= best / (1 - 1e-2)


def test_step_limit_returns_the_best_point_so_far():
    p1, p2 = two_clouds(0)
    found = polytope_distance(p1, p2, rule="plain", epsilon=1e-12, max_steps=5)
    assert found.status is Status.ITERATION_LIMIT
    assert found.steps == 5
    assert found.distance >= polytope_distance(p1, p2).distance


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 12), st.integers(1, 12))
def test_corrective_proves_itself_on_any_points(seed, d, n1, n2):
    """Duplicates, collinear points and meeting hulls included: integer grid points have them all."""
    rng = np.random.default_rng(seed)
    p1 = rng.integers(-2, 3, size=(n1, d)).astype(float)
    p2 = rng.integers(-2, 3, size=(n2, d)).astype(float) - rng.integers(0, 4)
    found = polytope_distance(p1, p2, epsilon=1e-9)
    if found.status is Status.INFEASIBLE:
        assert np.linalg.norm(found.alpha @ p1 - found.beta @ p2) <= 1e-6
    else:
        assert found.status is Status.OPTIMAL
        check_certificate(found, p1, p2, 1e-8)


def test_deleting_a_row_of_the_factor():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(6, 9))
    gram = a @ a.T
    for k in range(6):
        kept = np.arange(6) != k
        smaller = delete_row(np.linalg.cholesky(gram), k)
        np.testing.assert_allclose(smaller @ smaller.T, gram[np.ix_(kept, kept)], atol=1e-10)


def test_corrective_keeps_few_vertices():
    p1, p2 = two_clouds(4, n=200, d=5)
    found = polytope_distance(p1, p2)
    assert np.count_nonzero(found.alpha) + np.count_nonzero(found.beta) <= 7


@pytest.mark.parametrize(("scale", "offset"), [(1e8, 0.0), (1e-8, 0.0), (1.0, 1e6)])
def test_scale_and_place_of_the_data_do_not_matter(scale, offset):
    p1, p2 = two_clouds(5)
    found = polytope_distance(scale * p1 + offset, scale * p2 + offset)
    assert found.status is Status.OPTIMAL
    assert found.distance == pytest.approx(scale * polytope_distance(p1, p2).distance, rel=1e-6)


# -- the proof, checked in exact arithmetic -------------------------------------------------------------------------------


@pytest.fixture
def certified():
    import mipclass
    from mipclass import models

    p1, p2 = two_clouds(6, n=15, d=3)
    X, y = np.vstack([p1, p2]), np.repeat(["spam", "ham"], [len(p1), len(p2)])
    return X, y, mipclass.solve(models.outlier_svm(X, y, 0))


def test_the_maximum_margin_is_certified(certified):
    import mipclass

    X, y, found = certified
    assert found.certified
    verdict = mipclass.verify(found.certificate, X, y)
    assert verdict.accepted
    assert float(verdict.lower) <= found.objective <= float(verdict.upper)
    assert float(verdict.upper) - float(verdict.lower) <= 1e-8 * found.objective
    assert float(verdict.lower) == pytest.approx(2 / distance_by_qp(X[y == "spam"], X[y == "ham"]) ** 2, rel=1e-6)


@pytest.mark.parametrize(
    ("part", "entry", "change", "reason"),
    [
        ("lower", "bound", lambda text: str(2 * Fraction(text)), "claims"),
        ("upper", "loss", lambda text: str(Fraction(text) / 2), "claims"),
        ("lower", "weights", lambda weights: [(-1.0).hex(), *weights[1:]], "negative"),
        ("lower", "points", lambda points: [points[1], *points[1:]], "different rows"),
        ("upper", "w", lambda w: [(-float.fromhex(w[0])).hex(), *w[1:]], "separate|reaches"),
    ],
)
def test_a_changed_certificate_is_rejected(certified, part, entry, change, reason):
    import mipclass

    X, y, found = certified
    content = dict(found.certificate.content)
    content[part] = {**content[part], entry: change(content[part][entry])}
    verdict = mipclass.verify(content, X, y)
    assert not verdict.accepted
    assert re.search(reason, verdict.reason)


def test_a_certificate_of_other_data_is_rejected(certified):
    import mipclass

    X, y, found = certified
    assert not mipclass.verify(found.certificate, X + 1e-9, y).accepted


# -- working sets for many points -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_working_sets_prove_the_same_distance(kind):
    rng = np.random.default_rng(0)
    p1, p2 = rng.normal(size=(4500, 6)), rng.normal(size=(4200, 6))
    p1[:, 0] += 5.0
    p2[:, 0] -= 4.0
    found = nearest_points(kind(p1), kind(p2))
    assert found.status is Status.OPTIMAL
    check_certificate(found, p1, p2, 1e-9)
    assert found.distance == pytest.approx(polytope_distance(p1, p2).distance, rel=1e-9)


def test_working_sets_for_one_class_and_for_meeting_hulls():
    rng = np.random.default_rng(1)
    cloud = rng.normal(size=(5000, 3))
    assert nearest_points(cloud, cloud[:50] + 0.1).status is Status.INFEASIBLE
    cloud[:, 0] += 6.0
    found = nearest_points(cloud, None)
    assert found.status is Status.OPTIMAL
    assert found.distance == pytest.approx(polytope_distance(cloud).distance, rel=1e-9)


def test_points_of_weight_zero_do_not_count_and_leave_no_certificate():
    """A certificate says that every point keeps its margin, which points of weight zero need not."""
    X, y = np.array([[0.0], [1.0], [5.0], [6.0], [0.5]]), np.array([0, 0, 1, 1, 1])
    found = solve(models.outlier_svm(X, y, 0, sample_weight=[1, 1, 1, 1, 0]), "gilbert")
    assert found.extra["width"] == pytest.approx(4.0)
    assert found.certificate is None
