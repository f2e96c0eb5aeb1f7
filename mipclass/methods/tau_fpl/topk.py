"""The exact projection onto the top-k simplex as a solver of `models.topk_projection`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...models.topk_projection import TopKProjection
from ...protocol.options import Option, Options, one_of
from ...protocol.result import Outcome, Status
from ...protocol.run import Run
from ..base import Method
from .projections import METHODS, project_topk_simplex


class TopK(Method):
    """Expected linear time, finite, no tolerance; see mipclass.methods.tau_fpl.kernels.topk."""

    name: ClassVar[str] = "topk"
    promise: ClassVar[str] = "proven: exact up to rounding, in expected linear time"
    options: ClassVar[Options] = {
        "variant": Option(
            "exact",
            "'exact', the paper's 'bisection' or 'cached-bisection' (its Algorithm 2), or 'cached-newton'",
            one_of(*METHODS),
        )
    }

    def refuses(self, problem: Any) -> str | None:
        if isinstance(problem, TopKProjection):
            return None
        return "it solves models.topk_projection(alpha, beta, k) only."

    def solve(self, problem: TopKProjection, run: Run) -> Outcome:
        alpha, beta = project_topk_simplex(problem.alpha, problem.beta, problem.k, method=run.options["variant"])
        values = {"alpha": alpha, "beta": beta}
        objective = problem.recount(values)
        # The set is a cone, so by Moreau |x - p|^2 = |x|^2 - |p|^2 at the projection p; written to avoid cancellation.
        pairs = ((problem.alpha, alpha), (problem.beta, beta))
        moreau = 0.5 * sum(float(np.sum((x - p) * (x + p))) for x, p in pairs)
        return Outcome(Status.OPTIMAL, "proven", values, objective, bound=min(objective, moreau), iterations=1)
