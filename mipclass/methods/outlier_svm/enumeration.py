"""enumerate: the widest margin with outliers by trying every set of support points; exact, for tiny problems.

The mathematics is in `support_sets`; this file is the method around it.
"""

from __future__ import annotations

from typing import ClassVar

from ...modelling.problem import Problem
from ...protocol.options import Option, Options, number
from ...protocol.result import Outcome, Status
from ...protocol.run import Run
from ..base import Method, Refusal
from .form import OutlierForm, match_outliers
from .slab_widening import slab_along
from .support_sets import count_supports, widest_direction

MOST_SUPPORTS = 5_000_000
"""Sets of support points that may be tried: each costs a small least-squares problem and a pass over the points."""


class EnumerateSupports(Method[OutlierForm]):
    """0.5 * L2() subject to HardMargin(outliers=...): the optimum of few points in few dimensions."""

    name: ClassVar[str] = "enumerate"
    promise: ClassVar[str] = "proven: every set of at most d + 1 support points is tried"
    options: ClassVar[Options] = {
        "chunk": Option(4096, "sets of support points evaluated at a time", number(1, integer=True)),
    }

    def match(self, problem: Problem) -> OutlierForm | Refusal:
        """The problem as two clouds with few enough sets of support points."""
        form = match_outliers(problem)
        if isinstance(form, Refusal):
            return form
        data = form.model.data
        n_positive = int(data.positive.sum())
        n1, n2 = (n_positive, data.n - n_positive) if form.has_offset else (data.n, 1)
        count = count_supports(n1, n2, data.d)
        if count > MOST_SUPPORTS:
            return Refusal(
                f"it has {count:.2g} sets of support points, more than {MOST_SUPPORTS}; use solver='rgd-tree' or 'scip'."
            )
        return form

    def solve(self, form: OutlierForm, run: Run) -> Outcome:
        """The widest slab over the directions of all sets of support points; INFEASIBLE when none separates."""
        u, tried, stopped = widest_direction(form.p1, form.p2, form.budget, run, run.options["chunk"])
        if u is None:
            status = stopped or Status.INFEASIBLE
            words = "no direction separates the points that stay"
            return Outcome(status, "none" if stopped else "proven", None, None, iterations=tried, raw_status=words)
        slab = slab_along(form.p1, form.p2, form.budget, u)
        objective = form.objective(slab.width)
        return Outcome(
            status=stopped or Status.OPTIMAL,
            claim="heuristic" if stopped else "proven",
            values=form.values(slab),
            objective=objective,
            bound=None if stopped else objective,
            iterations=tried,
            raw_status=f"{tried} directions tried",
            extra={"width": slab.width, "outliers": form.left_out(slab)},
        )
