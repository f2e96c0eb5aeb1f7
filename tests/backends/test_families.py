"""cvxpy:NAME and pyomo:NAME: every status known, rough answers named, missing solvers and odd requests explained."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest
import scipy.sparse as sp
from pyomo.opt import TerminationCondition

from mipclass import models
from mipclass.backends import cvxpy as cvxpy_backend
from mipclass.backends import pyomo as pyomo_backend
from mipclass.backends.base import Backend
from mipclass.errors import OptionError, SolverNotFoundError
from mipclass.modelling.program import Feature, Program
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run
from mipclass.solving import registry
from mipclass.solving.driver import solve
from mipclass.testing import cases, random_box_qp, random_lp


def backend(name: str) -> Backend:
    found = registry.find(name)
    assert isinstance(found, Backend)
    return found


def test_status_tables_are_complete() -> None:
    assert set(pyomo_backend.STATUS) == {condition.name for condition in TerminationCondition}
    known = {getattr(cvxpy.settings, name) for name in ("OPTIMAL", "OPTIMAL_INACCURATE", "INFEASIBLE", "UNBOUNDED")}
    known |= {getattr(cvxpy.settings, name) for name in ("INFEASIBLE_INACCURATE", "UNBOUNDED_INACCURATE")}
    known |= {getattr(cvxpy.settings, name) for name in ("USER_LIMIT", "SOLVER_ERROR", "INFEASIBLE_OR_UNBOUNDED")}
    assert set(cvxpy_backend.STATUS) == known


def test_features_follow_the_solver() -> None:
    assert backend("cvxpy:CLARABEL").features == {Feature.LP, Feature.QP}
    assert backend("cvxpy:HIGHS").features == {Feature.LP, Feature.QP, Feature.MIP}
    assert backend("cvxpy:SCIPY").features == {Feature.LP, Feature.MIP}
    assert backend("pyomo:highs").features == {Feature.LP, Feature.QP, Feature.MIP}


def test_members_are_listed_and_can_be_made() -> None:
    for family in registry.FAMILIES:
        members = registry.family_members(family)
        assert members
        assert all(backend(name).name == name for name in members)


@pytest.mark.parametrize(("name", "listed"), [("cvxpy:NOSUCH", "CLARABEL"), ("pyomo:nosuch", "highs")])
def test_a_missing_solver_names_those_that_are_there(name: str, listed: str) -> None:
    with pytest.raises(SolverNotFoundError, match=listed):
        registry.find(name)


def test_a_loose_answer_is_called_rough() -> None:
    loose = {"eps_abs": 1e-2, "eps_rel": 1e-2}
    solution = backend("cvxpy:SCS").solve(random_box_qp(0), Run.quiet(cvxpy=loose))
    assert solution.status is Status.NUMERICAL_ERROR
    assert solution.x is None
    assert "rough" in solution.raw_status
    assert solution.extra["residuals"].worst > 1e-6


def test_a_time_limit_that_cannot_be_passed_on_is_refused() -> None:
    if "cvxpy:PIQP" not in registry.family_members("cvxpy"):
        pytest.skip("cvxpy does not find PIQP")
    with pytest.raises(OptionError, match="own name"):
        backend("cvxpy:PIQP").solve(random_lp(0), Run.quiet(time_limit=5.0))


@pytest.mark.parametrize("name", ["cvxpy:CLARABEL", "pyomo:highs"])
def test_impossible_empty_row(name: str) -> None:
    program = Program(
        c=np.ones(1),
        A=sp.csr_array((1, 1)),
        row_lower=np.ones(1),
        row_upper=np.full(1, np.inf),
        lower=np.zeros(1),
        upper=np.ones(1),
        integer=np.zeros(1, dtype=bool),
    )
    assert backend(name).solve(program, Run.quiet()).status is Status.INFEASIBLE


def test_pyomo_stops_while_it_builds(caplog: pytest.LogCaptureFixture) -> None:
    solution = backend("pyomo:highs").solve(random_lp(0), Run.quiet(time_limit=1e-9))
    assert solution.status is Status.TIME_LIMIT
    assert "built" in solution.raw_status
    assert not caplog.records


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["cvxpy:SCS", "cvxpy:OSQP", "cvxpy:SCIPY", "pyomo:appsi_highs", "pyomo:cbc", "pyomo:glpk"]
)
def test_further_members_conform(name: str) -> None:
    try:
        found = backend(name)
    except SolverNotFoundError as missing:
        pytest.skip(str(missing))
    for case in cases(found):
        case.check()


def test_a_failure_inside_cvxpys_interface_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ValueError("cannot reshape array of size 47 into shape (48,)")

    monkeypatch.setattr(cvxpy.Problem, "solve", fails)
    result = solve(random_lp(0), "cvxpy:CLARABEL")
    assert (result.status, result.claim, result.values) == (Status.NUMERICAL_ERROR, "none", {})
    assert "inside CVXPY's interface to CLARABEL: cannot reshape" in result.raw_status


def answers_without_multipliers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let CVXPY forget the multipliers of all constraints, which MIP solvers do not have."""
    solved = cvxpy.Problem.solve

    def forgets(problem: cvxpy.Problem, *args: object, **options: object) -> object:
        value = solved(problem, *args, **options)
        for constraint in problem.constraints:
            for variable in constraint.dual_variables:
                variable.save_value(None)
        return value

    monkeypatch.setattr(cvxpy.Problem, "solve", forgets)


@pytest.mark.parametrize("name", ["cvxpy:CLARABEL", "cvxpy:SCIPY", "cvxpy:GLPK_MI"])
def test_an_answer_without_multipliers_is_proven_from_the_data(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name not in registry.family_members("cvxpy"):
        pytest.skip(f"cvxpy does not find {name}")
    problem = models.rlp([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    truth = solve(problem, "highs").objective
    answers_without_multipliers(monkeypatch)
    result = solve(problem, name)
    assert (result.status, result.claim, result.recounted) == (Status.OPTIMAL, "proven", True)
    assert "polished" in result.raw_status
    assert result.objective == pytest.approx(truth, rel=1e-9)
    assert result.bound is not None
    assert result.bound <= truth + 1e-9


def test_an_answer_without_multipliers_that_nothing_proves_is_no_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    answers_without_multipliers(monkeypatch)
    monkeypatch.setattr("mipclass.solving.continuous.polish", lambda *_: None)
    result = solve(models.rlp([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]), "cvxpy:CLARABEL")
    assert (result.status, result.bound) == (Status.NUMERICAL_ERROR, None)
    assert result.claim != "proven"
    assert "no multipliers" in result.raw_status


@pytest.mark.parametrize("name", ["cvxpy:HIGHS", "cvxpy:GLPK_MI"])
def test_an_integer_program_is_proven_with_a_bound(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name not in registry.family_members("cvxpy"):
        pytest.skip(f"cvxpy does not find {name}")
    problem = models.zero_one([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    result = solve(problem, name)
    assert (result.status, result.claim, result.objective, result.bound) == (Status.OPTIMAL, "proven", 1.0, 1.0)
    monkeypatch.setattr("mipclass.backends.cvxpy.GAP", {})  # as of a solver whose gap is not known
    unknown = solve(problem, name)
    assert (unknown.status, unknown.claim, unknown.objective, unknown.bound) == (Status.OPTIMAL, "heuristic", 1.0, None)
