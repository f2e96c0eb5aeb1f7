"""The conformance suite: what every backend must get right, ours or a third party's.

    import pytest
    from mipclass.testing import cases

    @pytest.mark.parametrize("case", cases(MyBackend()), ids=str)
    def test_my_backend(case):
        case.check()

or, without pytest, `check_backend(MyBackend())`, which returns the names of the cases that passed and raises at the first
that fails. A case is offered only when the backend declares the features that its program needs. The truth never comes
from a solver: it is computed by hand, by enumerating integers, vertices or active sets, or by recomputing optimality
conditions from the Program's data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .backends.base import Backend, Solution
from .backends.kkt import proves_infeasible, residuals
from .builder import Builder
from .expression import ranged
from .options import resolve_options
from .program import Array, Feature, Program
from .result import Status
from .run import Run

LIMITS = (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.ITERATION_LIMIT, Status.INTERRUPTED)


@dataclass(frozen=True)
class Tolerance:
    """How exact a backend has to be: violations of rows, relative objective error, relative residual of multipliers."""

    feasibility: float = 1e-6
    objective: float = 1e-6
    duals: float = 1e-6


TOLERANCES: dict[str, Tolerance] = {
    "default": Tolerance(),
    "highs": Tolerance(),
    "osqp": Tolerance(),
    "piqp": Tolerance(),
    "scip": Tolerance(feasibility=2e-6),  # its own default is 1e-6, relative to a row's size
    "cvxpy:CLARABEL": Tolerance(),
    "cvxpy:HIGHS": Tolerance(),
    "cvxpy:SCIP": Tolerance(feasibility=2e-6),
    "pyomo:highs": Tolerance(),
    "pyomo:cbc": Tolerance(feasibility=1e-5),  # answers in a text file with few digits
    "pyomo:glpk": Tolerance(feasibility=1e-5),
}


@dataclass(frozen=True)
class Case:
    """One check of one backend. `check()` raises AssertionError with the reason when it fails."""

    name: str
    backend: Backend
    tolerance: Tolerance
    body: Callable[[Case], None]

    def check(self) -> None:
        self.body(self)

    def __str__(self) -> str:
        return f"{self.backend.name}-{self.name}"

    # -- helpers for the bodies ---------------------------------------------------------------------------------------

    def solve(self, program: Program, **settings: Any) -> Solution:
        """Solve under a fresh Run; `settings` are the Run's. The program must come out as it went in."""
        options = resolve_options(self.backend.name, self.backend.options, settings.pop("options", None))
        before = replace(program)
        solution = self.backend.solve(program, Run(options=options, **settings))
        _require(program == before, "solve changed the program")
        self.require_honest(program, solution)
        return solution

    def require_honest(self, program: Program, solution: Solution) -> None:
        """What holds of every answer, whatever its status."""
        _require(isinstance(solution.status, Status), f"status {solution.status!r} is not a Status")
        if solution.status in (Status.INFEASIBLE, Status.UNBOUNDED):
            _require(solution.x is None, f"a point came with status {solution.status}")
        if solution.status is Status.OPTIMAL:
            _require(solution.x is not None, "status optimal without a point")
        if solution.x is not None:
            _require(solution.x.shape == (program.n_columns,), f"x has shape {solution.x.shape}")
            scale = max(1.0, float(np.abs(solution.x).max(initial=0.0)))
            violation = program.violation(solution.x) / scale
            _require(violation <= self.tolerance.feasibility, f"the point violates the program by {violation:.2e}")
            _require(solution.objective is not None, "a point without an objective")
            self.require_close(solution.objective, program.objective(solution.x), "objective against the point's own")
            if solution.bound is not None:
                excess = solution.bound - program.objective(solution.x)
                _require(excess <= self._room(solution.bound), f"the bound is {excess:.2e} above the objective")

    def require_optimal(self, program: Program, solution: Solution, truth: float) -> None:
        _require(
            solution.status is Status.OPTIMAL, f"status {solution.status} ({solution.raw_status}), expected optimal"
        )
        self.require_close(solution.objective, truth, "objective")
        if solution.bound is not None:
            self.require_close(solution.bound, truth, "bound")
        self.require_multipliers(program, solution)

    def require_multipliers(self, program: Program, solution: Solution) -> None:
        """Multipliers are optional; given, they must prove optimality."""
        if solution.row_duals is None or solution.column_duals is None or solution.x is None:
            return
        got = residuals(program, solution.x, solution.row_duals, solution.column_duals)
        _require(got.worst <= self.tolerance.duals, f"the multipliers do not prove optimality: {got}")

    def require_close(self, got: float | None, truth: float, what: str) -> None:
        _require(got is not None, f"no {what}")
        assert got is not None
        _require(abs(got - truth) <= self._room(truth), f"{what} is {got!r}, the truth is {truth!r}")

    def _room(self, value: float) -> float:
        return self.tolerance.objective * max(1.0, abs(value))


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def cases(backend: Backend, tolerance: Tolerance | None = None) -> list[Case]:
    """The cases whose features the backend declares."""
    tolerance = tolerance or TOLERANCES.get(backend.name, TOLERANCES["default"])
    return [Case(name, backend, tolerance, body) for name, needs, body in _suite() if needs <= backend.features]


