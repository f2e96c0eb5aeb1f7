"""Points that leave and join a factor, and the right side that goes with them: against a fresh factor and a fresh solve."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.methods.robust_svm.kernels.exchange import put_in, take_out

FLOOR = 1e-14  # of a Schur complement


def gram(points: int, seed: int) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(points, 4))
    return np.exp(-0.25 * ((X[:, None] - X[None]) ** 2).sum(axis=-1)) + 0.01 * np.eye(points)


def factor_of(Q: np.ndarray, room: int) -> np.ndarray:
    U = np.full((room, room), np.nan)  # what lies outside the factor must not be read
    U[: len(Q), : len(Q)] = np.linalg.cholesky(Q).T
    return U


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(1, 12), st.integers(0, 10**6))
def test_leaving_points_carry_the_solve_of_what_they_leave_behind(k, leaving, seed):
    rng = np.random.default_rng(seed)
    leaving = min(leaving, k - 1)
    Q, removed = gram(k, seed), np.sort(rng.permutation(k)[:leaving])
    U, change, h = factor_of(Q, k + 3), rng.normal(size=leaving), np.full(k + 3, np.nan)
    h[:k] = -np.triu(U[:k, :k])[:, removed] @ change
    take_out(U, k, removed, h, np.empty((leaving, k + 3)))
    kept = np.setdiff1d(np.arange(k), removed)
    size = len(kept)
    factor = np.triu(U[:size, :size])
    np.testing.assert_allclose(factor.T @ factor, Q[np.ix_(kept, kept)], atol=1e-12)
    np.testing.assert_allclose(factor.T @ h[:size], -Q[np.ix_(kept, removed)] @ change, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40), st.integers(1, 12), st.integers(0, 10**6))
def test_joining_points_extend_the_factor_and_the_solve(k, joining, seed):
    rng = np.random.default_rng(seed)
    Q, n = gram(k + joining, seed), k + joining
    U, right, h = factor_of(Q[:k, :k], n + 1), rng.normal(size=n), np.full(n + 1, np.nan)
    h[:k] = np.linalg.solve(np.triu(U[:k, :k]).T, right[:k]) if k else 0.0
    h[k:n] = right[k:]
    columns = np.zeros((joining + 1, n + 1))
    columns[:joining, :k] = Q[k:, :k]
    smallest = put_in(U, k, columns, Q[k:, k:].copy(), np.full(joining, FLOOR), h)
    factor = np.triu(U[:n, :n])
    np.testing.assert_allclose(factor.T @ factor, Q, atol=1e-12)
    np.testing.assert_allclose(factor.T @ h[:n], right, atol=1e-11)
    np.testing.assert_allclose(smallest * FLOOR, (np.diagonal(np.linalg.cholesky(Q))[k:] ** 2).min(), rtol=1e-9)


def test_a_dependent_point_is_raised_to_the_floor():
    Q = gram(6, 0)
    Q = np.block([[Q, Q[:, :1]], [Q[:1], Q[:1, :1]]])  # the last point is the first again
    U, h = factor_of(Q[:6, :6], 8), np.zeros(8)
    columns = np.zeros((2, 8))
    columns[0, :6] = Q[6, :6]
    assert put_in(U, 6, columns, Q[6:, 6:].copy(), np.array([1e-10]), h) < 1.0
    assert U[6, 6] == np.sqrt(1e-10)
