"""Solver "directions": the hard-margin loss proven by branch and bound over boxes of directions (see `search`)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...modelling.problem import Problem
from ...protocol.options import Option, Options, number, one_of, optional
from ...protocol.result import Claim, Outcome, Status
from ...protocol.run import Run
from ..base import Method, Refusal
from .form import HardMarginForm, match_hard_margin
from .incumbents import first_rule
from .proof import direction_certificate
from .search import TOLERANCE, DirectionSearch


class Directions(Method[HardMarginForm]):
    """Best for few features (up to about six); the number of boxes grows exponentially with them."""

    name: ClassVar[str] = "directions"
    promise: ClassVar[str] = "proven: exact with a checkable certificate when it finishes, a proven bound at any time"
    options: ClassVar[Options] = {
        "certificate": Option(True, "attach a certificate, which the driver then checks", one_of(True, False)),
        "node_limit": Option(None, "stop after this many boxes; None for no limit", optional(number(1, integer=True))),
        "starts": Option(100, "descents for the first incumbent", number(0, integer=True)),
    }

    def match(self, problem: Problem) -> HardMarginForm | Refusal:
        """The hard-margin loss with a free offset and equal weights, or why the problem is not of that form."""
        return match_hard_margin(problem)

    def solve(self, form: HardMarginForm, run: Run) -> Outcome:
        """Local search, then boxes until the incumbent is proven or a limit is reached."""
        limit = run.options["node_limit"]
        warm = None if run.warm_start is None else run.warm_start.get("w")
        warm = None if warm is None else np.asarray(warm, dtype=np.float64)
        first = first_rule(form, run.options["starts"], run.seed, run.stop, warm)
        search = DirectionSearch(form, first, limit)
        run.report(objective=search.best[0], bound=0.0)

        def stop() -> Status | None:
            return run.stop() or (Status.NODE_LIMIT if limit is not None and search.nodes >= limit else None)

        def told() -> None:
            run.report(objective=search.best[0], bound=search.lower, nodes=search.nodes)

        search.advance(stop, told)
        w, b, cost = form.feasible(search.best[1], search.best[2])
        claim: Claim = "proven" if search.finished else "heuristic"
        within = float(cost) - search.lower <= max(run.gap, 2 * TOLERANCE) * float(cost)
        status = Status.OPTIMAL if search.finished or within else stop() or Status.NUMERICAL_ERROR
        attached = None
        if search.finished and run.options["certificate"]:
            attached = direction_certificate(form, search, w, b, cost)
        values = {"w": w, "b": np.asarray(b)}
        return Outcome(
            status, claim, values, float(cost), search.lower, nodes=search.nodes, certificate=attached, unit=0.0
        )
