"""tau-FPL as solvers: `lbfgs` (smoothed primal, the default) and `fista` (the paper's dual projected gradient)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...errors import InvalidInputError, MipclassWarning
from ...modelling.model import Model
from ...models.false_positive import BlockedRanking, KernelRanking
from ...models.penalties import L2
from ...models.rules import Linear
from ...models.topk_ranking import TopKRanking
from ...protocol.options import Option, Options, number, one_of
from ...protocol.result import Claim, Outcome, Status, Values
from ...protocol.run import Run
from ..base import Method
from .lbfgs import Trained, train
from .ranking import RankingData

TOLERANCE = Option(1e-3, "relative duality gap to stop at when solve(gap=...) is left at 0", number(at_least=0))
NORMAL_FORM = "it solves c * L2() + a * TopKRanking(k) with rule Linear() (models.tau_fpl)"


def refuse(problem: Any) -> str | None:
    """Why a problem is not a tau-FPL ranking problem, or None."""
    if isinstance(problem, BlockedRanking):
        return None
    if not isinstance(problem, Model) or problem.term(TopKRanking) is None:
        return f"{NORMAL_FORM}."
    if problem.constraints:
        return f"{NORMAL_FORM}, without constraints; for those use a QP solver such as 'piqp' or 'highs'."
    if {type(term) for _, term in problem.terms} != {TopKRanking, L2} or problem.term(L2) is None:
        return f"{NORMAL_FORM}, one of each; other terms need a QP solver."
    if not isinstance(problem.rule, Linear):
        return f"{NORMAL_FORM}; the rule is {type(problem.rule).__name__}."
    if not all(coefficient > 0 for coefficient, _ in problem.terms):
        return f"{NORMAL_FORM} with c > 0 and a > 0; without the penalty the weights may grow without limit."
    return None


def ranking_data(problem: Model | BlockedRanking) -> tuple[RankingData, float]:
    """The problem divided by the loss's coefficient, and that coefficient."""
    if isinstance(problem, BlockedRanking):
        return RankingData.build(problem.X, problem.y_pm1, problem.weights, problem.k, problem.R), 1.0
    ridge, loss = problem.term(L2), problem.term(TopKRanking)
    assert ridge is not None
    assert loss is not None
    data = RankingData.build(problem.X, problem.y_pm1, problem.weights, loss[1].k, 2.0 * ridge[0] / loss[0])
    return data, loss[0]


def warn_of_collapse(data: RankingData) -> None:
    """w = 0 (P = 1) is optimal when the positives' mean is an average of k negatives; say so and what to do."""
    share = data.k / float(data.weight_neg.sum())
    warnings.warn(
        f"the ranking problem has collapsed: w = 0 is optimal within the asked gap for k = {data.k:g} ({share:.3g} of "
        "the negatives), because the mean of the positives cannot be told from an average of k negatives. Use a larger "
        f"tau for the ranking (ranking_tau={min(0.99, 2 * share):.3g} or more), other features, or a kernel.",
        MipclassWarning,
        stacklevel=5,
    )


def outcome(
    data: RankingData, factor: float, values: Values, objective: float, bound: float, status: Status, iterations: int,
    extra: dict[str, Any],
) -> Outcome:  # fmt: skip
    weights = values["w" if "w" in values else "c"]
    extra["collapsed"] = status is Status.OPTIMAL and not np.any(weights)
    if extra["collapsed"]:
        warn_of_collapse(data)
    claim: Claim = "proven" if status is Status.OPTIMAL else "heuristic"
    return Outcome(status, claim, values, factor * objective, factor * bound, iterations=iterations, extra=extra)


def start_vector(run: Run, name: str, size: int) -> Any:
    """The warm start of that name, or None; one of another size is an error."""
    given = None if run.warm_start is None else run.warm_start.get(name)
    if given is not None and given.shape != (size,):
        raise InvalidInputError(f"the warm start's {name!r} must have shape ({size},); got {given.shape}.")
    return given


