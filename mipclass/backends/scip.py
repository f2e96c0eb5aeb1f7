"""SCIP: MIPs and convex MIQPs with native indicator rows, and a user's own rules inside its branch and bound.

A quadratic objective goes in as  minimise c'x + t  subject to  t >= sum of squares,  which is what SCIP takes. Rules (Hooks)
become SCIP plugins, see scip_hooks. SCIP runs on one thread whatever `threads` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..errors import OptionError
from ..modelling.program import Feature, Program
from ..protocol.hooks import check_hooks
from ..protocol.options import Option, Options, number, optional
from ..protocol.result import Status
from ..protocol.run import Run
from .base import Backend, Solution, StoppedBuilding, infeasible_or_unbounded, keep_building, without_columns
from .square_root import half_square, square_root

STATUS = {
    "optimal": Status.OPTIMAL,
    "gaplimit": Status.OPTIMAL,  # closed to the gap that was asked for
    "infeasible": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "timelimit": Status.TIME_LIMIT,
    "nodelimit": Status.NODE_LIMIT,
    "totalnodelimit": Status.NODE_LIMIT,
    "stallnodelimit": Status.NODE_LIMIT,
    "sollimit": Status.NODE_LIMIT,
    "bestsollimit": Status.NODE_LIMIT,
    "restartlimit": Status.NODE_LIMIT,
    "primallimit": Status.NODE_LIMIT,
    "duallimit": Status.NODE_LIMIT,
    "userinterrupt": Status.INTERRUPTED,
    "memlimit": Status.NUMERICAL_ERROR,
    "unknown": Status.NUMERICAL_ERROR,
}
QP_ACCURACY = 1e-5
"""Largest relative distance of a quadratic program's objective from SCIP's own bound; beyond it the answer is called rough."""
ADVICE = "Scale the data (a StandardScaler) or tighten options={'feasibility_tolerance': ...}."
INFINITY = 1e20
"""What SCIP takes for infinity."""
FEASIBILITY_TOLERANCE = 1e-6
"""SCIP's own default: the largest accepted violation of a row, relative to the row's size."""


class ScipBackend(Backend):
    """LPs, convex QPs, MIPs and convex MIQPs, with or without indicator rows."""

    name: ClassVar[str] = "scip"
    features: ClassVar[frozenset[Feature]] = frozenset(Feature)
    module: ClassVar[str] = "pyscipopt"
    distribution: ClassVar[str] = "pyscipopt"
    extra: ClassVar[str | None] = "scip"
    hooks: ClassVar[frozenset[str]] = frozenset({"incumbent", "separate", "propagate", "branch"})
    without_presolve: ClassVar[Mapping[str, Any]] = {"scip": {"presolving/maxrounds": 0}}
    options: ClassVar[Options] = {
        "node_limit": Option(None, "most nodes of the search", optional(number(1, integer=True))),
        "feasibility_tolerance": Option(
            FEASIBILITY_TOLERANCE, "largest accepted violation of a row", number(1e-10, 1e-2)
        ),
        "hooks": Option(None, "Hooks: rules for incumbents, lazy cuts, propagation and branching", check_hooks),
        "scip": Option({}, "parameters passed to SCIP as they are, by SCIP's own names"),
    }

    def hears(self, program: Program) -> bool:
        """Not during an LP or QP: SCIP listens between the nodes of its tree."""
        return program.is_integer

    def solve(self, program: Program, run: Run, start: Array | None = None) -> Solution:
        """See `Backend.solve`."""
        from .scip_hooks import attach

        if program.n_columns == 0:
            return without_columns(program)
        try:
            model, columns = load(program, run)
        except StoppedBuilding as stopped:
            return Solution(stopped.status, "stopped while the model was built")
        _configure(model, run)
        plugins = attach(model, program, columns, run, run.options.get("hooks"))
        if start is not None:
            _give_start(model, program, columns, start)
        model.optimize()
        if plugins.failure is not None:
            raise plugins.failure
        raw = model.getStatus()
        if raw == "inforunbd":
            return infeasible_or_unbounded(self.solve, program, run, otherwise=Status.NUMERICAL_ERROR)
        return _read(model, program, columns, raw, run)


def load(program: Program, run: Run) -> tuple[Any, list[Any]]:
    """A silent SCIP model of the program and its variables; a quadratic objective adds one variable at the end."""
    from pyscipopt import Model
    from pyscipopt.scip import Expr, ExprCons, Term

    model = Model(program.name)
    model.hideOutput()
    kinds = np.where(program.binary, "B", np.where(program.integer, "I", "C")).tolist()
    lower, upper = _infinite_as_none(program.lower), _infinite_as_none(program.upper)
    columns = [
        model.addVar(name=f"x{j}", vtype=kind, lb=low, ub=high, obj=cost)
        for j, (kind, low, high, cost) in enumerate(zip(kinds, lower, upper, program.c.tolist(), strict=True))
    ]
    terms = [Term(column) for column in columns]
    model.addObjoffset(program.constant)
    if program.Q is not None:
        columns.append(model.addVar(name="quadratic", vtype="C", lb=None, obj=1.0))
        model.addCons(_half_square_expression(model, program, columns) - columns[-1] <= 0)

    switch = dict(zip(program.indicators.row.tolist(), range(len(program.indicators)), strict=True))
    data, indices, starts = program.A.data.tolist(), program.A.indices.tolist(), program.A.indptr.tolist()
    for i, (low, high) in enumerate(
        zip(_infinite_as_none(program.row_lower), _infinite_as_none(program.row_upper), strict=True)
    ):
        keep_building(run, i)
        row = Expr({terms[indices[k]]: data[k] for k in range(starts[i], starts[i + 1])})
        if i not in switch:
            if low is not None or high is not None:
                model.addCons(ExprCons(row, low, high))
            continue
        z = columns[program.indicators.column[switch[i]]]
        on_at_one = bool(program.indicators.value[switch[i]] == 1)
        for side in ((low, None), (None, high)):
            if side != (None, None):
                model.addConsIndicator(ExprCons(row, *side), binvar=z, activeone=on_at_one)
    return model, columns


def _half_square_expression(model: Any, program: Program, columns: list[Any]) -> Any:
    """1/2 x'Qx as a sum of squares of new variables y = Fx, which SCIP solves at one node where the expanded form with
    free columns takes for ever; the expanded form when Q is not convex."""
    from pyscipopt.scip import Expr, ExprCons, Term

    F = square_root(program)
    if F is None:
        half = sp.coo_array(sp.tril(program.Q))
        weights = np.where(half.coords[0] == half.coords[1], 0.5, 1.0) * half.data
        terms = [Term(column) for column in columns]
        return Expr({terms[i] * terms[j]: q for i, j, q in zip(*half.coords, weights.tolist(), strict=True)})
    squares = {}
    for k in range(F.shape[0]):
        span = slice(F.indptr[k], F.indptr[k + 1])
        root = {Term(columns[j]): float(f) for j, f in zip(F.indices[span], F.data[span], strict=True)}
        if len(root) == 1:
            [(own, f)] = root.items()
            squares[own * own] = 0.5 * f**2
            continue
        y = Term(model.addVar(name=f"root{k}", vtype="C", lb=None))
        model.addCons(ExprCons(Expr(root | {y: -1.0}), 0.0, 0.0))
        squares[y * y] = 0.5
    return Expr(squares)


def _infinite_as_none(bounds: Array) -> list[float | None]:
    return [value if abs(value) < INFINITY else None for value in bounds.tolist()]


def _configure(model: Any, run: Run) -> None:
    options = run.options
    settings: dict[str, Any] = {
        "randomization/randomseedshift": run.seed % (2**31),
        "limits/gap": run.gap,
        "misc/catchctrlc": False,  # Python's own handler is asked between events, and prints nothing
        "numerics/feastol": options.get("feasibility_tolerance", FEASIBILITY_TOLERANCE),
    }
    if run.time_limit is not None:
        settings["limits/time"] = max(0.0, run.seconds_left())
    if options.get("node_limit") is not None:
        settings["limits/nodes"] = options["node_limit"]
    for name, value in (settings | options.get("scip", {})).items():
        try:
            model.setParam(name, value)
        except (KeyError, LookupError, ValueError, TypeError) as err:
            raise OptionError(f"SCIP does not accept parameter {name!r} = {value!r}: {err}.") from err


def _give_start(model: Any, program: Program, columns: list[Any], x: Array) -> None:
    """A full start, or a partial one that SCIP's completion heuristic extends: rows with indicators have slack variables of their own."""
    known = np.isfinite(x)
    if not known.any():
        return
    full = known.all() and not len(program.indicators)
    start = model.createSol() if full else model.createPartialSol()
    for j in np.flatnonzero(known):
        model.setSolVal(start, columns[j], float(x[j]))
    if program.Q is not None and known.all():
        model.setSolVal(start, columns[-1], half_square(program, x))
    model.addSol(start)


