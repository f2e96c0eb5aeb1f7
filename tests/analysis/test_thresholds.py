"""Thresholds on scores against their definitions: ranks with weights, and the umbrella's order statistic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from mipclass.analysis.thresholds import rank_threshold, umbrella_negatives_needed, umbrella_order, umbrella_threshold
from mipclass.errors import InvalidInputError


def test_rank_threshold_is_exact_and_counts_weights():
    scores = np.arange(100.0)
    assert rank_threshold(scores, 0.07) == 92.0  # seven above, although 0.07 * 100 > 7 in floating point
    assert rank_threshold(scores, 0.075) == 92.0
    assert rank_threshold([3.0, 3.0, 3.0], 0.5) == 3.0
    rng = np.random.default_rng(0)
    for _ in range(200):
        values, weights = rng.integers(0, 6, 12).astype(float), rng.integers(0, 4, 12)
        if not weights.any():
            continue
        tau = float(rng.choice([0.05, 0.1, 0.3, 0.5, 0.9]))
        assert rank_threshold(values, tau, weights) == rank_threshold(np.repeat(values, weights), tau)


def test_umbrella_order_against_its_definition():
    assert umbrella_negatives_needed(0.05, 0.05) == 59
    for n, tau, delta in ((59, 0.05, 0.05), (200, 0.05, 0.1), (1000, 0.01, 0.05), (77, 0.3, 0.01)):
        k = umbrella_order(n, tau, delta)
        tail = lambda j, n=n, tau=tau: binom.sf(j - 1, n, 1 - tau)  # noqa: E731
        assert tail(k) <= delta < tail(k - 1)
    assert umbrella_threshold(np.arange(59.0), 0.05, 0.05) == 58.0
    with pytest.raises(InvalidInputError, match="needs at least 59 held-out negatives"):
        umbrella_order(58, 0.05, 0.05)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(bad):
    scores = np.arange(60.0)
    scores[7] = bad
    for threshold in (lambda: rank_threshold(scores, 0.5), lambda: umbrella_threshold(scores, 0.05, 0.05)):
        with pytest.raises(InvalidInputError, match=rf"1 of 60 are NaN or infinite, the first is {bad}\. Drop"):
            threshold()
    with pytest.raises(InvalidInputError, match="1 of 1 are NaN"):
        rank_threshold([np.nan], 0.5)


@pytest.mark.parametrize("weights", [[1.0, np.nan], [1.0, -1.0], [1.0]])
def test_weights_of_scores_are_checked(weights):
    with pytest.raises(InvalidInputError, match="one for each of the 2 scores"):
        rank_threshold([0.0, 1.0], 0.5, weights)
