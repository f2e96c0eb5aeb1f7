"""CSA: never below the optimum, usually at it, its losses true, its paper variant a local optimum of swaps."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mipclass.methods.zero_one.csa import swap_search
from mipclass.methods.zero_one.kernels.pencil import work_arrays
from mipclass.methods.zero_one.kernels.pencil_swap import first_vertex, swap_steps
from mipclass.methods.zero_one.kernels.window import whole_circle
from mipclass.methods.zero_one.pcs import prioritised_search
from mipclass.methods.zero_one.prepared import prepare
from mipclass.numeric.random import random_state
from tests.truth.zero_one import KINDS, tiny_instance


@pytest.mark.parametrize("kind", KINDS)
def test_close_to_the_optimum_and_never_below(kind):
    at_optimum = 0
    for seed in range(30):
        data = prepare(*tiny_instance(seed, kind))
        best = prioritised_search(data).loss
        got = swap_search(data, None, seed, steps=400, patience=40)
        assert data.value(got.loss) == data.loss(got.w) >= data.value(best)
        at_optimum += got.loss == best
    assert at_optimum >= 28


def test_same_seed_same_rule():
    rng = np.random.default_rng(0)
    data = prepare(rng.standard_normal((200, 5)), rng.choice([-1.0, 1.0], 200))
    rules = [swap_search(data, None, seed, steps=2000).w for seed in (7, 7, 8)]
    assert np.array_equal(rules[0], rules[1])
    assert not np.array_equal(rules[0], rules[2])


def test_paper_variant_stops_where_no_swap_helps():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, d = 25, 2 + seed % 2
        X = rng.standard_normal((n, d))
        y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
        Z = y[:, None] * np.column_stack([X, np.ones(n)])
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        at = first_vertex(Z, rng.standard_normal(d + 1), np.inf)
        chosen, losses = at.chosen, at.losses
        steps = swap_steps(Z, np.ones(n), at, 10**6, 0, True, whole_circle(d + 1), random_state(seed), work_arrays(n))
        assert steps < 1000
        assert loss_through(Z, chosen) == losses[0]
        for r, other in product(range(d), range(n)):
            if other not in chosen:
                assert loss_through(Z, np.where(np.arange(d) == r, other, chosen)) >= losses[0]


def loss_through(Z: np.ndarray, chosen: np.ndarray) -> int:
    """Errors of the better side of the hyperplane through the chosen rows, these being correct."""
    margins = np.delete(Z @ np.linalg.svd(Z[chosen])[2][-1], chosen)
    return min((margins <= 0).sum(), (-margins <= 0).sum())
