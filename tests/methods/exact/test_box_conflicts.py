"""Conflicts on a box: what a pair proves, and how large a matching of pairs is found."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from mipclass.methods.exact.box.kernels import conflicts as kernel
from mipclass.methods.exact.box.kernels import state
from mipclass.methods.exact.box.kernels.matching import Matched, match

ONE = 2.0**state.KBITS


@given(seed=st.integers(0, 10**6), r=st.integers(2, 5))
@settings(max_examples=60, deadline=None)
def test_a_conflict_leaves_no_common_point(seed, r):
    """Slow twin: an LP asks for a V in the box where both points are right."""
    rng = np.random.default_rng(seed)
    Q = rng.integers(-(2**21), 2**21, (2, r)).astype(float)
    h = 2.0 ** rng.integers(10, 20, r)
    c = np.clip(np.round(rng.uniform(-ONE, ONE, r)), h - ONE, ONE - h)
    m = kernel.conflict(state.RoundedPoints(Q, np.zeros(2), np.ones(2, np.int64)), 0, 1, c, h)
    answer = linprog(
        np.append(np.zeros(r), -1.0),
        A_ub=np.column_stack([-Q / 2**21, np.full(2, 1e5)]),
        b_ub=np.zeros(2),
        bounds=[(a - b, a + b) for a, b in zip(c, h, strict=True)] + [(None, None)],
        method="highs",
    )
    both_right = answer.status == 0 and answer.x[-1] > 1e-9
    if m > 0:
        assert not both_right
    elif not both_right and (Q @ c + np.abs(Q) @ h > 0).all():
        p = np.arange(1, 64) / 64  # no multiplier of the grid proves it either
        mixes = [(1.0, t) for t in p] + [(t, 1.0) for t in p] + [(1.0, 1.0)]
        assert all((a * Q[0] + b * Q[1]) @ c + np.abs(a * Q[0] + b * Q[1]) @ h > 0 for a, b in mixes)


class Box:
    """Random points, some of them uncertain on a random box, with the whole graph of their conflicts."""

    def __init__(self, seed: int, n: int = 40, r: int = 3, weights: int = 1) -> None:
        rng = np.random.default_rng(seed)
        Q = rng.standard_normal((n, r))
        self.Q = np.round(Q / np.abs(Q).max(axis=1, keepdims=True) * 2**21)
        self.err = np.full(n, 0.5)
        self.weights = rng.integers(1, weights + 1, n)
        self.data = state.RoundedPoints(self.Q, self.err, self.weights)
        self.c = np.append(ONE, np.round(rng.uniform(-0.5, 0.5, r - 1) * ONE))
        self.h = np.append(0.0, np.full(r - 1, ONE / 4))
        a, s = self.Q @ self.c, np.abs(self.Q) @ self.h
        self.points = np.flatnonzero((a - s < 0) & (a + s + r * ONE / 2 > 0))
        self.a, self.s = a[self.points], s[self.points]
        self.left = np.zeros(n, np.int64)
        self.left[self.points] = self.weights[self.points]
        self.pairs = np.zeros((2 * n, 4), np.int64)
        self.graph = nx.Graph(
            (int(i), int(j)) for i in self.points for j in self.points if i < j and self.multipliers(i, j)
        )

    def multipliers(self, i: int, j: int) -> int:
        return kernel.conflict(self.data, i, j, self.c, self.h)

    def match(self, need: int = 10**6, n_pairs: int = 0, share: float = np.inf) -> Matched:
        q = np.ascontiguousarray(self.Q[self.points].T)
        members = self.points.astype(np.int32)
        box = state.OpenBox(self.c, self.h, members, q, self.a, self.s, self.left, self.pairs)
        return match(self.data, box, n_pairs, n_pairs, need, share)

    def check(self, n_pairs: int) -> int:
        """The value of the pairs, after checking that they are conflicts and use no weight twice."""
        used = np.zeros(len(self.Q), np.int64)
        for i, j, m, value in self.pairs[:n_pairs]:
            assert self.graph.has_edge(i, j)
            p, q = kernel.multipliers(m)
            mix = p * self.Q[i] + q * self.Q[j]
            assert mix @ self.c + np.abs(mix) @ self.h + (p + q) / 2 * len(self.c) * ONE <= 0
            assert value > 0
            used[[i, j]] += value
        assert (used[self.points] + self.left[self.points] == self.weights[self.points]).all()
        return int(self.pairs[:n_pairs, 3].sum())


@given(seed=st.integers(0, 10**6), weights=st.integers(1, 3), need=st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_pairs_are_disjoint_conflicts_and_no_more_than_needed(seed, weights, need):
    box = Box(seed, weights=weights)
    n_pairs, inherited, wanting, *_ = box.match(need)
    assert inherited == 0
    assert box.check(n_pairs) == need - wanting
    assert wanting > -weights


def test_matchings_are_nearly_the_largest():
    """Slow twin: the blossom algorithm on the whole graph."""
    greedy = found = largest = 0
    for seed in range(60):
        box = Box(seed, n=60, r=4)
        most = len(nx.max_weight_matching(box.graph, maxcardinality=True))
        n_pairs, *_, tried, _ = box.match()
        assert tried or not n_pairs
        assert box.check(n_pairs) <= most
        found, largest = found + n_pairs, largest + most
        n_pairs, *_, tried, _ = Box(seed, n=60, r=4).match(share=0.0)
        assert not tried
        greedy += n_pairs
    assert greedy < 0.9 * largest
    assert found >= 0.98 * largest


def test_inherited_pairs_give_way_and_are_counted():
    changed = 0
    for seed in range(30):
        box = Box(seed, n=60, r=4)
        n_pairs, *_ = box.match(share=0.0)
        before = [tuple(pair) for pair in box.pairs[:n_pairs]]
        value = box.check(n_pairs)
        more, inherited, wanting, *_ = box.match(n_pairs=n_pairs)
        assert box.check(more) == value + 10**6 - wanting
        assert set(map(tuple, box.pairs[:inherited])) <= set(before)
        assert not set(map(tuple, box.pairs[inherited:more])) & set(before)
        changed += inherited < n_pairs
    assert changed > 5


def test_release_gives_back_what_pairs_used():
    left = np.array([0, 1, 0, 2])
    pairs = np.array([[0, 1, 64, 2], [2, 3, 64, 1], [0, 3, 64, 1]])
    assert kernel.release(0, left, pairs, 3) == 3
    assert left.tolist() == [3, 3, 0, 3]
    assert kernel.compact(pairs, 3, 1) == (1, 0)
    assert pairs[0].tolist() == [2, 3, 64, 1]
