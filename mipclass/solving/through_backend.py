"""From a Problem through reductions to a backend, and from its Solution back to an Outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..arrays import Array
from ..backends.base import Backend, Solution
from ..backends.second_look import second_look
from ..errors import UnsupportedProgramError
from ..modelling.model import Model
from ..modelling.problem import Problem
from ..modelling.program import Feature, Program
from ..models.ramp import Ramp
from ..protocol.result import Claim, Outcome, Status, Values, relative_gap
from ..protocol.run import Run
from ..reductions.base import Answer, Receipt
from ..reductions.chain import road_to
from ..reductions.hooks_along import hooks_along
from .capabilities import solvers
from .centred import centred
from .objective_unit import solve_in_units
from .own_process import settle_convexity, solution_of

RECOUNT_TOLERANCE = 1e-6
"""An objective and its recount agree when they differ by at most this part of the objective's size (at least the problem's unit)."""


def through_backend(problem: Problem, backend: Backend, run: Run) -> Outcome:
    """Solve the problem's program as the backend takes it, and bring the answer back to the program as it was declared.

    A program that holds tangents of a smooth loss is a relaxation only: it is solved in rounds that add tangents, or in conic form.
    """
    if isinstance(problem, Model) and any(c > 0 and term.is_relaxed_by_program for c, term in problem.terms):
        return _smooth(problem, backend, run)
    program = problem.program()
    stopped = settle_convexity(program, run)
    if stopped is not None:
        return Outcome(
            stopped, "none", None, None, None, raw_status="ended while it was decided whether the objective is convex"
        )
    reduced, receipt = road_to(backend.features, problem.basis()).apply(program)
    missing = reduced.needs - backend.features
    if missing:
        raise UnsupportedProgramError(_cannot(problem, backend, reduced, missing))
    if run.options.get("hooks") is not None:
        run.options = run.options | {"hooks": hooks_along(run.options["hooks"], receipt)}
    first = _first_values(problem, run)
    start = None if first is None else receipt.forward(problem.encode(first))

    def solve(task: Program, run: Run, start: Array | None) -> Solution:
        return second_look(backend, task, run, solution_of(task, backend, run, start), start)

    if run.options.get(backend.name):  # options by the solver's own names may speak of the objective as declared
        found, unit = solve(reduced, run, start), 1.0
    else:
        found, unit = solve_in_units(solve, reduced, run, start)
    return _outcome(problem, program, _brought_back(found, receipt), run, min(1.0, unit))


def _first_values(problem: Problem, run: Run) -> Values | None:
    """The caller's start; else a rule from local search where general solvers find no good one by themselves: the hard-margin and the ramp loss."""
    if run.warm_start is not None or not isinstance(problem, Model):
        return run.warm_start
    if any(isinstance(term, Ramp) for _, term in problem.terms):
        from ..methods.robust_svm.ball_proof.starts import start_for_solver as start_of_ramp

        return start_of_ramp(problem, run)
    from ..methods.hard_margin.incumbents import start_for_solver

    return start_for_solver(problem, run)


def _smooth(problem: Model, backend: Backend, run: Run) -> Outcome:
    """A smooth loss: exponential cones where the backend has them and the problem is continuous, cutting planes elsewhere."""
    from ..methods.logistic.conic import by_cones, takes_cones
    from ..methods.logistic.cutting_planes import MOST_ROUNDS, by_tangents

    if takes_cones(problem, backend):
        return by_cones(problem, backend, run)
    return by_tangents(problem, backend, run, MOST_ROUNDS, dict(run.options))


def _brought_back(solution: Solution, receipt: Receipt) -> Solution:
    """The backend's solution in the columns and rows of the program as it was declared."""
    answer = receipt.back(Answer(solution.x, solution.row_duals, solution.column_duals, solution.ray))
    extra = dict(solution.extra)
    for name in ("rough_point", "direction"):
        if extra.get(name) is not None:
            extra[name] = receipt.back(Answer(extra[name])).x
    return replace(
        solution,
        x=answer.x,
        row_duals=answer.row_duals,
        column_duals=answer.column_duals,
        ray=answer.ray,
        extra=extra,
    )


def _outcome(problem: Problem, program: Program, solution: Solution, run: Run, unit: float) -> Outcome:
    """What the solution is worth; `unit` is the size below which objectives count as zero."""
    x = solution.x
    bound = None if solution.bound is None else program.round_bound(solution.bound)
    extra: dict[str, Any] = {**solution.extra}
    for name in ("row_duals", "column_duals", "ray"):
        if getattr(solution, name) is not None:
            extra[name] = getattr(solution, name)
    extra["scope"] = problem.scope()  # of an optimum as of an infeasibility
    if x is None:
        decided = solution.status in (Status.INFEASIBLE, Status.UNBOUNDED) and "unconfirmed" not in solution.extra
        claim: Claim = "proven" if decided else "none"
        return _as_outcome(solution, claim, None, None, bound, extra, unit)
    values = centred(problem, problem.decode(x), run)
    objective = float(solution.objective) if solution.objective is not None else program.objective(x)
    # A solver's word without a bound, as of an integer program whose gap it does not tell, proves nothing.
    claim = "proven" if solution.status is Status.OPTIMAL and bound is not None else "heuristic"
    recounted = problem.recount(values)
    tolerance = RECOUNT_TOLERANCE * max(unit, abs(objective))
    if recounted < objective - tolerance:
        # Decoding removed ties and the model's margin eps, so the rule is better than the solver knew.
        objective = recounted
        if bound is not None and bound > objective + tolerance:
            extra["bound_within_margin"] = bound  # true only of rules whose correct points keep the margin eps
            bound, claim = None, "heuristic"
    elif recounted > objective + tolerance:
        extra["recounted_objective"] = recounted
        claim = "heuristic"
    elif program.counts_whole_columns:
        objective = recounted
        bound = None if bound is None else min(bound, objective)
    left = relative_gap(objective, bound, unit)
    if run.gap > 0 and left is not None and left > RECOUNT_TOLERANCE:
        claim = "heuristic"  # good enough by the caller's own gap, which is no proof of optimality
    return _as_outcome(solution, claim, values, objective, bound, extra, unit)


def _as_outcome(
    solution: Solution,
    claim: Claim,
    values: Values | None,
    objective: float | None,
    bound: float | None,
    extra: dict[str, Any],
    unit: float,
) -> Outcome:
    return Outcome(
        status=solution.status,
        claim=claim,
        values=values,
        objective=objective,
        bound=bound,
        nodes=solution.nodes,
        iterations=solution.iterations,
        raw_status=solution.raw_status,
        extra=extra,
        unit=unit,
    )


def _cannot(problem: Problem, backend: Backend, program: Program, missing: frozenset[Feature]) -> str:
    # `tree` takes any problem, with rules that the caller writes.
    able = [row.name for row in solvers(problem) if row.accepts and row.installed and row.name != "tree"]
    why = ", ".join(sorted(missing))
    shape = ", whose objective is not convex" if Feature.NONCONVEX in missing else ""
    return (
        f"solver {backend.name!r} cannot solve model {problem.name!r}, a {program.kind} with {int(program.integer.sum())} integer "
        f"variables{shape}: it lacks {why} and takes {', '.join(sorted(backend.features))}. Installed solvers that can: {', '.join(able) or _nobody(missing)}."
    )


def _nobody(missing: frozenset[Feature]) -> str:
    return "none; scip takes it (pip install 'mipclass[scip]')" if Feature.NONCONVEX in missing else "none"
