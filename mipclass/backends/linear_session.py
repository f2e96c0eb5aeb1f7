"""`LinearSession`: one LP kept warm in HiGHS, for methods that solve many alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..modelling.program import Program
from ..protocol.result import Status
from ..protocol.run import Run
from .base import Solution
from .highs_object import STATUS, HighsError, check, farkas_ray, load, set_threads


class LinearSession:
    """One LP kept warm: change costs or bounds, solve again from the last basis.

    Toggle bounds rather than delete rows: HiGHS keeps the basis for a bound change and loses it for a deletion
    (204 against 1761 iterations in a measurement).

    >>> from mipclass.backends.linear_session import LinearSession
    >>> from mipclass.modelling.builder import Builder
    >>> build = Builder(); x = build.variables("x", 2, lower=0); build.subject_to("r", x.sum() >= 1); build.minimize(x.sum())
    >>> lp = LinearSession(build.build())
    >>> lp.solve().objective
    1.0
    >>> lp.set_costs([0, 1], [3.0, 2.0]); lp.solve().objective
    2.0
    """

    def __init__(self, program: Program, *, presolve: str = "off") -> None:
        if program.is_integer or program.Q is not None:
            raise HighsError(f"a LinearSession holds an LP; program {program.name!r} is a {program.kind}.")
        self._program = program
        self._costs, self._constant = np.array(program.c), program.constant
        self._highs = load(program)
        set_threads(self._highs, 1)
        for name, value in {"presolve": presolve, "solver": "simplex"}.items():
            check(self._highs.setOptionValue(name, value), f"accept option {name!r} = {value!r}")

    def set_costs(self, columns: ArrayLike, costs: ArrayLike) -> None:
        """Replace the costs of these columns."""
        index, values = _index(columns), np.asarray(costs, np.float64)
        self._costs[index] = values
        check(self._highs.changeColsCost(len(index), index, values), "change costs")

    def set_column_bounds(self, columns: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Replace the bounds of these columns; a single number serves them all."""
        index = _index(columns)
        check(self._highs.changeColsBounds(len(index), index, *_pair(index, lower, upper)), "change column bounds")

    def set_row_bounds(self, rows: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Replace the sides of these rows; a row with two infinite sides is switched off."""
        index = _index(rows)
        check(self._highs.changeRowsBounds(len(index), index, *_pair(index, lower, upper)), "change row bounds")

    def add_rows(self, A: Any, lower: ArrayLike, upper: ArrayLike) -> None:
        """Append the rows lower <= A x <= upper; the basis is kept."""
        rows = sp.csr_array(A)
        index = np.arange(rows.shape[0])
        check(
            self._highs.addRows(
                rows.shape[0],
                *_pair(index, lower, upper),
                rows.nnz,
                rows.indptr.astype(np.int32),
                rows.indices.astype(np.int32),
                rows.data.astype(np.float64),
            ),
            "add rows",
        )

    def solve(self, run: Run | None = None) -> Solution:
        """Solve from the last basis; `run` brings a time limit."""
        highs = self._highs
        if run is not None and run.time_limit is not None:
            # HiGHS's clock runs on over all solves of one object.
            check(highs.setOptionValue("time_limit", highs.getRunTime() + run.seconds_left()), "set the time limit")
        before = max(0, highs.getInfo().simplex_iteration_count)
        ran = highs.run()
        model_status = highs.getModelStatus()
        status = STATUS[model_status.name] if ran.name != "kError" else Status.NUMERICAL_ERROR
        raw = highs.modelStatusToString(model_status)
        iterations = max(0, highs.getInfo().simplex_iteration_count - before)
        if status is Status.INFEASIBLE:
            return Solution(status, raw, bound=float("inf"), iterations=iterations, ray=farkas_ray(highs))
        if status is not Status.OPTIMAL:
            return Solution(status, raw, iterations=iterations)
        solution = highs.getSolution()
        x = np.array(solution.col_value)
        objective = float(self._costs @ x) + self._constant
        return Solution(
            status,
            raw,
            x,
            objective,
            objective,
            iterations=iterations,
            row_duals=np.array(solution.row_dual),
            column_duals=np.array(solution.col_dual),
        )


def _index(positions: ArrayLike) -> NDArray[np.int32]:
    return np.atleast_1d(np.asarray(positions)).astype(np.int32)


def _pair(index: NDArray[Any], lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array]:
    return (
        np.array(np.broadcast_to(np.asarray(lower, np.float64), index.shape)),
        np.array(np.broadcast_to(np.asarray(upper, np.float64), index.shape)),
    )
