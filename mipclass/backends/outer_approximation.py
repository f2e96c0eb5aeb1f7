"""Convex MIQPs on HiGHS, which has none: outer approximation (Duran and Grossmann, 1986) by MIPs and QPs.

    minimise 1/2 x'Qx + c'x  over a mixed-integer set  becomes
    minimise c'x + sum_k t_k  with  t_k >= 1/2 y_k^2,  y = Fx,  F'F = Q,

and each square is replaced by tangents t_k >= v y_k - 1/2 v^2. A tangent never cuts off a feasible point, so the MIP's
bound is a bound on the MIQP. In turn: solve the MIP (bound), fix its integers and solve the QP that is left (point), add
the tangents at both points; stop when point and bound meet. One tangent for each square rather than one for their sum
needs far fewer rounds. The first tangents are at the optimum of the QP without integrality.

Reference: M. A. Duran, I. E. Grossmann, An outer-approximation algorithm for a class of mixed-integer nonlinear programs,
Mathematical Programming 36 (1986) 307-339.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..errors import UnsupportedProgramError
from ..modelling.blocks import Block
from ..modelling.program import Program
from ..protocol.hooks import Hooks
from ..protocol.result import Status, relative_gap
from ..protocol.run import Run
from .base import Solution
from .highs_direct import solve_directly
from .highs_object import STATUS, check, configure, end_threads, give_start, load, run_watched
from .rays import find_descent
from .square_root import square_root

TOLERANCE = 1e-7
"""Relative gap at which point and bound count as equal."""
ROW_TOLERANCE = 1e-9
"""Largest violation of a row of the master: well below TOLERANCE, so that a tangent cannot hide the gap."""
FEASIBLE = 1e-6
"""Largest violation of a point that becomes the incumbent; HiGHS's own tolerance for a MIP."""
ROUNDS = 1000
"""Most masters in a row before the search ends with status iteration_limit."""
GRID = 17
"""First tangents per square, at equal distances over the square's range."""
MOST_SEEDS = 1000
"""Most first tangents in all; a program with more squares starts from the relaxation's tangents alone."""
_FEASIBLE_POINT = 2  # HighsInfo.primal_solution_status of a feasible point


def solve_miqp(program: Program, run: Run, start: Array | None = None) -> Solution:
    """Solve a convex MIQP; `extra` holds the number of rounds and tangents."""
    F = square_root(program)
    if F is None:
        raise UnsupportedProgramError(
            f"program {program.name!r}: the quadratic objective is not convex, and 'highs' takes convex ones only; use "
            f"solver='scip' (pip install 'mipclass[scip]')."
        )
    continuous = program.replace_with(integer=np.zeros(program.n_columns, bool))
    relaxed = solve_directly(continuous, run.inner())
    point = _point(relaxed)
    if point is None and (run.stop() is not None or relaxed.status is Status.INFEASIBLE):
        bound = float("inf") if relaxed.status is Status.INFEASIBLE else None
        return Solution(run.stop() or relaxed.status, f"relaxation: {relaxed.raw_status}", bound=bound)
    if relaxed.status is Status.UNBOUNDED and find_descent(continuous, run, solve_directly) is not None:
        return Solution(Status.UNBOUNDED, f"relaxation: {relaxed.raw_status}")
    search = _OuterApproximation(program, F, run)
    if relaxed.x is not None:
        search.raise_bound(relaxed.bound)
    if point is not None:  # without one the QP solver has failed, and the first tangents do without it
        search.add_tangents(search.F @ point)
    search.seed_tangents()
    if start is not None and np.isfinite(start[program.integer]).all():
        search.fix_and_polish(start)
    try:
        return search.loop()
    finally:
        if run.threads > 1:
            end_threads()


def _point(solution: Solution) -> Array | None:
    """The QP's point, also one whose multipliers were too rough to prove it: a tangent is valid wherever it touches."""
    rough: Array | None = solution.extra.get("rough_point")
    return solution.x if solution.x is not None else rough


