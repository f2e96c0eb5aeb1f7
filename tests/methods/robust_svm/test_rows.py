"""Kernels on the rows of a matrix, against the same in NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mipclass.methods.robust_svm.kernels.rows import square_part, sums_along


@pytest.mark.parametrize("seed", range(5))
def test_sums_along_are_cumulative_sums_of_the_columns_in_use(seed):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(7, 12)) * (rng.random((7, 12)) < 0.3)
    matrix = sp.csr_array(dense)
    used = np.unique(matrix.indices)
    place = np.full(12, -1)
    place[used] = np.arange(len(used))
    got = sums_along(matrix.indptr, matrix.indices, matrix.data, place, len(used))
    np.testing.assert_allclose(got, np.cumsum(dense, axis=0)[:, used], atol=1e-14)


def test_square_part_is_the_submatrix():
    Q = np.arange(36.0).reshape(6, 6)
    names = np.array([0, 2, 5])
    np.testing.assert_array_equal(square_part(Q, names), Q[np.ix_(names, names)])
