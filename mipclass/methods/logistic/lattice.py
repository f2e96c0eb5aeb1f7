"""lattice: proven scorecards, by branch and bound over boxes of whole weights with convex relaxations.

A node is a box of weights, in which each feature is used, unused or undecided. Its relaxation (kernels/cone) drops whole numbers
and undecided penalties; the bound comes from Fenchel duality and is valid whatever the accuracy of the minimiser. Undecided
features are branched into unused, positive and negative; then weights are bisected. Once the used features are known, points that
are equal in them are merged, which leaves few points when features are 0/1. A node with one card is evaluated exactly
(kernels/card), with the best offset that satisfies what else is asked for, such as error rates; boxes are bounded without these. Nodes are taken in the order of their bounds, so that the smallest one is a lower bound at any time.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import Array, Index
from ...modelling.problem import Problem
from ...protocol.options import Option, Options, number, optional
from ...protocol.result import Claim, Outcome, Status, relative_gap
from ...protocol.run import Run
from ..base import Method, Refusal
from .beam import CardSearch
from .cards import Cards
from .form import LogisticForm, read_form

PROVEN_GAP = 1e-9
"""Relative distance of bound and objective at which an optimum is proven: far above rounding errors of the bound (1e-13)."""

MERGED_UP_TO = 14
"""Features up to which points are merged again: with more, few 0/1 rows are equal and the sort costs more than it saves."""

MOST_MERGED = 512
"""Sets of features whose merged points are kept."""

UNSETTLED = (
    "the search is done, but bounds of some nodes stayed below the objective: their convex problems were not solved to the end, "
    "as happens where features have far units. Standardise the features, or use solver='cutting-plane'"
)
"""What a numerical error means, and what to do about it."""


@dataclass(frozen=True, eq=False)
class CardBox:
    """lower <= (w, b) <= upper; state_j is 1 for a used feature, -1 for an unused one, 0 for an undecided one."""

    lower: Array
    upper: Array
    state: Array
    point: Array


class Lattice(Method[LogisticForm]):
    """Logistic loss with whole weights or a limited number of features, within bounds."""

    name: ClassVar[str] = "lattice"
    promise: ClassVar[str] = "proven: bound and objective meet when it finishes; a valid bound at any time"
    options: ClassVar[Options] = {
        "node_limit": Option(None, "boxes at most", optional(number(at_least=1, integer=True))),
    }

    def match(self, problem: Problem) -> LogisticForm | Refusal:
        """The problem's form, where weights are whole or few."""
        form = read_form(problem, with_others=True)
        if isinstance(form, Refusal):
            return form
        if form.others and not form.whole_offset:
            return Refusal(
                f"{form.others[0].formula()!r} needs whole weights and a whole offset here, IntegerCoefficients(5, intercept=True); "
                "solver 'cutting-plane' takes it with others."
            )
        if not form.whole and form.most == form.d and not form.l0:
            return Refusal("it branches on whole weights or on the number of features; use solver='newton'.")
        if form.whole and not (np.isfinite(form.lower).all() and np.isfinite(form.upper).all()):
            return Refusal("whole weights need finite bounds, as IntegerCoefficients(5) gives them.")
        if form.has_free_multiplier and (not form.whole or form.l1 or form.l2):
            return Refusal(
                "a multiplier can be chosen for whole weights without L1() and L2() penalties, for they change with its units; "
                "use Logistic(multiplier=1) or another number."
            )
        if form.penalised_offset and (form.l1 or form.l2):
            return Refusal("it takes no penalised offset; use rule=Linear() or solver='cutting-plane'.")
        if not form.whole and (form.l1 or not (form.l2 or np.isfinite([form.lower, form.upper]).all())):
            return Refusal(
                "few real weights need finite Bounds(w=...) or an L2() penalty, and no L1(), for their relaxation to have a bound."
            )
        return form

    def solve(self, form: LogisticForm, run: Run) -> Outcome:
        """Search until the gap is closed or the run stops."""
        if form.is_empty or np.count_nonzero((form.lower > 0) | (form.upper < 0)) > form.most:
            return Outcome(
                Status.INFEASIBLE, "proven", None, None, float("inf"), raw_status="the bounds admit no weights"
            )
        return LatticeSearch(form, run).outcome()


