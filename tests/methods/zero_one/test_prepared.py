"""Preprocessing of 0-1 data: the loss of every rule is kept, whatever is merged, cancelled or dropped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.methods.zero_one.costs import exact_costs
from mipclass.methods.zero_one.offsets import best_offset
from mipclass.methods.zero_one.prepared import prepare, whitening
from mipclass.methods.zero_one.widest import recentre, separating_rule


def lattice(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, d)).astype(float)
    y = rng.choice([-1.0, 1.0], n)
    return X, y, rng.integers(0, 4, n).astype(float), rng


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), d=st.integers(1, 4), cancel=st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_rule_keeps_its_loss(seed, n, d, cancel):
    X, y, weights, rng = lattice(seed, n, d)
    data = prepare(X, y, weights, cancel=cancel)
    for _ in range(5):
        W = rng.standard_normal(len(data.columns) + 1)
        w, b = data.rule(W)
        margins = y * (X @ w + b)
        assert data.loss(W) == weights[margins <= 0].sum()
    assert len(np.unique(data.Z, axis=0)) == len(data.Z)


def test_opposite_twins_cancel_only_when_asked():
    X = np.array([[0.0], [0.0], [0.0], [1.0]])
    y = np.array([1.0, 1.0, -1.0, 1.0])
    data = prepare(X, y)
    assert data.constant == 1
    assert sorted(data.weights) == [1, 1]
    apart = prepare(X, y, cancel=False)
    assert apart.constant == 0
    assert apart.weights.sum() == 4
    assert data.group[2] == -1


def test_constant_columns_and_weightless_points_go():
    X = np.array([[5.0, 1.0], [5.0, 2.0], [7.0, 3.0]])
    data = prepare(X, np.array([1.0, -1.0, 1.0]), np.array([1.0, 2.0, 0.0]))
    assert data.columns.tolist() == [1]
    assert data.Z.shape == (2, 2)
    assert data.group.tolist()[2] == -1


def test_separable_is_found_and_xor_is_not():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5)) * [1, 1e3, 1e-3, 1, 1] + [0, 1e5, 0, 0, 0]
    y = np.sign(X @ [1, 1e-3, 1e3, 1, 1] - 100 + 0.01)
    data = prepare(X, y)
    W = separating_rule(data)
    assert W is not None
    assert data.loss(W) == 0
    xor = prepare(np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]), np.array([1.0, 1, -1, -1]))
    assert separating_rule(xor) is None


def test_recentring_never_loses():
    X, y, weights, rng = lattice(3, 30, 3)
    data = prepare(X, y, weights)
    for _ in range(20):
        W = rng.integers(-2, 3, 4).astype(float)
        assert data.loss(recentre(data, W)) <= data.loss(W)


@pytest.mark.parametrize("rank", [2, 4])
def test_whitening_spans_the_rows(rank):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, rank)) @ rng.standard_normal((rank, 4))
    Z = prepare(X, rng.choice([-1.0, 1.0], 50)).Z
    M = whitening(Z)
    assert M.shape == (5, rank + 1)
    assert np.linalg.matrix_rank(Z @ M) == rank + 1


def numpy_whitening(Z: np.ndarray) -> np.ndarray:
    """The slow twin: the formula in NumPy's words."""
    X = Z * Z[:, -1:]
    centre, spread = X[:, :-1].mean(axis=0), X[:, :-1].std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    S = np.diag(np.append(1 / spread, 1.0))
    S[-1, :-1] = -centre / spread
    rows = X @ S
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    size, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    seen = size > size[-1] * 1e-12
    return S @ (axes[:, seen] / np.sqrt(size[seen]))


