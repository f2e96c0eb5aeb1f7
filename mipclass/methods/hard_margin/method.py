"""Solvers "directions" and "subsystems": the hard-margin loss proven over boxes of directions, or by branching on points."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from ...modelling.problem import Problem
from ...protocol.options import Option, Options, number, one_of, optional
from ...protocol.result import Claim, Outcome, Status
from ...protocol.run import Run
from ..base import ROUNDING_HIDES, Method, Refusal
from .form import HardMarginForm, match_any, match_few_pairs
from .incumbents import KICKS, STARTS, Rule, Stop, first_rule, with_related
from .point_search import PointSearch
from .proof import SHORT_SHARE, SHORTEST_WRITING, TOLERANCE, WRITTEN_PER_SECOND, Search, hard_margin_certificate, rising
from .search import DirectionSearch


def _until(run: Run, end: float) -> Stop:
    """Stop with the run, or after so many of its seconds."""
    return lambda: run.stop() or run.seconds() > end


class _Proof(Method[HardMarginForm]):
    """Local search, then searches for proofs of rising targets."""

    promise: ClassVar[str] = "proven: exact with a checkable certificate when it finishes, a proven bound at any time"
    options: ClassVar[Options] = {
        "certificate": Option(True, "attach a certificate, which the driver then checks", one_of(True, False)),
        "node_limit": Option(None, "stop after this many nodes; None for no limit", optional(number(1, integer=True))),
        "starts": Option(STARTS, "descents for the first incumbent", number(0, integer=True)),
        "kicks": Option(KICKS, "kicks in a row without success that end its search", number(0, integer=True)),
    }

    @abstractmethod
    def _search(self, form: HardMarginForm, best: Rule, share: float, node_limit: int | None) -> Search:
        """A search for a proof of so large a share of the cost of the rule `best`."""

    def solve(self, form: HardMarginForm, run: Run) -> Outcome:
        """Local search, then proofs until the incumbent's cost is proven or a limit is reached."""
        limit: int | None = run.options["node_limit"]
        warm = None if run.warm_start is None else run.warm_start.get("w")
        warm = None if warm is None else form.between_clouds(np.asarray(warm, dtype=np.float64))
        best = first_rule(form, run, run.options["starts"], run.options["kicks"], warm)
        if not best[0] < np.inf:
            words = "no rule within the limit on outliers was found; give one as warm_start, or allow more outliers"
            return Outcome(run.stop() or Status.ITERATION_LIMIT, "none", None, None, 0.0, raw_status=words)
        run.report(objective=best[0], bound=0.0)
        nodes, lower, proven, ended = 0, 0.0, None, None  # type: int, float, Search | None, Status | None
        short = run.seconds() + SHORT_SHARE * run.seconds_left()
        for place, search in enumerate(rising(lambda *how: self._search(form, *how), best, limit)):

            def told(search: Search = search, before: int = nodes - search.nodes) -> None:
                run.report(objective=search.best[0], bound=search.lower, nodes=before + search.nodes)

            nodes -= search.nodes
            search.advance(_until(run, short) if place == 0 else run.stop, told)
            best, nodes, lower = search.best, nodes + search.nodes, max(lower, search.lower)
            proven = search if search.finished else proven
            ended = run.stop() or (Status.NODE_LIMIT if limit is not None and nodes >= limit else None)
            if ended or lower >= best[0] * (1 - 2 * TOLERANCE):
                break
            if place == 0:
                search.best = best = with_related(form, best, run)
        return self._outcome(form, run, best, proven, lower, nodes, ended)

    def _outcome(
        self,
        form: HardMarginForm,
        run: Run,
        best: Rule,
        proven: Search | None,
        lower: float,
        nodes: int,
        ended: Status | None,
    ) -> Outcome:
        """The rule with its exact cost, the bound, and the certificate of the highest target that was proven."""
        w, b, cost = form.feasible(*form.rule(best[1], best[2]))
        within = float(cost) - lower <= max(run.gap, 2 * TOLERANCE) * float(cost)
        status = Status.OPTIMAL if within else ended or Status.NUMERICAL_ERROR
        claim: Claim = "proven" if within else "heuristic"
        attached = None
        writable = WRITTEN_PER_SECOND * max(SHORTEST_WRITING, run.seconds_left())
        if proven is not None and proven.lower == lower and run.options["certificate"] and proven.size <= writable:
            attached = hard_margin_certificate(form, proven, w, b, cost)
        values = {"w": w, "b": np.asarray(b)} if form.intercept else {"w": w}
        words = ROUNDING_HIDES if status is Status.NUMERICAL_ERROR else ""
        return Outcome(
            status, claim, values, float(cost), lower, nodes=nodes, certificate=attached, unit=0.0, raw_status=words
        )


class Directions(_Proof):
    """Best for few features (up to about six) and many errors; the number of boxes grows exponentially with the features."""

    name: ClassVar[str] = "directions"

    def match(self, problem: Problem) -> HardMarginForm | Refusal:
        """The hard-margin loss with a free offset and equal weights, or why the problem is not of that form."""
        return match_few_pairs(problem)

    def _search(self, form: HardMarginForm, best: Rule, share: float, node_limit: int | None) -> Search:
        return DirectionSearch(form, best, share, node_limit)


class Subsystems(_Proof):
    """Best for many features and few errors; the number of nodes grows exponentially with the errors."""

    name: ClassVar[str] = "subsystems"

    def match(self, problem: Problem) -> HardMarginForm | Refusal:
        """The hard-margin loss with any positive weights, or a limited number of outliers; or why the problem is not of that form."""
        return match_any(problem)

    def _search(self, form: HardMarginForm, best: Rule, share: float, node_limit: int | None) -> Search:
        return PointSearch(form, best, share, node_limit)
