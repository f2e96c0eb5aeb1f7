"""Claims about LPs and QPs hold for every solver: optimum, bound, infeasible and unbounded, convex or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mipclass
from mipclass.backends.base import Backend, Solution
from mipclass.backends.kkt import ACCURACY
from mipclass.backends.polish import polish
from mipclass.backends.rays import proves_infeasible, proves_unbounded
from mipclass.errors import UnsupportedProgramError
from mipclass.modelling.program import Feature, Program
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run
from mipclass.solving.continuous import answered
from mipclass.solving.registry import find
from mipclass.testing.programs import random_box_qp
from mipclass.testing.truth import best_active_set

CONVEX = [
    "piqp",
    "highs",
    "osqp",
    "cvxpy:CLARABEL",
    "cvxpy:SCS",
    "cvxpy:OSQP",
    "cvxpy:HIGHS",
    "cvxpy:SCIP",
    "pyomo:highs",
]


def program(n: int, Q: Any = None, c: Any = None, A: Any = None, **sides: Any) -> Program:
    A = np.zeros((0, n)) if A is None else np.asarray(A, dtype=float)
    m = len(A)
    given = {"row_lower": np.full(m, -np.inf), "row_upper": np.full(m, np.inf)}
    given |= {"lower": np.full(n, -np.inf), "upper": np.full(n, np.inf)}
    given |= {name: np.asarray(value, dtype=float) for name, value in sides.items()}
    return Program(
        c=np.zeros(n) if c is None else np.asarray(c, dtype=float),
        A=sp.csr_array(A),
        integer=np.zeros(n, dtype=bool),
        Q=None if Q is None else sp.csc_array(np.asarray(Q, dtype=float)),
        **given,
    )


NOT_CONVEX = {
    "largest square": (program(1, [[-2]], lower=[-1], upper=[1]), -1.0),
    "product": (program(2, [[0, -1], [-1, 0]], A=[[1, 1]], row_upper=[1], lower=[0, 0], upper=[1, 1]), -0.25),
    "all corners": (program(3, -np.eye(3), lower=[-1] * 3, upper=[1] * 3), -1.5),
}
FALLING = program(1, [[-2]], [-2])
"""min -(x + 1)^2 + 1, unbounded."""
FLAT = program(2, 1e-5 * np.eye(2), [-1, 0], [[1, -1]], row_lower=[0], row_upper=[0], lower=[0, 0])
"""5e-6 |x|^2 - x_1 with x_1 = x_2 >= 0: at x_1 = 1 / 2e-5 the optimum -25000, which is far away and nearly flat."""


@pytest.mark.parametrize("solver", CONVEX)
@pytest.mark.parametrize("name", NOT_CONVEX)
def test_convex_solvers_refuse_what_is_not_convex_and_name_who_can(solver: str, name: str) -> None:
    with pytest.raises(UnsupportedProgramError, match=r"not convex.*Installed solvers that can: scip\.$"):
        mipclass.solve(NOT_CONVEX[name][0], solver)


@pytest.mark.parametrize("solver", ["scip", "auto"])
@pytest.mark.parametrize("name", NOT_CONVEX)
def test_scip_solves_what_is_not_convex(solver: str, name: str) -> None:
    stated, truth = NOT_CONVEX[name]
    result = mipclass.solve(stated, solver)
    assert (result.status, result.claim, result.solver) == (Status.OPTIMAL, "proven", "scip")
    assert result.objective == pytest.approx(truth, abs=1e-6)
    assert result.bound is not None
    assert truth - 1e-6 <= result.bound <= truth + 1e-9


def test_a_fall_along_negative_curvature_is_proven_by_its_direction() -> None:
    result = mipclass.solve(FALLING, "scip")
    assert (result.status, result.claim) == (Status.UNBOUNDED, "proven")
    assert proves_unbounded(FALLING, result.extra["direction"])


def test_the_table_of_solvers_and_cvxpy_know_convexity() -> None:
    stated = NOT_CONVEX["product"][0]
    takes = {row.name for row in mipclass.solvers(stated) if row.kind == "backend" and row.accepts}
    assert takes == {"scip"}
    assert stated.needs == {Feature.QP, Feature.NONCONVEX}
    with pytest.raises(UnsupportedProgramError, match="not convex"):
        stated.to_cvxpy()


@pytest.mark.parametrize("solver", ["highs", "cvxpy:SCIP"])
def test_whole_numbers_do_not_make_a_product_convex(solver: str) -> None:
    stated = NOT_CONVEX["product"][0].replace_with(integer=[True, True])
    with pytest.raises(UnsupportedProgramError, match="not convex"):
        mipclass.solve(stated, solver)


@pytest.mark.parametrize("solver", [*CONVEX, "scip", "auto"])
def test_a_nearly_flat_optimum_is_never_called_unbounded(solver: str) -> None:
    result = mipclass.solve(FLAT, solver)
    if solver == "cvxpy:OSQP":  # its own word is "unbounded", which no ray proves
        assert (result.status, result.claim) == (Status.NUMERICAL_ERROR, "none")
        assert "no ray" in result.raw_status
        assert "another solver" in result.extra["advice"]
        return
    assert (result.status, result.claim) == (Status.OPTIMAL, "proven")
    assert result.objective == pytest.approx(-25000, rel=1e-6)
    assert result.bound == pytest.approx(-25000, rel=1e-6)
    assert result.bound <= -25000 * (1 - 1e-9)


IMPOSSIBLE = program(2, np.eye(2), [1, 0], [[1, 1], [1, -1]], row_lower=[3, 0], row_upper=[np.inf, 0], upper=[1, 1])
BOTTOMLESS = program(2, [[1, 1], [1, 1]], [-1, 1], [[1, 1]], row_upper=[5])


@pytest.mark.parametrize("solver", [*CONVEX, "scip", "auto"])
def test_infeasible_comes_with_a_ray(solver: str) -> None:
    result = mipclass.solve(IMPOSSIBLE, solver)
    assert (result.status, result.claim) == (Status.INFEASIBLE, "proven")
    assert proves_infeasible(IMPOSSIBLE, result.extra["ray"])


@pytest.mark.parametrize("solver", [*CONVEX, "scip", "auto"])
def test_unbounded_comes_with_a_direction(solver: str) -> None:
    result = mipclass.solve(BOTTOMLESS, solver)
    if result.claim == "proven" or solver == "auto":
        assert result.status is Status.UNBOUNDED
        d = result.extra["direction"]
        assert proves_unbounded(BOTTOMLESS, d)
        assert d[0] == pytest.approx(-d[1])
        assert d[0] > 0
    else:
        assert result.status in (Status.NUMERICAL_ERROR, Status.ITERATION_LIMIT)


@pytest.mark.parametrize("solver", [*CONVEX, "scip"])
def test_crossed_sides_are_infeasible(solver: str) -> None:
    result = mipclass.solve(program(2, np.eye(2), A=[[1, 1]], row_lower=[1], row_upper=[0]), solver)
    assert (result.status, result.claim) == (Status.INFEASIBLE, "proven")


class _Says(Backend):
    """A solver that says what it was told to."""

    name = "says"
    features = frozenset({Feature.LP, Feature.QP})

    def __init__(self, solution: Solution) -> None:
        self.solution = solution

    def solve(self, program: Program, run: Run, start: Any = None) -> Solution:
        return self.solution


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.UNBOUNDED])
def test_a_false_word_without_a_ray_is_a_numerical_error(status: Status) -> None:
    for ray in (None, np.array([1.0])):
        said = Solution(status, "so be it", bound=float("inf"), ray=ray, extra={"direction": np.array([1.0, 1.0])})
        got = answered(FLAT, _Says(said), Run())
        assert (got.status, got.x, got.bound) == (Status.NUMERICAL_ERROR, None, None)
        assert "no ray proves" in got.raw_status


def test_a_rough_optimum_is_polished_and_its_bound_is_proven() -> None:
    """Points 1 % off, with and without multipliers, against all active sets."""
    for seed in range(8):
        stated = random_box_qp(seed)
        truth = best_active_set(stated)
        right = answered(stated, find("highs"), Run())
        assert right.x is not None
        for row_duals in (None, right.row_duals):
            x = np.clip(right.x * 1.01 + 0.01, stated.lower, stated.upper)
            got = answered(stated, _Says(Solution(Status.OPTIMAL, "fine", x, 0.0, 0.0, row_duals=row_duals)), Run())
            assert got.status is Status.OPTIMAL
            assert "polished" in got.raw_status
            assert got.objective == pytest.approx(truth, abs=1e-6 * max(1, abs(truth)))
            assert got.bound is not None
            assert got.bound <= truth + 1e-12 * max(1, abs(truth))
            assert got.bound == pytest.approx(truth, abs=2e-6 * max(1, abs(truth)))


def test_little_curvature_makes_much_of_a_small_slope() -> None:
    """1e-12 x^2 - 1e-7 x is -0.0025 at its optimum 5e4; at 0 every gradient is below 1e-6, and 0 is no optimum."""
    stated = program(1, [[2e-12]], [-1e-7])
    at_zero = Solution(Status.OPTIMAL, "fine", np.zeros(1), 0.0, 0.0, row_duals=np.zeros(0))
    got = answered(stated, _Says(at_zero), Run())
    assert got.status is Status.NUMERICAL_ERROR or got.objective == pytest.approx(-0.0025, abs=1e-6)


def test_polish_from_nowhere() -> None:
    """Random convex QPs with equal, ranged and free rows, of any rank, from the origin; optimality by its own residuals."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        n, m = int(rng.integers(2, 12)), int(rng.integers(1, 8))
        F, A = rng.normal(size=(int(rng.integers(1, n + 1)), n)), rng.normal(size=(m, n))
        inside = rng.normal(size=n)
        low = A @ inside - rng.choice([0.0, 1.0, np.inf], size=m)
        high = np.where(low == A @ inside, low, A @ inside + rng.choice([1.0, np.inf], size=m))
        stated = program(
            n, F.T @ F, rng.normal(size=n), A, row_lower=low, row_upper=high, lower=inside - 2, upper=inside + 3
        )
        got = polish(stated, np.zeros(n), Run())
        assert got is not None
        assert got.residuals.worst <= ACCURACY
        other = mipclass.solve(stated, "piqp")
        assert stated.objective(got.x) == pytest.approx(other.objective, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("solver", ["osqp", "cvxpy:OSQP"])
def test_osqp_prints_nothing(solver: str, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    mipclass.solve(FLAT, solver)
    mipclass.solve(program(2, np.eye(2), [1.0, -1.0]), solver)  # no row and no bound is active
    mipclass.solve(IMPOSSIBLE, solver)
    assert capfd.readouterr() == ("", "")
