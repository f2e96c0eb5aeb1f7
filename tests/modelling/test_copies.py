"""A pickled or deep-copied problem is the same problem: same program, same solution, same variables."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mipclass import models, solve
from mipclass.errors import UnsupportedProgramError
from mipclass.modelling.expression import Variables
from mipclass.modelling.program import Program
from tests.models.every_problem import BY_NAME, EVERY_PROBLEM

COPIES: list[Callable[[Any], Any]] = [lambda thing: pickle.loads(pickle.dumps(thing)), copy.deepcopy]


def same_program(one: Program, other: Program) -> bool:
    """All arrays, names and indicators of two programs are equal."""
    arrays = ("c", "row_lower", "row_upper", "lower", "upper", "integer")
    matrices = [(one.A, other.A)] + [(one.Q, other.Q)] * (one.Q is not None)
    return (
        all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)
        and all((a.shape == b.shape) and (a != b).nnz == 0 for a, b in matrices)
        and (one.Q is None) == (other.Q is None)
        and one.indicators == other.indicators
        and (one.variables, one.rows, one.constant, one.name)
        == (other.variables, other.rows, other.constant, other.name)
    )


def test_the_list_names_every_function_that_builds_a_problem() -> None:
    assert set(BY_NAME) == {name for name in models.__all__ if name.islower()}


@pytest.mark.parametrize("name", EVERY_PROBLEM)
@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "deepcopy"])
def test_a_copy_has_the_same_program_before_and_after_it_was_built(copied: Callable[[Any], Any], name: str) -> None:
    problem = EVERY_PROBLEM[name]()
    early = copied(problem)
    try:
        program = problem.program()
    except UnsupportedProgramError:  # a loss that only its own method minimises
        assert early.name == copied(problem).name
        return
    for again in (early, copied(problem)):
        assert same_program(program, again.program())
    assert not copied(problem).program().c.flags.writeable
    assert not copied(problem).program().A.data.flags.writeable


@pytest.mark.parametrize("name", ["hinge_svm", "polyhedral", "zero_one", "rows on the weights", "a kernel"])
@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "deepcopy"])
def test_a_copy_and_a_copied_result_have_the_same_solution(copied: Callable[[Any], Any], name: str) -> None:
    problem = EVERY_PROBLEM[name]()
    result = solve(problem)
    again, kept = solve(copied(problem)), copied(result)
    assert again.objective == result.objective
    assert all(np.array_equal(again.values[part], result.values[part]) for part in result.values)
    assert np.array_equal(kept.predict(problem.X), result.predict(problem.X))
    assert (kept.rule, kept.objective, kept.claim) == (result.rule, result.objective, result.claim)


@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "deepcopy"])
def test_a_copied_row_speaks_of_the_same_variables(copied: Callable[[Any], Any]) -> None:
    w, b = Variables("w", (2,), (("age", "dose"),)), Variables("b")
    assert copied(w) == w
    assert copied(w).labels == w.labels
    row = copied(w["age"] - 2 * w["dose"] + b >= 1)
    assert row.text(0) == "w[age] - 2 w[dose] + b >= 1"
    [block, offset] = row.expression.terms
    assert block == w
    assert offset == b
    assert block in block.terms  # a block is the key of its own terms
    total = row.expression + 2 * w["dose"]  # the copy and the original are one block in a sum
    assert list(total.terms) == [w, b]
    assert total.evaluate({"w": [3.0, 5.0], "b": 2.0}) == 4.0


@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "deepcopy"])
def test_a_copied_row_restricts_the_model_that_it_was_written_for(copied: Callable[[Any], Any]) -> None:
    problem = models.zero_one([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    tightened = problem.copy().subject_to(copied(problem.w["x0"] <= 0))
    assert (solve(problem).objective, solve(tightened).objective) == (0.0, 2.0)
    assert solve(copied(tightened)).objective == 2.0
