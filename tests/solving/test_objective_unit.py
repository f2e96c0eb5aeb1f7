"""Objectives in a unit at which a solver's absolute tolerances are small, and the way back."""

import numpy as np
import pytest

import mipclass
from mipclass.modelling.builder import Builder
from mipclass.modelling.program import Program
from mipclass.solving.objective_unit import objective_exponent

SIZES = [1e-12, 1e-9, 1.0, 1e9, 1e12]


def knapsack(size: float) -> Program:
    """Cover 7 with weights 2, 3, 4, 5 at costs 3, 4, 5, 7 times `size`: 3 + 4 at cost 9."""
    build = Builder("knapsack")
    z = build.binaries("z", 4)
    build.subject_to("enough", np.array([2.0, 3.0, 4.0, 5.0]) @ z >= 7)
    build.minimize(size * np.array([3.0, 4.0, 5.0, 7.0]) @ z)
    return build.build()


def diet(size: float) -> Program:
    build = Builder("diet")
    x = build.variables("x", 2, lower=0.0)
    build.subject_to("enough", np.array([[1.0, 2.0], [3.0, 1.0]]) @ x >= np.array([4.0, 6.0]))
    build.minimize(size * np.array([2.0, 3.0]) @ x + size)
    return build.build()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_the_size_of_costs_changes_neither_point_nor_claim(solver, size):
    pytest.importorskip("pyscipopt" if solver == "scip" else "highspy")
    seen = []
    result = mipclass.solve(knapsack(size), solver=solver, callback=seen.append)
    assert (result.status, result.claim) == ("optimal", "proven")
    assert np.round(result.values["z"]).tolist() == [0, 1, 1, 0]
    assert result.objective == pytest.approx(9 * size, rel=1e-9)
    assert result.bound == pytest.approx(9 * size, rel=1e-6)
    assert all(event.objective is None or event.objective >= 8.9 * size for event in seen)


@pytest.mark.parametrize("size", SIZES)
def test_multipliers_come_back_in_the_programs_unit(size):
    result = mipclass.solve(diet(size), solver="highs")
    assert result.values["x"] == pytest.approx([1.6, 1.2])
    assert result.objective == pytest.approx(7.8 * size, rel=1e-9)
    assert result.extra["row_duals"] == pytest.approx(size * np.array([1.4, 0.2]), rel=1e-9)


def test_a_costly_column_does_not_hide_cheap_ones():
    build = Builder()
    z = build.binaries("z", 3)
    build.subject_to("one", z[1] + z[2] >= 1)
    build.minimize(np.array([1e15, 3e-9, 1e-9]) @ z)
    result = mipclass.solve(build.build(), solver="highs")
    assert (result.claim, np.round(result.values["z"]).tolist()) == ("proven", [0, 0, 1])
    assert result.objective == pytest.approx(1e-9, rel=1e-9)


def test_ordinary_costs_are_left_alone():
    assert objective_exponent(knapsack(1.0)) == objective_exponent(diet(1.0)) == objective_exponent(diet(1e9)) == 0
    assert objective_exponent(knapsack(2.0**-30)) == -29