class _OuterApproximation:
    """The MIP master with its tangents, the best point and the best bound of one solve."""

    def __init__(self, program: Program, F: sp.csr_array, run: Run) -> None:
        self.program, self.F, self.run = program, F, run
        self.k = F.shape[0]
        self.x: Array | None = None
        self.objective = np.inf
        self.bound = -np.inf
        self.nodes = self.iterations = self.rounds = self.tangents = 0
        self.seen: set[bytes] = set()
        self.master = _master(program, F)
        self.highs = load(self.master)
        configure(self.highs, run, run.options | {"feasibility_tolerance": ROW_TOLERANCE})

    def loop(self) -> Solution:
        for _ in range(ROUNDS):
            stopped = self.run.stop()
            if stopped is not None:
                return self.answer(stopped, "stopped")
            self.rounds += 1
            status, x = self.solve_master()
            if status is Status.INFEASIBLE:
                return Solution(Status.INFEASIBLE, "outer approximation on HiGHS: infeasible", bound=float("inf"))
            again = False
            if x is not None:
                again = np.round(x[self.program.integer]).tobytes() in self.seen
                self.fix_and_polish(x)
                self.add_tangents(self.F @ x)
            self.run.report(objective=self._objective(), bound=self.bound, nodes=self.nodes, rounds=self.rounds)
            if self.closed():
                return self.answer(Status.OPTIMAL, "optimal")
            if status is Status.UNBOUNDED:
                return self.answer(Status.NUMERICAL_ERROR, "the master problem is unbounded, the program need not be,")
            if status is not Status.OPTIMAL:
                return self.answer(status, "stopped in the master problem")
            if again:
                # The tangents at this assignment's best point are in the master, which still prefers it.
                return self.answer(Status.OPTIMAL, "optimal, to the accuracy of the QP solver")
        return self.answer(Status.ITERATION_LIMIT, f"{ROUNDS} rounds")

    def solve_master(self) -> tuple[Status, Array | None]:
        """One master to the full gap: rounds that stop early cost nearly as much and need more successors."""
        run, highs = self.run, self.highs
        if run.time_limit is not None:
            check(highs.setOptionValue("time_limit", highs.getRunTime() + run.seconds_left()), "set the time limit")
        if self.x is not None:
            give_start(highs, self.master, self.lift(self.x))
        spent = self.nodes

        def report(out: Any) -> None:
            run.report(
                objective=self._objective(),
                bound=max(self.bound, out.mip_dual_bound),
                nodes=spent + int(out.mip_node_count),
            )

        ran = run_watched(highs, self.master, run, report, self.hooks())
        status = STATUS[highs.getModelStatus().name] if ran.name != "kError" else Status.NUMERICAL_ERROR
        if status is Status.INTERRUPTED:
            status = run.stop() or status
        if highs.getModelStatus().name == "kUnboundedOrInfeasible" and self._is_infeasible():
            status = Status.INFEASIBLE
        info = highs.getInfo()
        self.nodes += max(0, int(info.mip_node_count))
        self.iterations += max(0, int(info.simplex_iteration_count))
        if status not in (Status.INFEASIBLE, Status.NUMERICAL_ERROR, Status.UNBOUNDED):
            self.raise_bound(float(info.mip_dual_bound))
        has_point = info.primal_solution_status == _FEASIBLE_POINT and status not in (
            Status.INFEASIBLE,
            Status.NUMERICAL_ERROR,
        )
        return status, np.array(highs.getSolution().col_value)[: self.program.n_columns] if has_point else None

    def _is_infeasible(self) -> bool:
        """Whether no point satisfies the rows, whatever the objective."""
        bare = self.program.replace_with(c=np.zeros(self.program.n_columns), Q=None)
        return solve_directly(bare, self.run.inner()).status is Status.INFEASIBLE

    def hooks(self) -> Hooks | None:
        """The user's proposals, lifted into the master's columns."""
        given: Hooks | None = self.run.options.get("hooks")
        if given is None or given.incumbent is None:
            return None
        propose = given.incumbent

        def incumbent(x: Array | None) -> Array | None:
            point = propose(x)
            return None if point is None else self.lift(np.asarray(point, dtype=np.float64))

        return Hooks(incumbent=incumbent)

    def fix_and_polish(self, x: Array) -> None:
        """The best point with these integers, from the QP in the continuous columns; tangents there."""
        fixed = self.program.integer
        whole = np.where(fixed, np.clip(np.round(x), self.program.lower, self.program.upper), x)
        self.seen.add(whole[fixed].tobytes())
        rest = self.program.replace_with(
            lower=np.where(fixed, whole, self.program.lower),
            upper=np.where(fixed, whole, self.program.upper),
            integer=np.zeros(len(x), bool),
        )
        polished = solve_directly(rest, self.run.inner())
        for point in (whole, _point(polished)):
            if point is None or np.isnan(point).any() or self.program.violation(point) > FEASIBLE:
                continue
            self.add_tangents(self.F @ point)
            objective = self.program.objective(point)
            if objective < self.objective:
                self.x, self.objective = point, objective

    def seed_tangents(self) -> None:
        """A grid of tangents over each root's range, where the bounds give one: a few rows save whole rounds."""
        lower, upper = self.program.lower, self.program.upper
        positive, negative = self.F.maximum(0), self.F.minimum(0)
        with np.errstate(invalid="ignore"):
            low, high = positive @ lower + negative @ upper, positive @ upper + negative @ lower
        if self.k * GRID <= MOST_SEEDS and np.isfinite(low).all() and np.isfinite(high).all():
            for share in np.linspace(0.0, 1.0, GRID):
                self.add_tangents(low + share * (high - low))

    def add_tangents(self, v: Array) -> None:
        """t_k - v_k y_k >= -1/2 v_k^2 for one v_k each."""
        k, n = self.k, self.program.n_columns
        rows = sp.csr_array(sp.hstack([sp.csr_array((k, n)), sp.diags_array(-v), sp.eye_array(k)], format="csr"))
        check(
            self.highs.addRows(
                k, -0.5 * v**2, np.full(k, np.inf), rows.nnz,
                rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data,
            ),
            "add tangents",
        )  # fmt: skip
        self.tangents += k

    def lift(self, x: Array) -> Array:
        y = self.F @ x
        return np.concatenate([x, y, 0.5 * y**2])

    def raise_bound(self, bound: float | None) -> None:
        if bound is not None and np.isfinite(bound):
            self.bound = max(self.bound, bound)

    def closed(self) -> bool:
        gap = relative_gap(self._objective(), self.bound)
        return gap is not None and gap <= max(self.run.gap, TOLERANCE)

    def _objective(self) -> float | None:
        return None if self.x is None else self.objective

    def answer(self, status: Status, words: str) -> Solution:
        bound = min(self.bound, self.objective)
        return Solution(
            status=status,
            raw_status=f"outer approximation on HiGHS: {words} after {self.rounds} rounds, {self.tangents} tangents",
            x=self.x,
            objective=self._objective(),
            bound=bound if np.isfinite(bound) else None,
            nodes=self.nodes,
            iterations=self.iterations,
            extra={"algorithm": "outer approximation", "rounds": self.rounds, "tangents": self.tangents},
        )


def _master(program: Program, F: sp.csr_array) -> Program:
    """Columns x, y, t; the rows of the program and y = Fx. Tangents are added later."""
    n, m, k = program.n_columns, program.n_rows, F.shape[0]
    return Program(
        c=np.concatenate([program.c, np.zeros(k), np.ones(k)]),
        A=sp.csr_array(
            sp.block_array([[program.A, sp.csr_array((m, k)), None], [F, -sp.eye_array(k), sp.csr_array((k, k))]])
        ),
        row_lower=np.concatenate([program.row_lower, np.zeros(k)]),
        row_upper=np.concatenate([program.row_upper, np.zeros(k)]),
        lower=np.concatenate([program.lower, np.full(k, -np.inf), np.zeros(k)]),
        upper=np.concatenate([program.upper, np.full(2 * k, np.inf)]),
        integer=np.concatenate([program.integer, np.zeros(2 * k, bool)]),
        constant=program.constant,
        variables=(*program.variables, Block("root", n, (k,), (None,)), Block("square", n + k, (k,), (None,))),
        rows=(*program.rows, Block("root", m, (k,), (None,))),
        name=f"master of {program.name}",
    )
