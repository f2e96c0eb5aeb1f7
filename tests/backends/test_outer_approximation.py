"""Outer approximation on HiGHS against enumeration and SCIP; its bound is a bound at every moment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.backends.base import Solution
from mipclass.backends.highs import HighsBackend
from mipclass.backends.highs_direct import solve_directly
from mipclass.modelling.builder import Builder
from mipclass.modelling.program import Program
from mipclass.protocol.hooks import Hooks
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run
from mipclass.reductions.indicator_to_bigm import IndicatorToBigM
from mipclass.testing import best_integer_point, random_integer_program
from tests.breadth import mostly_slow


def regularised_zero_one(n: int, seed: int = 0) -> Program:
    """Errors at margin 1 plus a square of correlated weights: binaries, continuous columns and off-diagonal Q."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    build = Builder("regularised 0-1")
    w = build.variables("w", 3, lower=-3, upper=3)
    b = build.variables("b", lower=-5, upper=5)
    error = build.binaries("error", n)
    build.subject_to("margin", y * (X @ w + b) >= 1, when=(error, 0))
    build.minimize(error.sum())
    build.add_square(rng.normal(size=(3, 3)) @ w, 0.3)
    return IndicatorToBigM().apply(build.build())[0]


@given(seed=st.integers(0, 500))
@settings(max_examples=12, deadline=None)
def test_matches_enumeration(seed: int) -> None:
    program = random_integer_program(seed, quadratic=True)
    solution = HighsBackend().solve(program, Run.quiet())
    truth = best_integer_point(program)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(truth, rel=1e-6, abs=1e-6)
    assert solution.bound is not None
    assert solution.bound <= truth + 1e-6


@pytest.mark.parametrize(
    "status",
    mostly_slow([Status.UNBOUNDED, Status.NUMERICAL_ERROR, Status.ITERATION_LIMIT], fast=[Status.UNBOUNDED]),
)
def test_a_relaxation_that_the_qp_solver_fails_on_does_not_end_the_search(
    status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HiGHS called the relaxation of a hard-margin loss unbounded, although a sum of squares and binaries cannot be."""
    program = regularised_zero_one(14, seed=1)
    truth = HighsBackend().solve(program, Run.quiet())
    calls: list[Program] = []

    def failing_at_first(given: Program, run: Run) -> Solution:
        calls.append(given)
        return Solution(status, "failed") if len(calls) == 1 else solve_directly(given, run)

    monkeypatch.setattr("mipclass.backends.outer_approximation.solve_directly", failing_at_first)
    solution = HighsBackend().solve(program, Run.quiet())
    assert len(calls) > 1
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(truth.objective, rel=1e-6)


def test_an_unbounded_program_is_still_called_so() -> None:
    build = Builder("unbounded")
    x = build.variables("x", 2)
    whole = build.variables("whole", lower=0, upper=3, integer=True)
    build.minimize(x[0] + whole)
    build.add_square(x[1] - whole, 1.0)
    assert HighsBackend().solve(build.build(), Run.quiet()).status is Status.UNBOUNDED


def test_matches_scip_on_a_mixed_problem_and_says_what_ran() -> None:
    scip = pytest.importorskip("mipclass.backends.scip")
    pytest.importorskip("pyscipopt")
    program = regularised_zero_one(16)
    ours = HighsBackend().solve(program, Run.quiet())
    theirs = scip.ScipBackend().solve(program, Run.quiet())
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
    assert program.violation(ours.x) <= 1e-6  # type: ignore[arg-type]
    assert "outer approximation" in ours.raw_status


def test_every_reported_bound_is_valid_and_limits_return_the_incumbent() -> None:
    program = regularised_zero_one(18, seed=2)
    events: list[tuple[float | None, float | None]] = []
    run = Run(callback=lambda event: events.append((event.objective, event.bound)))
    solved = HighsBackend().solve(program, run)
    assert solved.objective is not None
    assert events
    for objective, bound in events:
        assert bound is None or bound <= solved.objective + 1e-6
        assert objective is None or objective >= solved.objective - 1e-6
    hard = regularised_zero_one(80, seed=1)
    stopped = HighsBackend().solve(hard, Run.quiet(time_limit=0.8))
    assert stopped.status is Status.TIME_LIMIT
    if stopped.x is not None:
        assert hard.violation(stopped.x) <= 1e-6
        assert stopped.bound is not None
        assert stopped.objective is not None
        assert stopped.bound <= stopped.objective


def test_gap_is_respected_and_a_start_is_used() -> None:
    program = regularised_zero_one(16)
    best = HighsBackend().solve(program, Run.quiet())
    rough = HighsBackend().solve(program, Run.quiet(gap=0.5))
    assert rough.status is Status.OPTIMAL
    assert rough.objective is not None
    assert rough.bound is not None
    assert best.objective is not None
    assert rough.objective - rough.bound <= 0.5 * max(1.0, abs(rough.objective)) + 1e-9
    started = HighsBackend().solve(program, Run(), best.x)
    assert started.objective == pytest.approx(best.objective)


def test_proposed_points_reach_the_master() -> None:
    program = regularised_zero_one(16)
    best = HighsBackend().solve(program, Run.quiet())
    asked = []

    def propose(x: object) -> np.ndarray | None:
        asked.append(x)
        return best.x

    again = HighsBackend().solve(program, Run.quiet(hooks=Hooks(incumbent=propose)))
    assert asked
    assert again.objective == pytest.approx(best.objective)


def test_callback_stops() -> None:
    stopped = HighsBackend().solve(regularised_zero_one(80, seed=1), Run(callback=lambda event: False, time_limit=20))
    assert stopped.status is Status.INTERRUPTED


def test_infeasible_relaxation() -> None:
    build = Builder()
    z = build.binaries("z", 2)
    build.subject_to("too much", z.sum() >= 3)
    build.add_square(z)
    solution = HighsBackend().solve(build.build(), Run.quiet())
    assert solution.status is Status.INFEASIBLE
    assert solution.bound == np.inf
