"""gilbert: the widest margin of separable data as a polytope distance, with its proof (Gilbert 1966, Wolfe 1976)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...certificates.certificate import FORMAT, VERSION, Certificate, data_digest, dense, floats, margin_statement_of
from ...protocol.options import Option, Options, number, one_of
from ...protocol.result import Claim, Outcome, Status, Values
from ...protocol.run import Run
from ..base import Method
from .form import OutlierProblem, hard_margin, read, refusal, unit
from .polytope import Nearest, polytope_distance
from .sifting import nearest_points
from .slab_widening import slab_along

LARGEST_CERTIFIED = 10_000


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
        "certificate": Option(
            None,
            "attach a proof to be checked in exact arithmetic; None: up to 10,000 numbers in X",
            one_of(None, True, False),
        ),
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
        p1, p2 = data.p1.points[data.rows1], data.p2.points[data.rows2] if data.has_offset else None
        limits = {"epsilon": run.options["epsilon"], "max_steps": run.options["max_steps"], "run": run}
        if run.options["variant"] == "corrective":
            found = nearest_points(p1, p2, **limits)
        else:
            found = polytope_distance(p1, p2, rule={"paper": "plain", "away": "away"}[run.options["variant"]], **limits)
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
        values = data.values(slab)
        wanted = run.options["certificate"]
        if wanted is None:
            wanted = problem.X.shape[0] * problem.X.shape[1] <= LARGEST_CERTIFIED
        has_two = not problem.data.positive.all()
        claim: Claim = "proven" if found.status is Status.OPTIMAL else "heuristic"
        return Outcome(
            status=found.status,
            claim=claim,
            values=values,
            objective=data.objective(slab.width),
            bound=bound,
            iterations=found.steps,
            raw_status=words,
            certificate=margin_certificate(problem, data, found, values) if wanted and has_two else None,
            extra=extra,
        )


def margin_certificate(problem: Any, data: OutlierProblem, found: Nearest, values: Values) -> Certificate:
    """The rule, and the weights of the two hulls' nearest points, with the bound and the objective in exact numbers."""
    weights = np.zeros(problem.data.n)
    weights[data.rows1] = found.alpha
    if data.has_offset:
        weights[data.rows2] = found.beta
    used = np.flatnonzero(weights)
    statement = margin_statement_of(problem)
    X, y = dense(problem.X), problem.y_pm1
    positive = "larger" if problem.classes[1] == np.unique(problem.classes)[1] else "smaller"
    lower = {"kind": "hulls", "points": used.tolist(), "weights": floats(weights[used])}
    rule = np.append(values["w"], values["b"])
    # The exact values lie within rounding of these; a hair's breadth of room makes both claims safe.
    bound, reached = (Fraction(data.objective(width)) for width in (found.distance, found.width))
    room = Fraction(1, 10**9)
    return Certificate(
        {
            "format": FORMAT,
            "version": VERSION,
            "data": {**data_digest(X, y), "positive": positive},
            "problem": statement.content(),
            "upper": {"w": floats(rule[:-1]), "b": float(rule[-1]).hex(), "loss": str(reached * (1 + room))},
            "lower": {**lower, "bound": str(bound * (1 - room))},
        }
    )
