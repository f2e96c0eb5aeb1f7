"""The search for a good rule on small data, and the race that waits with compiled searches."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from mipclass import models, solve
from mipclass.methods.exact import plain
from mipclass.methods.exact.quick import is_small, quick_rule
from mipclass.methods.zero_one.prepared import prepare
from mipclass.methods.zero_one.starts import least_squares_rule

from ...truth.zero_one import least_loss, tiny_instance


@pytest.mark.parametrize("seed", range(30))
def test_one_feature_is_one_circle(seed):
    """With one feature a circle holds every rule, so that its best piece is the optimum."""
    random = np.random.default_rng(seed)
    X = random.integers(-4, 5, size=(14, 1)).astype(float)
    y = np.where(random.random(14) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    data = prepare(X, y)
    if not len(data.Z):
        pytest.skip("every point is cancelled by one of the other label")
    cuts = np.concatenate([np.unique(X) - 0.5, [X.max() + 0.5]])
    least = min(((sign * (X[:, 0] - cut) * y) <= 0).sum() for cut in cuts for sign in (1, -1))
    worst = -least_squares_rule(data.Z, data.weights)
    assert data.loss(quick_rule(data, worst, seed)) == least


def test_mostly_the_best_rule_and_never_worse_than_its_start():
    found = []
    for seed in range(25):
        X, y, weights = tiny_instance(seed, "gaussian", dimensions=(2, 4), points=(9, 11))
        data = prepare(X, y, weights)
        start = np.random.default_rng(seed).normal(size=data.Z.shape[1])
        loss = data.loss(quick_rule(data, start, seed))
        assert loss <= data.loss(start)
        found.append(loss == least_loss(X, y, weights))
    assert np.mean(found) > 0.9


def test_a_race_that_was_too_short_goes_on_with_another_rule(monkeypatch):
    """The provers are paused at once, told of another rule, and end at the same optimum."""
    offered = []
    offer = plain.Race.offer
    monkeypatch.setattr(plain, "SHORT_RACE", 1)
    monkeypatch.setattr("mipclass.methods.exact.race.LOOKS", {"box": 1, "iis": 1})
    monkeypatch.setattr(plain.Race, "offer", lambda race, rule: offered.append(rule) or offer(race, rule))
    for seed in range(10):
        X, y, weights = tiny_instance(seed, "gaussian", dimensions=(2, 4), points=(11, 13))
        y = np.random.default_rng(seed).permutation(y)
        result = solve(models.zero_one(X, y, sample_weight=weights), "exact")
        assert result.certified
        assert result.objective == least_loss(X, y, weights)
    assert len(offered) > 5


def test_small_data_need_no_compiled_search():
    """What a first call compiles is what its modules import."""
    program = """
import sys
import numpy as np
from mipclass import ZeroOneClassifier
random = np.random.default_rng(0)
X = random.normal(size=(60, 4))
y = X[:, 0] + random.normal(size=60) > 0
print(ZeroOneClassifier().fit(X, y).result_.claim)
print([name for name in sys.modules if "kernels.pencil" in name or "kernels.line_search" in name])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["proven", "[]"]


def test_what_is_small():
    X = np.random.default_rng(0).normal(size=(400, 4))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    assert is_small(prepare(X, y))
    assert not is_small(prepare(np.vstack([X, X + 1.0]), np.append(y, y)))
