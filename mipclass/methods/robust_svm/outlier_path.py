"""outlier-path: a path of local solutions of the robust SVM, OP-theta and OP-s of Suzumura et al. (2014)."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...errors import MipclassWarning
from ...models.rules import not_positive_semidefinite
from ...protocol.options import Option, Options, one_of
from ...protocol.result import Claim, Outcome, Status
from ...protocol.run import Run
from ..base import Method
from .conditional_qp import by_backend
from .form import RobustProblem, read, refusal
from .jumps import DSolver, by_homotopy, by_primal_dual, leave_cut_off
from .kernels import homotopy as kernel
from .local_optimality import SOLVED, local_optimality
from .solution_path import Memory, OutlierPath, Parameter, difference
from .state import OutlierState, PathStalledError
from .svm_start import solve_svm
from .tracer import Tracer

ATTEMPTS = 3
CLAIMED = 1e-7  # a larger violation of the optimality conditions, recomputed from the data, makes the claim "heuristic"
BLURRED = (
    1e-4  # so does this one, relative to nothing: rounding, or the ridge of a kernel matrix, drowns the levels 1 and s
)


def _is_name(value: Any) -> str | None:
    return None if isinstance(value, str) else "'auto', 'homotopy', 'primal-dual' or the name of a backend for QPs"


class OutlierPathMethod(Method):
    """0.5 * L2() + C * Ramp(theta, s), rule Linear or Kernel.

    Starts at the SVM and follows local solutions while theta falls from 1 (with s fixed) or s rises from the smallest margin
    (with theta fixed) to the values asked for. extra["path"] is the OutlierPath, extra["violation"] the largest violation
    of the conditions for a local optimum, recomputed from the data, relative to 1 + sum_j |Q_ij alpha_j|, and
    extra["absolute_violation"] the same relative to nothing, also at the SVM it started from.
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
    }

    def refuses(self, problem: Any) -> str | None:
        return refusal(problem)

    def solve(self, problem: Any, run: Run) -> Outcome:
        robust = read(problem)
        path, status = follow_path(robust, run, run.options["path"], run.options["d_step"])
        alpha = path.alpha(-1)
        values = robust.values(alpha)
        outliers = np.zeros(problem.data.n, dtype=bool)
        kept = problem.points.point_of >= 0
        if robust.theta < 1.0:  # at theta = 1 all points are treated alike
            outliers[kept] = path.outliers(-1)[problem.points.point_of[kept]]
        margins = problem.margins(values)[problem.points.first]
        check = local_optimality(alpha, margins, robust.C, robust.theta, robust.s, scale=robust.margin_scale(alpha))
        absolute = local_optimality(alpha, margins, robust.C, robust.theta, robust.s, rows=robust.Z)
        svm = path.alpha(0)
        blur = max(absolute.violation, local_optimality(svm, robust.margins(svm), robust.C, 1.0, 0.0).violation)
        if status is Status.NUMERICAL_ERROR or (path.complete and blur > BLURRED):
            why = "stalled" if status is Status.NUMERICAL_ERROR else f"knows its margins only to {blur:.0e}"
            warnings.warn(
                f"the outlier path {why}, so the rule is only a heuristic one: the features or C are too large. Scale the features "
                "(StandardScaler in a Pipeline) or lower C.",
                MipclassWarning,
                stacklevel=4,
            )
        convex = robust.theta == 1.0
        exact = path.complete and check.violation <= CLAIMED and blur <= BLURRED and absolute.tie_violation <= SOLVED
        claim: Claim = ("proven" if convex else "local") if exact else "heuristic"
        objective = float(problem.recount(values))
        return Outcome(
            status=status or Status.OPTIMAL,
            claim=claim,
            values=values,
            objective=objective,
            bound=objective - 1e-8 * max(1.0, abs(objective)) if claim == "proven" else None,
            iterations=len(path),
            raw_status=path.note or ("path complete" if path.complete else "path stopped early"),
            extra={
                "path": path,
                "outliers": outliers,
                "alpha": alpha,
                "violation": check.violation,
                "absolute_violation": blur,
            },
        )


def follow_path(
    robust: RobustProblem, run: Run, parameter: Parameter, d_step: str = "auto", *, start: Array | None = None
) -> tuple[OutlierPath, Status | None]:
    """The path from the SVM to (theta, s) of `robust`; the status says why it stopped early, or is None.

    `start`: multipliers near those of the SVM, such as breakpoint 0 of the path in the other parameter, if known. A path that stalls is
    traced anew with other random shifts of the levels.
    """
    path, status = _follow(robust, run, parameter, d_step, start, run.seed)
    for attempt in range(1, ATTEMPTS):
        if status is not Status.NUMERICAL_ERROR:
            break
        path, status = _follow(robust, run, parameter, d_step, None, run.seed + attempt)
    return path, status