def check_backend(backend: Backend, tolerance: Tolerance | None = None) -> list[str]:
    """Run every case; the names of those that passed. Raises AssertionError, naming the case, at the first failure."""
    passed = []
    for case in cases(backend, tolerance):
        try:
            case.check()
        except AssertionError as err:
            raise AssertionError(f"{case}: {err}") from err
        passed.append(case.name)
    return passed


def _suite() -> Iterator[tuple[str, frozenset[Feature], Callable[[Case], None]]]:
    """(name, features needed, body): the functions `feature__name` of this module, in order."""
    kinds = {"lp": Feature.LP, "qp": Feature.QP, "mip": Feature.MIP, "miqp": Feature.MIQP}
    for name, body in globals().items():
        kind, separator, _ = name.partition("__")
        if separator and kind in kinds:
            yield name.replace("__", "-"), frozenset({kinds[kind]}), body
        elif separator and kind == "indicator":
            yield name.replace("__", "-"), frozenset({Feature.MIP, Feature.INDICATOR}), body
        elif separator and kind == "any":
            yield name.replace("__", "-"), frozenset(), body


# -- truth ------------------------------------------------------------------------------------------------------------


def best_vertex(program: Program) -> float:
    """The optimum of a bounded LP by trying every vertex."""
    n = program.n_columns
    sides = np.vstack([program.A.toarray(), np.eye(n)])
    lower = np.concatenate([program.row_lower, program.lower])
    upper = np.concatenate([program.row_upper, program.upper])
    faces = [(a, b) for a, l, u in zip(sides, lower, upper, strict=True) for b in {l, u} if np.isfinite(b)]
    best = np.inf
    for chosen in combinations(faces, n):
        matrix = np.array([a for a, _ in chosen])
        if abs(np.linalg.det(matrix)) > 1e-9:
            x = np.linalg.solve(matrix, [b for _, b in chosen])
            if program.violation(x) <= 1e-9:
                best = min(best, program.objective(x))
    return best


def best_active_set(program: Program) -> float:
    """The optimum of a strictly convex QP over a box by trying each column at its lower, its upper or no bound."""
    assert program.Q is not None
    Q, best = program.Q.toarray(), np.inf
    for choice in product((0, 1, 2), repeat=program.n_columns):
        x = np.where(np.array(choice) == 0, program.lower, program.upper)
        free = np.array(choice) == 2
        if not np.isfinite(x[~free]).all():
            continue
        x[free] = np.linalg.solve(Q[np.ix_(free, free)], -program.c[free] - Q[np.ix_(free, ~free)] @ x[~free])
        if program.violation(x) <= 1e-9:
            best = min(best, program.objective(x))
    return best


def best_integer_point(program: Program) -> float:
    """The optimum of a bounded pure integer program by trying every point; inf when none is feasible."""
    ranges = [range(int(l), int(u) + 1) for l, u in zip(program.lower, program.upper, strict=True)]
    points = (np.array(point, dtype=np.float64) for point in product(*ranges))
    return min((program.objective(x) for x in points if program.violation(x) <= 1e-9), default=np.inf)


