"""Kernel matrices that are made and checked by blocks of rows."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from mipclass.errors import InvalidInputError
from mipclass.models import Kernel, rules

ROWS = np.arange(3, 40)


@pytest.fixture(autouse=True)
def _blocks_of_five_rows(monkeypatch):
    monkeypatch.setattr(rules, "BLOCK", 5 * len(ROWS))


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(45, 4))


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("rule", "truth"),
    [
        (Kernel("rbf", 0.3), lambda P: rbf_kernel(P, gamma=0.3)),
        (Kernel("rbf", 0.3, offset=1.0), lambda P: rbf_kernel(P, gamma=0.3) + 1.0),
        (Kernel("poly", 0.5, 3, 1.0), lambda P: polynomial_kernel(P, degree=3, gamma=0.5, coef0=1.0)),
        (Kernel("linear"), lambda P: P @ P.T),
    ],
)
def test_blocks_make_the_matrix_of_the_kernel_exactly_symmetric(rule, truth, stored, X):
    K = rule.training_gram(stored(X), ROWS)
    np.testing.assert_allclose(K, truth(X[ROWS]), rtol=1e-12, atol=1e-12)
    assert np.array_equal(K, K.T)


def test_functions_and_given_matrices_are_symmetrised(X):
    noisy = rbf_kernel(X) + 1e-10 * np.random.default_rng(1).normal(size=(45, 45))
    K = Kernel("precomputed").training_gram(noisy, ROWS)
    np.testing.assert_allclose(K, rbf_kernel(X[ROWS]), atol=1e-9)
    assert np.array_equal(K, K.T)
    K = Kernel(lambda P, Q: P @ Q.T).training_gram(X, ROWS)
    np.testing.assert_allclose(K, X[ROWS] @ X[ROWS].T, atol=1e-12)


@pytest.mark.parametrize("place", [(3, 39), (39, 3), (20, 22), (21, 20), (39, 38)])
@pytest.mark.parametrize(("entry", "complaint"), [(0.9, "not symmetric"), (np.nan, "NaN"), (np.inf, "NaN or infinite")])
def test_a_bad_entry_is_found_in_every_block(place, entry, complaint, X):
    K = rbf_kernel(10.0 * X)
    K[place] = entry
    with pytest.raises(InvalidInputError, match=complaint):
        Kernel("precomputed").training_gram(K, ROWS)


@pytest.mark.parametrize("place", [(3, 39), (20, 22), (38, 39)])
def test_entries_that_no_kernel_has_are_found_in_every_block(place, X):
    K = rbf_kernel(X)
    K[place] = K[place[::-1]] = 2.0
    with pytest.raises(InvalidInputError, match="positive semidefinite"):
        Kernel("precomputed").training_gram(K, ROWS)


def test_no_memory_is_taken_beside_the_matrix(monkeypatch):
    monkeypatch.setattr(rules, "BLOCK", 1 << 14)
    X = np.random.default_rng(0).normal(size=(600, 3))
    tracemalloc.start()
    K = Kernel("rbf").training_gram(X, np.arange(600))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.3 * K.nbytes


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_scores_by_blocks_are_those_of_the_whole_matrix(stored, X):
    c = np.random.default_rng(1).normal(size=45) * (np.arange(45) % 3 > 0)
    scores = Kernel("rbf", 0.3, offset=1.0).scores({"c": c, "points": stored(X)}, stored(X))
    np.testing.assert_allclose(scores, (rbf_kernel(X, gamma=0.3) + 1.0) @ c, atol=1e-12)
    assert Kernel("rbf").scores({"c": np.zeros(45), "points": X}, X[:0]).shape == (0,)
