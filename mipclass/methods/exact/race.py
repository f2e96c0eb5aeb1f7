"""A race of provers that share incumbents and the best bound; whoever has the best bound gets most of the work.

Turns are counted in looks at the clock (calls of `stop`), not in seconds, so that runs repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...arrays import Array
from ...protocol.result import Status
from ...protocol.run import Run
from ..zero_one.prepared import ZeroOneData
from .answer import stopper
from .iis.tree import closed_within
from .provers import Prover, Stop
from .remote import RemoteIIS

FIRST_TURN = 12
"""Looks at the clock in the first turn of each prover."""

EARLY_TURNS = 4
"""Turns up to this multiple of the first one are equal for all provers whose bound is above zero."""

TURN_GROWTH = 1.5
"""Factor between two turns, so that switching costs a bounded share of the time."""

BEHIND = 8
"""A prover that is behind gets this fraction (one in so many) of the leader's looks."""

LOOKS = {"box": 1, "iis": 24}
"""Looks at the clock that take about the same time: a box search asks about every 0.1 s, branch and cut after each LP."""

PROOF_SECONDS, LEAST_PATIENCE = 60.0, 0.5
"""Seconds to wait for the proof of another process: at most, and at least even if the time limit is over."""

MOST_SECONDS_PER_POINT = 5e-5
"""To finish the rule, and to read and count the points in the check, takes about as long as all that comes before the race does on large data
(200,000 x 2: 2.5 CPU seconds each), and no more than so many seconds per point; on small data the search for a first rule takes longer."""

MOST_RESERVED = 0.5
"""Fraction of the time limit that is kept for the check at most."""

UNLIMITED = 10**9
"""Looks of a prover that runs alone: until it is done or a limit stops it."""


@dataclass(frozen=True)
class Purpose:
    """What a race is for when the plain problem is a part of another one.

    fulfilled : asked often with the race; once it says True the race ends.     tell : reports the progress of the other problem.
    nodes : nodes that were visited before, which count towards the node limit.
    """

    fulfilled: Callable[[Race], bool]
    tell: Callable[[Race], None]
    nodes: int


