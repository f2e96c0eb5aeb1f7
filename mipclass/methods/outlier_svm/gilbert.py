"""gilbert: the widest margin of separable data as a polytope distance, with its proof (Gilbert 1966, Wolfe 1976)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...modelling.problem import Problem
from ...protocol.options import Option, Options, number, one_of
from ...protocol.result import Claim, Outcome, Status
from ...protocol.run import Run
from ..base import Method, Refusal
from .form import OutlierForm, match_outliers
from .margin_certificate import margin_certificate
from .polytope import WalkRule, polytope_distance
from .sifting import nearest_points
from .slab import unit
from .slab_widening import slab_along
from .walks import Nearest

LARGEST_CERTIFIED = 10_000
"""Numbers in X up to which a certificate is attached unasked: exact arithmetic costs far more than the search itself."""

WALKS: dict[str, WalkRule] = {"paper": "plain", "away": "away"}
"""Option `variant` -> the rule of `polytope_distance` that runs on all points at once."""


class Gilbert(Method[OutlierForm]):
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

    def match(self, problem: Problem) -> OutlierForm | Refusal:
        """The problem as two clouds of which every point stays."""
        form = match_outliers(problem)
        if isinstance(form, OutlierForm) and not form.keeps_all_points:
            return Refusal(
                "it leaves out points; use solver='rgd-tree', or 'scip' or 'enumerate' for a proven optimum."
            )
        return form

    def solve(self, form: OutlierForm, run: Run) -> Outcome:
        """The slab along the nearest points of the two hulls; INFEASIBLE when the hulls meet."""
        found = _nearest(form, run)
        extra: dict[str, Any] = {
            "width": found.width,
            "distance": found.distance,
            "epsilon": found.epsilon,
            "alpha": found.alpha,
            "beta": found.beta,
        }
        words = f"epsilon {found.epsilon:.3g} after {found.steps} steps"
        if found.status is Status.INFEASIBLE:
            meeting = "the hulls meet: these points of them are equal up to rounding (alpha, beta in extra)"
            return Outcome(found.status, "proven", None, None, iterations=found.steps, raw_status=meeting, extra=extra)
        bound = form.objective(found.distance)
        if found.x is None or found.width <= 0:
            return Outcome(found.status, "none", None, None, bound, None, found.steps, words, None, extra)
        slab = slab_along(form.p1, form.p2, form.budget, unit(found.x))
        values = form.values(slab)
        claim: Claim = "proven" if found.status is Status.OPTIMAL else "heuristic"
        return Outcome(
            status=found.status,
            claim=claim,
            values=values,
            objective=form.objective(slab.width),
            bound=bound,
            iterations=found.steps,
            raw_status=words,
            certificate=margin_certificate(form, found, values) if _is_certified(form, run) else None,
            extra=extra,
        )


def _nearest(form: OutlierForm, run: Run) -> Nearest:
    """The nearest points of the hulls of P1 and P2 by the variant that the options name."""
    p1, p2 = form.p1.points[form.rows1], form.p2.points[form.rows2] if form.has_offset else None
    epsilon, max_steps = run.options["epsilon"], run.options["max_steps"]
    variant = run.options["variant"]
    if variant == "corrective":
        return nearest_points(p1, p2, epsilon=epsilon, max_steps=max_steps, run=run)
    return polytope_distance(p1, p2, rule=WALKS[variant], epsilon=epsilon, max_steps=max_steps, run=run)


def _is_certified(form: OutlierForm, run: Run) -> bool:
    """Whether to attach a certificate: one that is wanted, about two classes in which every point counts."""
    model = form.model
    wanted = run.options["certificate"]
    if wanted is None:
        wanted = model.X.shape[0] * model.X.shape[1] <= LARGEST_CERTIFIED
    return bool(wanted and not model.data.positive.all() and np.all(model.weights > 0))
