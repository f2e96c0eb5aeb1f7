"""Everything that can be solved has the members of Problem."""

from __future__ import annotations

import pytest

from mipclass import models
from mipclass.modelling.problem import AsStated, Problem

X, Y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]


@pytest.mark.parametrize(
    "problem",
    [
        models.zero_one(X, Y),
        models.tau_fpl_dual(X, Y, tau=0.5),
        models.topk_projection([1.0, 2.0], [0.5], k=1),
        models.outlier_svm(X, Y, 1),
    ],
    ids=lambda problem: problem.name,
)
def test_problems_have_all_members(problem: object) -> None:
    assert isinstance(problem, Problem)


def test_a_bare_program_adds_no_limits() -> None:
    bare = AsStated()
    assert bare.violations({}) == {}
    assert bare.basis() is None
    assert bare.scope() == ""
