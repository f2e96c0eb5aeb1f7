"""solve: one call for every problem, every solver and every method.

A solver that the caller names is run, or the reason why it cannot be is raised. For solver="auto" the policy names solvers in
order of preference; the first that takes the problem runs, and the next one runs when it ends in a numerical error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ..errors import MipclassError, SolverNotFoundError, UnsupportedProgramError
from ..methods.base import Method, Refusal
from ..modelling.problem import Problem
from ..protocol.options import resolve_options
from ..protocol.result import Outcome, Result, Status
from ..protocol.run import Callback, Run, interruptible
from ..version import VERSION
from . import registry
from .arguments import as_problem, check_limits, check_start, start_values
from .policy import Choice, Effort, choices
from .relatives import related_rules
from .through_backend import RECOUNT_TOLERANCE, through_backend

SECOND_TRY_SECONDS = 10.0
"""Least time, in seconds, that the policy's next solver gets after one that ended in a numerical error with a point in hand. It
gets at least as long as the solves before it took, so that an answer at hand never waits without end for a better one."""

CHECK_OVERRUN, CHECK_SHARE = 0.3, 0.03
"""The check of a certificate may end this many seconds, or this fraction of the limit, after the time limit or an interruption: less
than half of the overrun that a call may take at most (1 s or 10 %)."""


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
    time_limit : seconds for the whole call: building the model, search, certificate and check. The incumbent is returned when they
        are used up. Kernels are compiled before the clock starts, once, which is announced.
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
    return solve_with_effort(as_problem(problem), solver, Effort.PROOF, run, options)


def solve_within(
    outer: Run,
    problem: Any,
    solver: str = "auto",
    *,
    pieces: int = 1,
    effort: Effort = Effort.PROOF,
    gap: float = 0.0,
    seed: int = 0,
    progress: bool = False,
    warm_start: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Result:
    """`solve` as the next of so many pieces of work that are left of another run: within an equal part of the time that is left."""
    check_limits(None, gap, seed, 1, None)
    run = outer.inner(time_limit=outer.seconds_left() / pieces, gap=gap, seed=seed, progress=progress)
    run.warm_start = start_values(warm_start)
    return solve_with_effort(as_problem(problem), solver, effort, run, options)


def solve_with_effort(
    problem: Problem, solver: str, effort: Effort, run: Run, options: Mapping[str, Any] | None = None
) -> Result:
    """`solve` for callers that allow another effort: what "auto" means depends on it. The run's clock is already running."""
    check_start(problem, run.warm_start)
    try:
        with interruptible(run):
            if solver != "auto":
                return _run(problem, Choice(solver, "named by the caller"), run, options)
            return _first_that_answers(problem, choices(problem, effort), run, options)
    finally:
        run.close()


def _first_that_answers(
    problem: Problem, ordered: Iterable[Choice], run: Run, options: Mapping[str, Any] | None
) -> Result:
    """Try solvers in order until one ends without a numerical error; of several that do not, the best answer is returned."""
    tried: list[str] = []
    refused: dict[str, list[str]] = {}
    best: Result | None = None
    time_limit = run.time_limit
    for choice in ordered:
        if best is not None and run.stop() is not None:
            break
        if best is not None and best.has_point:
            patience = run.seconds() + max(SECOND_TRY_SECONDS, run.seconds())
            run.time_limit = patience if time_limit is None else min(time_limit, patience)
        try:
            result = _run(problem, choice, run, options if best is None else _known_to(choice, options))
        except SolverNotFoundError:
            continue
        except UnsupportedProgramError as err:
            reason = str(err).removeprefix(_refusal(choice.solver, problem, ""))
            refused.setdefault(reason, []).append(choice.solver)
            tried.append(f"{choice.solver} does not take the problem: {reason}")
            continue
        result = replace(result, extra={**result.extra, "auto": {"solver": choice.solver, "why": choice.why}})
        best = result if best is None else _better(result, best)
        if result.status is not Status.NUMERICAL_ERROR:
            break
        tried.append(f"{choice.solver} ended in a numerical error: {result.raw_status or 'no details'}")
    if best is not None:
        return replace(best, extra={**best.extra, "auto": {**best.extra["auto"], "tried": tuple(tried)}})
    lines = [f"\n- {', '.join(names)}: {reason}" for reason, names in refused.items()]
    raise UnsupportedProgramError(
        f"no installed solver takes {problem.name!r}. Tried:{''.join(lines) or ' none.'}\nSee mipclass.solvers(problem)."
    )


def _refusal(solver: str, problem: Problem, reason: str) -> str:
    return f"solver {solver!r} cannot solve model {problem.name!r}: {reason}"


