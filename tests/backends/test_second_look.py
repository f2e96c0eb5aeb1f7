"""A solver's "infeasible" about a mixed-integer program is confirmed, refuted or not claimed."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

import mipclass
from mipclass.backends.base import Backend, Solution
from mipclass.backends.highs import HighsBackend
from mipclass.backends.second_look import second_look
from mipclass.modelling.builder import Builder
from mipclass.modelling.indicators import Indicators
from mipclass.modelling.program import Feature, Program
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run


def called_infeasible() -> Program:
    """HiGHS 1.15 with presolve calls it infeasible; x = (-1, 10, 0, 1, 1) is feasible."""
    return Program(
        c=np.array([32.0, -10.0, 209.0, 157.0, 39.0]),
        A=sp.csr_array([[0.0, 9, 8000, 0, -9], [2, 1, -7, 0, 0]]),
        row_lower=np.array([81.0, 6.0]),
        row_upper=np.array([81.0, np.inf]),
        lower=np.array([-1.0, -10.0, 0.0, 0.0, 0.0]),
        upper=np.array([10.0, 10.0, 2.0**31 - 1, 1.0, 2.0**31 - 1]),
        integer=np.ones(5, dtype=bool),
    )


OPTIMUM = min(
    # 9 divides x_2, and x_2 >= 9 breaks the second row, so x_2 = 0 and x_4 = x_1 - 9.
    32 * x0 - 10 * x1 + 39 * (x1 - 9)
    for x0 in range(-1, 11)
    for x1 in (9, 10)
    if 2 * x0 + x1 >= 6
)


@pytest.mark.parametrize("solver", ["highs", "cvxpy:HIGHS", "cvxpy:SCIPY", "pyomo:highs"])
def test_a_feasible_program_is_not_called_infeasible(solver: str) -> None:
    program = called_infeasible()
    assert program.violation([-1.0, 10.0, 0.0, 1.0, 1.0]) == 0
    result = mipclass.solve(program, solver)
    assert (result.status, result.claim) == ("optimal", "proven"), result.raw_status
    assert result.objective == pytest.approx(OPTIMUM, rel=1e-6)


class Denies(Backend):
    """Calls everything infeasible, as often as it is asked."""

    name: ClassVar[str] = "denies"
    features: ClassVar[frozenset[Feature]] = frozenset(Feature)

    def solve(self, program: Program, run: Run, start: Any = None) -> Solution:
        return Solution(Status.INFEASIBLE, "no", bound=float("inf"))


def looked_at(program: Program, run: Run | None = None) -> Solution:
    backend, run = Denies(), run or Run.quiet()
    return second_look(backend, program, run, backend.solve(program, run))


def test_a_solver_that_insists_ends_in_a_numerical_error_with_the_point() -> None:
    found = looked_at(called_infeasible())
    assert found.status == "numerical_error"
    assert found.x is not None
    assert called_infeasible().violation(found.x) <= 1e-6


def parity(n: int) -> Program:
    """2 (x_1 + ... + x_n) = n with odd n: the relaxation is feasible, the program is not."""
    return Program(
        c=np.zeros(n),
        A=sp.csr_array(np.full((1, n), 2.0)),
        row_lower=np.array([float(n)]),
        row_upper=np.array([float(n)]),
        lower=np.zeros(n),
        upper=np.ones(n),
        integer=np.ones(n, dtype=bool),
    )


def test_a_true_infeasibility_is_confirmed_by_search_or_by_multipliers() -> None:
    searched = looked_at(parity(7))
    assert (searched.status, searched.bound) == ("infeasible", float("inf"))
    assert "confirmed by HiGHS" in searched.raw_status
    proven = looked_at(parity(7).replace_with(row_lower=np.array([15.0]), row_upper=np.array([15.0])))
    assert proven.status == "infeasible"
    assert "multipliers" in proven.raw_status
    for solver in ("highs", "scip", "cvxpy:SCIP", "pyomo:highs"):
        if solver.endswith(("scip", "SCIP")):
            pytest.importorskip("pyscipopt")
        result = mipclass.solve(parity(7), solver)
        assert (result.status, result.claim) == ("infeasible", "proven")


def test_what_no_time_is_left_to_confirm_is_not_claimed() -> None:
    stopped = looked_at(parity(7), Run.quiet(time_limit=1e-9))
    assert stopped.status == "time_limit"
    assert stopped.bound is None
    interrupted = Run.quiet()
    interrupted.interrupt()
    assert looked_at(parity(7), interrupted).status == "interrupted"


def test_an_unconfirmed_word_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that HiGHS does not finish: many rows of large coprime weights, and no seconds for it."""
    monkeypatch.setattr("mipclass.backends.second_look.LEAST_SECONDS", 0.0)
    monkeypatch.setattr("mipclass.backends.second_look.TIMES_THE_FIRST", 0.0)
    monkeypatch.setattr(HighsBackend, "solve", Denies.solve)
    result = mipclass.solve(parity(31), "highs")
    assert (result.status, result.claim, result.bound) == ("infeasible", "none", None)
    assert "unconfirmed" in result.extra


def test_rows_that_an_indicator_switches_off_need_not_hold() -> None:
    build = Builder()
    w = build.variables("w", 1)  # free, so that no big M exists
    z = build.binaries("z", 2)
    build.subject_to("both", np.array([1.0]) @ w >= 1.0, when=(z[0], 0))
    build.subject_to("neither", np.array([1.0]) @ w <= 0.0, when=(z[1], 0))
    build.minimize(z.sum())
    program = build.build()
    assert isinstance(program.indicators, Indicators)
    assert looked_at(program).x is not None


def test_a_program_without_columns_may_be_infeasible() -> None:
    nothing = np.zeros(0)
    never = Program(
        nothing, sp.csr_array((1, 0)), np.ones(1), np.full(1, np.inf), nothing, nothing, nothing.astype(bool)
    )
    for solver in ("highs", "cvxpy:CLARABEL", "pyomo:highs"):
        result = mipclass.solve(never, solver)
        assert (result.status, result.claim) == ("infeasible", "proven")