def _follow(
    robust: RobustProblem, run: Run, parameter: Parameter, d_step: str, start: Array | None, seed: int
) -> tuple[OutlierPath, Status | None]:
    if robust.linear:
        return _trace(robust, run, parameter, d_step, start, seed)
    # The state puts its ridge on the diagonal of Q; a second matrix of that size would double the memory.
    points = np.arange(len(robust.C))
    diagonal = robust.Z[points, points]
    try:
        return _trace(robust, run, parameter, d_step, start, seed)
    finally:
        robust.Z[points, points] = diagonal


def _trace(
    robust: RobustProblem, run: Run, parameter: Parameter, d_step: str, start: Array | None, seed: int
) -> tuple[OutlierPath, Status | None]:
    change_sides, restrict = _d_solver(d_step, robust.linear)
    state = OutlierState(robust.Z, robust.C, linear=robust.linear, seed=seed)
    path = OutlierPath(parameter, robust.y, robust.C)
    try:
        early = solve_svm(state, run, start)
    except PathStalledError:
        _first(path, state)
        return path, Status.NUMERICAL_ERROR
    if early is not None:
        _first(path, state)
        return path, early
    if not robust.linear and 0.5 * float(state.a @ state.true_margins()) < -1e-8 * float(
        state.C @ np.abs(state.diagonal)
    ):
        raise not_positive_semidefinite()
    until = robust.theta if parameter == "theta" else robust.s
    smallest = float(state.true_margins().min())
    if parameter == "theta":
        state.set_s(robust.s)
        if smallest < robust.s:
            state.state[(state.state == kernel.LEFT) & (state.m < state.q)] = kernel.OUT
    else:
        state.set_s(min(smallest, robust.s))
        state.set_theta(robust.theta)
    if smallest >= robust.s:
        path.note = "no outliers: every margin of the SVM is above the cut-off, so the path is the SVM itself"
    elif robust.theta == 1.0:
        path.note = "theta = 1 is the hinge loss: the SVM itself"
        state.set_theta(1.0)
    _first(path, state)
    if path.note:
        path.complete = True
        if path.values[0] != until and parameter == "theta":
            state.set_theta(until)
            _add(path, state, "end")
        elif path.values[0] != until:
            state.set_s(until)
            _add(path, state, "end")
        return path, _settle(path, state, run, change_sides)
    tracer = Tracer(state, path, run, change_sides, restrict=restrict)
    status = tracer.trace(until)
    return path, status or _settle(path, state, run, change_sides)


def _settle(path: OutlierPath, state: OutlierState, run: Run, change_sides: DSolver) -> Status | None:
    """Jump from the end of the path while points at the cut-off are better off on the other side; why it stopped early, or None."""
    while state.theta < 1.0:
        before = state.state.copy()
        who = leave_cut_off(state, change_sides)
        if who < 0:
            break
        path.note = ""
        _add(path, state, "jump", who, before)
        status = run.stop()
        if status is not None:
            return status
    return None


def _d_solver(d_step: str, linear: bool) -> tuple[DSolver, bool]:
    """The D-step and whether the path may be followed on a working set."""
    if d_step == "homotopy" or (linear and d_step in ("auto", "primal-dual")):
        return by_homotopy, True
    if d_step in ("auto", "primal-dual"):
        return by_primal_dual, True
    return by_backend(d_step), False


def _first(path: OutlierPath, state: OutlierState) -> None:
    _add(path, state, "start")


def _add(
    path: OutlierPath, state: OutlierState, event: str, point: int = -1, states: NDArray[np.int8] | None = None
) -> None:
    """Record the whole state as a breakpoint; `states`: those of the points at the one before, when they were others."""
    n = len(state.a)
    if len(path):
        rest, out = path.alpha(-1) - path.theta[-1] * path.C * path.outliers(-1), path.outliers(-1)
        before = state.state if states is None else states
    else:
        rest, out, before = np.zeros(n), np.zeros(n, dtype=bool), np.full(n, kernel.RIGHT, dtype=np.int8)
    step, _ = difference(
        state.a, state.out_level, state.outliers, state.state, Memory(rest, out, before.copy()), np.arange(n),
        theta=state.theta, s=state.s, event=event, point=point,
    )  # fmt: skip
    path.add(step, state.objective())
