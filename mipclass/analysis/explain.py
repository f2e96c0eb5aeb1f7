"""Why a model is infeasible, in the user's words.

1. A minimal set of constraints that cannot hold together (drop each in turn; keep it dropped while the rest conflicts).
2. For each of them, the smallest limit with which the others could hold: its own quantity minimised under the others.
3. The data rows behind it: grow a set of points until their margin rows alone conflict with the constraints, then drop
   points while the conflict stays. Minimal when the time suffices, and said so.

HiGHS answers most of these questions in a moment. What it leaves open goes to `exact`, which proves 0-1 losses under limits on errors and rows
on the weights at sizes where a big-M model says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import Array
from ..backends.highs_iis import find_conflict
from ..errors import InvalidInputError, UnsupportedProgramError
from ..methods.base import Method, Refusal
from ..modelling.algebra import Constraint, Objective
from ..modelling.model import Model
from ..modelling.problem import AsStated, Problem
from ..modelling.program import Program
from ..models.coefficient_constraints import MaxFeatures
from ..models.rate_constraints import FalseNegativeRate, FalsePositiveRate
from ..models.relaxations import relaxation
from ..protocol.result import Result, Status, Values
from ..protocol.run import Run
from ..solving import registry
from ..solving.driver import solve

NOTHING_TO_EXPLAIN = (
    "the problem is not known to be infeasible (it has a solution, or the time ran out): nothing to explain."
)
FIRST_POINT = {"highs": {"mip_max_improving_sols": 1}}

A_MOMENT = 3.0
"""Seconds that HiGHS has for a question that `exact` takes as well."""

ANY_POINT = 1.0
"""Relative gap at which `exact` ends with the first rule that keeps the constraints."""


@dataclass(frozen=True)
class Move:
    """One constraint of the conflict and the limit with which the others could hold.

    `needed` is None when the constraint has no number to move; `proven` says that no smaller move suffices.
    """

    constraint: str
    needed: float | None
    proven: bool
    text: str


@dataclass(frozen=True, eq=False)
class Explanation:
    """`constraints` cannot hold together; each `move` alone would make them hold; `rows` are the points behind it."""

    constraints: tuple[str, ...]
    moves: tuple[Move, ...]
    rows: NDArray[np.int64]
    rows_are_minimal: bool

    def __str__(self) -> str:
        lines = ["These constraints cannot hold together:"]
        lines += [f"  - {name}" for name in self.constraints]
        lines += ["Any one of these changes would do:"] if self.moves else []
        lines += [f"  - {move.text}" for move in self.moves]
        if len(self.rows):
            shown = ", ".join(map(str, self.rows[:20])) + (" ..." if len(self.rows) > 20 else "")
            kind = "no fewer rows conflict" if self.rows_are_minimal else "fewer may conflict too"
            lines.append(f"Because of data rows {shown} ({len(self.rows)} rows; {kind}).")
        return "\n".join(lines)


def explain(problem: Model | Program, *, time_limit: float = 60.0) -> Explanation:
    """Explain why `problem` is infeasible; raises when it is not, or when the time does not suffice to tell.

    Of a Model, constraints and data rows are named; of a Program (one read from a file, say), its rows and bounds.

    Example
    -------
    >>> from mipclass import explain, models
    >>> rates = [models.FalsePositiveRate(at_most=0.0), models.FalseNegativeRate(at_most=0.0)]
    >>> problem = models.Model([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], minimize=models.ZeroOne(), subject_to=rates)
    >>> print(explain(problem))
    These constraints cannot hold together:
      - false-positive rate <= 0
      - false-negative rate <= 0
    Any one of these changes would do:
      - false-positive rate <= 0 would have to become <= 0.5
      - false-negative rate <= 0 would have to become <= 0.5
    Because of data rows 1, 2, 3 (3 rows; no fewer rows conflict).
    """
    run = Run.quiet(time_limit=time_limit)
    if isinstance(problem, Program):
        return _explain_program(problem, run)
    if _feasible(problem, run) is not False:
        raise InvalidInputError(NOTHING_TO_EXPLAIN)
    conflict = _minimal_conflict(problem, run)
    moves = tuple(_move(problem, c, run, len(conflict) - k) for k, c in enumerate(conflict))
    core = _with(problem, problem.objective, conflict)
    rows, minimal = _conflicting_rows(core, run)
    return Explanation(tuple(c.formula() for c in conflict), moves, rows, minimal)


def _explain_program(program: Program, run: Run) -> Explanation:
    conflict = find_conflict(program, run)
    if conflict is None:
        raise InvalidInputError(NOTHING_TO_EXPLAIN)
    whole = ("whole-number variables",) if conflict.needs_integrality else ()
    return Explanation((*conflict.conditions(program), *whole), (), np.zeros(0, np.int64), conflict.irreducible)


def _with(problem: Model, objective: Objective, constraints: list[Constraint]) -> Model:
    return Model.from_data(
        problem.data, rule=problem.rule, minimize=objective, subject_to=tuple(constraints), name=problem.name
    )


def _feasible(problem: Problem, run: Run) -> bool | None:
    """True, False, or None when the time ran out or the solver does not take the problem."""
    if run.stop() is not None:
        return None
    try:
        result = _first_point(problem, run)
    except UnsupportedProgramError:  # without a constraint that bounds the weights, margin rows have no big-M form
        return None
    if result.status is Status.INFEASIBLE:
        return False
    return True if result.has_point else None


def _first_point(problem: Problem, run: Run) -> Result:
    seconds = max(0.01, run.seconds_left())
    options = {"highs": FIRST_POINT["highs"]}
    if not isinstance(problem, Model) or not _is_provable(problem):
        return solve(problem, "highs", time_limit=seconds, options=options)
    result = solve(problem, "highs", time_limit=min(A_MOMENT, seconds), options=options)
    if result.has_point or result.status is Status.INFEASIBLE:
        return result
    return solve(problem, "exact", time_limit=max(0.01, run.seconds_left()), gap=ANY_POINT)


def _is_provable(problem: Model) -> bool:
    """Whether `exact` takes the problem."""
    method = registry.find("exact")
    return isinstance(method, Method) and not isinstance(method.match(problem), Refusal)


def _minimal_conflict(problem: Model, run: Run) -> list[Constraint]:
    kept = list(problem.constraints)
    for constraint in problem.constraints:
        others = [c for c in kept if c is not constraint]
        if _feasible(_with(problem, problem.objective, others), run) is False:
            kept = others
    return kept


def _move(problem: Model, constraint: Constraint, run: Run, left: int) -> Move:
    """The least limit of a constraint with which the others hold; `left` moves and the search for rows share the time that is left."""
    name = constraint.formula()
    found = relaxation(constraint, problem)
    others = [c for c in problem.constraints if c is not constraint]
    if found is None or run.stop() is not None:
        return _dropped(problem, constraint, run)
    term, unit = found
    scale = [pair for pair in problem.objective.terms if not pair[1].is_scale_free]
    objective = Objective(((1.0, term), *((0.0, other) for _, other in scale)))
    try:
        result = _least(_with(problem, objective, others), max(0.01, run.seconds_left() / (left + 1)))
    except UnsupportedProgramError:  # as in _feasible
        return _dropped(problem, constraint, run)
    if result.objective is None:
        return _dropped(problem, constraint, run)
    needed = result.objective / unit
    proven = result.claim == "proven"
    about = "" if proven else " (at most; not proven least)"
    if isinstance(constraint, FalsePositiveRate | FalseNegativeRate | MaxFeatures) or hasattr(constraint, "at_most"):
        return Move(name, needed, proven, f"{name} would have to become <= {needed:.6g}{about}")
    return Move(name, needed, proven, f"{name} would have to give way by {needed:.6g}{about}")


def _least(problem: Model, seconds: float) -> Result:
    """The optimum, or the best that is found in so many seconds."""
    if not _is_provable(problem):
        return solve(problem, "highs", time_limit=seconds)
    result = solve(problem, "highs", time_limit=min(A_MOMENT, seconds))
    if result.claim == "proven" or seconds <= A_MOMENT:
        return result
    proven = solve(problem, "exact", time_limit=seconds - A_MOMENT)
    is_better = result.objective is None or (proven.objective is not None and proven.objective <= result.objective)
    return proven if is_better else result


def _dropped(problem: Model, constraint: Constraint, run: Run) -> Move:
    """The move that gives a constraint up, with a remark when the others are not known to hold together then."""
    others = [c for c in problem.constraints if c is not constraint]
    enough = _feasible(_with(problem, problem.objective, others), run)
    about = "" if enough else " (not shown to suffice)"
    return Move(constraint.formula(), None, False, f"drop: {constraint.formula()}{about}")


@dataclass(frozen=True, eq=False)
class _OnlySomePoints(AsStated):
    """A model in which only some points have to keep their margin; all other rows stay."""

    model: Model
    points: NDArray[np.bool_]
    name: str = "restricted"

    def program(self) -> Program:
        """The model's program without the margin rows of the other points, and without an objective."""
        program = self.model.program()
        lower, upper = program.row_lower.copy(), program.row_upper.copy()
        for block in program.rows:
            if block.name in ("margin", "wrong"):
                dropped = np.arange(block.start, block.stop)[~self.points]
                lower[dropped], upper[dropped] = -np.inf, np.inf
        return program.replace_with(row_lower=lower, row_upper=upper, c=np.zeros(program.n_columns), Q=None)

    def basis(self) -> sp.csr_array | None:
        """The model's own."""
        return self.model.basis()

    def decode(self, x: Array) -> Values:
        """Values by block."""
        return self.program().split(x)

    def encode(self, values: Mapping[str, Any]) -> Array:
        """A start from values by block."""
        return self.program().join(dict(values))

    def recount(self, values: Mapping[str, Any]) -> float:
        """0: every feasible point is as good as any other."""
        return 0.0