class LatticeSearch:
    """One branch and bound."""

    def __init__(self, form: LogisticForm, run: Run) -> None:
        self.form, self.run = form, run
        self.cards = Cards.of(form)
        self.incumbents = CardSearch(self.cards, run)
        self.heap: list[tuple[float, int, CardBox]] = []
        self.pruned = np.inf
        self.nodes = 0
        self.merged: dict[bytes, Cards] = {}

    # -- the loop -----------------------------------------------------------------------------------------------------

    def outcome(self) -> Outcome:
        """Run the search and describe where it ended."""
        start = self.run.warm_start
        if start is not None and "w" in start:
            w = np.clip(np.round(start["w"]) if self.form.whole else start["w"], self.form.lower, self.form.upper)
            if np.count_nonzero(w) <= self.form.most:
                self.incumbents.offer(self.incumbents.improved(self.cards.card(w + 0.0)))
        self.process(self._root(), -np.inf)
        self.incumbents.search()
        stopped = self._loop()
        best, bound = self.incumbents.best, float(self.bound)
        if best is None:
            return Outcome(stopped or Status.INFEASIBLE, "none" if stopped else "proven", None, None, bound, self.nodes)
        gap = relative_gap(best.objective, bound)
        claim: Claim = "proven" if gap is not None and gap <= 10 * PROVEN_GAP else "heuristic"
        closed = gap is not None and gap <= max(10 * PROVEN_GAP, self.run.gap)
        status = stopped or (Status.OPTIMAL if closed else Status.NUMERICAL_ERROR)
        words = UNSETTLED if status is Status.NUMERICAL_ERROR else ""
        extra = {"multiplier": 1.0 / best.s, "open_nodes": len(self.heap)}
        values = self.cards.values(best)
        objective = self.form.model.recount(values)
        return Outcome(status, claim, values, objective, bound, self.nodes, raw_status=words, extra=extra)

    def _loop(self) -> Status | None:
        limit = self.run.options.get("node_limit")
        while self.heap:
            if relative_gap(self._objective(), self.bound) is not None and self._is_closed():
                return None
            stopped = self.run.stop() or (Status.NODE_LIMIT if limit is not None and self.nodes >= limit else None)
            if stopped is not None:
                return stopped
            bound, _, box = heapq.heappop(self.heap)
            for child in self._children(box):
                self.process(child, bound)
            self.run.report(objective=self._objective(), bound=self.bound, nodes=self.nodes)
        return None

    def _is_closed(self) -> bool:
        gap = relative_gap(self._objective(), self.bound)
        return gap is not None and gap <= max(self.run.gap, PROVEN_GAP)

    def _objective(self) -> float | None:
        return None if self.incumbents.best is None else self.incumbents.best.objective

    @property
    def cutoff(self) -> float:
        """Nodes with a bound from here on hold no better card."""
        objective = self._objective()
        return np.inf if objective is None else objective - PROVEN_GAP * max(1.0, abs(objective))

    @property
    def bound(self) -> float:
        """The lower bound of the whole problem."""
        objective = self._objective()
        return min(self.heap[0][0] if self.heap else np.inf, self.pruned, np.inf if objective is None else objective)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _root(self) -> CardBox:
        form = self.form
        lower, upper = np.append(form.lower, form.b_range[0]), np.append(form.upper, form.b_range[1])
        state = np.where((form.lower > 0) | (form.upper < 0), 1, np.where((form.lower == 0) & (form.upper == 0), -1, 0))
        start = np.zeros(form.d + 2)
        start[-1] = self.cards.cone.mean()
        return CardBox(lower, upper, state, start)

    def process(self, box: CardBox, above: float) -> None:
        """Bound the box and keep it, evaluate its only card, or drop it; `above` is its parent's bound."""
        from .kernels.cone import relax

        self.nodes += 1
        form, d = self.form, self.form.d
        used = np.count_nonzero(box.state == 1)
        if used > form.most:
            return
        if used == form.most:
            box = _closed(box, d)
        active = np.flatnonzero(box.state >= 0)
        if form.whole and (box.lower[:d] == box.upper[:d]).all():
            card = (
                self.cards.card(box.lower[:d])
                if len(active) > form.most
                else self._small(active).card(box.lower[active])
            )
            w = np.array(box.lower[:d])
            self.incumbents.offer(type(card)(w, card.b, card.s, card.objective))
            self.pruned = min(self.pruned, max(card.objective, above))
            return
        cards = self._small(active) if len(active) <= form.most else self._without_unused(active)
        keep = np.append(active, d)
        fixed = form.l0 * used
        is_exact = not form.whole and len(active) <= form.most and (not form.l0 or not (box.state == 0).any())
        cutoff = np.nan if is_exact else self.cutoff - fixed
        bound, _, point = relax(
            cards.signed, cards.c, box.lower[keep], box.upper[keep], cards.cone, self._linear(box)[keep], cards.squares,
            box.point[np.append(keep, d + 1)], cutoff,
        )  # fmt: skip
        bound = max(bound + fixed, above, fixed)  # No loss is negative.
        if bound >= self.cutoff:
            self.pruned = min(self.pruned, bound)
            return
        full = np.zeros(d + 2)
        full[keep], full[-1] = point[:-1], point[-1]
        box = CardBox(box.lower, box.upper, box.state, full)
        self._round(box, cards, active)
        if is_exact:
            self.pruned = min(self.pruned, bound)  # The relaxation is the box's best rule itself.
            return
        heapq.heappush(self.heap, (bound, self.nodes, box))

    def _round(self, box: CardBox, cards: Cards, active: Index) -> None:
        """Offer a card near the relaxation's point, where the used features are known."""
        if len(active) > self.form.most:
            return
        v, s = box.point[active], box.point[-1]
        w = v / s if self.form.has_free_multiplier else v
        w = np.clip(np.round(w) if self.form.whole else w, box.lower[active], box.upper[active])
        card = cards.card(w + 0.0)
        whole = np.zeros(self.form.d)
        whole[active] = card.w
        self.incumbents.offer(type(card)(whole, card.b, card.s, card.objective))

    def _linear(self, box: CardBox) -> Array:
        """The L1 penalty of weights whose sign is known; of the others nothing is charged."""
        sign = np.where(box.lower >= 0, 1.0, np.where(box.upper <= 0, -1.0, 0.0))
        linear = self.form.l1 * sign
        linear[-1] = 0.0
        return np.asarray(linear)

    def _small(self, active: Index) -> Cards:
        """The points in these few features, merged."""
        key = active.tobytes()
        if key not in self.merged:
            if len(self.merged) >= MOST_MERGED:
                self.merged.pop(next(iter(self.merged)))
            self.merged[key] = self.cards.only(active)
        return self.merged[key]

    def _without_unused(self, active: Index) -> Cards:
        """The points without the features that are known to be unused; merged again when few features are left."""
        if len(active) == self.form.d:
            return self.cards
        return self._small(active) if len(active) <= MERGED_UP_TO else self.cards.without(active)

    # -- branching ----------------------------------------------------------------------------------------------------

    def _children(self, box: CardBox) -> list[CardBox]:
        d = self.form.d
        undecided = np.flatnonzero(box.state == 0)
        if len(undecided):
            j = int(undecided[np.argmax(np.abs(box.point[undecided]) * self.cards.spreads[undecided])])
            return self._decided(box, j)
        width = box.upper[:d] - box.lower[:d]
        j = int(np.argmax(width * np.abs(box.point[:d]) * self.cards.spreads + 1e-9 * width))
        w = box.point[j] / box.point[-1]
        cut = float(np.clip(np.floor(w), box.lower[j], box.upper[j] - 1))
        return [_limited(box, j, upper=cut), _limited(box, j, lower=cut + 1)]

    def _decided(self, box: CardBox, j: int) -> list[CardBox]:
        """Feature j unused, or used with either sign."""
        unused = _limited(box, j, lower=0.0, upper=0.0, state=-1)
        if not self.form.whole:
            return [unused, _limited(box, j, state=1)]
        positive = [_limited(box, j, lower=max(1.0, box.lower[j]), state=1)] if box.upper[j] >= 1 else []
        negative = [_limited(box, j, upper=min(-1.0, box.upper[j]), state=1)] if box.lower[j] <= -1 else []
        return [unused, *positive, *negative]


def _limited(
    box: CardBox, j: int, lower: float | None = None, upper: float | None = None, state: int | None = None
) -> CardBox:
    """The box with other limits for feature j."""
    low, high, states = box.lower.copy(), box.upper.copy(), box.state.copy()
    low[j] = low[j] if lower is None else lower
    high[j] = high[j] if upper is None else upper
    states[j] = states[j] if state is None else state
    return CardBox(low, high, states, box.point)


def _closed(box: CardBox, d: int) -> CardBox:
    """The box with all undecided features unused."""
    low, high, states = box.lower.copy(), box.upper.copy(), box.state.copy()
    undecided = np.flatnonzero(states == 0)
    low[undecided] = high[undecided] = 0.0
    states[undecided] = -1
    return CardBox(low, high, states, box.point)