def _better(first: Result, second: Result) -> Result:
    """The one with a recounted point, then the one that is proven, then the one of lower objective; the first of equals.

    A feasible point in hand contradicts a later word that there is none, whoever says it.
    """

    def rank(result: Result) -> tuple[bool, bool, float]:
        objective = float("inf") if result.objective is None else result.objective
        return (not (result.has_point and result.recounted), result.claim != "proven", objective)

    return first if rank(first) <= rank(second) else second


def _known_to(choice: Choice, options: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The caller's options where the solver has them all; they were meant for the policy's first choice."""
    try:
        declared = registry.find(choice.solver).options
    except MipclassError:
        return None
    return options if options is not None and set(options) <= set(declared) else None


def _run(problem: Problem, choice: Choice, run: Run, options: Mapping[str, Any] | None) -> Result:
    """One solver on the problem, by the road for its kind: a method's normal form, or the program for a backend."""
    solver = registry.find(choice.solver)
    name = solver.name
    form = solver.match(problem) if isinstance(solver, Method) else None
    if isinstance(form, Refusal):
        raise UnsupportedProgramError(_refusal(name, problem, form.reason))
    merged = options if not choice.options else {**choice.options, **(options or {})}
    run.begin(name, resolve_options(name, solver.options, merged))
    run.related = partial(related_rules, problem, run)
    if not isinstance(solver, Method):
        return _finish(problem, through_backend(problem, solver, run), run, name, solver.version())
    run.say("at work (a first call compiles its kernels, once)")
    return _finish(problem, solver.solve(form, run), run, name, VERSION)


def _finish(problem: Problem, outcome: Outcome, run: Run, solver: str, version: str) -> Result:
    if outcome.status is Status.TIME_LIMIT and run.stop() is Status.INTERRUPTED:
        # A solver of others may not hear Ctrl-C before its own time limit ends it.
        outcome = replace(outcome, status=Status.INTERRUPTED)
    outcome, certified = _checked(problem, outcome, run)
    values = outcome.values or {}
    extra = dict(outcome.extra)
    recounted = False
    if values and outcome.objective is not None:
        true = problem.recount(values)
        recounted = abs(true - outcome.objective) <= RECOUNT_TOLERANCE * max(outcome.unit, abs(outcome.objective))
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
        certified=certified,
        certificate=outcome.certificate,
        seconds=run.seconds(),
        nodes=outcome.nodes,
        iterations=outcome.iterations,
        solver=solver,
        version=version,
        raw_status=outcome.raw_status,
        trace=list(run.trace),
        extra=extra,
        unit=outcome.unit,
        reading=problem.reading(values) if values else None,
    )


def _check_until(run: Run) -> float:
    """Seconds on the run's clock at which the check of a certificate ends: CHECK_OVERRUN after the limit or the interruption."""
    if run.stop() is Status.INTERRUPTED:
        return run.seconds() + CHECK_OVERRUN
    return float("inf") if run.time_limit is None else run.time_limit + max(CHECK_OVERRUN, CHECK_SHARE * run.time_limit)


def _checked(problem: Problem, outcome: Outcome, run: Run) -> tuple[Outcome, bool]:
    """The outcome, and whether its certificate is accepted. A rejected certificate takes claim, bound and optimality with it.

    The check may go on for CHECK_OVERRUN after the time limit. One that is cut short or not begun is told in extra["unchecked"].
    """
    if outcome.certificate is None:
        return outcome, False
    from ..checker import UnfinishedError, check

    limit = _check_until(run)
    is_interrupted = run.stop() is Status.INTERRUPTED

    def is_over() -> bool:
        asked_again = run.stop() is Status.INTERRUPTED and not is_interrupted
        return asked_again or run.seconds() > limit

    try:
        verdict = check(outcome.certificate, problem, is_over, run.threads_here())
    except UnfinishedError:
        why = "the time limit" if run.stop() is Status.TIME_LIMIT else "an interruption"
        said = f"{why} left no time for the independent checker; mipclass.verify(result.certificate, X, y) checks the certificate"
        return replace(outcome, extra={**outcome.extra, "unchecked": said}), False
    if verdict:
        return outcome, True
    is_claimed = outcome.status in (Status.OPTIMAL, Status.INFEASIBLE)
    return replace(
        outcome,
        status=Status.NUMERICAL_ERROR if is_claimed else outcome.status,
        claim="heuristic" if outcome.values else "none",
        bound=None,
        raw_status=f"the independent checker does not accept the certificate ({verdict}), so nothing is proven; "
        "try another solver, e.g. solver='highs', or 'pcs' for few features",
    ), False
