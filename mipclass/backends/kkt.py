"""How far a primal-dual pair is from optimal, and the bound that its multipliers prove, recomputed from the Program's data.

A solver's own residuals are of its scaled, presolved problem and its own word. These are of the program as declared, and the
same for every solver.

The bound. Let g = Qx + c, row multipliers r and z = g - A'r. Convexity gives, for every feasible u,

    f(u) >= f(x) + g'(u - x) = f(x) + r'(Au - Ax) + z'(u - x),

and each term on the right is smallest at a side of its row or bound. A column whose side is absent or far away is followed only
REACH times its size from x, since rounding leaves some z_j on every free column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..modelling.program import Program
from ..protocol.result import Status
from ..protocol.run import Run
from .base import Solution

ACCURACY = 1e-6
"""What "proven" stands for on a continuous program, whoever solved it: no residual is above this."""
REACH = 10.0
"""How far from x_j, in units of max(1, |x_j|), the bound follows a column whose side is absent or farther away."""


@dataclass(frozen=True)
class Residuals:
    """Each relative to the size of what it is made of; all zero at an optimum of a convex program.

    primal : largest violation of a row or a bound, over the size of the terms that it is the sum of (at least 1).
    dual : largest entry of Qx + c - A' row_duals - column_duals, or of a multiplier that pushes from an absent side.
    gap : distance of the objective from the bound that the multipliers prove, its parts added up without cancelling, over the
        size of the objective (at least 1).
    bound : that bound; never above the objective.
    """

    primal: float
    dual: float
    gap: float
    bound: float

    @property
    def worst(self) -> float:
        """The largest of the three residuals."""
        return max(self.primal, self.dual, self.gap)

    def __str__(self) -> str:
        return f"primal {self.primal:.1e}, dual {self.dual:.1e}, gap {self.gap:.1e}"


def residuals(program: Program, x: Array, row_duals: Array, column_duals: Array) -> Residuals:
    """Residuals of the continuous program (integrality and indicators are not looked at). x must be finite."""
    activity, size = program.A @ x, np.abs(program.A) @ np.abs(x)
    gradient = program.c if program.Q is None else program.c + program.Q @ x
    row_duals, stray_rows = _on_sides(row_duals, program.row_lower, program.row_upper)
    pull = program.A.T @ row_duals
    costs = gradient - pull
    _, stray_columns = _on_sides(column_duals, program.lower, program.upper)
    dual_scale = max(1.0, _largest(program.c), _largest(gradient - program.c), _largest(pull))
    row_terms = _least(row_duals, program.row_lower - activity, program.row_upper - activity)
    reach = REACH * np.maximum(1.0, np.abs(x))
    column_terms = _least(costs, np.maximum(program.lower - x, -reach), np.minimum(program.upper - x, reach))
    objective = program.objective(x)
    loss = float(np.abs(row_terms).sum() + np.abs(column_terms).sum())
    loss = max(
        loss, _descent(program, np.where(np.isinf(np.where(costs > 0, program.lower, program.upper)), costs, 0.0))
    )
    return Residuals(
        primal=max(
            _violation(activity, program.row_lower, program.row_upper, size),
            _violation(x, program.lower, program.upper, np.abs(x)),
        ),
        dual=max(_largest(costs - column_duals), stray_rows, stray_columns) / dual_scale,
        gap=loss / max(1.0, abs(objective)),
        bound=objective + min(0.0, float(row_terms.sum() + column_terms.sum())),
    )


def reduced_costs(program: Program, x: Array, row_duals: Array) -> Array:
    """The column multipliers that row multipliers leave: Qx + c - A' row_duals, without multipliers on absent sides of rows."""
    gradient = program.c if program.Q is None else program.c + program.Q @ x
    on_sides, _ = _on_sides(row_duals, program.row_lower, program.row_upper)
    return np.asarray(gradient - program.A.T @ on_sides)


def _on_sides(dual: Array, lower: Array, upper: Array) -> tuple[Array, float]:
    """The multipliers that push from a side that exists, and the largest of the others."""
    absent = np.isinf(np.where(dual > 0, lower, upper))
    return np.where(absent, 0.0, dual), _largest(dual[absent])


def _least(dual: Array, down: Array, up: Array) -> Array:
    """The least value of dual_i t over down_i <= t <= up_i, for each i; zero where the multiplier is."""
    step = np.where(dual > 0, down, up)
    return dual * np.where(dual == 0, 0.0, step)


def _violation(value: Array, lower: Array, upper: Array, size: Array) -> float:
    worst = np.maximum(lower - value, value - upper) / np.maximum(1.0, size)
    return max(0.0, float(np.max(worst, initial=0.0)))


def _descent(program: Program, slope: Array) -> float:
    """What the best step along -slope would gain: little curvature makes much of a small slope on free columns."""
    if program.Q is None:
        return 0.0
    curvature = float(slope @ (program.Q @ slope))
    return float(slope @ slope) ** 2 / (2.0 * curvature) if curvature > 0.0 else 0.0


def checked_solution(
    program: Program,
    x: Array,
    duals: tuple[Array, Array],
    words: str,
    run: Run,
    *,
    advice: str,
    iterations: int | None,
) -> Solution:
    """What a solver calls solved, as OPTIMAL when the residuals of (rows', columns') multipliers reach ACCURACY.

    Else as a numerical error: `words` (the solver's own) and `advice` say so, and the rough point is in `extra`.
    """
    got = residuals(program, x, *duals)
    if got.worst > ACCURACY:
        return Solution(
            Status.NUMERICAL_ERROR,
            f"{words}, rough ({got}). {advice}",
            iterations=iterations,
            extra={"advice": advice, "rough_point": x, "residuals": got},
        )
    objective = program.objective(x)
    run.report(objective=objective, bound=got.bound, iterations=iterations)
    return Solution(
        status=Status.OPTIMAL,
        raw_status=f"{words} ({got})",
        x=x,
        objective=objective,
        bound=got.bound,
        iterations=iterations,
        row_duals=duals[0],
        column_duals=duals[1],
    )


def _largest(vector: Array) -> float:
    return float(np.max(np.abs(vector), initial=0.0))
