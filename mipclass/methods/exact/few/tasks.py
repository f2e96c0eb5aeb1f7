"""One task of a search over sets of features: some sets, each of which is proven to reach the target, perhaps inside a larger set.

A task is a function of its arguments alone, so that any thread, process or machine can carry it out, twice if need be.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from ....certificates.certificate import fraction
from ....protocol.result import Status
from ....protocol.run import Run
from ..form import ProofForm
from ..sums import Sums
from .support import SupportAnswer, Target, prove_support
from .supports import features_of


@dataclass(frozen=True, eq=False)
class SetWork:
    """What all tasks share: the problem, and the sums that its losses can be."""

    form: ProofForm
    sums: Sums

    def prove(
        self, mask: int, target: Target, run: Run, *, most_work: int | None = None, ends_at_rule: bool = False
    ) -> SupportAnswer:
        """What can be proven about a set, see `prove_support`."""
        alone = self.form.on_features(features_of(mask))
        start = np.zeros(alone.X.shape[1] + 1)
        start[-1] = 1.0
        return self._rounded_up(
            prove_support(alone, target, run, start, most_work=most_work, ends_at_rule=ends_at_rule)
        )

    def _rounded_up(self, found: SupportAnswer) -> SupportAnswer:
        """The answer with its bound raised to the next sum of costs, where sums are known and reach it: every loss is one."""
        unit = self.form.costs.unit
        if found.bound > self.form.costs.total:
            return replace(found, is_impossible=True)
        if not self.sums.known:
            return found
        reached = unit * self.sums.least_from(ceil(found.bound / unit))
        if reached == found.bound:
            return found
        return replace(found, bound=reached, lower={**found.lower, "bound": fraction(reached)})


@dataclass
class SetOrders:
    """What a task is told while it runs, if it shares memory with the caller, and otherwise at its start.

    seconds : after these the task ends by itself.     stopped : it should end now.
    """

    target: Target
    seconds: float | None
    stopped: bool = False


@dataclass(frozen=True)
class SetLimits:
    """Of one task: visits of points for one set, and visits after which it begins no further set; what its searches are told."""

    most_work: int
    budget: int
    seed: int
    node_limit: int | None
    local_steps: int


@dataclass(frozen=True)
class Attempt:
    """A set to be closed, the set around it whose proof is tried first (itself for none), by how many features it is larger, and the
    work that this trial may take; `gain` is the number of sets that it would close."""

    mask: int
    larger: int
    by: int
    gain: int
    most_work: int


@dataclass(frozen=True, eq=False)
class Attempted:
    """What is known about the larger set and the set itself, as far as a task looked at them."""

    attempt: Attempt
    tried: SupportAnswer | None
    own: SupportAnswer | None


@dataclass(frozen=True, eq=False)
class SetsProven:
    """What a task brings back: the attempts that it made, in order, and its seconds of processor time."""

    attempted: tuple[Attempted, ...]
    cpu: float

    @property
    def work(self) -> int:
        """Effort, in visits of points by the box search."""
        return sum(found.work for made in self.attempted for found in (made.tried, made.own) if found is not None)


class _TaskRun(Run):
    """The Run of a task: it ends with the task's orders."""

    orders: SetOrders

    def stop(self) -> Status | None:
        """INTERRUPTED when the caller says so."""
        return Status.INTERRUPTED if self.orders.stopped else super().stop()


def prove_sets(work: SetWork, attempts: Sequence[Attempt], orders: SetOrders, limits: SetLimits) -> SetsProven:
    """Make the attempts one after the other, as long as the budget lasts."""
    cpu = time.thread_time()
    options = {"node_limit": limits.node_limit, "local_steps": limits.local_steps}
    run = _TaskRun(time_limit=orders.seconds, seed=limits.seed, options=options)
    run.orders = orders
    made = SetsProven((), 0.0)
    for attempt in attempts:
        made = SetsProven((*made.attempted, _attempted(work, attempt, run, limits)), time.thread_time() - cpu)
        if made.work >= limits.budget or run.stop() is not None:
            break
    return made


def _attempted(work: SetWork, attempt: Attempt, run: _TaskRun, limits: SetLimits) -> Attempted:
    target, tried = run.orders.target, None
    if attempt.larger != attempt.mask:
        tried = work.prove(attempt.larger, target, run, most_work=attempt.most_work, ends_at_rule=True)
        if run.stop() is not None or tried.reaches(target.of(work.form)):
            return Attempted(attempt, tried, None)
    return Attempted(attempt, tried, work.prove(attempt.mask, target, run, most_work=limits.most_work))
