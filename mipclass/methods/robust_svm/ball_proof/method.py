"""Solver "balls": the robust SVM proven, for linear rules with a certificate."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ....arrays import Array
from ....certificates.certificate import (
    FORMAT,
    VERSION,
    Certificate,
    RampStatement,
    data_digest,
    dense,
    floats,
    pack,
)
from ....errors import MipclassWarning
from ....modelling.problem import Problem
from ....models.penalties import L2
from ....models.ramp import Ramp
from ....models.rules import Kernel, Linear
from ....numeric.blas import one_blas_thread
from ....protocol.options import Option, Options, number, one_of, optional
from ....protocol.result import Claim, Outcome, Status, Values
from ....protocol.run import Run
from ...base import ROUNDING_HIDES, Method, Refusal
from ..form import RobustForm, match_robust
from .problem import TOLERANCE, OffsetProblem
from .reading import points_of, rule_of, values_of
from .search import AGAIN, CLOSED, COARSE, FINE, BallSearch, Record
from .starts import first_rule

ROOM = Fraction(1, 10**10)
"""Relative distance of a certificate's bound below the computed one, for roundings in the search."""

NODES_A_LOOK = 64
"""Nodes between two reports."""

WRITTEN_PER_SECOND = 5_000_000
"""Numbers of a certificate that are packed in a second. A certificate that would take longer than the time left is not written."""

SHORTEST_WRITING = 0.3
"""Seconds that a certificate may take in any case."""

OF_KERNEL = "bounds of a kernel rule are computed in float64; certificates cover linear rules"


class Balls(Method[RobustForm]):
    """0.5 * L2() + C * Ramp(theta, s), rule Linear (no offset, a penalised or a free one) or Kernel.

    Best for up to about a hundred points, or small C; the number of nodes grows exponentially with the points near the rule.
    A kernel's rule is proven in floating point, without a certificate.
    """

    name: ClassVar[str] = "balls"
    promise: ClassVar[str] = (
        "proven: exact when it finishes, a proven bound at any time; a checkable certificate if linear"
    )
    options: ClassVar[Options] = {
        "certificate": Option(True, "attach a certificate, which the driver then checks", one_of(True, False)),
        "node_limit": Option(None, "stop after this many nodes; None for no limit", optional(number(1, integer=True))),
        "starts": Option(20, "random starts of the local search for the first incumbent", number(0, integer=True)),
    }

    def match(self, problem: Problem) -> RobustForm | Refusal:
        """The robust SVM that the problem states, or why it states none."""
        return match_robust(problem, free_offset=True)

    def solve(self, form: RobustForm, run: Run) -> Outcome:
        """Local search, then branch and bound until the incumbent is proven or a limit is reached."""
        with one_blas_thread():
            return self._solve(form, run)

    def _solve(self, form: RobustForm, run: Run) -> Outcome:
        limit: int | None = run.options["node_limit"]
        problem = points_of(form)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MipclassWarning)  # of paths that stall; they only give a start
            best = first_rule(problem, form, run, run.options["starts"], rule_of(form, problem, run.warm_start))
        run.report(objective=form.scale * best[0], bound=0.0)
        search = BallSearch(problem, best, run.stop)
        ended = None
        while not search.exhausted and ended is None:
            now = search.nodes + NODES_A_LOOK
            search.advance(now if limit is None else min(now, limit))
            self._report(form, run, search)
            over = limit is not None and search.nodes >= limit and not search.exhausted
            close = search.best[0] - search.bound <= run.gap * search.best[0]
            ended = run.stop() or (Status.NODE_LIMIT if over else Status.OPTIMAL if close else None)
        return self._outcome(form, run, search, ended)

    def _report(self, form: RobustForm, run: Run, search: BallSearch) -> None:
        run.report(objective=form.scale * search.best[0], bound=form.scale * search.bound, nodes=search.nodes)

    def _outcome(self, form: RobustForm, run: Run, search: BallSearch, ended: Status | None) -> Outcome:
        cost, w = search.best
        within = cost - search.bound <= max(run.gap, 2 * TOLERANCE) * cost
        status = Status.OPTIMAL if within else ended or Status.NUMERICAL_ERROR
        proven = cost - search.bound <= 2 * TOLERANCE * cost
        claim: Claim = "proven" if proven else "heuristic"
        values = values_of(form, search.problem, w)
        attached, extra = None, {"outliers": form.of_all_points(search.problem.margins(w) < form.s)}  # type: Any, dict[str, Any]
        writable = WRITTEN_PER_SECOND * max(SHORTEST_WRITING, run.seconds_left())
        if isinstance(form.model.rule, Kernel):
            extra["uncertified"] = OF_KERNEL
        elif run.options["certificate"] and len(search.records) * len(form.C) <= writable:
            attached = _certificate(form, search, values)
        return Outcome(
            status,
            claim,
            values,
            float(form.model.recount(values)),
            form.scale * search.bound,
            nodes=search.nodes,
            certificate=attached,
            extra=extra,
            unit=0.0,
            raw_status=ROUNDING_HIDES if status is Status.NUMERICAL_ERROR else "",
        )


