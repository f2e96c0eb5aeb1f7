"""Root cuts of iis: the interior-point packing LP against HiGHS, and pausing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from mipclass.methods.exact.iis.cover import plain_cover
from mipclass.methods.exact.iis.kernels.packing import normal_matrix
from mipclass.methods.exact.iis.packing import PackingLP
from mipclass.methods.exact.iis.tree import IISSearch
from mipclass.methods.zero_one.prepared import prepare


def never() -> None:
    return None


def packing(seed: int, limited: bool) -> tuple[sp.csr_array, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 12)), int(rng.integers(1, 30))
    members = rng.random((k, n)) < 0.4
    members[np.arange(k), rng.integers(0, n, k)] = True
    costs = rng.integers(1, 6, n).astype(float)
    if not limited:
        return sp.csr_array(members.astype(float)), costs, np.zeros((0, n)), np.zeros(0)
    negatives = rng.random(n) < 0.5
    costs[negatives] = 0.0  # as in a Neyman-Pearson problem: limited, not paid for
    costs[0], negatives[0] = 1.0, False
    return sp.csr_array(members.astype(float)), costs, negatives[None, :].astype(float), np.array([0.5])


@given(seed=st.integers(0, 10**6), limited=st.booleans())
@settings(max_examples=60, deadline=None)
def test_packing_lp_equals_highs(seed, limited):
    members, costs, limits, at_most = packing(seed, limited)
    truth = linprog(
        np.concatenate([-np.ones(members.shape[0]), at_most]),
        A_ub=np.hstack([members.toarray().T, -limits.T]),
        b_ub=costs,
        method="highs",
    )
    lp = PackingLP(members, costs, limits, at_most)
    assert lp.solve(1e-6, never)
    if truth.status == 3:  # unbounded: the limits allow no cover
        assert lp.is_diverging
        return
    assert lp.value == pytest.approx(-truth.fun, rel=1e-4, abs=1e-4)
    v, mu = lp.multipliers
    assert (v >= 0).all()
    assert (mu >= 0).all()
    assert (members.T @ v - mu @ limits <= costs + 1e-5).all()
    assert (members @ lp.e >= 1 - 1e-5).all()


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_normal_matrix(seed):
    members, costs, *_ = packing(seed, False)
    weights = np.random.default_rng(seed).random(members.shape[0])
    out = np.empty((len(costs), len(costs)))
    normal_matrix(members.indptr, members.indices, weights, out)
    dense = members.toarray()
    np.testing.assert_allclose(out, np.tril((dense.T * weights) @ dense), atol=1e-12)


def test_root_cuts_may_be_paused_at_every_step():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    y = np.where(X[:, 0] + rng.normal(0, 1.5, 80) > 0, 1.0, -1.0)
    data = plain_cover(X, y, prepare(X, y))
    whole, paused = IISSearch(data), IISSearch(data)
    whole.advance(lambda: whole.root_cuts.done)
    asked = [0]

    def every_fourth_time() -> bool:
        asked[0] += 1
        return paused.root_cuts.done or asked[0] % 4 == 0

    while not paused.root_cuts.done:
        paused.advance(every_fourth_time)
    assert asked[0] > 20
    assert paused.lower > 0
    assert abs(paused.root.bound - whole.root.bound) <= 1