def fewest_errors_on_a_line(x: Array, y: ArrayLike) -> int:
    """0-1 loss of the best rule sign(w x + b) on one feature, by trying every cut between neighbours and both signs."""
    order = np.argsort(x)
    labels = np.asarray(y)[order]
    counts = [int(np.sum(labels[:k] > 0) + np.sum(labels[k:] < 0)) for k in range(len(labels) + 1)]
    return min(min(counts), len(labels) - max(counts))


# -- programs ---------------------------------------------------------------------------------------------------------


def random_lp(seed: int) -> Program:
    """Three columns, rows of every sort, feasible by construction at an interior point; boxed, hence bounded."""
    rng = np.random.default_rng(seed)
    inside = rng.uniform(-1, 1, 3)
    A = rng.integers(-4, 5, (5, 3)).astype(float)
    at = A @ inside
    return Program(
        c=rng.integers(-5, 6, 3).astype(float),
        A=sp.csr_array(A),
        row_lower=np.array([at[0], -np.inf, at[2] - 1, at[3] - 0.5, -np.inf]),
        row_upper=np.array([at[0], at[1] + 1, np.inf, at[3] + 0.5, np.inf]),
        lower=np.full(3, -2.0),
        upper=np.array([2.0, 3.0, 2.0]),
        integer=np.zeros(3, dtype=bool),
        constant=float(rng.integers(-3, 4)),
        name=f"random LP {seed}",
    )


def random_box_qp(seed: int) -> Program:
    """Three columns, a full Hessian with off-diagonal entries of both signs, one column without an upper bound."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(3, 3))
    return Program(
        c=rng.normal(size=3) * 3,
        A=sp.csr_array((0, 3)),
        row_lower=np.zeros(0),
        row_upper=np.zeros(0),
        lower=np.array([-1.0, 0.0, -2.0]),
        upper=np.array([1.0, np.inf, 0.5]),
        integer=np.zeros(3, dtype=bool),
        Q=sp.csc_array(half @ half.T + 0.1 * np.eye(3)),
        constant=1.5,
        name=f"random QP {seed}",
    )


def random_integer_program(seed: int, *, quadratic: bool) -> Program:
    """Four integer columns, some negative, three rows, small enough to enumerate."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(4, 4))
    A = rng.integers(-3, 4, (3, 4)).astype(float)
    at = A @ rng.integers(0, 2, 4)  # a feasible point
    return Program(
        c=rng.integers(-5, 6, 4).astype(float) + (rng.normal(size=4) if quadratic else 0.0),
        A=sp.csr_array(A),
        row_lower=np.array([at[0] - 2, -np.inf, at[2]]),
        row_upper=np.array([at[0] + 1, at[1] + 1, at[2]]),
        lower=np.array([-2.0, -1.0, 0.0, 0.0]),
        upper=np.array([2.0, 2.0, 1.0, 3.0]),
        integer=np.ones(4, dtype=bool),
        Q=sp.csc_array(half @ half.T) if quadratic else None,
        constant=2.0,
        name=f"random {'MIQP' if quadratic else 'MIP'} {seed}",
    )


def line_rule(x: Array, y: Array, *, on_at: int) -> Program:
    """Fewest errors of sign(w x + b) with -1 <= w <= 1: error or margin, by indicators that switch on at 0 or at 1."""
    build = Builder("rule on a line")
    w = build.variables("w", lower=-1, upper=1)
    b = build.variables("b", lower=-20, upper=20)
    z = build.binaries("z", len(x))
    build.subject_to("margin", (y * x) * w + y * b >= 0.01, when=(z, on_at))
    build.minimize(z.sum() if on_at == 0 else len(x) - z.sum())
    return build.build()


def hard_mip(seed: int = 0) -> Program:
    """Market split: split 30 customers so that four products come out even; hard far beyond its size, always feasible."""
    rng = np.random.default_rng(seed)
    demand = rng.integers(0, 100, (4, 30)).astype(float)
    build = Builder("market split")
    chosen = build.binaries("chosen", 30)
    over, under = (build.variables(name, 4, lower=0, upper=3000) for name in ("over", "under"))
    build.subject_to("even", demand @ chosen + under - over == np.floor(demand.sum(axis=1) / 2))
    build.minimize(over.sum() + under.sum())
    return build.build()