@pytest.mark.parametrize(
    "kind", ["gaussian", "scales", "constant column", "twice the same column", "one row", "no features"]
)
def test_whitening_is_its_formula(kind):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((1 if kind == "one row" else 40, 0 if kind == "no features" else 3))
    if kind == "scales":
        X = X * [1.0, 1e6, 1e-6] + [10.0, 0.0, 1e-5]
    elif kind == "constant column":
        X[:, 1] = 2.0
    elif kind == "twice the same column":
        X[:, 1] = X[:, 0]
    y = rng.choice([-1.0, 1.0], len(X))
    Z = np.column_stack([X * y[:, None], y])
    M, expected = whitening(Z), numpy_whitening(Z)
    assert M.shape == expected.shape
    assert np.allclose(
        Z @ M @ M.T @ Z.T, Z @ expected @ expected.T @ Z.T, rtol=1e-8, atol=1e-8
    )  # axes may differ in sign


def plain_merge(X: np.ndarray, y: np.ndarray, weights: np.ndarray, cancel: bool) -> tuple[dict, float]:
    """The slow twin of `prepare`: weights of (point, label), by a dictionary; equal points of both labels cancelled."""
    mass: dict[tuple, float] = {}
    for point, label, weight in zip(X.tolist(), y.tolist(), weights.tolist(), strict=True):
        mass[*point, label] = mass.get((*point, label), 0.0) + weight
    constant = 0.0
    for point in {key[:-1] for key in mass} if cancel else ():
        common = min(mass.get((*point, -1.0), 0.0), mass.get((*point, 1.0), 0.0))
        constant += common
        for label in (-1.0, 1.0):
            mass[*point, label] = mass.get((*point, label), 0.0) - common
    return {key: value for key, value in mass.items() if value > 0}, constant


@given(
    seed=st.integers(0, 10**6), n=st.integers(0, 30), d=st.integers(0, 4), cancel=st.booleans(), fortran=st.booleans()
)
@settings(max_examples=100, deadline=None)
def test_merging_is_that_of_a_dictionary(seed, n, d, cancel, fortran):
    X, y, weights, _ = lattice(seed, n, d)
    X[:, 1:2] *= -1.0  # makes some -0.0
    data = prepare(np.asfortranarray(X) if fortran else X, y, weights, cancel=cancel)
    used = weights > 0
    assert data.columns.tolist() == [j for j in range(d) if len(set(X[used, j])) > 1]
    expected, constant = plain_merge(X[np.ix_(used, data.columns)], y[used], weights[used], cancel)
    points = [(*(z[:-1] * z[-1]).tolist(), z[-1]) for z in data.Z]
    assert points == sorted(points)
    assert dict(zip(points, [float(data.counts.unit * int(k)) for k in data.weights], strict=True)) == expected
    assert data.constant == constant
    for i in range(n):
        key = (*X[i, data.columns].tolist(), y[i])
        assert data.group[i] == (points.index(key) if used[i] and key in expected else -1)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 30))
@settings(max_examples=100, deadline=None)
def test_best_offset_is_the_best_of_all_and_ties_nowhere(seed, n):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-3, 4, n).astype(float)
    y = rng.choice([-1.0, 1.0], n)
    weights = rng.integers(0, 4, n).astype(float)
    near = float(rng.integers(-3, 4))
    b = best_offset(scores, y, exact_costs(weights), near)
    assert not (scores + b == 0).any()
    tried = np.arange(-4.5, 5.0)
    losses = [weights[y * (scores + t) <= 0].sum() for t in tried]
    assert weights[y * (scores + b) <= 0].sum() == min(losses)


def test_best_offset_leaves_a_tie_that_rounding_hides():
    scores = np.array([-1.0, -0.3, 1.0])
    b = best_offset(scores, np.array([-1.0, 1.0, 1.0]), exact_costs(np.array([1.0, 0.0, 1.0])), np.nextafter(0.3, 1.0))
    assert np.abs(scores + b).min() > 0.1


def test_best_offset_stays_where_it_is_good():
    assert best_offset(np.array([-1.0, 1.0]), np.array([-1.0, 1.0]), exact_costs(np.ones(2)), 0.25) == 0.25
