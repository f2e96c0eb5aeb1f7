"""A Model takes further constraints in place; a copy takes them on its own."""

from __future__ import annotations

import pytest

from mipclass import models, solve
from mipclass.errors import InvalidInputError


def zero_one_on_four_points() -> models.Model:
    """Four points in a row that a threshold from below separates."""
    return models.zero_one([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])


def test_subject_to_adds_in_place_and_forgets_the_program() -> None:
    problem = zero_one_on_four_points()
    before = problem.program()
    assert problem.subject_to(problem.w["x0"] == 0) is problem
    assert len(problem.constraints) == 1
    assert problem.program().n_rows == before.n_rows + 1
    with pytest.raises(InvalidInputError, match="does not change when the rule is scaled"):
        problem.subject_to(problem.w["x0"] >= 1)
    assert len(problem.constraints) == 1  # a refused constraint leaves the model as it was


def test_a_copy_takes_constraints_of_its_own() -> None:
    problem = zero_one_on_four_points()
    tightened = problem.copy().subject_to(problem.w["x0"] <= 0)
    assert (len(problem.constraints), len(tightened.constraints)) == (0, 1)
    assert solve(problem).objective == 0.0
    assert solve(tightened).objective == 2.0


def test_a_difference_of_terms_says_what_to_write() -> None:
    for difference in (
        lambda: models.ZeroOne() - models.L1(),
        lambda: 0.5 * models.L2() - models.Hinge(),
        lambda: 2.0 - models.Hinge(),
        lambda: -models.Hinge(),
        lambda: -(2 * models.Hinge()),
    ):
        with pytest.raises(InvalidInputError, match=r"cannot be subtracted.*Write [+] for a penalty"):
            difference()
    assert (models.Hinge() / 4).terms == (0.25 * models.Hinge()).terms
    with pytest.raises(InvalidInputError, match="other than 0"):
        _ = models.Hinge() / 0
