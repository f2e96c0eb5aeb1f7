"""outlier-path: a path of local solutions of the robust SVM, OP-theta and OP-s of Suzumura et al. (2014)."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...arrays import Array
from ...errors import MipclassWarning
from ...modelling.problem import Problem
from ...models.rules import not_positive_semidefinite
from ...protocol.options import Option, Options, number, one_of, optional
from ...protocol.result import Claim, Outcome, Status, Values
from ...protocol.run import Run
from ..base import Method, Refusal
from .conditional_qp import by_backend
from .form import RobustForm, match_robust
from .jumps import DSolver, by_homotopy, by_primal_dual, leave_cut_off
from .kernel_rows import KernelRows
from .kernels.operators import Operator, SignedRows
from .kernels.partition import LEFT, OUT, RIGHT, States
from .local_optimality import SOLVED, TOLERANCE, LocalOptimality, local_optimality, violations
from .solution_path import OutlierPath, Parameter
from .state import OutlierState, PathCutError, PathStalledError
from .steps import Memory, difference
from .svm.sifting import sift_svm
from .svm.start import solve_svm
from .tracer import Tracer
from .working_set import CheckedSets

OWN_STEPS = ("auto", "homotopy", "primal-dual")  # values of the option d_step that name no backend
MEGABYTE = 1_000_000  # bytes
KERNEL_MB = 500  # MB of a kernel matrix, or of its rows, that are held by default: 7,900 points are stored in full
ATTEMPTS = 3  # traces of a path that stalls, each with other random shifts of the levels
# Largest violation of the optimality conditions, recomputed from the data and relative to 1 + sum_j |Q_ij alpha_j|, at which
# the claim is "local".
CLAIMED = 1e-7
# Largest absolute violation (the levels are 1 and s) at which the claim is "local": where it is larger, the levels drown in
# rounding or in the ridge of a kernel matrix.
BLURRED = 1e-4
PROVEN_GAP = 1e-8  # relative gap of the bound that is reported where the problem is convex
# -1/2 a'Qa, relative to sum_i C_i Q_ii, from which a kernel counts as not positive semidefinite rather than as rounding.
INDEFINITE = 1e-8


SUMS_AT_ONCE = (
    100  # points whose sums of |Q_ij alpha_j| are computed together: bounds the memory at so many times n numbers
)


def _is_name(value: Any) -> str | None:
    return None if isinstance(value, str) else "'auto', 'homotopy', 'primal-dual' or the name of a backend for QPs"


class OutlierPathMethod(Method[RobustForm]):
    """0.5 * L2() + C * Ramp(theta, s), rule Linear or Kernel.

    Starts at the SVM and follows local solutions while theta falls from 1 (with s fixed) or s rises from the smallest margin
    (with theta fixed) to the values asked for. extra["path"] is the OutlierPath. extra["violation"] is the largest violation
    of the conditions for a local optimum, recomputed from the data, relative to 1 + sum_j |Q_ij alpha_j|;
    extra["absolute_violation"] is the largest absolute violation, at the end and at the SVM where the path starts. Both are None
    when a limit ended the path or left no time for the check.
    """

    name: ClassVar[str] = "outlier-path"
    promise: ClassVar[str] = "local: an exact path of local optima from the SVM to the robust SVM"
    options: ClassVar[Options] = {
        "path": Option("theta", "which parameter moves, 'theta' or 's'", one_of("theta", "s")),
        "d_step": Option(
            "auto",
            "who solves the conditional QPs: 'homotopy', 'primal-dual', a backend such as 'osqp', or 'auto' (homotopy for a "
            "linear rule, primal-dual for a kernel)",
            _is_name,
        ),
        "breakpoints": Option(
            None,
            "most breakpoints to store, the first and the last among them; None: all",
            optional(number(2, integer=True)),
        ),
        "kernel_memory": Option(
            KERNEL_MB,
            "MB up to which a kernel matrix is stored; beyond, its rows are computed as needed and half as many MB of them kept",
            number(1),
        ),
    }

    def match(self, problem: Problem) -> RobustForm | Refusal:
        """The robust SVM that the problem states, or why it states none."""
        return match_robust(problem)

    def solve(self, form: RobustForm, run: Run) -> Outcome:
        """Follow the path to the values asked for, and check its end from the data."""
        most = run.options["breakpoints"]
        memory = int(MEGABYTE * run.options["kernel_memory"])
        path, status = follow_path(form, run, run.options["path"], run.options["d_step"], most=most, memory=memory)
        if most:
            path.thin(most)
        alpha = path.alpha(-1)
        values = form.values(alpha)
        # At theta = 1 the loss treats all points alike.
        outliers = form.of_all_points(path.outliers(-1) & (form.theta < 1.0))
        check = _check_of_end(form, path, values, run, memory) if path.complete else None
        if check is None and status is None:
            status = run.stop()
        _warn_of_scale(status, 0.0 if check is None else check.blur)
        claim: Claim = "heuristic"
        if check is not None and check.holds:
            claim = "proven" if form.theta == 1.0 else "local"
        objective = float(form.model.recount(values))
        return Outcome(
            status=status or Status.OPTIMAL,
            claim=claim,
            values=values,
            objective=objective,
            bound=objective - PROVEN_GAP * max(1.0, abs(objective)) if claim == "proven" else None,
            iterations=len(path),
            raw_status=path.note or ("path complete" if path.complete else "path stopped early"),
            extra={
                "path": path,
                "outliers": outliers,
                "alpha": alpha,
                "violation": None if check is None else check.violation,
                "absolute_violation": None if check is None else check.blur,
            },
        )


class EndCheck(NamedTuple):
    """The conditions at the end of a path: relative and absolute violation, and whether they hold."""

    violation: float
    blur: float
    holds: bool


def _check_of_end(form: RobustForm, path: OutlierPath, values: Values, run: Run, memory: int) -> EndCheck | None:
    """The optimality conditions recomputed from the data; None when the run has to stop first."""
    model, operator, C, theta, s = form.model, form.points.within(memory), form.C, form.theta, form.s
    alpha, svm = path.alpha(-1), path.alpha(0)
    margins = model.margins(values)[model.points.first]
    violation = _relative_violation(form, operator, alpha, margins, run)
    if violation is None:
        return None
    if isinstance(operator, KernelRows):
        absolute = _optimality_by_rows(operator, alpha, margins, form)
    else:
        absolute = local_optimality(alpha, margins, C, theta, s, rows=operator.matrix)
    blur = max(absolute.violation, local_optimality(svm, operator.margins(svm), C, 1.0, 0.0).violation)
    return EndCheck(violation, blur, violation <= CLAIMED and blur <= BLURRED and absolute.tie_violation <= SOLVED)


def _optimality_by_rows(operator: KernelRows, alpha: Array, margins: Array, form: RobustForm) -> LocalOptimality:
    """`local_optimality` where Q is not stored: ties are decided on the points at a level alone, which are all that they depend on."""
    C, theta, s = form.C, form.theta, form.s
    found = local_optimality(alpha, margins, C, theta, s)
    if len(found.ties) == 0:
        return found
    names = np.union1d(found.ties, np.flatnonzero(np.abs(margins - 1.0) <= TOLERANCE)).astype(np.int64)
    at_levels = local_optimality(
        alpha[names], margins[names], C[names], theta, s, rows=operator.restrict(names).matrix
    )  # fmt: skip
    return replace(found, tie_violation=at_levels.tie_violation)


def _relative_violation(
    form: RobustForm, operator: Operator | KernelRows, alpha: Array, margins: Array, run: Run
) -> float | None:
    """The largest violation relative to 1 + sum_j |Q_ij alpha_j|; None when the run has to stop first.

    Such a sum costs O(n d), and only points whose violation relative to 1 is larger than the largest found so far need it.
    """
    C, theta, s = form.C, form.theta, form.s
    each = violations(alpha, margins, C, theta, s, np.ones(len(alpha)))
    order, worst = np.argsort(-each), 0.0
    for start in range(0, len(order), SUMS_AT_ONCE):
        block = order[start : start + SUMS_AT_ONCE]
        if each[block[0]] <= worst:
            break
        if run.stop() is not None:
            return None
        unit = operator.margin_scale(alpha, block)
        worst = max(worst, float(violations(alpha[block], margins[block], C[block], theta, s, unit).max()))
    return worst


def _warn_of_scale(status: Status | None, blur: float) -> None:
    """Say that features or C are too large when the path stalled or its absolute violation `blur` is above BLURRED."""
    if status is Status.NUMERICAL_ERROR:
        why = "stalled"
    elif blur > BLURRED:
        why = f"knows its margins only to {blur:.0e}"
    else:
        return
    warnings.warn(
        f"the outlier path {why}, so the rule is only a heuristic one: the features or C are too large. Scale the features "
        "(StandardScaler in a Pipeline) or lower C.",
        MipclassWarning,
        stacklevel=5,
    )


def follow_path(
    form: RobustForm,
    run: Run,
    parameter: Parameter,
    d_step: str = "auto",
    *,
    start: Array | None = None,
    most: int | None = None,
    memory: int = KERNEL_MB * MEGABYTE,
) -> tuple[OutlierPath, Status | None]:
    """The path from the SVM to (theta, s) of `form`; the status says why it stopped early, or is None.

    `most`: breakpoints to which the path is thinned whenever it has twice as many, or None. `memory`: bytes of a kernel matrix that
    may be stored; a backend for the QPs takes the whole matrix.
    `start`: multipliers near those of the SVM, such as breakpoint 0 of the path in the other parameter, if known. A path that
    stalls is traced anew with other random shifts of the levels.
    """
    operator = form.points.within(memory) if d_step in OWN_STEPS else form.points.factorable
    path = OutlierPath(parameter, form.y, form.C, most=most)
    path, status = _trace(form, operator, run, path, d_step, start, run.seed)
    for attempt in range(1, ATTEMPTS):
        if status is not Status.NUMERICAL_ERROR:
            break
        path = OutlierPath(parameter, form.y, form.C, most=most)
        path, status = _trace(form, operator, run, path, d_step, None, run.seed + attempt)
    return path, status


def _trace(
    form: RobustForm,
    operator: Operator | KernelRows,
    run: Run,
    path: OutlierPath,
    d_step: str,
    start: Array | None,
    seed: int,
) -> tuple[OutlierPath, Status | None]:
    """One attempt of `follow_path`, with random shifts of the levels from `seed`."""
    state = OutlierState.at_zero(operator, form.C, seed=seed, stop=run.stop)
    change_sides, restrict = _d_solver(d_step, state, run)
    parameter = path.parameter
    try:
        if isinstance(operator, KernelRows):
            status = sift_svm(state, operator, run, start)
        else:
            status = solve_svm(state, run, start)
    except PathStalledError:
        status = Status.NUMERICAL_ERROR
    if status is not None:
        _add(path, state, "start")
        return path, status
    if 0.5 * float(state.a @ state.true_margins()) < -INDEFINITE * float(state.C @ np.abs(state.operator.diagonal)):
        raise not_positive_semidefinite()
    path.note = _begin(state, form, parameter)
    _add(path, state, "start")
    until = form.theta if parameter == "theta" else form.s
    if path.note:
        path.complete = True
        if path.values[0] != until:
            if parameter == "theta":
                state.set_theta(until)
            else:
                state.set_s(until)
            _add(path, state, "end")
    else:
        status = Tracer(state, path, run, change_sides, restrict=restrict).trace(until)
    if isinstance(operator, KernelRows):
        return path, status or _leave_cut_off_by_rows(path, state, run, change_sides)
    return path, status or _leave_cut_off(path, state, run, change_sides)


def _begin(state: OutlierState, form: RobustForm, parameter: Parameter) -> str:
    """Put the state of the SVM at the beginning of the path; returns why the path is the SVM itself, or nothing."""
    smallest = float(state.true_margins().min())
    if parameter == "theta":
        state.set_s(form.s)
        if smallest < form.s:
            state.state[(state.state == LEFT) & (state.m < state.q)] = OUT
    else:
        state.set_s(min(smallest, form.s))
        state.set_theta(form.theta)
    if smallest >= form.s:
        return "no outliers: every margin of the SVM is above the cut-off, so the path is the SVM itself"
    if form.theta == 1.0:
        state.set_theta(1.0)
        return "theta = 1 is the hinge loss: the SVM itself"
    return ""


def _leave_cut_off(path: OutlierPath, state: OutlierState, run: Run, change_sides: DSolver) -> Status | None:
    """Jump from the end of the path while a point at the cut-off is better on the other side; why it stopped early, or None."""
    while state.theta < 1.0:
        before = state.state.copy()
        try:
            who = leave_cut_off(state, change_sides)
        except PathCutError:
            return run.stop()
        if who < 0:
            break
        path.note = ""
        _add(path, state, "jump", who, before)
        status = run.stop()
        if status is not None:
            return status
    return None


def _leave_cut_off_by_rows(path: OutlierPath, state: OutlierState, run: Run, change_sides: DSolver) -> Status | None:
    """`_leave_cut_off` on working sets, where Q is not stored."""
    sets = CheckedSets(state, path)
    while state.theta < 1.0:
        batch = sets.next()
        try:
            who = leave_cut_off(batch.part, change_sides)
        except PathCutError:
            return run.stop()
        if who < 0:
            break
        path.note = ""
        batch.record("jump", who)
        batch.checkpoint()
        sets.take(batch)
        status = run.stop()
        if status is not None:
            return status
    return None


def _d_solver(d_step: str, state: OutlierState, run: Run) -> tuple[DSolver, bool]:
    """The D-step and whether the path may be followed on a working set."""
    if d_step not in OWN_STEPS:
        return by_backend(d_step, run), False
    if d_step == "homotopy" or isinstance(state.operator, SignedRows):
        return by_homotopy, True
    return by_primal_dual, True


def _add(path: OutlierPath, state: OutlierState, event: str, point: int = -1, states: States | None = None) -> None:
    """Record the whole state as a breakpoint; `states`: those of the points at the breakpoint before, if they were others."""
    n = len(state.a)
    if len(path):
        rest, out = path.alpha(-1) - path.theta[-1] * path.C * path.outliers(-1), path.outliers(-1)
        before = Memory(rest, out, state.state if states is None else states)
    else:
        before = Memory(np.zeros(n), np.zeros(n, dtype=bool), np.full(n, RIGHT, dtype=np.int8))
    now = Memory.of(state.a, state.out_level, state.outliers, state.state)
    step = difference(before, now, theta=state.theta, s=state.s, event=event, point=point)
    path.add(step, np.array([state.objective()]))