class LBFGS(Method):
    """L-BFGS on the primal with a smoothed top-k mean; see tau_fpl_lbfgs."""

    name: ClassVar[str] = "lbfgs"
    promise: ClassVar[str] = "proven: within the asked relative duality gap (1e-3 by default)"
    options: ClassVar[Options] = {
        "tolerance": TOLERANCE,
        "max_iterations": Option(2000, "iterations at most", number(at_least=1, integer=True)),
    }

    def refuses(self, problem: Any) -> str | None:
        return refuse(problem)

    def solve(self, problem: Model | BlockedRanking, run: Run) -> Outcome:
        data, factor = ranking_data(problem)
        start = start_vector(run, "w", data.rows.shape[1])
        found = train(data, run, run.gap or run.options["tolerance"], run.options["max_iterations"], start)
        assert found.status is not None
        extra = {"relative_gap": found.gap, "eps": found.eps}
        values = {"w": found.w, "b": np.zeros(())}
        return outcome(data, factor, values, found.objective, found.bound, found.status, found.iterations, extra)


class Fista(Method):
    """Algorithm 1 of Zhang et al. (2018) with acceleration, backtracking and restart; see tau_fpl_fista."""

    name: ClassVar[str] = "fista"
    promise: ClassVar[str] = "proven: within the asked relative duality gap (1e-3 by default)"
    options: ClassVar[Options] = {
        "tolerance": TOLERANCE,
        "max_iterations": Option(20_000, "iterations at most", number(at_least=1, integer=True)),
        "variant": Option(
            "gap",
            "'gap' stops on the duality gap; 'paper' stops when g changes by at most epsilon",
            one_of("gap", "paper"),
        ),
        "epsilon": Option(1e-3, "the paper's stopping threshold, for variant='paper'", number(at_least=0)),
    }

    def refuses(self, problem: Any) -> str | None:
        if isinstance(problem, KernelRanking):
            return None
        reason = refuse(problem)
        if reason is not None:
            return reason
        data, _ = ranking_data(problem)
        if not data.is_unweighted or data.k != int(data.k):
            return "its projection takes points of weight one and a whole k; use solver='lbfgs' for weighted points."
        return None

    def solve(self, problem: Model | BlockedRanking | KernelRanking, run: Run) -> Outcome:
        from .fista import dual_start, train_dual

        gram = None
        if isinstance(problem, KernelRanking):
            gram, factor = problem.K, 1.0
            data = RankingData.build(gram, problem.y_pm1, None, problem.k, problem.R)
        else:
            data, factor = ranking_data(problem)
        epsilon = run.options["epsilon"] if run.options["variant"] == "paper" else None
        tolerance, most = run.gap or run.options["tolerance"], run.options["max_iterations"]
        given = start_vector(run, "w" if gram is None else "c", data.rows.shape[1])
        start = None if given is None else dual_start(data, data.rows.scores(given))
        found = train_dual(data, run, tolerance, most, gram=gram, start=start, paper_epsilon=epsilon)
        assert found.status is not None
        extra = {"relative_gap": found.gap, "alpha": found.z[data.pos], "beta": -found.z[data.neg]}
        if found.w is None:
            values = {"c": found.z / (data.total * data.R)}
        else:
            values = {"w": found.w, "b": np.zeros(())}
        return outcome(data, factor, values, found.objective, found.bound, found.status, found.iterations, extra)


def train_path(
    data: RankingData, R_values: Sequence[float], run: Run, tolerance: float = 1e-3, max_iterations: int = 2000
) -> dict[float, Trained]:
    """Solutions for several R, each started from the one before; large R first, where w is small."""
    found: dict[float, Trained] = {}
    start = None
    for R in sorted(R_values, reverse=True):
        start = found[R] = train(data.with_R(R), run, tolerance, max_iterations, start)
        if run.stop() is not None:
            break
    return found
