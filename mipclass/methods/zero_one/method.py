"""What bnb, pcs, csa, sla and local share: how they start, report and answer.

A method searches over the prepared rows of its form (`form.ZeroOneForm`) from a linear SVM's rule or the caller's warm
start, and hands back a rule in the user's units without ties, whose loss is counted on the user's data.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...modelling.problem import Problem
from ...protocol.options import Option, Options, number, one_of
from ...protocol.result import Claim, Outcome, Status
from ...protocol.run import Run
from ..base import Method, Refusal
from .form import ZeroOneForm, match_plain
from .offsets import best_offset
from .prepared import ZeroOneData
from .scope import LARGEST_IN_FLOATS, margin_of_floats, scope_in_words
from .starts import SVM_C, start_rule
from .widest import recentre

MOST_CENTRED_ENTRIES = 2_000_000
"""Entries of the prepared rows beyond which the centring LP takes longer than the search."""

CLOSED = 1e-9
"""The bound meets the objective when it lies within this fraction of it: weights whose sum needs more than 52 binary digits are
rounded down to be counted, which can lower a bound by about n / 2^52 of itself."""

BEYOND_FLOATS = (
    "some features are so nearly combinations of others that float64 resolves only rules whose right points keep a relative margin of "
    "{margin:.2g}, so nothing is proven; drop one of these features, or use solver='exact'"
)
"""What a numerical error of a search in float64 means, and what to do about it."""

COMMON_OPTIONS: dict[str, Option] = {
    "centre": Option(
        True, "move the rule found to the middle of its cell (an LP); not in printed variants", one_of(True, False)
    ),
    "svm_C": Option(
        SVM_C, "C of the linear SVM (squared hinge, standardised features) that gives the start", number(1e-9)
    ),
}
VARIANT_OPTION: dict[str, Option] = {
    "variant": Option("default", "'paper': the algorithm as printed", one_of("default", "paper"))
}


@dataclass(frozen=True)
class LossSearch:
    """One search: the form, its prepared rows as they are counted, a start over them, and the run with its limits."""

    form: ZeroOneForm
    data: ZeroOneData
    start: Array
    run: Run

    @property
    def rng(self) -> np.random.Generator:
        """A fresh generator from the run's seed."""
        return np.random.default_rng(self.run.seed)

    def on_improvement(self, W: Array, cost: float, iterations: int) -> None:
        """Report the cost of a better rule; what the searches call when they found one."""
        self.tell(cost, iterations=iterations)

    def tell(self, cost: float | None = None, *, lower: float | None = None, **effort: int | None) -> None:
        """Report a cost or a lower bound of the prepared rows in the user's units, with nodes=... or iterations=..."""
        value = self.form.value
        self.run.report(
            objective=None if cost is None else value(self.data, cost),
            bound=None if lower is None else value(self.data, lower),
            **effort,
        )


@dataclass(frozen=True)
class Found:
    """What a search found: W over the kept columns (offset last), and what it can say about it.

    lower : a lower bound on the cost of the prepared rows (without their constant), 0 when nothing is known.
    stopped : why the search ended early; None when it came to its own end.
    resolution : margin of whitened rows of length one below which the lower bound overlooks rules; 0 when it overlooks none.
    """

    W: Array
    lower: float = 0.0
    stopped: Status | None = None
    nodes: int | None = None
    iterations: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    resolution: float = 0.0


class PlainZeroOne(Method[ZeroOneForm]):
    """Base of bnb, pcs, csa, sla and local: subclasses search, this class prepares and answers."""

    options: ClassVar[Options] = COMMON_OPTIONS

    def match(self, problem: Problem) -> ZeroOneForm | Refusal:
        """The plain 0-1 loss of a linear rule, or why the problem is not of that form."""
        return match_plain(problem)

    @abstractmethod
    def search(self, task: LossSearch) -> Found:
        """Search from `task.start` within the limits of `task.run`."""

    def first_rule(self, form: ZeroOneForm, run: Run) -> Array:
        """Where the search starts; see `start_rule`."""
        return start_rule(form, run)

    def solve(self, form: ZeroOneForm, run: Run) -> Outcome:
        """Search over the prepared rows, centre the rule found, choose its offset, and count its loss on the data."""
        run.report(bound=form.value(form.data, 0))
        task = LossSearch(form, form.data, self.first_rule(form, run), run)
        found, W = self._searched(task)
        finer = task.data.finer_for(W)
        while finer is not None and run.stop() is None:
            task = LossSearch(form, finer, W, run)
            found, W = self._searched(task)
            finer = task.data.finer_for(W)
        w, b = task.data.rule(W)
        scores = np.asarray(form.X @ w)
        if run.options.get("variant") != "paper" or (scores + b == 0).any():
            b = best_offset(scores, form.y, form.costs, b)
        values = {"w": w, "b": np.asarray(b)}
        objective = form.problem.recount(values)
        margin = 0.0
        if found.lower > 0 and found.resolution > 0:
            margin = margin_of_floats(task.data.Z, task.data.map, found.resolution)
        is_vague = margin > LARGEST_IN_FLOATS
        # A rule that is right by less than the margin may beat every rule that the bound speaks of.
        bound = min(form.value(task.data, 0 if is_vague else found.lower), objective)
        is_proven = objective - bound <= CLOSED * abs(objective)
        claim: Claim = "proven" if is_proven else "heuristic"
        within = objective - bound <= run.gap * abs(objective)
        ended = found.stopped or (Status.NUMERICAL_ERROR if is_vague else Status.ITERATION_LIMIT)
        return Outcome(
            Status.OPTIMAL if is_proven or within else ended,
            claim,
            values,
            objective,
            bound,
            nodes=found.nodes,
            iterations=found.iterations,
            raw_status=BEYOND_FLOATS.format(margin=margin) if is_vague else "",
            extra={**found.extra, "scope": "" if is_vague else scope_in_words(margin)},
            unit=0.0,
        )

    def _searched(self, task: LossSearch) -> tuple[Found, Array]:
        """What one search finds, and its rule moved to the middle of its cell."""
        task.tell(task.data.cost(task.start))
        found = self.search(task) if len(task.data.Z) else Found(task.start)
        return found, self._finished(task, found.W)

    def _finished(self, task: LossSearch, W: Array) -> Array:
        """W moved to the middle of its cell, where rounding does no harm and new points find the widest margin.

        A start that was not improved on stays as it is (an SVM's rule has a margin of its own), and so does a printed
        algorithm's rule.
        """
        data, run = task.data, task.run
        if data.cost(W) >= data.cost(task.start):
            return task.start
        is_paper = run.options.get("variant") == "paper"
        if is_paper or not run.options["centre"] or data.Z.size > MOST_CENTRED_ENTRIES or run.stop() is not None:
            return W
        return recentre(data, W)