def _read(model: Any, program: Program, columns: list[Any], raw: str, run: Run) -> Solution:
    status = STATUS[raw]
    if raw == "userinterrupt":
        status = run.stop() or Status.INTERRUPTED
    x = objective = None
    if status not in (Status.INFEASIBLE, Status.UNBOUNDED) and model.getNSols() > 0:
        best = model.getBestSol()
        x = np.array([model.getSolVal(best, column) for column in columns[: program.n_columns]])
        objective = program.objective(x)
    bound = _bound(model, status, objective)
    if status is Status.OPTIMAL and program.Q is not None and objective is not None and bound is not None:
        off = (objective - bound) / max(1.0, abs(objective))
        if off > max(run.gap, QP_ACCURACY):
            # Its tolerance on the row that holds the square can hide much of a badly scaled objective.
            status, raw = Status.NUMERICAL_ERROR, f"{raw}, rough (point and bound differ by {off:.1e}). {ADVICE}"
    return Solution(
        status=status,
        raw_status=raw,
        x=x,
        objective=objective,
        bound=bound,
        nodes=int(model.getNTotalNodes()),
        iterations=int(model.getNLPIterations()),
    )


def _bound(model: Any, status: Status, objective: float | None) -> float | None:
    if status is Status.INFEASIBLE:
        return float("inf")
    if status in (Status.UNBOUNDED, Status.NUMERICAL_ERROR):
        return None
    bound = float(model.getDualbound())
    if model.isInfinity(abs(bound)):
        return None
    return bound if objective is None else min(bound, objective)
