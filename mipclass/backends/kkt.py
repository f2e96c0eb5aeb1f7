"""How far a primal-dual pair is from optimal, recomputed from the Program's data.

A solver's own residuals are of its scaled, presolved problem and its own word. These are of the program as declared:
first-order methods are believed only when these are small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..modelling.program import Program
from ..protocol.result import Status
from ..protocol.run import Run
from .base import Solution


@dataclass(frozen=True)
class Residuals:
    """Each relative to the size of what it is made of; all zero at an optimum of a convex program.

    primal : largest violation of a row or a bound.
    dual : largest entry of Qx + c - A' row_duals - column_duals, or of a multiplier that pushes from an absent side.
    gap : the duality gap, over the objective: with r = Qx + c - A' row_duals - column_duals it is the sum of multiplier x
        distance to its side, plus r'x; here the sum of the absolute values of its parts.
    """

    primal: float
    dual: float
    gap: float

    @property
    def worst(self) -> float:
        """The largest of the three."""
        return max(self.primal, self.dual, self.gap)

    def __str__(self) -> str:
        return f"primal {self.primal:.1e}, dual {self.dual:.1e}, gap {self.gap:.1e}"


def residuals(program: Program, x: Array, row_duals: Array, column_duals: Array) -> Residuals:
    """Residuals of the continuous program (integrality and indicators are not looked at). x must be finite."""
    activity = program.A @ x
    gradient = program.c if program.Q is None else program.c + program.Q @ x
    pull = program.A.T @ row_duals
    row = _sides(activity, program.row_lower, program.row_upper, row_duals)
    column = _sides(x, program.lower, program.upper, column_duals)
    left = gradient - pull - column_duals
    dual_scale = max(1.0, _largest(program.c), _largest(gradient - program.c), _largest(pull))
    return Residuals(
        primal=max(row[0], column[0]) / max(1.0, _largest(x), _largest(activity)),
        dual=max(_largest(left), row[1], column[1]) / dual_scale,
        gap=(row[2] + column[2] + float(np.abs(left) @ np.abs(x))) / max(1.0, abs(program.objective(x))),
    )


def checked_solution(
    program: Program,
    x: Array,
    duals: tuple[Array, Array],
    words: str,
    run: Run,
    *,
    accuracy: float,
    advice: str,
    iterations: int | None,
) -> Solution:
    """What a solver calls solved, as OPTIMAL when the residuals of (rows', columns') multipliers reach `accuracy`.

    Else as a numerical error: `words` (the solver's own) and `advice` say so, and the rough point is in `extra`.
    """
    got = residuals(program, x, *duals)
    if got.worst > accuracy:
        return Solution(
            Status.NUMERICAL_ERROR,
            f"{words}, rough ({got}). {advice}",
            iterations=iterations,
            extra={"advice": advice, "rough_point": x, "residuals": got},
        )
    objective = program.objective(x)
    run.report(objective=objective, bound=objective, iterations=iterations)
    return Solution(
        status=Status.OPTIMAL,
        raw_status=f"{words} ({got})",
        x=x,
        objective=objective,
        bound=objective,
        iterations=iterations,
        row_duals=duals[0],
        column_duals=duals[1],
    )


def _sides(value: Array, lower: Array, upper: Array, dual: Array) -> tuple[float, float, float]:
    """(violation, multiplier on an absent side, sum of |multiplier x slack|) of lower <= value <= upper."""
    violation = np.maximum(lower - value, value - upper)
    side = np.where(dual > 0, lower, upper)
    absent = np.isinf(side)
    stray = np.where(absent, np.abs(dual), 0.0)
    slack = np.abs(np.where(absent, 0.0, value - np.where(absent, 0.0, side)))
    return max(0.0, float(np.max(violation, initial=0.0))), _largest(stray), float(np.abs(dual) @ slack)


def _largest(vector: Array) -> float:
    return float(np.max(np.abs(vector), initial=0.0))


def proves_infeasible(program: Program, row_duals: Array, column_duals: Array, tolerance: float = 1e-6) -> bool:
    """Whether the multipliers are a Farkas proof, up to `tolerance`, that rows and bounds contradict each other.

    If A'r + z = 0, every x gives r'Ax + z'x = 0; but r'Ax >= sum(r+ row_lower - r- row_upper) and z'x likewise from
    the bounds on x. When these add up to more than 0, no x exists.
    """
    scale = max(_largest(row_duals), _largest(column_duals))
    if not np.isfinite(scale) or scale == 0.0:
        return False
    r, z = row_duals / scale, column_duals / scale
    r = _without_noise(r, program.row_lower, program.row_upper, tolerance)
    z = _without_noise(z, program.lower, program.upper, tolerance)
    least = _support(r, program.row_lower, program.row_upper) + _support(z, program.lower, program.upper)
    return bool(least > tolerance and _largest(program.A.T @ r + z) <= tolerance * least)


def _without_noise(dual: Array, lower: Array, upper: Array, tolerance: float) -> Array:
    """Multipliers that are nothing but rounding noise on an absent side, set to zero."""
    absent = np.isinf(np.where(dual > 0, lower, upper))
    return np.where(absent & (np.abs(dual) <= tolerance), 0.0, dual)


def _support(dual: Array, lower: Array, upper: Array) -> float:
    """The least value of dual'v over lower <= v <= upper."""
    side = np.where(dual > 0, lower, upper)
    return float(np.sum(np.where(dual == 0, 0.0, dual * np.where(dual == 0, 0.0, side))))
