"""What the proving methods share: which problems they take, how a rule is counted exactly, and how a proof becomes an Outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...arrays import Array
from ...certificates.certificate import Statement, certificate, dense, statement_of
from ...errors import InvalidInputError
from ...modelling.model import Model
from ...protocol.options import Option, number, one_of, optional
from ...protocol.result import Claim, Outcome, Status
from ...protocol.run import Run
from .rational import exactly_at_least

PROOF_OPTIONS: dict[str, Option] = {
    "certificate": Option(True, "attach a certificate, which the driver then checks", one_of(True, False)),
    "node_limit": Option(None, "stop after this many nodes; None for no limit", optional(number(1, integer=True))),
    "local_steps": Option(20_000, "line searches for the first incumbent", number(0, integer=True)),
}


def refuse(problem: Any, *, plain: bool) -> str | None:
    """Why a proving method does not take the problem, or None. `plain` allows no side constraints, margin or fixed offset."""
    if not isinstance(problem, Model):
        return "it takes a Model that minimises ZeroOne(); use solver='highs' for a Program."
    try:
        statement = statement_of(problem)
    except InvalidInputError as err:
        return f"{err} Use solver='highs' for other models."
    if plain and not statement.is_plain:
        return "it proves the plain scale-free 0-1 loss with a free offset; use solver='iis' for side constraints and margins."
    if any((np.asarray(coefficients) < 0).any() for coefficients, _ in statement.limits):
        return "a limit on errors has a negative coefficient; use solver='highs'."
    return None


@dataclass(frozen=True, eq=False)
class Task:
    """One solve: the statement, dense data, the run, and how losses are reported."""

    problem: Model
    statement: Statement
    X: Array
    y: Array
    run: Run

    @classmethod
    def of(cls, problem: Model, run: Run) -> Task:
        return cls(problem, statement_of(problem), dense(problem.X), np.asarray(problem.y_pm1, dtype=np.float64), run)

    def stopper(self, nodes: Callable[[], int], until: Callable[[], bool] | None = None) -> Callable[[], Status | None]:
        """Asks the run, the node limit and the gap, and remembers the first reason in `reason`."""
        limit = self.run.options.get("node_limit")

        def stop() -> Status | None:
            status = self.run.stop()
            if status is None and limit is not None and nodes() >= limit:
                status = Status.NODE_LIMIT
            if status is None and until is not None and until():
                status = Status.OPTIMAL
            return status

        return stop


def exact_loss(statement: Statement, X: Array, y: Array, w: Array, b: float) -> Fraction:
    """Cost of the rule's errors, decided in rationals wherever float64 could be wrong."""
    Z, W = y[:, None] * np.column_stack([X, np.ones(len(X))]), np.append(w, b)
    if statement.margin:
        wrong = ~exactly_at_least(Z, W, np.ones(len(Z)))
    else:
        wrong = exactly_at_least(-Z, W, np.zeros(len(Z)))
    return sum((Fraction(float(c)) for c in statement.costs[wrong]), Fraction(0))


def answer(
    task: Task,
    *,
    rule: tuple[Array, float] | None,
    lower: Mapping[str, Any],
    stopped: Status | None,
    nodes: int,
    infeasible: bool = False,
    extra: Mapping[str, Any] | None = None,
) -> Outcome:
    """The Outcome: the rule counted exactly, the proven bound, and the certificate with both."""
    bound = Fraction(lower["bound"])
    loss = None if rule is None else exact_loss(task.statement, task.X, task.y, *rule)
    positive = "larger" if task.problem.classes[1] == np.unique(task.problem.classes)[1] else "smaller"
    attached = None
    if task.run.options.get("certificate", True):
        attached = certificate(task.X, task.y, task.statement, rule=rule, loss=loss, lower=lower, positive=positive)
    if infeasible:
        return Outcome(
            Status.INFEASIBLE,
            "proven",
            None,
            None,
            float("inf"),
            nodes=nodes,
            certificate=attached,
            extra=dict(extra or {}),
        )
    if rule is None or loss is None:
        status = stopped or Status.NUMERICAL_ERROR
        return Outcome(
            status, "none", None, None, float(bound), nodes=nodes, certificate=attached, extra=dict(extra or {})
        )
    missing = loss - bound
    # Weights that share no power of two are rounded down. A bound above the loss would be a fault, and proves nothing.
    closed = 0 <= missing <= Fraction(1, 10**9) * max(Fraction(1), loss)
    within = 0 <= float(missing) <= task.run.gap * max(1.0, abs(float(loss)))
    claim: Claim = "proven" if closed else "heuristic"
    status = Status.OPTIMAL if closed or within else stopped or Status.NUMERICAL_ERROR
    return Outcome(
        status,
        claim,
        {"w": np.asarray(rule[0], dtype=np.float64), "b": np.asarray(rule[1], dtype=np.float64)},
        float(loss),
        float(bound),
        nodes=nodes,
        certificate=attached,
        extra=dict(extra or {}),
    )
