"""Solver "iis": the 0-1 loss, also under limits on errors and rows on (w, b), by covering infeasible subsystems (see `iis_tree`)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from ....modelling.model import Model
from ....protocol.options import Option, Options, one_of
from ....protocol.result import Outcome, Status
from ....protocol.run import Run
from ...base import Method
from ..answer import PROOF_OPTIONS, Task, answer, refuse
from ..provers import IISEngine
from .cover import cover_data
from .rules import widest_rules
from .starts import first_rules


class IIS(Method):
    """Best for many features or a small loss; takes false-positive limits, signs, bounds and margins."""

    name: ClassVar[str] = "iis"
    promise: ClassVar[str] = "proven: exact with a checkable certificate when it finishes, a proven bound at any time"
    options: ClassVar[Options] = {
        **PROOF_OPTIONS,
        "master": Option(
            "own",
            "'own' branch and bound, whose every bound is certified, or 'scip', whose bounds beyond the root's are SCIP's word",
            one_of("own", "scip"),
        ),
    }

    def refuses(self, problem: Any) -> str | None:
        return refuse(problem, plain=False)

    def solve(self, problem: Model, run: Run) -> Outcome:
        task = Task.of(problem, run)
        if run.options.get("master") == "scip":
            from .scip_master import prove_by_scip

            return prove_by_scip(task, first_rules(task))
        if task.statement.is_plain:
            from ..exact import prove_plain

            return prove_plain(task, ("iis",))
        return prove_constrained(task)


def prove_constrained(task: Task) -> Outcome:
    """Branch and cut on a problem with limits, rows, a margin or no offset."""
    run = task.run
    engine = IISEngine(cover_data(task.X, task.y, task.statement), run.seed, task.statement.intercept, run)
    data = engine.data
    for W in first_rules(task):
        engine.offer(W)
        if engine.best == 0:
            break

    def cost(value: int | None) -> float | None:
        return None if value is None else float(data.constant + data.unit * value)

    def tell() -> None:
        run.report(objective=cost(engine.best), bound=cost(engine.lower), nodes=engine.nodes)

    def close_enough() -> bool:
        return engine.best is not None and engine.best - engine.lower <= run.gap * max(1, engine.best) and run.gap > 0

    stop = task.stopper(lambda: engine.nodes, close_enough)
    tell()
    engine.advance(stop, tell)
    if engine.search.best_W is not None:  # the same points right, by as much as can be
        for W in widest_rules(data, ~data.errors(engine.search.best_W)):
            engine.search.settle(W)
    found = engine.rule
    stopped = None if engine.exhausted else stop() or Status.NUMERICAL_ERROR
    lower = engine.proof()
    # Infeasible is proven when every leaf costs more than all points together.
    impossible = engine.search.infeasible and Fraction(lower["bound"]) > data.constant + data.unit * int(
        data.costs.sum()
    )
    return answer(
        task,
        rule=None if found is None else (found[:-1], float(found[-1])),
        lower=lower,
        stopped=stopped,
        nodes=engine.nodes,
        infeasible=impossible,
        extra={"supports": len(engine.search.master.supports)},
    )
