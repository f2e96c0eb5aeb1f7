"""Cases for LPs and QPs: functions `lp__name` and `qp__name`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..backends.rays import proves_infeasible
from ..modelling.builder import Builder
from ..modelling.expression import ranged
from ..protocol.result import Status
from .case import LIMITS, Case, require
from .programs import bare, random_box_qp, random_lp
from .truth import best_active_set, best_vertex


def lp__textbook(case: Case) -> None:
    """Three rows, optimum 36 at (2, 6), multipliers (0, 3/2, 1) by hand."""
    build = Builder("textbook")
    x = build.variables("x", 2, lower=0)
    build.subject_to("plants", np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 2.0]]) @ x <= np.array([4.0, 12.0, 18.0]))
    build.minimize(np.array([-3.0, -5.0]) @ x)
    program = build.build()
    solution = case.solve(program)
    case.require_optimal(program, solution, -36.0)
    assert solution.x is not None
    require(bool(np.allclose(solution.x, [2.0, 6.0], atol=1e-5)), f"the only optimum is (2, 6); got {solution.x}")
    if solution.row_duals is not None:
        close = np.allclose(solution.row_duals, [0.0, -1.5, -1.0], atol=1e-5)
        require(bool(close), f"multipliers {solution.row_duals}, by hand they are (0, -3/2, -1)")


def lp__random_against_vertices(case: Case) -> None:
    """Bounded LPs against the best of all their vertices."""
    for seed in range(6):
        program = random_lp(seed)
        case.require_optimal(program, case.solve(program), best_vertex(program))


def lp__fixed_column_and_empty_row(case: Case) -> None:
    """A column with equal bounds and a row without entries do no harm."""
    program = bare(
        2,
        c=np.array([1.0, 1.0]),
        A=sp.csr_array(np.array([[0.0, 0.0], [1.0, 1.0]])),
        row_lower=np.array([-1.0, 3.0]),
        row_upper=np.array([1.0, np.inf]),
        lower=np.array([0.0, 2.0]),
        upper=np.array([np.inf, 2.0]),
    )
    case.require_optimal(program, case.solve(program), 3.0)


def lp__infeasible(case: Case) -> None:
    """x + y >= 3 against x, y <= 1; a ray, if given, must prove it."""
    build = Builder("impossible")
    x = build.variables("x", 2, lower=0, upper=1)
    build.subject_to("too much", x.sum() >= 3)
    build.minimize(x.sum())
    program = build.build()
    solution = case.solve(program)
    require(solution.status is Status.INFEASIBLE, f"status {solution.status} ({solution.raw_status})")
    if solution.ray is not None:
        proven = proves_infeasible(program, solution.ray)
        require(proven, f"the ray {solution.ray} does not prove infeasibility")


def lp__unbounded(case: Case) -> None:
    """A free column with a cost."""
    build = Builder("bottomless")
    x = build.variables("x", 2, lower=[0, -np.inf])
    build.subject_to("row", x.sum() <= 1)
    build.minimize(x[1])
    solution = case.solve(build.build())
    require(solution.status is Status.UNBOUNDED, f"status {solution.status} ({solution.raw_status})")


def lp__warm_start(case: Case) -> None:
    """A right, a partial and a wrong start change nothing but the way."""
    program = random_lp(1)
    truth = best_vertex(program)
    first = case.solve(program)
    assert first.x is not None
    for start in (first.x, np.where(np.arange(3) == 1, np.nan, first.x), np.full(3, 100.0)):
        case.require_optimal(program, case.solve(program, start=start), truth)


def qp__off_diagonal_against_active_sets(case: Case) -> None:
    """Strictly convex QPs over a box against all their active sets."""
    for seed in range(6):
        program = random_box_qp(seed)
        case.require_optimal(program, case.solve(program), best_active_set(program))


def qp__equality(case: Case) -> None:
    """min 1/2 x'Qx + c'x with Ax = b is one linear system."""
    rng = np.random.default_rng(3)
    half, A, b, c = rng.normal(size=(4, 4)), rng.normal(size=(2, 4)), rng.normal(size=2), rng.normal(size=4)
    Q = half @ half.T
    x = np.linalg.solve(np.block([[Q, A.T], [A, np.zeros((2, 2))]]), np.concatenate([-c, b]))[:4]
    program = bare(4, c=c, A=sp.csr_array(A), row_lower=b, row_upper=b, Q=sp.csc_array(Q))
    case.require_optimal(program, case.solve(program), float(0.5 * x @ Q @ x + c @ x))


def qp__ranged_rows(case: Case) -> None:
    """The nearest point to (3, 1) with 0 <= x + y <= 2 and -1 <= x - y <= 1, by hand (1.5, 0.5)."""
    build = Builder("nearest point")
    x = build.variables("x", 2)
    build.subject_to("sum", ranged(x.sum(), 0.0, 2.0))
    build.subject_to("difference", ranged(np.array([1.0, -1.0]) @ x, -1.0, 1.0))
    build.add_square(x - np.array([3.0, 1.0]))
    program = build.build()
    case.require_optimal(program, case.solve(program), 2.5)


def qp__singular(case: Case) -> None:
    """(x + y - 1)^2 + x has no unique Hessian inverse; with x >= 0 the optimum 0 is at x = 0, y = 1."""
    build = Builder("singular")
    x = build.variables("x", 2, lower=[0, -5], upper=5)
    build.add_square(x.sum() - 1)
    build.minimize(x[0])
    program = build.build()
    case.require_optimal(program, case.solve(program), 0.0)


def qp__infeasible(case: Case) -> None:
    """Columns of one sign whose sum must have the other."""
    build = Builder("impossible")
    x = build.variables("x", 2, lower=0)
    build.subject_to("row", x.sum() <= -1)
    build.add_square(x)
    solution = case.solve(build.build())
    require(solution.status is Status.INFEASIBLE, f"status {solution.status} ({solution.raw_status})")


def qp__unbounded_is_never_called_solved(case: Case) -> None:
    """A square in one column and a cost without end in another."""
    build = Builder("bottomless")
    x = build.variables("x", 2)
    build.add_square(x[0])
    build.minimize(x[1])
    solution = case.solve(build.build())
    require(solution.status in (Status.UNBOUNDED, Status.NUMERICAL_ERROR, *LIMITS), f"status {solution.status}")
    require(solution.x is None, f"a point with objective {solution.objective}")


def qp__warm_start(case: Case) -> None:
    """A right, a partial and a wrong start change nothing but the way."""
    program = random_box_qp(2)
    truth = best_active_set(program)
    first = case.solve(program)
    assert first.x is not None
    for start in (first.x, np.where(np.arange(3) == 1, np.nan, first.x), np.full(3, -100.0)):
        case.require_optimal(program, case.solve(program, start=start), truth)