def _bare(n: int, **parts: Any) -> Program:
    """A program of n free columns without rows or costs, but for what is given."""
    plain: dict[str, Any] = {
        "c": np.zeros(n),
        "A": sp.csr_array((0, n)),
        "row_lower": np.zeros(0),
        "row_upper": np.zeros(0),
        "lower": np.full(n, -np.inf),
        "upper": np.full(n, np.inf),
        "integer": np.zeros(n, dtype=bool),
    }
    return Program(**plain | parts)


# -- LP ---------------------------------------------------------------------------------------------------------------


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
    _require(bool(np.allclose(solution.x, [2.0, 6.0], atol=1e-5)), f"the only optimum is (2, 6); got {solution.x}")
    if solution.row_duals is not None:
        close = np.allclose(solution.row_duals, [0.0, -1.5, -1.0], atol=1e-5)
        _require(bool(close), f"multipliers {solution.row_duals}, by hand they are (0, -3/2, -1)")


def lp__random_against_vertices(case: Case) -> None:
    for seed in range(6):
        program = random_lp(seed)
        case.require_optimal(program, case.solve(program), best_vertex(program))


def lp__fixed_column_and_empty_row(case: Case) -> None:
    program = _bare(
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
    _require(solution.status is Status.INFEASIBLE, f"status {solution.status} ({solution.raw_status})")
    if solution.ray is not None:
        proven = proves_infeasible(program, solution.ray, -(program.A.T @ solution.ray))
        _require(proven, f"the ray {solution.ray} does not prove infeasibility")


def lp__unbounded(case: Case) -> None:
    build = Builder("bottomless")
    x = build.variables("x", 2, lower=[0, -np.inf])
    build.subject_to("row", x.sum() <= 1)
    build.minimize(x[1])
    solution = case.solve(build.build())
    _require(solution.status is Status.UNBOUNDED, f"status {solution.status} ({solution.raw_status})")


def lp__warm_start(case: Case) -> None:
    """A right, a partial and a wrong start change nothing but the way."""
    program = random_lp(1)
    truth = best_vertex(program)
    first = case.solve(program)
    assert first.x is not None
    for start in (first.x, np.where(np.arange(3) == 1, np.nan, first.x), np.full(3, 100.0)):
        case.require_optimal(program, case.solve(program, warm_start={"x": start}), truth)


# -- QP ---------------------------------------------------------------------------------------------------------------


def qp__off_diagonal_against_active_sets(case: Case) -> None:
    for seed in range(6):
        program = random_box_qp(seed)
        case.require_optimal(program, case.solve(program), best_active_set(program))


def qp__equality(case: Case) -> None:
    """min 1/2 x'Qx + c'x with Ax = b is one linear system."""
    rng = np.random.default_rng(3)
    half, A, b, c = rng.normal(size=(4, 4)), rng.normal(size=(2, 4)), rng.normal(size=2), rng.normal(size=4)
    Q = half @ half.T
    x = np.linalg.solve(np.block([[Q, A.T], [A, np.zeros((2, 2))]]), np.concatenate([-c, b]))[:4]
    program = _bare(4, c=c, A=sp.csr_array(A), row_lower=b, row_upper=b, Q=sp.csc_array(Q))
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
    build = Builder("impossible")
    x = build.variables("x", 2, lower=0)
    build.subject_to("row", x.sum() <= -1)
    build.add_square(x)
    solution = case.solve(build.build())
    _require(solution.status is Status.INFEASIBLE, f"status {solution.status} ({solution.raw_status})")


def qp__unbounded_is_never_called_solved(case: Case) -> None:
    build = Builder("bottomless")
    x = build.variables("x", 2)
    build.add_square(x[0])
    build.minimize(x[1])
    solution = case.solve(build.build())
    _require(solution.status in (Status.UNBOUNDED, Status.NUMERICAL_ERROR, *LIMITS), f"status {solution.status}")
    _require(solution.x is None, f"a point with objective {solution.objective}")


def qp__warm_start(case: Case) -> None:
    """A right, a partial and a wrong start change nothing but the way."""
    program = random_box_qp(2)
    truth = best_active_set(program)
    first = case.solve(program)
    assert first.x is not None
    for start in (first.x, np.where(np.arange(3) == 1, np.nan, first.x), np.full(3, -100.0)):
        case.require_optimal(program, case.solve(program, warm_start={"x": start}), truth)


# -- MIP --------------------------------------------------------------------------------------------------------------


def mip__random_against_enumeration(case: Case) -> None:
    for seed in range(4):
        program = random_integer_program(seed, quadratic=False)
        case.require_optimal(program, case.solve(program), best_integer_point(program))


def mip__mixed(case: Case) -> None:
    """Fixed charge: open one of two tanks (10 or 4) and fill 3 at 1 or 3 a unit: 10 + 3 = 13 both ways, 4 + 9 = 13; with 2 units 10."""
    build = Builder("tanks")
    opened = build.binaries("opened", 2)
    amount = build.variables("amount", 2, lower=0, upper=5)
    build.subject_to("capacity", amount - 5 * opened <= 0)
    build.subject_to("demand", amount.sum() >= 2)
    build.minimize(np.array([10.0, 4.0]) @ opened + np.array([1.0, 3.0]) @ amount)
    program = build.build()
    case.require_optimal(program, case.solve(program), 10.0)


def mip__infeasible_by_integrality(case: Case) -> None:
    build = Builder("parity")
    x = build.variables("x", 2, lower=0, upper=10, integer=True)
    build.subject_to("odd", np.array([2.0, 4.0]) @ x == 7)
    build.minimize(x.sum())
    solution = case.solve(build.build())
    _require(solution.status is Status.INFEASIBLE, f"status {solution.status} ({solution.raw_status})")


def mip__unbounded_is_never_called_solved(case: Case) -> None:
    build = Builder("bottomless")
    x = build.variables("x", integer=True, lower=-np.inf, upper=0)
    y = build.binaries("y")
    build.minimize(x + y)
    solution = case.solve(build.build())
    _require(solution.status is not Status.OPTIMAL, "called optimal")
    _require(solution.status is not Status.INFEASIBLE, "called infeasible")
    _require(solution.bound is None or solution.bound < -1e6, f"bound {solution.bound}")


def mip__warm_start(case: Case) -> None:
    """A right, a partial and an infeasible start change nothing but the way."""
    program = random_integer_program(0, quadratic=False)
    truth = best_integer_point(program)
    first = case.solve(program)
    assert first.x is not None
    for start in (first.x, np.where(np.arange(4) < 2, np.nan, first.x), np.full(4, 2.0)):
        case.require_optimal(program, case.solve(program, warm_start={"x": start}), truth)


def mip__time_limit_returns_the_incumbent(case: Case) -> None:
    """The point, when there is one, is checked like any other; the status says that time ran out, not more."""
    solution = case.solve(hard_mip(), time_limit=0.6)
    _require(solution.status is Status.TIME_LIMIT, f"status {solution.status} ({solution.raw_status})")
    if "node_limit" in case.backend.options:  # a solver that we see into: its incumbent must not get lost
        _require(solution.x is not None, "no incumbent at the limit")


def mip__callback_stops(case: Case) -> None:
    """A callback that returns False ends the search; a solver that cannot be asked runs on, but within its limit."""
    solution = case.solve(hard_mip(), callback=lambda event: False, time_limit=1.0)
    _require(solution.status in (Status.INTERRUPTED, Status.TIME_LIMIT, Status.OPTIMAL), f"status {solution.status}")


def mip__node_limit(case: Case) -> None:
    if "node_limit" not in case.backend.options:
        return
    solution = case.solve(hard_mip(), options={"node_limit": 1}, time_limit=10.0)
    _require(
        solution.status in (Status.NODE_LIMIT, Status.OPTIMAL), f"status {solution.status} ({solution.raw_status})"
    )


def mip__same_seed_same_answer(case: Case) -> None:
    program = random_integer_program(2, quadratic=False)
    first, second = (case.solve(program, seed=7) for _ in range(2))
    same = first.x is not None and second.x is not None and np.array_equal(first.x, second.x)
    _require(bool(same), "two runs with one seed differ")


# -- MIQP -------------------------------------------------------------------------------------------------------------


def miqp__random_against_enumeration(case: Case) -> None:
    for seed in range(3):
        program = random_integer_program(seed, quadratic=True)
        case.require_optimal(program, case.solve(program), best_integer_point(program))


def miqp__mixed(case: Case) -> None:
    """(x - 1.4)^2 + (y - x)^2 with x integer in [-3, 3], y <= 0.5: x = 1, y = 0.5 costs 0.41, x = 0 costs 1.96."""
    build = Builder("mixed squares")
    x = build.variables("x", lower=-3, upper=3, integer=True)
    y = build.variables("y", lower=-10, upper=0.5)
    build.add_square(x - 1.4)
    build.add_square(y - x)
    program = build.build()
    case.require_optimal(program, case.solve(program), 0.41)


def miqp__infeasible(case: Case) -> None:
    build = Builder("parity")
    x = build.variables("x", 2, lower=0, upper=10, integer=True)
    build.subject_to("odd", np.array([2.0, 4.0]) @ x == 7)
    build.add_square(x)
    solution = case.solve(build.build())
    _require(solution.status is Status.INFEASIBLE, f"status {solution.status} ({solution.raw_status})")


# -- indicators -------------------------------------------------------------------------------------------------------


def indicator__rule_on_a_line(case: Case) -> None:
    for seed, on_at in ((0, 0), (1, 1)):
        rng = np.random.default_rng(seed)
        x = rng.permutation(np.linspace(-3, 3, 9))
        y = np.where(x + rng.normal(size=9) > 0, 1.0, -1.0)
        program = line_rule(x, y, on_at=on_at)
        case.require_optimal(program, case.solve(program), fewest_errors_on_a_line(x, y))


def indicator__two_sided(case: Case) -> None:
    """z = 1 forces 2 <= x <= 3; paying 1 for z = 0 or x^1 for the distance to 0: z = 0, x = 0 costs 1, z = 1 costs 2."""
    build = Builder("two-sided")
    x = build.variables("x", 1, lower=0, upper=10)
    z = build.binaries("z", 1)
    build.subject_to("window", ranged(1.0 * x, 2.0, 3.0), when=(z, 1))
    build.minimize(x.sum() + 1 - z.sum())
    program = build.build()
    case.require_optimal(program, case.solve(program), 1.0)
    forced = program.replace_with(lower=np.array([0.0, 1.0]))
    case.require_optimal(forced, case.solve(forced), 2.0)


# -- every backend ----------------------------------------------------------------------------------------------------


def _simplest(backend: Backend) -> Program:
    """A small program of the simplest kind that the backend takes."""
    if Feature.LP in backend.features:
        return random_lp(0)
    if Feature.QP in backend.features:
        return random_box_qp(0)
    return random_integer_program(0, quadratic=Feature.MIP not in backend.features)


def any__declares_itself(case: Case) -> None:
    backend = case.backend
    _require(bool(backend.name) and bool(backend.features), "name or features are missing")
    _require(backend.is_installed(), f"{backend.name} is not installed")
    _require(backend.version() != "unknown", f"no version of distribution {backend.distribution!r}")
    _require(all(option.doc for option in backend.options.values()), "an option has no description")


def any__used_up_time_is_no_error(case: Case) -> None:
    solution = case.solve(_simplest(case.backend), time_limit=1e-9)
    _require(solution.status in (Status.OPTIMAL, *LIMITS), f"status {solution.status} ({solution.raw_status})")


def any__stateless(case: Case) -> None:
    """The same program gives the same answer with another one in between."""
    program = _simplest(case.backend)
    first = case.solve(program)
    case.solve(program.replace_with(c=-program.c))
    second = case.solve(program)
    same = first.x is not None and second.x is not None and np.array_equal(first.x, second.x)
    _require(bool(same), "an earlier solve changed a later one")
