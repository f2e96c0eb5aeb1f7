"""Conflicts: infeasible together, feasible without any one row; proven by a ray where there are no integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.analysis.explain import explain
from mipclass.backends.highs import HighsBackend
from mipclass.backends.highs_iis import Conflict, find_conflict, quickxplain
from mipclass.backends.rays import proves_infeasible
from mipclass.errors import InvalidInputError
from mipclass.modelling.builder import Builder
from mipclass.modelling.program import Program
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run


def is_infeasible(program: Program) -> bool:
    return HighsBackend().solve(program, Run.quiet()).status is Status.INFEASIBLE


def require_irreducible(program: Program, conflict: Conflict) -> None:
    only = conflict.restricted(program)
    assert is_infeasible(only)
    for i in conflict.rows:
        row_lower, row_upper = np.array(only.row_lower), np.array(only.row_upper)
        row_lower[i], row_upper[i] = -np.inf, np.inf
        assert not is_infeasible(only.replace_with(row_lower=row_lower, row_upper=row_upper))


def hard_margin(seed: int, n: int = 25) -> Program:
    """A separating line for points that no line separates."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    build = Builder("hard margin")
    w, b = build.variables("w", labels=["age", "dose"], lower=-50, upper=50), build.variables("b")
    build.subject_to("margin", y * (X @ w + b) >= 1)
    return build.build()


@pytest.mark.parametrize("seed", range(4))
def test_linear_conflict_is_irreducible_and_proven(seed: int) -> None:
    program = hard_margin(seed)
    conflict = find_conflict(program)
    assert conflict is not None
    assert not conflict.needs_integrality
    assert 2 <= len(conflict.rows) <= 4  # Helly: three unknowns need at most four rows
    require_irreducible(program, conflict)
    assert conflict.ray is not None
    assert set(np.flatnonzero(np.abs(conflict.ray) > 1e-9)) <= set(conflict.rows.tolist())
    only = conflict.restricted(program)
    assert proves_infeasible(only, conflict.ray)


def test_bounds_take_part_in_a_conflict() -> None:
    build = Builder("diet")
    x = build.variables("x", labels=["bread", "milk"], lower=0, upper=[1, 2])
    build.subject_to("energy", x.sum() >= 5)
    build.subject_to("other", x["bread"] <= 100)
    program = build.build()
    conflict = find_conflict(program)
    assert conflict is not None
    assert conflict.rows.tolist() == [0]
    assert conflict.columns.tolist() == [0, 1]
    assert conflict.column_sides == ("upper", "upper")
    assert conflict.blocks(program) == {"energy": ["energy"]}
    text = conflict.explain(program)
    assert "energy, x[bread] <= 1, x[milk] <= 2" in text
    assert explain(program).constraints == ("energy", "x[bread] <= 1", "x[milk] <= 2")


def test_conflict_that_only_integers_make() -> None:
    build = Builder("parity")
    x = build.variables("x", 3, lower=0, upper=9, integer=True)
    build.subject_to("loose", x.sum() <= 20)
    build.subject_to("even", np.array([2.0, 4.0, 6.0]) @ x <= 7)
    build.subject_to("odd", np.array([2.0, 4.0, 6.0]) @ x >= 7)
    program = build.build()
    conflict = find_conflict(program)
    assert conflict is not None
    assert conflict.needs_integrality
    assert conflict.irreducible
    assert conflict.rows.tolist() == [1, 2]
    require_irreducible(program, conflict)
    assert "whole-number" in conflict.explain(program)


def test_conflict_through_indicators_names_the_indicator_rows() -> None:
    """Three points on a line with labels + - + cannot all be right, and no error is allowed."""
    build = Builder("rule")
    w, b = build.variables("w", lower=-1, upper=1), build.variables("b", lower=-9, upper=9)
    z = build.binaries("error", 4)
    x, y = np.array([-1.0, 0.0, 1.0, 7.0]), np.array([1.0, -1.0, 1.0, 1.0])
    build.subject_to("margin", (y * x) * w + y * b >= 0.1, when=(z, 0))
    build.subject_to("no errors", z.sum() <= 0)
    program = build.build()
    conflict = find_conflict(program)
    assert conflict is not None
    blocks = conflict.blocks(program)
    assert set(blocks) == {"margin", "no errors"}
    assert "margin[1]" in blocks["margin"]


def test_a_feasible_program_has_no_conflict() -> None:
    build = Builder()
    x = build.variables("x", 2, lower=0, integer=True)
    build.subject_to("row", x.sum() >= 1)
    assert find_conflict(build.build()) is None
    with pytest.raises(InvalidInputError, match="nothing to explain"):
        explain(build.build())


def test_time_that_is_used_up_is_said() -> None:
    build = Builder()
    x = build.variables("x", 3, lower=0, upper=9, integer=True)
    build.subject_to("even", np.array([2.0, 4.0, 6.0]) @ x == 7)
    run = Run(time_limit=1e-9)
    conflict = find_conflict(build.build(), run)
    assert conflict is None or not conflict.irreducible


@given(st.integers(2, 30), st.data())
@settings(max_examples=60, deadline=None)
def test_quickxplain_finds_one_planted_conflict(n: int, data: st.DataObject) -> None:
    planted = [frozenset(data.draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=4))) for _ in range(2)]
    asked = 0

    def conflicts(subset: list[int]) -> bool:
        nonlocal asked
        asked += 1
        return any(conflict <= set(subset) for conflict in planted)

    found = set(quickxplain(list(range(n)), conflicts))
    assert any(conflict <= found for conflict in planted)
    assert all(not conflicts(sorted(found - {member})) for member in found)