class Race:
    """Provers of one plain problem; `remote` runs in a process of its own all the while, the others take turns here."""

    def __init__(
        self,
        data: ZeroOneData,
        run: Run,
        provers: list[Prover],
        remote: RemoteIIS | None = None,
        purpose: Purpose | None = None,
    ) -> None:
        self.data, self.run, self.remote, self.purpose = data, run, remote, purpose
        self.provers: list[Prover] = [*provers, remote] if remote is not None else provers
        to_read = min(run.seconds(), MOST_SECONDS_PER_POINT * len(data.group))
        # A check that is sure not to fit into the time left gets none of it.
        is_checked = purpose is None and run.options.get("certificate", True) and run.seconds_left() > to_read
        self._to_read = to_read if is_checked else None

    @property
    def lower(self) -> int:
        """The best lower bound, in units."""
        return max(prover.lower for prover in self.provers)

    @property
    def best(self) -> int:
        """The incumbent's cost, in units."""
        return min(prover.best for prover in self.provers if prover.best is not None)

    @property
    def nodes(self) -> int:
        """Nodes of all provers together."""
        return sum(prover.nodes for prover in self.provers)

    def best_rule(self) -> Array:
        """The incumbent over all features."""
        lead = min((p for p in self.provers if p.best is not None), key=lambda prover: prover.best or 0)
        assert lead.rule is not None
        return lead.rule

    def leader(self) -> Prover:
        """The prover with the best bound whose proof is at hand."""
        own = max((p for p in self.provers if p is not self.remote), key=lambda prover: prover.lower)
        patience = min(PROOF_SECONDS, max(LEAST_PATIENCE, self.run.seconds_left()))
        if self.remote is not None and self.remote.lower > own.lower and self.remote.close(True, patience):
            return self.remote
        return own

    def cost(self, value: int) -> float:
        """A whole number of units as a loss of the user's problem, constant included."""
        return float(self.data.constant + self.data.proof_counts.unit * value)

    def offer(self, rule: Array) -> None:
        """A rule over all features for every prover that has a worse one."""
        for prover in self.provers:
            prover.offer(rule)

    def run_all(self, looks: int = UNLIMITED) -> Status | None:
        """Until the bound meets the incumbent or a limit, or turns of so many looks at the clock are over; the limit that stopped it, if one did."""
        before = 0 if self.purpose is None else self.purpose.nodes
        limits = stopper(self.run, lambda: before + self.nodes, self._poll_and_done)

        def stop() -> Status | None:
            return limits() or (Status.TIME_LIMIT if self._is_time_to_check() else None)

        self._tell()
        turn = FIRST_TURN
        while looks > 0 and not self.is_done():
            status = stop()
            if status is not None:
                return None if status is Status.OPTIMAL else status
            alive = [prover for prover in self.provers if not prover.exhausted]
            if not alive:
                return Status.NUMERICAL_ERROR
            here = [prover for prover in alive if prover is not self.remote] or alive
            lead = max(here, key=lambda prover: prover.lower)
            for prover in here:
                # One turn is enough to see that a bound stays at zero.
                is_early = turn <= (EARLY_TURNS * FIRST_TURN if prover.lower > 0 else FIRST_TURN)
                share = min(looks, turn if prover is lead or is_early else max(1, turn // BEHIND))
                prover.advance(_Turn(share * LOOKS[prover.name], stop), self._tell)
                self._share()
                looks -= share
                if looks <= 0 or self.is_done() or stop() is not None:
                    break
            turn = int(turn * TURN_GROWTH) if len(here) > 1 else UNLIMITED
        return None if self.is_done() else stop()

    def _tell(self) -> None:
        if self.purpose is not None:
            self.purpose.tell(self)
            return
        told = self.outlook(self.cost)
        self.run.report(objective=self.cost(self.best), bound=self.cost(self.lower), nodes=self.nodes, **told)

    def outlook(self, cost: Callable[[int], float]) -> dict[str, Any]:
        """What the prover with the best bound expects of its present pass; `cost` turns units into losses of the problem that is reported."""
        told = max(self.provers, key=lambda prover: prover.lower).outlook()
        return {**told, "target": cost(int(told["target"]))} if "target" in told else told

    def is_done(self) -> bool:
        """Whether the bound meets the incumbent, or the race's purpose is fulfilled."""
        if self.purpose is not None:
            return self.best - self.lower <= closed_within(self.best) or self.purpose.fulfilled(self)
        unit, missing = self.data.proof_counts.unit, self.best - self.lower
        # The gap is relative to the whole loss: what opposite labels of equal points cost any rule is part of it.
        allowed = Fraction(self.run.gap) * (self.data.constant + unit * self.best)
        return missing <= closed_within(self.best) or unit * missing <= allowed

    def _is_time_to_check(self) -> bool:
        """Whether what is left until the time limit is needed for the check of what is proven, or about to be."""
        if self.run.time_limit is None or self._to_read is None:
            return False
        lead = max(self.provers, key=lambda prover: prover.lower)
        needed = self._to_read + lead.seconds_to_check(self.run.threads_here())
        return self.run.seconds_left() < min(needed, MOST_RESERVED * self.run.time_limit)

    def _poll_and_done(self) -> bool:
        if self.remote is not None:
            self.remote.poll()
            self._share()
        return self.is_done()

    def _share(self) -> None:
        """Offer the incumbent to every prover that has a worse one."""
        best = self.best
        lead = next(prover for prover in self.provers if prover.best == best)
        rule = lead.rule
        for prover in self.provers:
            if rule is not None and prover is not lead and (prover.best is None or prover.best > best):
                prover.offer(rule)


class _Turn:
    """A `stop` that also says yes after so many looks; `limit` is the `stop` within, whose looks do not count."""

    def __init__(self, looks: int, limit: Stop) -> None:
        self._left, self.limit = looks, limit

    def __call__(self) -> object:
        self._left -= 1
        return self._left < 0 or self.limit()
