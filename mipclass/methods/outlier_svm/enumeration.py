"""enumerate: the widest margin with outliers by trying every set of support points; exact, for tiny problems."""

from __future__ import annotations

from typing import Any, ClassVar

from ...protocol.options import Option, Options, number
from ...protocol.result import Outcome, Status
from ...protocol.run import Run
from ..base import Method
from .form import read, refusal
from .slab_widening import slab_along
from .support_sets import count_supports, widest_direction

MOST_SUPPORTS = 5_000_000


class EnumerateSupports(Method):
    """0.5 * L2() subject to HardMargin(outliers=...): the optimum of few points in few dimensions."""

    name: ClassVar[str] = "enumerate"
    promise: ClassVar[str] = "proven: every set of at most d + 1 support points is tried"
    options: ClassVar[Options] = {
        "chunk": Option(4096, "sets of support points evaluated at a time", number(1, integer=True)),
    }

    def refuses(self, problem: Any) -> str | None:
        reason = refusal(problem)
        if reason is not None:
            return reason
        n_positive = int(problem.data.positive.sum())
        n1, n2 = (n_positive, problem.data.n - n_positive) if problem.rule.intercept else (problem.data.n, 1)
        count = count_supports(n1, n2, problem.data.d)
        if count > MOST_SUPPORTS:
            return f"it has {count:.2g} sets of support points, more than {MOST_SUPPORTS}; use solver='rgd-tree' or 'scip'."
        return None

    def prefers(self, problem: Any) -> bool:
        return False

    def solve(self, problem: Any, run: Run) -> Outcome:
        data = read(problem)
        u, tried, stopped = widest_direction(data.p1, data.p2, data.budget, run, run.options["chunk"])
        if u is None:
            status = stopped or Status.INFEASIBLE
            words = "no direction separates the points that stay"
            return Outcome(status, "none" if stopped else "proven", None, None, iterations=tried, raw_status=words)
        slab = slab_along(data.p1, data.p2, data.budget, u)
        objective = data.objective(slab.width)
        return Outcome(
            status=stopped or Status.OPTIMAL,
            claim="heuristic" if stopped else "proven",
            values=data.values(slab),
            objective=objective,
            bound=None if stopped else objective,
            iterations=tried,
            raw_status=f"{tried} directions tried",
            extra={"width": slab.width, "outliers": data.left_out(slab)},
        )
