"""The generic branch and bound, on a knapsack with known answers and through solver="tree"."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mipclass import models, solve
from mipclass.errors import InvalidInputError, OptionError
from mipclass.protocol.run import Run
from mipclass.tree import FREE, Incumbent, Rules, search


class Knapsack(Rules):
    """Maximise value within a weight limit, as minimising the value left behind."""

    def __init__(self, values, weights, limit):
        self.values, self.weights, self.limit, self.n = values, weights, limit, len(values)

    def bound(self, fixed):
        return self.values[fixed == 0].sum()

    def branch(self, fixed):
        free = np.flatnonzero(fixed == FREE)
        return (int(free[0]), 1) if len(free) else None

    def propagate(self, fixed, changed):
        room = self.limit - self.weights[fixed == 1].sum()
        if room < 0:
            return None
        fixed = fixed.copy()
        fixed[(fixed == FREE) & (self.weights > room)] = 0
        return fixed

    def incumbent(self, fixed):
        packed = fixed == 1  # leaving the rest behind is always possible
        return Incumbent(float(self.values[~packed].sum()), {"packed": packed})


def best_by_enumeration(rules):
    sums = [
        rules.values[np.array(p) == 0].sum()
        for p in product((0, 1), repeat=rules.n)
        if rules.weights @ np.array(p) <= rules.limit
    ]
    return min(sums)


@pytest.mark.parametrize("order", ["depth", "best"])
@pytest.mark.parametrize("seed", range(5))
def test_knapsack(seed, order):
    rng = np.random.default_rng(seed)
    rules = Knapsack(rng.integers(1, 30, 10).astype(float), rng.integers(1, 20, 10).astype(float), 50.0)
    got = search(rules, Run.quiet(), order=order, granularity=1.0)
    assert got.status == "optimal"
    assert got.best.objective == got.bound == best_by_enumeration(rules)


def test_limits_and_stop_requests_keep_incumbent_and_bound():
    rng = np.random.default_rng(9)
    rules = Knapsack(rng.integers(1, 30, 22).astype(float), rng.integers(1, 20, 22).astype(float), 100.0)
    truth = search(rules, Run.quiet()).best.objective
    for run, limit, status in (
        (Run.quiet(), 40, "node_limit"),
        (Run.quiet(time_limit=1e-9), None, "time_limit"),
        (Run(callback=lambda event: False), None, "interrupted"),
    ):
        got = search(rules, run, order="best", node_limit=limit, keep_tree=True)
        assert got.status == status
        assert got.bound <= truth <= got.best.objective
        assert "open" in {fate for _, fate in got.tree.nodes(data="fate")}


def test_gap_lets_the_search_stop_early():
    rng = np.random.default_rng(9)
    rules = Knapsack(rng.integers(1, 30, 18).astype(float), rng.integers(1, 20, 18).astype(float), 80.0)
    exact, loose = search(rules, Run.quiet()), search(rules, Run.quiet(gap=0.2))
    assert loose.nodes < exact.nodes
    assert loose.best.objective <= exact.best.objective * 1.2 + 1


class Thresholds(Rules):
    """0-1 loss on one feature by brute force: decisions are errors, every leaf is looked up."""

    def __init__(self, problem):
        self.problem, self.n = problem, problem.data.n

    def bound(self, fixed):
        return float((fixed == 1).sum())

    def branch(self, fixed):
        free = np.flatnonzero(fixed == FREE)
        return (int(free[0]), 0) if len(free) else None

    def incumbent(self, fixed):
        x = np.sort(np.unique(self.problem.X[:, 0]))
        for b in -np.concatenate([[x[0] - 1], (x[1:] + x[:-1]) / 2, [x[-1] + 1]]):
            for w in (1.0, -1.0):
                values = {"w": np.array([w]), "b": np.asarray(w * b)}
                if (self.problem.margins(values)[fixed == 0] > 0).all():
                    return Incumbent(self.problem.recount(values), values)
        return None


def test_own_rules_through_solve():
    X, y = np.arange(8.0)[:, None], np.array([0, 1, 0, 0, 1, 1, 0, 1])
    problem = models.zero_one(X, y)
    result = solve(problem, solver="tree", options={"rules": Thresholds, "granularity": 1.0})
    assert result.objective == 2 == solve(problem, solver="pcs").objective
    assert result.claim == "proven"
    assert result.recounted


def test_false_incumbents_and_missing_rules_are_refused():
    class Liar(Thresholds):
        def incumbent(self, fixed):
            return Incumbent(-5.0, {"w": np.array([1.0]), "b": np.asarray(0.5)})

    problem = models.zero_one(np.arange(4.0)[:, None], [0, 1, 0, 1])
    with pytest.raises(InvalidInputError, match=r"objective -5, but recounted from the data it is"):
        solve(problem, solver="tree", options={"rules": Liar})
    with pytest.raises(OptionError, match="needs options="):
        solve(problem, solver="tree")


def test_a_gap_that_was_allowed_is_no_proof():
    X, y = np.arange(8.0)[:, None], np.array([0, 1, 0, 0, 1, 1, 0, 1])
    problem = models.zero_one(X, y)
    result = solve(problem, solver="tree", gap=0.9, options={"rules": Thresholds, "granularity": 1.0})
    assert result.status == "optimal"  # within the gap that was asked for
    assert result.bound <= 2  # the optimum
    assert (result.claim == "proven") == (result.bound == result.objective)
