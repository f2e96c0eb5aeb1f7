"""lbfgs: tau-FPL by L-BFGS on the primal with a smoothed top-k mean (`smoothed_primal`), as a method of the driver."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...modelling.problem import Problem
from ...protocol.options import Option, Options, number
from ...protocol.result import Outcome
from ...protocol.run import Run
from ..base import Method, Refusal
from .form import PROMISE, TOLERANCE, WARN_OF_COLLAPSE, RankingForm, match_ranking
from .smoothed_primal import train


class LBFGS(Method[RankingForm]):
    """c * L2() + a * TopKRanking(k), weighted or not, with rows in memory or read block by block."""

    name: ClassVar[str] = "lbfgs"
    promise: ClassVar[str] = PROMISE
    options: ClassVar[Options] = {
        "tolerance": TOLERANCE,
        "max_iterations": Option(2000, "iterations at most", number(at_least=1, integer=True)),
        "warn_of_collapse": WARN_OF_COLLAPSE,
    }

    def match(self, problem: Problem) -> RankingForm | Refusal:
        """The problem as a ranking problem of given rows."""
        return match_ranking(problem)

    def solve(self, form: RankingForm, run: Run) -> Outcome:
        """Minimise the primal to the relative duality gap asked for."""
        tolerance = run.gap or run.options["tolerance"]
        data, given = form.data.near_one(), form.start(run)
        start = None if given is None else given / data.rows.unit
        found = train(data, run, tolerance, run.options["max_iterations"], start)
        values = {"w": found.w * data.rows.unit, "b": np.zeros(())}
        return form.outcome(found, values, {"relative_gap": found.gap, "eps": found.eps}, run)
