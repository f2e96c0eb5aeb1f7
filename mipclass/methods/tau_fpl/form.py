"""The normal form of tau-FPL ranking, which lbfgs and fista share: the data, the penalty and the loss's coefficient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...arrays import Array
from ...errors import InvalidInputError, warn
from ...modelling.model import Model
from ...modelling.problem import Problem
from ...models.false_positive import BlockedRanking
from ...models.penalties import L2
from ...models.rules import Linear
from ...models.topk_ranking import TopKRanking
from ...protocol.options import Option, number, one_of
from ...protocol.result import Claim, Outcome, Status, Values
from ...protocol.run import Run
from ..base import Refusal
from .ranking import RankingData

TOLERANCE = Option(1e-3, "relative duality gap to stop at when solve(gap=...) is left at 0", number(at_least=0))
WARN_OF_COLLAPSE = Option(True, "warn when w = 0 is optimal; extra['collapsed'] says so anyway", one_of(True, False))
PROMISE = "proven: within the asked relative duality gap (1e-3 by default)"
NORMAL_FORM = "it solves c * L2() + a * TopKRanking(k) with rule Linear() (models.tau_fpl)"


class TrainingEnd(Protocol):
    """What a training reports of the point where it ended."""

    objective: float
    bound: float
    iterations: int
    status: Status | None


@dataclass(frozen=True, eq=False)
class RankingForm:
    """Minimise factor * P, P the ranking problem of `data`; with `gram`, weights are of kernel columns instead of features."""

    data: RankingData
    factor: float
    gram: Array | None = None

    def start(self, run: Run) -> Array | None:
        """The warm start's weights ("w", or "c" of a kernel), or None; a wrong size is an error."""
        name, size = "w" if self.gram is None else "c", self.data.rows.shape[1]
        given = None if run.warm_start is None else run.warm_start.get(name)
        if given is not None and given.shape != (size,):
            raise InvalidInputError(f"the warm start's {name!r} must have shape ({size},); got {given.shape}.")
        return given

    def outcome(self, found: TrainingEnd, values: Values, extra: dict[str, Any], run: Run) -> Outcome:
        """A training's end as the driver reads it; a collapse to zero weights is said in `extra` and in a warning."""
        assert found.status is not None
        is_optimal = found.status is Status.OPTIMAL
        extra["collapsed"] = is_optimal and not np.any(values["w" if "w" in values else "c"])
        if extra["collapsed"] and run.options["warn_of_collapse"]:
            warn_of_collapse(self.data)
        claim: Claim = "proven" if is_optimal else "heuristic"
        objective, bound = self.factor * found.objective, self.factor * found.bound
        return Outcome(found.status, claim, values, objective, bound, iterations=found.iterations, extra=extra)


def match_ranking(problem: Problem) -> RankingForm | Refusal:
    """The problem, divided by its loss's coefficient, as a ranking problem; or the reason why it is none."""
    if isinstance(problem, BlockedRanking):
        data = RankingData.build(problem.X, problem.y_pm1, problem.weights, problem.k, problem.R)
        return RankingForm(data, 1.0)
    if not isinstance(problem, Model):
        return Refusal(f"{NORMAL_FORM}.")
    ridge, loss = problem.term(L2), problem.term(TopKRanking)
    if loss is None:
        return Refusal(f"{NORMAL_FORM}.")
    if problem.constraints:
        return Refusal(f"{NORMAL_FORM}, without constraints; for those use a QP solver such as 'piqp' or 'highs'.")
    if {type(term) for _, term in problem.terms} != {TopKRanking, L2} or ridge is None:
        return Refusal(f"{NORMAL_FORM}, one of each; other terms need a QP solver.")
    if not isinstance(problem.rule, Linear):
        return Refusal(f"{NORMAL_FORM}; the rule is {type(problem.rule).__name__}.")
    if not all(coefficient > 0 for coefficient, _ in problem.terms):
        return Refusal(f"{NORMAL_FORM} with c > 0 and a > 0; without the penalty the weights may grow without limit.")
    data = RankingData.build(problem.X, problem.y_pm1, problem.weights, loss[1].k, 2.0 * ridge[0] / loss[0])
    return RankingForm(data, loss[0])


def warn_of_collapse(data: RankingData) -> None:
    """Warn that w = 0 (P = 1) is optimal, which it is when the positives' mean is an average of k negatives."""
    share = data.k / float(data.weight_neg.sum())
    warn(
        f"the ranking problem has collapsed: w = 0 is optimal within the asked gap for k = {data.k:g} ({share:.3g} of "
        "the negatives), because the mean of the positives cannot be told from an average of k negatives. Use a larger "
        f"tau for the ranking (ranking_tau={min(0.99, 2 * share):.3g} or more), other features, or a kernel."
    )
