"""Progress of a box search: the share of the pass and the time that may be left."""

from __future__ import annotations

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.methods.exact.box.outlook import nodes_to_come


def test_a_tree_that_triples_is_extrapolated():
    """100 nodes at 10, 300 at 20: 900 at 30, half of which are done; then 2,700 at 40 with the passes before."""
    history = [(10, 100), (20, 300)]
    assert nodes_to_come(history, 30, 30, 0.5) == pytest.approx(450)
    assert nodes_to_come(history, 40, 30, 0.5) == pytest.approx(450 + 1.5 * 2700)
    assert nodes_to_come(history[:1], 30, 30, 0.5) is None
    assert nodes_to_come([(10, 5), (20, 5)], 30, 30, 1.0) == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_reports_say_how_far_the_proof_is(threads):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    y = np.where(X[:, 0] + rng.normal(0, 2, 300) > 0, 1, -1)
    events = []

    def until_seconds_are_told(event):
        events.append(event)
        return event.extra.get("seconds_left", 0) <= 0 or len(events) < 6

    mipclass.solve(
        models.zero_one(X, y), solver="box", threads=threads, time_limit=60.0, callback=until_seconds_are_told
    )
    told = [event.extra for event in events if "share" in event.extra]
    assert told
    assert all(0 <= extra["share"] <= 1 + 1e-9 for extra in told)
    assert any(extra["share"] > 0 for extra in told)
    by_target: dict[float, list[float]] = {}
    for extra in told:
        by_target.setdefault(extra["target"], []).append(extra["share"])
    assert all(shares == sorted(shares) for shares in by_target.values())
    assert any(extra["nodes_per_second"] > 0 for extra in told)
    assert any(extra.get("seconds_left", 0) > 0 for extra in told)


def test_reports_of_a_limited_problem_say_it_too():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 5))
    y = np.where(X[:, 0] + rng.normal(0, 2, 120) > 0, 1, -1)
    events = []
    problem = models.neyman_pearson(X, y, 0.1)
    result = mipclass.solve(problem, "exact", time_limit=20.0, callback=lambda event: events.append(event))
    told = [event for event in events if "target" in event.extra]
    assert told
    assert all(event.nodes > 0 for event in told if event.extra["share"] > 0)
    # Targets are losses of the problem as stated, so that none is beyond what the rule misses.
    assert all(event.bound < event.extra["target"] <= result.objective + 1 for event in told)
