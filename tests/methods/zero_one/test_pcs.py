"""PCS against brute force, on data in and out of general position; both orientations of one hyperplane."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from mipclass.methods.zero_one.costs import exact_costs
from mipclass.methods.zero_one.kernels.nudge import nudge_for_all
from mipclass.methods.zero_one.kernels.pencil_enumeration import is_needed, lift, project, project_to_plane, reflector
from mipclass.methods.zero_one.kernels.pencil_swap import start_vertex
from mipclass.methods.zero_one.offsets import best_offset
from mipclass.methods.zero_one.pcs import PencilSearch, nudged_off, prioritised_search
from mipclass.methods.zero_one.prepared import WeightedRows, prepare
from tests.truth.zero_one import KINDS, least_loss, tiny_instance


def check(seed: int, kind: str) -> None:
    X, y, weights = tiny_instance(seed, kind)
    data = prepare(X, y, weights)
    got = prioritised_search(data, lexicographic=seed % 2 == 0)
    assert got.finished
    w, b = data.rule(got.w)
    b = best_offset(X @ w, y, exact_costs(weights), b)  # cancelled twins may lie on the hyperplane
    margins = y * (X @ w + b)
    assert weights[margins <= 0].sum() == data.value(got.loss) == least_loss(X, y, weights)


@pytest.mark.parametrize("kind", KINDS)
def test_equals_brute_force(kind):
    for seed in range(5):
        check(seed, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_equals_brute_force_on_hundreds(kind):
    for seed in range(5, 112):
        check(seed, kind)


def test_the_two_orientations_share_the_points_off_the_hyperplane():
    """L(1, w') + L(-1, -w') = N - D when the D chosen points count as correct (general position)."""
    rng = np.random.default_rng(0)
    for d in (1, 2, 3, 4):
        n = 12
        Z = rng.choice([-1.0, 1.0], (n, 1)) * np.column_stack([rng.standard_normal((n, d)), np.ones(n)])
        for _ in range(20):
            chosen = rng.choice(n, d, replace=False)
            rows = np.ascontiguousarray(Z / np.linalg.norm(Z, axis=1, keepdims=True))
            w, directions = rng.standard_normal(d + 1), np.empty((d + 1, d + 1))
            start_vertex(rows, chosen, w, directions)
            assert np.abs(rows[chosen] @ w).max() < 1e-9
            nudge = np.linalg.lstsq(rows[chosen], np.ones(d), rcond=None)[0]
            losses = [(rows @ nudged_off(rows, side * w, nudge, chosen) <= 0).sum() for side in (1, -1)]
            assert sum(losses) == n - d


def test_stopping_keeps_the_best_rule_and_claims_no_proof():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((120, 4)), rng.choice([-1.0, 1.0], 120)
    data = prepare(X, y)
    calls = iter(range(10**6))
    got = prioritised_search(data, stop=lambda: next(calls) >= 3)
    assert not got.finished
    assert got.loss == data.loss(got.w)
    assert 0 < got.pencils < 280_840


def test_rows_of_a_flat_are_solved_in_their_own_dimension():
    """Many lattice points on one plane: the nudge off the plane is itself a 0-1 problem, here with optimum 1 (XOR)."""
    X = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 2.0]])
    y = np.array([1, 1, -1, -1, 1, -1.0])
    Z = y[:, None] * np.column_stack([X, np.ones(6)])
    search = PencilSearch(Z, np.ones(6), np.inf)
    loss, nudge = search._nudge_of(np.arange(4), np.array([0, 1, 2]))
    assert loss == 1
    assert (Z[:4] @ nudge <= 0).sum() == 1


def test_many_features_obey_a_stop_request():
    """The first complete combination of 39 rows comes at once, and the search asks whether to stop on its way."""
    rng = np.random.default_rng(0)
    data = prepare(rng.standard_normal((90, 40)), rng.choice([-1.0, 1.0], 90))
    for lexicographic in (False, True):
        calls = iter(range(10**6))
        got = prioritised_search(data, lexicographic=lexicographic, stop=lambda calls=calls: next(calls) >= 3)
        assert got.pencils > 0
        assert got.loss == data.loss(got.w)


def test_every_pencil_is_swept_once_in_the_printed_order():
    rng = np.random.default_rng(1)
    for d in (2, 3, 4):
        data = prepare(rng.standard_normal((12, d)), rng.choice([-1.0, 1.0], 12))
        got = prioritised_search(data, lexicographic=True)
        assert got.loss > 0
        assert got.pencils == comb(12, d - 1)


@pytest.mark.parametrize("levels", [1, 2, 3, 4, 5])
def test_the_pencils_that_are_swept_meet_every_combination(levels):
    needed = {rows for rows in combinations(range(11), levels) if is_needed(np.array(rows[::-1]), levels)}
    assert levels < 2 or len(needed) < 0.65 * comb(11, levels)
    for rows in combinations(range(11), levels + 1):
        assert any(part in needed for part in combinations(rows, levels))


def test_about_half_of_the_pencils_suffice_in_general_position():
    rng = np.random.default_rng(2)
    for d in (3, 4, 5):
        data = prepare(rng.standard_normal((14, d)), rng.choice([-1.0, 1.0], 14))
        got = prioritised_search(data)
        assert got.finished
        assert 0 < got.pencils < 0.65 * comb(14, d - 1)
        assert got.combinations == comb(14, d)
        assert got.loss == prioritised_search(data, lexicographic=True).loss


@pytest.mark.parametrize("seed", range(12))
def test_a_turned_lattice_is_out_of_general_position_though_no_value_repeats(seed):
    rng = np.random.default_rng(seed)
    d = 2 + seed % 3
    lattice = rng.permutation(np.array(list(product(range(3), repeat=d))))[:9]
    X = lattice @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    y = rng.choice([-1.0, 1.0], 9)
    data = prepare(X, y)
    assert prioritised_search(data).loss == least_loss(X, y, np.ones(9))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_do_not_add_up_exactly_still_prove(kind):
    for seed in range(5):
        X, y, _ = tiny_instance(seed, kind)
        weights = np.random.default_rng(seed).uniform(0.1, 3.0, len(y))
        data = prepare(X, y, weights)
        got = prioritised_search(data)
        assert got.finished
        assert data.value(got.loss) == pytest.approx(least_loss(X, y, weights), rel=1e-12)


def test_weighted_data_of_some_size_are_proven():
    rng = np.random.default_rng(0)
    for _ in range(10):
        data = prepare(rng.standard_normal((25, 2)), rng.choice([-1.0, 1.0], 25), rng.uniform(0.1, 3.0, 25))
        printed = prioritised_search(data, lexicographic=True)
        got = prioritised_search(data)
        assert got.finished
        assert printed.finished
        assert got.loss == pytest.approx(printed.loss, rel=1e-12)


def test_data_with_little_in_them():
    nothing = prioritised_search(WeightedRows(np.zeros((0, 3)), np.zeros(0)))
    assert nothing.finished
    assert nothing.loss == 0
    one = prioritised_search(WeightedRows(np.array([[2.0, -1.0]]), np.ones(1)))
    assert one.finished
    assert one.loss == 0
    # XOR: the mean of the rows, where the search would start, is zero.
    X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    xor = prioritised_search(WeightedRows(y[:, None] * np.column_stack([X, np.ones(4)]), np.ones(4)))
    assert xor.finished
    assert xor.loss == 1


@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_the_nudge_is_the_shortest_that_suits_all_rows(count):
    rng = np.random.default_rng(count)
    rows = rng.standard_normal((8, 6))
    chosen = rng.permutation(8)[:count]
    assert np.allclose(nudge_for_all(rows, chosen), np.linalg.pinv(rows[chosen]) @ np.ones(count))


@pytest.mark.parametrize("m", [3, 4, 6])
def test_projections_keep_what_is_orthogonal_to_the_fixed_rows(m):
    """Inner products on the last level are those of the rows' parts orthogonal to the fixed rows; fixed rows become zero."""
    rng = np.random.default_rng(m)
    n, levels = 9, m - 2
    rows = rng.standard_normal((n, m))
    projected, reflectors, twice = np.zeros((levels + 1, m, n)), np.zeros((levels, m)), np.empty(n)
    projected[0] = rows.T
    fixed = rng.permutation(n)[:levels]
    for level, row in enumerate(fixed):
        assert reflector(projected, level, row, reflectors)
        project(projected, level, row, reflectors, twice)
    by_project = projected[levels, :2].copy()
    project_to_plane(projected, levels - 1, fixed[-1], reflectors)
    assert np.allclose(projected[levels, :2], by_project, rtol=1e-12, atol=1e-14)
    assert not projected[levels, :2, fixed].any()
    orthogonal = rows - rows @ np.linalg.pinv(rows[fixed]) @ rows[fixed]
    assert np.allclose(by_project.T @ by_project, orthogonal @ orthogonal.T)
    plane = rng.standard_normal(2)
    assert np.allclose(rows @ lift(plane, reflectors, levels, m), plane @ by_project)
