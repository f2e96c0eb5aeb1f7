"""Products of rows of Q with a change of the multipliers, against the whole product."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.methods.robust_svm.kernels.rows import Moved, add_products


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 50), st.data(), st.integers(0, 10**6))
def test_products_read_the_head_and_the_late_places(n, data, seed):
    rng = np.random.default_rng(seed)
    head = data.draw(st.integers(0, n))
    late = np.sort(head + rng.permutation(n - head)[: data.draw(st.integers(0, n - head))])
    v = np.zeros(n)
    v[:head], v[late] = rng.normal(size=head), rng.normal(size=len(late))
    room = np.zeros(n, dtype=np.int64)
    room[: len(late)] = late
    Q = rng.normal(size=(n, n))
    Q = Q + Q.T
    rows = rng.permutation(n)
    count = data.draw(st.integers(0, n))
    start = rng.normal(size=n)
    m = start.copy()
    add_products(Q, rows, count, Moved(v, room, np.array([head, len(late)])), m)
    expected = start.copy()
    expected[rows[:count]] += Q[rows[:count]] @ v
    np.testing.assert_allclose(m, expected, atol=1e-12 * n)
