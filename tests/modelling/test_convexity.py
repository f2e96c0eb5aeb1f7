"""Convexity of a quadratic objective, against the eigenvalues of matrices that are made so."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.modelling.convexity import is_semidefinite


@given(st.integers(0, 10_000), st.integers(2, 10), st.floats(0.3, 1.0))
@settings(max_examples=150, deadline=None)
def test_products_are_semidefinite_and_a_negative_curvature_is_seen(seed: int, n: int, density: float) -> None:
    """F'F of any rank and any units of the columns is accepted; the same with one eigenvalue moved below zero is not."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(int(rng.integers(1, n + 1)), n)) * (rng.random((1, n)) < density)
    Q = F.T @ F
    units = 10.0 ** rng.uniform(-4, 4, size=n)
    assert is_semidefinite(sp.csc_array(Q * units * units[:, None]))
    values, vectors = np.linalg.eigh(Q + np.diag(np.where(np.diag(Q) > 0, 0.0, 1.0)))
    v = vectors[:, 0]
    bent = Q - (values[0] + 10.0 ** rng.uniform(-6, 0)) * np.outer(v, v)
    assert not is_semidefinite(sp.csc_array((bent + bent.T) / 2))


@pytest.mark.parametrize(
    ("Q", "convex"),
    [
        ([[0.0, -1.0], [-1.0, 0.0]], False),  # -xy
        ([[-2.0]], False),
        ([[1.0, 0.0], [0.0, -1e-9]], False),  # a small curvature that is meant
        ([[1.0, 1.0], [1.0, 1.0]], True),
        ([[1.0, 1.0], [1.0, 1.0 - 1e-7]], False),
        ([[1.0, 1.0], [1.0, 1.0 - 1e-14]], True),  # rounding of a semidefinite matrix
        ([[1.0, 1e-17], [1e-17, -1e-17]], True),
        ([[0.0, 0.0], [0.0, 1.0]], True),
    ],
)
def test_small_matrices(Q: list[list[float]], convex: bool) -> None:
    assert is_semidefinite(sp.csc_array(np.array(Q))) is convex


@pytest.mark.parametrize("shift", [0.0, 0.01])
def test_large_sparse_matrices_are_factorised_as_such(shift: float) -> None:
    """The square of a path's Laplacian is singular and not diagonally dominant; a shift makes it indefinite."""
    path = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(5000, 5000)).tolil()
    path[0, 0] = path[-1, -1] = 1.0
    square = sp.csc_array(path.T @ path) - shift * sp.eye_array(5000)
    assert is_semidefinite(sp.csc_array(square)) is (shift == 0.0)


def test_kernel_matrices_of_low_rank() -> None:
    X = np.random.default_rng(0).normal(size=(400, 3))
    assert is_semidefinite(sp.csc_array(X @ X.T))
    assert not is_semidefinite(sp.csc_array(X @ X.T - 1e-4 * np.eye(400)))
