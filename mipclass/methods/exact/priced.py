"""Limits on errors proven by prices: one weighted plain problem whose optimum bounds the limited one (`prices`, `priced_form`).

The certificate holds the prices and the proof of the plain problem. A gap that no prices close is closed box by box (`limited`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ...protocol.result import Outcome, Status
from ...protocol.run import Run
from .answer import answer
from .constrained import prove_constrained
from .first_rules import first_rules, improved_rule
from .form import ProofForm
from .limited import LimitedProof
from .plain import BOX_AT_MOST, plain_proof
from .priced_form import PricedForm, priced_form
from .prices import RulePool
from .provers import BoxProver
from .race import Purpose, Race

MOST_ROUNDS = 40
"""Changes of the prices, at most, before the first proof is attempted."""


def prove_priced(form: ProofForm, run: Run) -> Outcome:
    """The limited problem by prices; what they leave open is closed by boxes, and what these leave open goes to branch and cut.

    With many features there are no boxes, and prices serve only where they may close the whole gap: branch and cut has its own at each node.
    """
    search = PricedSearch(form.unfolded, run)
    search.look_for_prices()
    has_boxes = form.X.shape[1] <= BOX_AT_MOST
    if has_boxes or search.may_close():
        search.prove()
    if has_boxes and not search.is_closed and search.stopped is None:
        search.close_by_boxes()
    rule = search.pool.best_W
    if search.is_closed or search.stopped is not None:
        return answer(
            form,
            run,
            rule=None if rule is None else (rule[:-1], float(rule[-1])),
            lower=search.lower,
            stopped=search.stopped,
            nodes=search.nodes,
            infeasible=rule is None and search.is_closed,
            extra=search.extra,
        )
    return prove_constrained(form, run, known=rule, floor=search.lower, nodes=search.nodes)


class PricedSearch:
    """Rules and proven bounds of a problem with limits, one weighted proof after the other."""

    def __init__(self, form: ProofForm, run: Run) -> None:
        self.form, self.run = form, run
        self.pool = RulePool(form.cover())
        self.nodes = 0
        self.bound = Fraction(0)
        self.lower: dict[str, Any] = {"kind": "trivial", "bound": "0"}
        self.stopped: Status | None = None
        self.extra: dict[str, Any] = {}
        self._prices = tuple(Fraction(0) for _ in form.statement.limits)
        self._tried: set[tuple[Fraction, ...]] = set()
        self._boxes: tuple[PricedForm, BoxProver | None] | None = None  # of the last weighted proof

    @property
    def is_closed(self) -> bool:
        """The bound proves the incumbent optimal, or that no rule keeps the limits; or it is within the gap that the caller allows."""
        return self._is_enough(self.bound)

    def _is_enough(self, bound: Fraction) -> bool:
        pool, unit = self.pool, self.pool.unit
        if bound > pool.to_exceed() * unit:
            return True
        return pool.best is not None and pool.best * unit - bound <= Fraction(self.run.gap) * pool.best * unit

    def may_close(self) -> bool:
        """Whether the rules seen so far allow for a proof of the incumbent at the present prices."""
        pool = self.pool
        return pool.best is not None and pool.rounded_up(pool.estimate(self._prices)) > pool.to_exceed()

    def look_for_prices(self) -> None:
        """First rules, then rules at the best prices so far until these stay the same."""
        for W in first_rules(self.form, self.run):
            self.pool.take(W)
        self._tell(self.bound)
        for _ in range(MOST_ROUNDS):
            self._prices = self.pool.prices()
            priced = self._at(self._prices)
            before = self.pool.estimate(self._prices)
            start = self.pool.cheapest(self._prices)
            if self.run.stop() is not None or not len(priced.data.Z):
                return
            self.pool.take(improved_rule(priced.data, start, self.run, self.form.cone))
            if self.pool.prices() == self._prices and self.pool.estimate(self._prices) == before:
                return

    def _at(self, prices: tuple[Fraction, ...]) -> PricedForm:
        return priced_form(self.form, tuple(price * self.pool.unit for price in prices))

    def prove(self) -> None:
        """One weighted proof, and another at other prices whenever a new rule shows that these would prove more."""
        while self._prices not in self._tried and not self.is_closed:
            self._tried.add(self._prices)
            priced = self._at(self._prices)
            watch = _Watch(self, priced)
            purpose = Purpose(watch.fulfilled, watch.tell, self.nodes)
            found = plain_proof(priced, self.run, None, self.pool.cheapest(self._prices), purpose)
            self.nodes += found.nodes
            self._boxes = (priced, found.boxes)
            self.pool.take(np.append(*found.rule))
            bound = priced.bound(Fraction(found.lower["bound"]))
            if bound > self.bound or self.lower["kind"] == "trivial":
                self.bound, self.extra = bound, {"prices": [float(p) for p in priced.prices], **_named(found.extra)}
                self.lower = priced.lower(found.lower, self._rounded_up(bound))
            if found.stopped not in (None, Status.OPTIMAL, Status.NUMERICAL_ERROR):
                self.stopped = found.stopped
                return
            if self._estimates_more(self.pool.prices()):
                self._prices = self.pool.prices()

    def close_by_boxes(self) -> None:
        """Close the gap that prices leave, box by box; without effect where the boxes cannot settle it."""
        priced, boxes = self._boxes if self._boxes is not None else (self._at(self._prices), None)
        limited = LimitedProof.begun(priced, self.pool, boxes, self.run)
        if limited is None:
            return
        before = self.nodes
        limit = self.run.options.get("node_limit")

        def stop() -> object:
            self.nodes = before + limited.search.nodes
            return self.run.stop() is not None or (limit is not None and self.nodes >= limit)

        done = limited.search.advance(stop, lambda: self._tell(self.bound))
        self.nodes = before + limited.search.nodes
        if not done:
            self.stopped = self.run.stop() or Status.NODE_LIMIT
        elif not limited.search.holes:
            self.bound = limited.bound()
            self.lower = limited.lower(self._rounded_up(self.bound))
            tasks = (*self.extra.get("tasks", ()), *limited.search.log)
            self.extra = {**self.extra, "parts": len(limited.search.parts), **({"tasks": tasks} if tasks else {})}

    def _rounded_up(self, bound: Fraction) -> Fraction:
        return self.pool.unit * self.pool.rounded_up(bound / self.pool.unit)

    def _estimates_more(self, prices: tuple[Fraction, ...]) -> bool:
        """Whether the rules seen so far allow for a better bound at these prices than at the present ones."""
        pool = self.pool
        return pool.rounded_up(pool.estimate(prices)) > pool.rounded_up(pool.estimate(self._prices))

    def _tell(self, bound: Fraction, nodes: int = 0, **outlook: Any) -> None:
        """Report the incumbent and the bound; `nodes` are those of a proof that is under way."""
        pool = self.pool
        loss = None if pool.best is None else float(pool.best * pool.unit)
        self.run.report(objective=loss, bound=float(max(bound, self.bound)), nodes=self.nodes + nodes, **outlook)


class _Watch:
    """Reads the race of one weighted proof: its rules go to the pool, its bound may be enough, other prices may serve better."""

    def __init__(self, search: PricedSearch, priced: PricedForm) -> None:
        self.search, self.priced = search, priced
        self._best: int | None = None

    def _bound(self, race: Race, units: int) -> Fraction:
        """What so many units of the weighted problem prove of the limited one."""
        return self.priced.bound(race.data.constant + race.data.proof_counts.unit * units)

    def fulfilled(self, race: Race) -> bool:
        """Whether the race may end."""
        search = self.search
        if self._best is None or race.best < self._best:
            self._best = race.best
            search.pool.take(race.best_rule())
            other = search.pool.prices()
            if other not in search._tried and search._estimates_more(other):
                return True
        return search._is_enough(self._bound(race, race.lower))

    def tell(self, race: Race) -> None:
        """Report the limited problem."""
        outlook = race.outlook(lambda units: float(self._bound(race, units)))
        self.search._tell(self._bound(race, race.lower), race.nodes, **outlook)


def _named(extra: dict[str, Any]) -> dict[str, Any]:
    """What is said of the provers, without their bounds, which are those of the plain problem."""
    return {name: value for name, value in extra.items() if not name.startswith("bound_")}
