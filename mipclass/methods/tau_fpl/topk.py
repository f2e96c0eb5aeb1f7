"""The exact projection onto the top-k simplex as a solver of `models.topk_projection`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...modelling.problem import Problem
from ...models.topk_projection import TopKProjection
from ...protocol.options import Option, Options, one_of
from ...protocol.result import Outcome, Status
from ...protocol.run import Run
from ..base import Method, Refusal
from .projections import METHODS, project_topk_simplex


class TopK(Method[TopKProjection]):
    """The nearest point of the top-k simplex: finite, without a tolerance, in expected linear time (`kernels.topk`).

    The projection's model is its own normal form.
    """

    name: ClassVar[str] = "topk"
    promise: ClassVar[str] = "proven: exact up to rounding, in expected linear time"
    options: ClassVar[Options] = {
        "variant": Option(
            "exact",
            "'exact', the paper's 'bisection' or 'cached-bisection' (its Algorithm 2), or 'cached-newton'",
            one_of(*METHODS),
        )
    }

    def match(self, problem: Problem) -> TopKProjection | Refusal:
        """The problem itself when it is a projection onto the top-k simplex."""
        if isinstance(problem, TopKProjection):
            return problem
        return Refusal("it solves models.topk_projection(alpha, beta, k) only.")

    def solve(self, form: TopKProjection, run: Run) -> Outcome:
        """Project, and bound the distance from below by Moreau's identity."""
        alpha, beta = project_topk_simplex(form.alpha, form.beta, form.k, method=run.options["variant"])
        values = {"alpha": alpha, "beta": beta}
        objective = form.recount(values)
        # The set is a cone, so by Moreau |x - p|^2 = |x|^2 - |p|^2 at the projection p; written to avoid cancellation.
        pairs = ((form.alpha, alpha), (form.beta, beta))
        moreau = 0.5 * sum(float(np.sum((x - p) * (x + p))) for x, p in pairs)
        return Outcome(Status.OPTIMAL, "proven", values, objective, bound=min(objective, moreau), iterations=1)
