"""gilbert: the widest margin of separable data as a polytope distance, with its proof (Gilbert 1966, Wolfe 1976)."""

from __future__ import annotations

from typing import Any, ClassVar

from ..options import Option, Options, number, one_of
from ..result import Claim, Outcome, Status
from ..run import Run
from .base import Method
from .outlier_problem import hard_margin, read, refusal, unit
from .polytope import polytope_distance
from .widen import slab_along


class Gilbert(Method):
    """0.5 * L2() subject to HardMargin() without outliers, for one class or two.

    x, a point of the difference of the hulls, and the slab along it prove each other: width <= rho <= |x|. The objective is
    that of the slab, the bound that of |x|; they meet up to the factor (1 - epsilon)^2.
    """

    name: ClassVar[str] = "gilbert"
    promise: ClassVar[str] = "proven: within epsilon of the widest margin, or that the hulls meet"
    options: ClassVar[Options] = {
        "variant": Option(
            "corrective",
            "'corrective': Wolfe's exact algorithm; 'away': Frank-Wolfe with away steps; 'paper': Gilbert's Algorithm 1",
            one_of("corrective", "away", "paper"),
        ),
        "epsilon": Option(1e-9, "relative distance to the widest margin (Definition 1)", number(1e-15, 1)),
        "max_steps": Option(100_000, "most steps", number(1, integer=True)),
    }

    def refuses(self, problem: Any) -> str | None:
        reason = refusal(problem)
        if reason is not None:
            return reason
        limits = hard_margin(problem).limits(problem.data)
        if max(limits.total or 0.0, limits.positives, limits.negatives) >= problem.weights[problem.weights > 0].min():
            return "it leaves out points; use solver='rgd-tree', or 'scip' or 'enumerate' for a proven optimum."
        return None

    def solve(self, problem: Any, run: Run) -> Outcome:
        data = read(problem)
        rule = "plain" if run.options["variant"] == "paper" else run.options["variant"]
        found = polytope_distance(
            data.p1.points[data.rows1],
            data.p2.points[data.rows2] if data.has_offset else None,
            epsilon=run.options["epsilon"],
            rule=rule,
            max_steps=run.options["max_steps"],
            run=run,
        )
        weights = {"alpha": found.alpha, "beta": found.beta}
        extra = {"width": found.width, "distance": found.distance, "epsilon": found.epsilon, **weights}
        words = f"epsilon {found.epsilon:.3g} after {found.steps} steps"
        if found.status is Status.INFEASIBLE:
            meeting = "the hulls meet: these points of them are equal up to rounding (alpha, beta in extra)"
            return Outcome(found.status, "proven", None, None, iterations=found.steps, raw_status=meeting, extra=extra)
        bound = data.objective(found.distance)
        if found.x is None or found.width <= 0:
            return Outcome(found.status, "none", None, None, bound, None, found.steps, words, None, extra)
        slab = slab_along(data.p1, data.p2, data.budget, unit(found.x))
        claim: Claim = "proven" if found.status is Status.OPTIMAL else "heuristic"
        return Outcome(
            status=found.status,
            claim=claim,
            values=data.values(slab),
            objective=data.objective(slab.width),
            bound=bound,
            iterations=found.steps,
            raw_status=words,
            extra=extra,
        )
