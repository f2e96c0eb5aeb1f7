"""Rules inside branch and bound speak of the declared program, whatever basis it is solved in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.arrays import Array
from mipclass.backends.base import Solution
from mipclass.backends.highs import HighsBackend
from mipclass.modelling.program import Program
from mipclass.protocol.hooks import Cut, Hooks
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run
from mipclass.reductions.base import Answer
from mipclass.reductions.hooks_along import hooks_along
from mipclass.solving.through_backend import through_backend
from tests.reductions.test_way_back import COMPOSITE, N, chains, random_convex


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_rules_see_original_points_and_answer_in_original_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program, point, proposed = random_convex(seed, quadratic=False), rng.normal(size=N), rng.normal(size=N)
    cut = Cut(np.array([0, COMPOSITE]), rng.normal(size=2), -1.0, np.inf)
    seen: list[np.ndarray] = []

    def record(x, answer):  # type: ignore[no-untyped-def]
        seen.append(x)
        return answer

    rules = Hooks(
        incumbent=lambda x: record(x, proposed),
        separate=lambda x: record(x, [cut]),
        propagate=lambda lower, upper: (np.array([1, COMPOSITE]), lower[[1, 2]] / 2, upper[[1, 2]] / 2),
        branch=lambda lower, upper, x: record(x, (4, 1)),
    )
    for chain in chains(seed).values():
        reduced, receipt = chain.apply(program)
        carried, x = hooks_along(rules, receipt), receipt.forward(point)
        seen.clear()
        assert carried.incumbent is not None
        found = carried.incumbent(x)
        assert found is not None
        np.testing.assert_allclose(receipt.back(Answer(found)).x, proposed, atol=1e-9)
        assert carried.separate is not None
        [row] = carried.separate(x)
        assert row.coefficients @ x[row.columns] == pytest.approx(cut.coefficients @ point[cut.columns], abs=1e-9)
        assert carried.branch is not None
        assert carried.branch(reduced.lower, reduced.upper, x) == (4, 1)
        for got in seen:
            np.testing.assert_allclose(got, point, atol=1e-9)
        assert carried.propagate is not None
        columns, lower, upper = carried.propagate(reduced.lower, reduced.upper) or pytest.fail("cut off")
        first = columns.tolist().index(1)
        assert sorted([lower[first], upper[first]]) == [lower[first], upper[first]]
        np.testing.assert_allclose(lower[first], reduced.lower[1] / 2)
        np.testing.assert_allclose(upper[first], reduced.upper[1] / 2)


def test_a_rule_proposed_in_the_models_columns_is_feasible_where_it_is_solved() -> None:
    """Data in awkward units: the driver solves the model in another basis, and the proposal arrives there."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2)) * [1e-3, 1e3] + [1.0, 2000.0]
    problem = models.zero_one(X, rng.integers(0, 2, 30))
    assert problem.basis() is not None
    best = mipclass.solve(problem, "exact")
    proposals: list[tuple[float, float]] = []

    class Asking(HighsBackend):
        def solve(self, program: Program, run: Run, start: Array | None = None) -> Solution:
            found = run.options["hooks"].incumbent(None)
            proposals.append((program.violation(found), program.objective(found)))
            return Solution(Status.TIME_LIMIT, "asked")

    point = problem.encode(best.values)
    through_backend(problem, Asking(), Run.quiet(hooks=Hooks(incumbent=lambda x: point)))
    [(violation, objective)] = proposals
    assert violation <= 1e-6
    assert objective == pytest.approx(best.objective)