def _conflicting_rows(core: Model, run: Run) -> tuple[NDArray[np.int64], bool]:
    """Data rows of a set of points whose margin rows conflict with the constraints, and whether it is minimal."""
    margin = [block for block in core.program().rows if block.name == "margin"]
    none = np.zeros(0, np.int64)
    if not margin or _feasible(_OnlySomePoints(core, np.zeros(core.points.n, bool)), run) is False:
        return none, True  # the constraints conflict by themselves, whatever the data
    points = _grow(core, run)
    minimal = True
    for k in np.flatnonzero(points):
        fewer = points.copy()
        fewer[k] = False
        answer = _feasible(_OnlySomePoints(core, fewer), run)
        if answer is False:
            points = fewer
        minimal &= answer is not None
    return core.points.first[points], minimal


def _grow(core: Model, run: Run) -> NDArray[np.bool_]:
    """Add the points that the rule for the present set gets wrong, until no rule is left."""
    points = np.zeros(core.points.n, bool)
    while run.stop() is None:
        options = {"highs": FIRST_POINT["highs"]}
        result = solve(
            _OnlySomePoints(core, points), "highs", time_limit=max(0.01, run.seconds_left()), options=options
        )
        if not result.has_point:
            break
        scores = core.rule.scores({"w": result.values["w"], "b": result.values.get("b", 0.0)}, core.points.X)
        wrong = (core.points.y_pm1 * scores <= 0) & ~points
        if not wrong.any():
            break
        points |= wrong
    return points if run.stop() is None else np.ones(core.points.n, bool)