def _certificate(form: RobustForm, search: BallSearch, values: Values) -> Certificate:
    """Statement, rule and tree of a search at any time: its open nodes are leaves whose own bounds reach the claimed one."""
    model = form.model
    penalty, loss = model.term(L2), model.term(Ramp)
    assert penalty is not None
    assert loss is not None
    assert isinstance(model.rule, Linear)
    costs = loss[0] * np.asarray(model.weights, dtype=np.float64)
    intercept: Any = model.rule.intercept
    statement = RampStatement(float(penalty[0]), costs, form.theta, form.s, intercept)
    X = dense(model.X)
    records = list(_preorder(search.records))
    coarse = [record.numbers for record in records if record.numbers.dtype == np.int32]
    fine = [record.numbers for record in records if record.numbers.dtype == np.int64]
    groups = [record.groups for record in records if record.groups is not None]
    ops = [CLOSED if record.op == AGAIN and not record.following else record.op for record in records]
    lower = {
        "kind": "balls",
        "bound": str(Fraction(form.scale * search.bound) * (1 - ROOM)),
        "points": [int(row) for row in model.points.first],
        "units": [(part * search.unit * form.scale).hex() for part in (COARSE, FINE)],
        "ops": pack(np.array(ops, np.int32)),
        "precise": pack(np.array([record.numbers.dtype == np.int64 for record in records], np.uint8)),
        "coarse": pack(np.concatenate([np.zeros(0, np.int32), *coarse])),
        "fine": pack(np.concatenate([np.zeros(0, np.int64), *fine])),
        "shifts": pack(np.array([record.shift for record in records], np.int16)),
        "grouped": pack(np.array([record.groups is not None for record in records], np.uint8)),
        "groups": pack(np.concatenate([np.zeros(0, np.uint8), *groups])),
    }
    if isinstance(search.problem, OffsetProblem):
        lower["centre"] = floats(search.problem.centre)
    upper = {"w": floats(values["w"]), "b": float(values["b"]).hex()}
    positive = "larger" if model.data.positive_is_larger else "smaller"
    return Certificate(
        {
            "format": FORMAT,
            "version": VERSION,
            "data": {**data_digest(X, model.y_pm1), "positive": positive},
            "problem": statement.content(),
            "upper": {**upper, "loss": str(_exact_cost(statement, X, model.y_pm1, values))},
            "lower": lower,
        }
    )


def _exact_cost(statement: RampStatement, X: Array, y_pm1: Array, values: Values) -> Fraction:
    """What a rule costs, in exact arithmetic."""
    w, b = [Fraction(value) for value in values["w"].tolist()], Fraction(float(values["b"]))
    theta, s = Fraction(statement.theta), Fraction(statement.s)
    total = Fraction(statement.coefficient) * sum(
        (v * v for v in w), b * b if statement.intercept == "penalised" else 0
    )
    for row, sign, cost in zip(X.tolist(), y_pm1.tolist(), statement.costs.tolist(), strict=True):
        m = int(sign) * sum((value * Fraction(x) for value, x in zip(w, row, strict=True)), b)
        total += Fraction(cost) * (max(Fraction(0), 1 - m) if m >= s else 1 - s + theta * (s - m))
    return total


def _preorder(records: list[Record]) -> Iterator[Record]:
    """The records from the root down, first children first."""
    pending = [0]
    while pending:
        record = records[pending.pop()]
        yield record
        pending.extend(reversed(record.following))
