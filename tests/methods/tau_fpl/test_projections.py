"""The projection onto the top-k simplex and its relatives: exact twins, optimality systems, other solvers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mipclass.errors import InvalidInputError
from mipclass.methods.tau_fpl.kernels import topk
from mipclass.methods.tau_fpl.projections import (
    project_capped_simplex,
    project_simplex,
    project_topk_cone,
    project_topk_simplex,
    project_topk_simplex_radius,
)
from mipclass.models.topk_projection import topk_projection
from tests.breadth import mostly_slow
from tests.truth.topk import project_topk_by_enumeration

SCALES = [1e-8, 1e-3, 1.0, 1e3, 1e8]


def optimality_residual(alpha, beta, k, found):
    """Largest violation of Theorem 2's system (10)-(12), with exactly rounded sums; Lemma 1's in the zero case."""
    if found.C == 0.0:
        return max(0.0, float(alpha.max()) + math.fsum(np.sort(beta)[::-1][:k]) / k)
    p = np.maximum((alpha - found.pa) - found.x, 0.0)
    rest = (beta - found.pb) - found.y
    q = np.minimum(np.maximum(rest, 0.0), found.C / k)
    over = np.maximum(rest - found.C / k, 0.0)
    r10 = abs(math.fsum(p) - found.C)
    r11 = abs(math.fsum(q) - found.C)
    r12 = abs(math.fsum([found.pa, found.x, found.pb, found.y, *(over / k)]))
    return max(r10, r11, r12)


def adversarial_case(rng, largest):
    """Random sizes, k and data: Gaussian, rounded (ties), constant, negative, clustered; scaled and offset."""
    m, n = (int(largest ** rng.uniform(0, 1)) for _ in range(2))
    k = int(rng.choice([1, n, rng.integers(1, n + 1)]))

    def side(size):
        v = rng.standard_normal(size) * 10.0 ** rng.uniform(-2, 2)
        shape = rng.integers(6)
        if shape == 1:
            v = np.round(v)
        elif shape == 2:
            v[:] = v[0]
        elif shape == 3:
            v = -np.abs(v)
        elif shape == 4:
            v = np.where(rng.random(size) < 0.5, v, v + 100.0)
        return v * 10.0 ** rng.uniform(-8, 8) if shape == 5 else v

    alpha, beta = side(m), side(n)
    scale, offset = rng.choice(SCALES), rng.choice([0.0, 0.0, 1e8])
    up, down = rng.choice([-1.0, 1.0], size=2)
    return alpha * scale + up * offset, beta * scale + down * offset, k


@pytest.mark.parametrize("count", mostly_slow([1_000, 10_000], fast=[1_000]))
def test_optimality_system_holds_on_adversarial_cases(count):
    rng = np.random.default_rng(20180)
    worst, zeros = 0.0, 0
    for _ in range(count):
        alpha, beta, k = adversarial_case(rng, largest=200)
        found = topk.topk_thresholds(alpha, beta, k)
        zeros += found.C == 0.0
        residual = optimality_residual(alpha, beta, k, found)
        worst = max(worst, residual / max(np.abs(alpha).max(), np.abs(beta).max(), 1e-300))
    assert worst <= 1e-13
    assert 0.1 * count < zeros < 0.9 * count  # both kinds of answer were met


@pytest.mark.parametrize("count", mostly_slow([80, 400], fast=[80]))
def test_optimality_system_holds_on_large_cases_by_every_path(count):
    """Beyond a thousand entries the rounding of C itself, a sum of many entries, sets the scale."""
    rng = np.random.default_rng(7)
    paths = set()
    for _ in range(count):
        alpha, beta, k = adversarial_case(rng, largest=20_000)
        found = topk.topk_thresholds(alpha, beta, k)
        paths.add(found.how)
        scale = max(np.abs(alpha).max(), np.abs(beta).max(), found.C)
        assert optimality_residual(alpha, beta, k, found) <= 1e-13 * scale
    assert paths >= {"sorted", "step", "wide", "zero"}


def test_heavy_ties_do_not_need_the_full_sort():
    rng = np.random.default_rng(3)
    for k in (100, 5_000, 40_000):
        alpha, beta = rng.integers(0, 3, 50_000).astype(float), rng.integers(-1, 2, 50_000).astype(float)
        found = topk.topk_thresholds(alpha, beta, k)
        assert found.how in {"step", "wide"}
        assert optimality_residual(alpha, beta, k, found) <= 1e-13 * found.C


def test_large_paths_agree_with_sorting_everything():
    rng = np.random.default_rng(5)
    for k in (1, 10, 3_000, 29_999, 30_000):
        alpha, beta = rng.standard_normal(20_000), rng.standard_normal(30_000)
        fast = topk.topk_thresholds(alpha, beta, k)
        slow = topk._by_sorting(alpha, beta, k, cone=False)
        assert fast.pa + fast.x == pytest.approx(slow.pa + slow.x, abs=1e-13)
        assert pytest.approx(slow.C, rel=1e-13) == fast.C


numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6, allow_subnormal=False))


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(float, st.integers(1, 5), elements=numbers),
    hnp.arrays(float, st.integers(1, 6), elements=numbers),
    st.integers(1, 7),
)
def test_equals_exact_enumeration(alpha, beta, k):
    p, q = project_topk_simplex(alpha, beta, k)
    exact_p, exact_q = project_topk_by_enumeration(alpha, beta, k)
    scale = max(np.abs(alpha).max(), np.abs(beta).max(), 1e-300)
    assert max(np.abs(p - exact_p).max(), np.abs(q - exact_q).max()) <= 4e-15 * scale


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(float, st.integers(1, 40), elements=numbers),
    hnp.arrays(float, st.integers(1, 40), elements=numbers),
    st.integers(1, 40),
)
def test_projection_properties(alpha, beta, k):
    """Feasible, idempotent, equivariant to shifts (alpha + r, beta - r) and positive scaling; Lemmas 1 and 2."""
    p, q = project_topk_simplex(alpha, beta, k)
    tolerance = 1e-12 * max(1.0, np.abs(alpha).max(), np.abs(beta).max())
    assert p.min() >= 0.0
    assert q.min() >= 0.0
    assert abs(math.fsum(p) - math.fsum(q)) <= tolerance
    assert q.max() <= math.fsum(p) / k + tolerance
    again = project_topk_simplex(p, q, k)
    assert max(np.abs(again[0] - p).max(), np.abs(again[1] - q).max()) <= tolerance
    moved = project_topk_simplex(alpha + 1.0, beta - 1.0, k)
    assert max(np.abs(moved[0] - p).max(), np.abs(moved[1] - q).max()) <= tolerance
    doubled = project_topk_simplex(2.0 * alpha, 2.0 * beta, k)
    assert max(np.abs(doubled[0] - 2.0 * p).max(), np.abs(doubled[1] - 2.0 * q).max()) <= 2.0 * tolerance
    # Moreau: for a cone the residual is orthogonal to the projection.
    assert abs(np.dot(alpha - p, p) + np.dot(beta - q, q)) <= 40 * tolerance * max(1.0, p.max(), q.max())
    if k <= beta.size:
        lemma1 = k * alpha.max() + math.fsum(np.sort(beta)[::-1][:k])
        if abs(lemma1) > tolerance:
            assert (p.max() > 0.0) == (lemma1 > 0.0)
        if p.max() > tolerance:
            found = topk.topk_thresholds(alpha, beta, k)
            assert -beta.max() - tolerance <= found.pa + found.x < alpha.max()
    else:
        assert not p.any()
        assert not q.any()


def test_monotone_in_C_as_lemma_3_says():
    """C(lambda) falls strictly, mu(C) falls, delta(C) rises strictly, f rises strictly in lambda and is convex in C."""
    rng = np.random.default_rng(11)
    alpha, beta, k = rng.standard_normal(30), rng.standard_normal(40), 7
    lam = np.linspace(-3.0, alpha.max() - 1e-3, 200)
    C = np.array([np.maximum(alpha - t, 0.0).sum() for t in lam])
    mu = np.array([_mu(beta, c, k) for c in C])
    delta = mu + C / k
    f = k * lam + k * mu + np.array([np.maximum(beta - d, 0.0).sum() for d in delta])
    assert (np.diff(C) < 0).all()
    assert (np.diff(mu) >= -1e-12).all()
    assert (np.diff(delta) < 0).all()
    assert (np.diff(f) > 0).all()
    slopes = np.diff(f) / np.diff(C)
    assert (np.diff(slopes) <= 1e-9).all()  # C runs downwards here


def _mu(beta, C, k):
    """Bisection for mu(C) to the last bit."""
    low, high = beta.min() - C, beta.max()
    for _ in range(200):
        mid = 0.5 * (low + high)
        if np.minimum(np.maximum(beta - mid, 0.0), C / k).sum() > C:
            low = mid
        else:
            high = mid
    return high


@pytest.mark.parametrize("method", ["bisection", "cached-bisection", "cached-newton"])
def test_the_papers_algorithms_agree(method):
    rng = np.random.default_rng(2)
    for size in (5, 50, 3_000):
        for k in (1, size // 3 + 1, size):
            alpha, beta = rng.standard_normal(size) + 0.3, np.round(rng.standard_normal(size), 1)
            exact, paper = project_topk_simplex(alpha, beta, k), project_topk_simplex(alpha, beta, k, method=method)
            for ours, theirs in zip(exact, paper, strict=True):
                np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("solver", ["CLARABEL", "OSQP"])
def test_equals_a_general_solver(solver):
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(17)
    options = {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000} if solver == "OSQP" else {}
    for m, n, k in ((8, 12, 3), (40, 30, 1), (25, 40, 40), (30, 60, 20)):
        alpha, beta = rng.standard_normal(m), rng.standard_normal(n)
        p, q = cvxpy.Variable(m, nonneg=True), cvxpy.Variable(n, nonneg=True)
        rows = [cvxpy.sum(p) == cvxpy.sum(q), q <= cvxpy.sum(p) / k]
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(p - alpha) + cvxpy.sum_squares(q - beta)), rows)
        problem.solve(solver=solver, **options)
        assert problem.status == "optimal"
        ours = project_topk_simplex(alpha, beta, k)
        np.testing.assert_allclose(np.concatenate(ours), np.concatenate([p.value, q.value]), atol=2e-5)


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(float, st.integers(1, 30), elements=st.floats(-100, 100)), st.floats(0.01, 50), st.floats(0.05, 20))
def test_capped_simplex_satisfies_its_optimality_system(v, total, cap):
    if total > cap * v.size:
        with pytest.raises(InvalidInputError, match="no point has"):
            project_capped_simplex(v, total, cap)
        return
    p = project_capped_simplex(v, total, cap)
    assert abs(math.fsum(p) - total) <= 1e-12 * max(1.0, np.abs(v).max(), total)
    assert p.min() >= 0.0
    assert p.max() <= cap
    inner = (p > 1e-9) & (p < cap - 1e-9)
    mu = (v - p)[inner]
    lower = (v[p >= cap - 1e-9] - cap).min(initial=np.inf)
    upper = v[p <= 1e-9].max(initial=-np.inf)
    assert mu.size == 0 or np.ptp(mu) <= 1e-12 * 100
    assert upper - 1e-8 <= mu.min(initial=lower) <= lower + 1e-8


def test_relatives_on_long_vectors_agree_with_their_sorted_forms():
    rng = np.random.default_rng(23)
    for v in (rng.standard_normal(30_000), rng.integers(-2, 3, 30_000).astype(float)):
        p = project_simplex(v, 5.0)
        descending = np.sort(v)[::-1]
        means = (np.cumsum(descending) - 5.0) / np.arange(1, v.size + 1)
        theta = means[np.flatnonzero(descending > means)[-1]]
        np.testing.assert_allclose(p, np.maximum(v - theta, 0.0), atol=1e-12)
        for k in (1, 300, 20_000):
            cone = project_topk_cone(v, k)
            assert cone.max() <= cone.sum() / k + 1e-12
            slow = topk._by_sorting(v[:0], v, k, cone=True)
            np.testing.assert_allclose(cone, np.clip(v - slow.pb - slow.y, 0.0, slow.C / k), atol=1e-11)
            small = project_topk_simplex_radius(v, k, 2.0)
            assert small.sum() == pytest.approx(2.0 if cone.sum() > 2.0 else cone.sum())


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(float, st.integers(1, 8), elements=st.floats(-10, 10)), st.integers(1, 8))
def test_cone_projection_is_moreau_optimal(v, k):
    """p lies in the cone, v - p is orthogonal to p and in the polar cone (checked on the cone's extreme rays)."""
    p = project_topk_cone(v, k)
    assert p.min() >= 0.0
    assert p.max() <= p.sum() / k + 1e-12
    assert abs(np.dot(v - p, p)) <= 1e-11
    if k <= v.size:
        top = np.sort(v - p)[::-1][:k]  # <v - p, ray> is largest for the ray that spreads over the k largest entries
        assert top.sum() <= 1e-10


def test_the_peers_of_the_benchmark_solve_the_same_problems():
    from benchmarks.peers.topk import project_by_osqp, project_cone_by_search, project_equal_sums_by_ibis

    rng = np.random.default_rng(9)
    for n in (1, 2, 17, 60):
        v, alpha = rng.standard_normal(n), rng.standard_normal(n + 2)
        for k in {1, (n + 1) // 2, n}:
            np.testing.assert_allclose(project_cone_by_search(v, k), project_topk_cone(v, k), atol=1e-9)
        lam, _ = project_equal_sums_by_ibis(alpha, v)
        np.testing.assert_allclose(np.maximum(alpha - lam, 0.0), project_topk_simplex(alpha, v, 1)[0], atol=1e-9)
    alpha, beta = rng.standard_normal(40), rng.standard_normal(50)
    for ours, theirs in zip(project_topk_simplex(alpha, beta, 6), project_by_osqp(alpha, beta, 6)[:2], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_float32_stays_float32_and_overwrite_writes_in_place():
    rng = np.random.default_rng(1)
    alpha, beta = rng.standard_normal(5_000).astype(np.float32), rng.standard_normal(4_000).astype(np.float32)
    exact = project_topk_simplex(alpha.astype(float), beta.astype(float), 40)
    p, q = project_topk_simplex(alpha, beta, 40)
    assert p.dtype == q.dtype == np.float32
    np.testing.assert_allclose(p, exact[0], atol=1e-6)
    a, b = alpha.copy(), beta.copy()
    p2, q2 = project_topk_simplex(a, b, 40, overwrite=True)
    assert p2 is a
    assert q2 is b
    np.testing.assert_array_equal(a, p)
    np.testing.assert_array_equal(b, q)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, np.nan], [1.0], 1), "alpha must be finite; entry 1"),
        (([1.0], [np.inf], 1), "beta must be finite; entry 0"),
        (([], [1.0], 1), "at least one entry"),
        (([[1.0]], [1.0], 1), "one-dimensional"),
        (([1.0], [1.0], 0), "k must be an integer >= 1"),
        (([1.0], [1.0], 1.5), "k must be an integer >= 1"),
        ((["x"], [1.0], 1), "real numbers"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        project_topk_simplex(*arguments)


def test_entries_near_the_largest_float_do_not_overflow():
    huge = np.array([1.0, 0.9, 0.5]) * 1.5e308
    p, q = project_topk_simplex(huge, -0.5 * huge, 2)
    expected = project_topk_simplex(huge * 2.0**-100, -0.5 * huge * 2.0**-100, 2)
    np.testing.assert_array_equal(p * 2.0**-100, expected[0])
    np.testing.assert_array_equal(q * 2.0**-100, expected[1])


def test_bad_options_are_named():
    with pytest.raises(InvalidInputError, match="'exact', 'bisection'"):
        project_topk_simplex([1.0], [1.0], 1, method="sort")
    with pytest.raises(InvalidInputError, match="overwrite=True needs alpha"):
        project_topk_simplex([1.0], [1.0], 1, overwrite=True)
    with pytest.raises(InvalidInputError, match="radius must be"):
        project_topk_simplex_radius([1.0], 1, -1.0)
    with pytest.raises(InvalidInputError, match="total must be"):
        project_capped_simplex([1.0], -1.0)


@pytest.mark.parametrize("size", [1e-200, 1e150, 1e300])
def test_projections_of_far_points_are_multiples_of_near_ones(size):
    alpha, beta = np.array([1.0, -0.5, 0.3]), np.array([0.2, 0.9, -1.0, 0.4])
    near = project_topk_simplex(alpha, beta, 2)
    for far, expected in zip(project_topk_simplex(size * alpha, size * beta, 2), near, strict=True):
        assert far / size == pytest.approx(expected, rel=1e-12)


def test_a_projection_beyond_the_largest_float_is_refused():
    with pytest.raises(InvalidInputError, match="beyond the largest float64"):
        project_topk_simplex([1.7e308, 0.3e308], [0.3e308, 1.5e308, 1.5e308], 2)
    with pytest.raises(InvalidInputError, match="alpha has 1e\\+200 as its largest absolute value"):
        topk_projection([1e200], [1.0], 1)
