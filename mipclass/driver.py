"""solve: one call for every problem, every solver and every method; solvers: who can, and what they promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import registry
from .backends.base import Backend, Solution
from .errors import InvalidInputError, MipclassError, SolverNotFoundError, UnsupportedProgramError
from .methods.base import Method
from .model import Model, Problem
from .options import resolve_options
from .program import Array, Feature, Program
from .reductions.base import Reduction
from .reductions.change_of_basis import ChangeOfBasis
from .reductions.indicator_to_bigm import IndicatorToBigM
from .result import Claim, Outcome, Result, Status, Values, relative_gap
from .run import Callback, Run, interruptible

RECOUNT_TOLERANCE = 1e-6


@dataclass(frozen=True)
class PlainProgram:
    """A Program as a Problem: its values are its blocks, its objective is its own."""

    of: Program
    name: str = "program"

    def program(self) -> Program:
        return self.of

    def decode(self, x: Array) -> Values:
        return self.of.split(x)

    def encode(self, values: Mapping[str, Any]) -> Array:
        return self.of.join(dict(values))

    def recount(self, values: Mapping[str, Any]) -> float:
        return self.of.objective(self.of.join(dict(values)))


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
    _check_limits(time_limit, gap, seed, threads, callback)
    run = Run(
        time_limit=time_limit,
        gap=gap,
        seed=seed,
        threads=threads,
        warm_start=_start_values(warm_start),
        callback=callback,
        progress=progress,
    )
    task = as_problem(problem)
    _check_start(task, run.warm_start)
    chosen = registry.find(choose(task) if solver == "auto" else solver)
    name = chosen.name
    run.begin(name, resolve_options(name, chosen.options, options))
    try:
        with interruptible(run):
            if isinstance(chosen, Method):
                reason = chosen.refuses(task)
                if reason is not None:
                    raise UnsupportedProgramError(f"solver {name!r} cannot solve model {task.name!r}: {reason}")
                run.say("at work (a first call compiles its kernels, once)")
                return _finish(task, chosen.solve(task, run), run, name, _package_version())
            outcome = _through_backend(task, chosen, run)
            return _finish(task, outcome, run, name, chosen.version())
    finally:
        run.close()


def as_problem(problem: Any) -> Problem:
    """Whatever `solve` accepts, as a Problem."""
    if isinstance(problem, Program):
        return PlainProgram(problem, problem.name)
    if isinstance(problem, Problem):
        return problem
    origin = type(problem).__module__.partition(".")[0]
    if origin == "pyomo":
        from .bridges.pyomo import PyomoProblem

        return PyomoProblem(problem)
    if origin == "cvxpy":
        from .bridges.cvxpy import CvxpyProblem

        return CvxpyProblem(problem)
    raise InvalidInputError(
        f"solve takes a mipclass Model or Program, a Pyomo ConcreteModel or a cvxpy Problem; got {type(problem).__name__}."
    )


def choose(problem: Problem) -> str:
    """The solver behind solver="auto": the method made for the model, else the best installed backend for its kind."""
    methods = registry.method_names()
    for name in registry.AUTO_METHODS:
        if name in methods:
            method = registry.find(name)
            if isinstance(method, Method) and method.refuses(problem) is None and method.prefers(problem):
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


def _check_limits(time_limit: Any, gap: Any, seed: Any, threads: Any, callback: Any) -> None:
    if time_limit is not None and (not _is_number(time_limit) or not time_limit > 0):
        raise InvalidInputError(f"time_limit must be a positive number of seconds or None; got {time_limit!r}.")
    if not _is_number(gap) or not 0 <= gap < np.inf:
        raise InvalidInputError(f"gap must be a number >= 0; got {gap!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise InvalidInputError(f"seed must be a whole number; got {seed!r}.")
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        raise InvalidInputError(f"threads must be a whole number >= 1; got {threads!r}.")
    if callback is not None and not callable(callback):
        raise InvalidInputError(f"callback must be a function of an Event or None; got {type(callback).__name__}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _start_values(warm_start: Result | Mapping[str, Any] | None) -> Values | None:
    if warm_start is None:
        return None
    values = warm_start.values if isinstance(warm_start, Result) else warm_start
    if not isinstance(values, Mapping):
        raise InvalidInputError(f"warm_start takes a Result or values by name; got {type(warm_start).__name__}.")
    try:
        return {name: np.asarray(value, dtype=np.float64) for name, value in values.items()} or None
    except (TypeError, ValueError) as err:
        raise InvalidInputError(f"warm_start must hold arrays of numbers by name; {err}.") from err


def _check_start(problem: Problem, start: Values | None) -> None:
    """Refuse a start for a rule of another shape, whichever solver would read it."""
    if start is None or not isinstance(problem, Model):
        return
    for name, variables in problem.rule.variables(problem.data).items():
        given = start.get(name)
        if given is None:
            continue
        if given.size != variables.size:
            raise InvalidInputError(
                f"warm_start has {given.size} value(s) for {name!r}; this model's {name!r} has {variables.size}."
            )
        if not np.isfinite(given).all():
            raise InvalidInputError(f"warm_start holds NaN or infinity for {name!r}; leave out what is not known.")


# -- backends ---------------------------------------------------------------------------------------------------------


def _through_backend(problem: Problem, backend: Backend, run: Run) -> Outcome:
    program = problem.program()
    steps: list[Reduction] = [] if Feature.INDICATOR in backend.features else [IndicatorToBigM()]
    basis = getattr(problem, "basis", None)
    if basis is not None:
        steps.append(ChangeOfBasis(basis()))
    reduced, receipts = program, []
    for step in steps:
        reduced, receipt = step.apply(reduced)
        receipts.append(receipt)
    missing = reduced.needs - backend.features
    if missing:
        raise UnsupportedProgramError(_cannot(problem, backend, reduced, missing))
    if run.warm_start is not None:
        start = problem.encode(run.warm_start)
        for step, receipt in zip(steps, receipts, strict=True):
            start = step.forward(start, receipt)
        run.warm_start = {"x": start}
    solution = backend.solve(reduced, run)
    x = solution.x
    if x is not None:
        for step, receipt in zip(reversed(steps), reversed(receipts), strict=True):
            x = step.undo(x, receipt)
    return _outcome(problem, program, solution, x, run.gap)


def _outcome(problem: Problem, program: Program, solution: Solution, x: Array | None, gap: float) -> Outcome:
    bound = None if solution.bound is None else program.round_bound(solution.bound)
    extra: dict[str, Any] = {**solution.extra}
    for name in ("row_duals", "column_duals", "ray"):
        if getattr(solution, name) is not None:
            extra[name] = getattr(solution, name)
    scope = getattr(problem, "scope", None)
    if scope is not None:
        extra["scope"] = scope()  # of an optimum as of an infeasibility
    if x is None:
        claim: Claim = "proven" if solution.status in (Status.INFEASIBLE, Status.UNBOUNDED) else "none"
        return _as_outcome(solution, claim, None, None, bound, extra)
    values = problem.decode(x)
    objective = float(solution.objective) if solution.objective is not None else program.objective(x)
    claim = "proven" if solution.status is Status.OPTIMAL else "heuristic"
    recounted = problem.recount(values)
    tolerance = RECOUNT_TOLERANCE * max(1.0, abs(objective))
    if recounted < objective - tolerance:
        # Decoding removed ties and the model's margin eps, so the rule is better than the solver knew.
        objective = recounted
        if bound is not None and bound > objective + tolerance:
            extra["bound_within_margin"] = bound  # true only of rules whose correct points keep the margin eps
            bound, claim = None, "heuristic"
    elif recounted > objective + tolerance:
        extra["recounted_objective"] = recounted
        claim = "heuristic"
    elif program.has_integral_objective:
        objective = recounted
    left = relative_gap(objective, bound)
    if gap > 0 and left is not None and left > RECOUNT_TOLERANCE:
        claim = "heuristic"  # good enough by the caller's own gap, which is no proof of optimality
    return _as_outcome(solution, claim, values, objective, bound, extra)


def _as_outcome(
    solution: Solution,
    claim: Claim,
    values: Values | None,
    objective: float | None,
    bound: float | None,
    extra: dict[str, Any],
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
    )


def _cannot(problem: Problem, backend: Backend, program: Program, missing: frozenset[Feature]) -> str:
    able = [row.name for row in solvers(problem) if row.accepts and row.installed]
    why = ", ".join(sorted(missing))
    return (
        f"solver {backend.name!r} cannot solve model {problem.name!r}, a {program.kind} with {int(program.integer.sum())} integer "
        f"variables: it lacks {why} and takes {', '.join(sorted(backend.features))}. Installed solvers that can: {', '.join(able) or 'none'}."
    )


# -- the result -------------------------------------------------------------------------------------------------------


def _finish(problem: Problem, outcome: Outcome, run: Run, solver: str, version: str) -> Result:
    values = outcome.values or {}
    extra = dict(outcome.extra)
    recounted = False
    if values and outcome.objective is not None:
        true = problem.recount(values)
        recounted = abs(true - outcome.objective) <= RECOUNT_TOLERANCE * max(1.0, abs(outcome.objective))
        broken = problem.violations(values) if hasattr(problem, "violations") else {}
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
    from .verify import check

    return bool(check(outcome.certificate, problem))


def _package_version() -> str:
    from . import __version__

    return __version__


# -- who can ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SolverInfo:
    """One row of `solvers()`: `accepts` is None without a problem; `reason` says why not."""

    name: str
    kind: str
    installed: bool
    features: tuple[str, ...]
    promise: str
    accepts: bool | None = None
    reason: str = ""


def solvers(problem: Any = None) -> list[SolverInfo]:
    """Every solver, what it promises and, for a given problem, whether it can solve it and why not."""
    task = None if problem is None else as_problem(problem)
    rows = [_backend_row(name, task) for name in _listed_backends()]
    for name in registry.method_names():
        method = registry.find(name)
        reason = method.refuses(task) if task is not None and isinstance(method, Method) else None
        accepts = None if task is None else reason is None
        rows.append(SolverInfo(name, "method", True, (), method.promise, accepts, reason or ""))
    return rows


def _listed_backends() -> list[str]:
    members = [name for family in registry.FAMILIES for name in registry.family_members(family)]
    return [*registry.backend_names(), *members]


def _backend_row(name: str, task: Problem | None) -> SolverInfo:
    try:
        backend = registry.find(name)
    except SolverNotFoundError as missing:
        return SolverInfo(name, "backend", False, (), "", None if task is None else False, str(missing))
    if not isinstance(backend, Backend):
        raise MipclassError(f"the entry point {name!r} in mipclass.backends is not a Backend.")
    features = tuple(sorted(backend.features))
    if task is None:
        return SolverInfo(name, "backend", True, features, backend.promise)
    program = task.program()
    reason = ""
    if Feature.INDICATOR not in backend.features and len(program.indicators):
        try:
            program = IndicatorToBigM().apply(program)[0]
        except UnsupportedProgramError as err:
            reason = str(err)
    if not reason and program.needs - backend.features:
        reason = f"lacks {', '.join(sorted(program.needs - backend.features))}"
    return SolverInfo(name, "backend", True, features, backend.promise, not reason, reason)
