"""Warm starts: any Result is one for its own problem, and so is each of its values and each block of its program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mipclass import models, solve
from mipclass.errors import InvalidInputError, UnsupportedProgramError
from mipclass.models.false_positive import BlockedRanking
from tests.models.every_problem import EVERY_PROBLEM, X, Y


@pytest.mark.parametrize("name", EVERY_PROBLEM)
def test_any_result_is_a_warm_start_for_its_own_problem(name: str) -> None:
    result = solve(EVERY_PROBLEM[name]())
    again = solve(EVERY_PROBLEM[name](), warm_start=result)
    assert again.claim == result.claim
    assert again.objective <= result.objective + 1e-9


@pytest.mark.parametrize("name", EVERY_PROBLEM)
def test_each_value_alone_is_a_start(name: str) -> None:
    problem = EVERY_PROBLEM[name]()
    result = solve(problem)
    starts = [{part: value} for part, value in result.values.items()]
    solvers = {"auto"}
    try:
        at_program = solve(problem.program())
        starts += [{part: value} for part, value in at_program.values.items()]
        solvers.add(at_program.solver)
    except UnsupportedProgramError:  # a loss that only its own method minimises
        pass
    for start in starts:
        for solver in solvers:
            again = solve(EVERY_PROBLEM[name](), solver, warm_start=start)
            assert again.objective <= result.objective + 1e-3 * abs(result.objective)


def test_the_dual_starts_from_the_primal_weights_alone() -> None:
    problem = EVERY_PROBLEM["tau_fpl_dual"]()
    values = solve(problem).values
    full = problem.encode(values)
    assert np.allclose(problem.program().violation(full), 0.0, atol=1e-6)
    part = problem.encode({"w": values["w"]})
    known = ~np.isnan(part)
    assert known.sum() == len(values["w"])
    assert np.allclose(part[known], full[known])


def test_rows_in_blocks_start_from_an_earlier_result() -> None:
    y = np.where(Y > 0, 1.0, -1.0)
    problem = BlockedRanking.build(X, y, np.ones(len(y)), 0.2, 0.1)
    result = solve(problem, "lbfgs")
    assert solve(problem, "lbfgs", warm_start=result).objective <= result.objective + 1e-9


@pytest.mark.parametrize(
    ("problem", "start"),
    [
        (EVERY_PROBLEM["tau_fpl_dual"], {"alfa": [1.0]}),
        (EVERY_PROBLEM["a free multiplier"], {"multiplied": 1.0}),
        (lambda: models.rlp(X, Y), {"multiplier": 1.0}),
    ],
)
def test_names_that_a_problem_does_not_have_are_still_refused(problem: Any, start: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="does not have; it has"):
        solve(problem(), warm_start=start)


def test_a_start_of_a_loss_without_tangents_is_refused_like_the_loss_itself() -> None:
    with pytest.raises(UnsupportedProgramError, match="Solver 'lattice' takes it"):
        solve(EVERY_PROBLEM["a free multiplier"](), "highs", warm_start={"w": [1.0, 0.0], "multiplier": 1.0})
