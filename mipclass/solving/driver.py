"""solve: one call for every problem, every solver and every method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import SolverNotFoundError, UnsupportedProgramError
from ..methods.base import Method, Refusal
from ..modelling.problem import Problem
from ..modelling.program import Feature
from ..protocol.options import resolve_options
from ..protocol.result import Outcome, Result
from ..protocol.run import Callback, Run, interruptible
from ..version import VERSION
from . import registry
from .arguments import as_problem, check_limits, check_start, start_values
from .through_backend import RECOUNT_TOLERANCE, through_backend


def solve(
    problem: Any,
    solver: str = "auto",
    *,
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    threads: int = 1,
    warm_start: Result | Mapping[str, Any] | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Result:
    """Solve a problem.

    Parameters
    ----------
    problem : a Model, a Program, a Pyomo ConcreteModel or a cvxpy Problem.
    solver : a name from `solvers()`, or "auto".
    time_limit : seconds over model building and solving; the incumbent is returned when they are used up.
    gap : relative gap at which a search may stop.
    seed, threads : for solvers that use them; one seed and one thread give the same answer again.
    warm_start : an earlier Result, or values by name.
    callback : called with an Event (seconds, objective, bound, nodes ...); only returning False stops the solve.
    progress : show a line on stderr.
    options : the solver's own options by name; an unknown one raises.

    Returns
    -------
    Result. A limit or Ctrl-C never raises: the incumbent comes back with the status that says why.
    """
    check_limits(time_limit, gap, seed, threads, callback)
    run = Run(
        time_limit=time_limit,
        gap=gap,
        seed=seed,
        threads=threads,
        warm_start=start_values(warm_start),
        callback=callback,
        progress=progress,
    )
    task = as_problem(problem)
    check_start(task, run.warm_start)
    chosen = registry.find(choose(task) if solver == "auto" else solver)
    name = chosen.name
    run.begin(name, resolve_options(name, chosen.options, options))
    try:
        with interruptible(run):
            if isinstance(chosen, Method):
                form = chosen.match(task)
                if isinstance(form, Refusal):
                    raise UnsupportedProgramError(f"solver {name!r} cannot solve model {task.name!r}: {form.reason}")
                run.say("at work (a first call compiles its kernels, once)")
                return _finish(task, chosen.solve(form, run), run, name, VERSION)
            outcome = through_backend(task, chosen, run)
            return _finish(task, outcome, run, name, chosen.version())
    finally:
        run.close()


def choose(problem: Problem) -> str:
    """The solver behind solver="auto": the method made for the model, else the best installed backend for its kind."""
    methods = registry.method_names()
    for name in registry.AUTO_METHODS:
        if name in methods:
            method = registry.find(name)
            if (
                isinstance(method, Method)
                and not isinstance(method.match(problem), Refusal)
                and method.prefers(problem)
            ):
                return name
    kind = problem.program().kind
    order = {
        Feature.LP: ("highs",),
        Feature.MIP: ("highs",),
        Feature.QP: ("piqp", "highs", "osqp"),
        Feature.MIQP: ("scip", "highs"),
    }[kind]
    for name in order:
        try:
            registry.find(name)
        except SolverNotFoundError:
            continue
        return name
    raise SolverNotFoundError(f"no installed solver takes a {kind}; see mipclass.solvers().")


def _finish(problem: Problem, outcome: Outcome, run: Run, solver: str, version: str) -> Result:
    values = outcome.values or {}
    extra = dict(outcome.extra)
    recounted = False
    if values and outcome.objective is not None:
        true = problem.recount(values)
        recounted = abs(true - outcome.objective) <= RECOUNT_TOLERANCE * max(1.0, abs(outcome.objective))
        broken = problem.violations(values)
        if broken:
            extra["violations"] = broken
            recounted = False
    claim = outcome.claim if recounted or not values else ("heuristic" if outcome.claim != "none" else "none")
    run.report(objective=outcome.objective, bound=outcome.bound, nodes=outcome.nodes, iterations=outcome.iterations)
    return Result(
        status=outcome.status,
        claim=claim,
        objective=outcome.objective,
        bound=outcome.bound,
        values=dict(values),
        recounted=recounted,
        certified=_is_certified(problem, outcome),
        certificate=outcome.certificate,
        seconds=run.seconds(),
        nodes=outcome.nodes,
        iterations=outcome.iterations,
        solver=solver,
        version=version,
        raw_status=outcome.raw_status,
        trace=list(run.trace),
        extra=extra,
    )


def _is_certified(problem: Problem, outcome: Outcome) -> bool:
    if outcome.certificate is None:
        return False
    from ..checker import check

    return bool(check(outcome.certificate, problem))
