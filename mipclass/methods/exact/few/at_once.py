"""The sets of one size closed by several workers at a time.

A task is about one set or some (`tasks`). While it runs no other task begins with the sets that its larger sets would close. A set whose
proof takes more than a task may take is left to the end, when all workers grow its tree of boxes in pieces (`box.piece_pass`). The
incumbent of all sets is the target of every task that begins later, and at once of those that share memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from ....arrays import Array
from ....protocol.crew import Crew
from ....protocol.result import Status
from ....protocol.run import Run
from ....protocol.tasks import TaskRecord, TasksUnderWay
from ..form import ProofForm
from .covering import Level
from .support import SupportAnswer, Target
from .tasks import Attempt, Attempted, SetLimits, SetOrders, SetsProven, prove_sets

LEAST_WORK, MOST_WORK = 4_000_000, 200_000_000
"""Visits of points of a task: about 0.2 s, far above what it takes to hand it out, and about 10 s, all that is lost with a worker."""

TASKS_PER_WORKER = 16
"""A task takes at most this fraction (one in so many) of a worker's work so far: the wait for the last task is bounded by it."""


class SetHost(Protocol):
    """The search over all sets of features."""

    form: ProofForm
    run: Run
    best: Fraction | None
    log: list[TaskRecord]

    def stop(self) -> Status | None:
        """The limit that is reached, if one is."""
        ...

    def inner(self) -> Run:
        """A Run for the proof of one set."""
        ...

    def shared(self, crew: Crew) -> object:
        """The crew's token of what all tasks share."""
        ...

    def take(self, mask: int, found: SupportAnswer) -> SupportAnswer:
        """Count the nodes of an answer; the best that is known about its set, which is remembered."""
        ...

    def offer(self, mask: int, rule: Array) -> None:
        """Take a rule over a set as incumbent if it costs less."""
        ...

    def is_settled(self, mask: int, found: SupportAnswer, goal: Fraction | None) -> bool:
        """Whether enough is proven about a set: the goal, or its optimum."""
        ...

    def settle(self, mask: int, level: Level) -> bool:
        """Prove one set with all workers; False when stopped."""
        ...

    def tell(self) -> None:
        """Report the state of the search."""
        ...


class SetsAtOnce:
    """The tasks of one level."""

    def __init__(self, search: SetHost, level: Level, crew: Crew) -> None:
        self.search, self.level, self.crew = search, level, crew
        self._sets = level.supports.open()
        self._again: deque[int] = deque()  # sets whose turn has come before
        self._waiting: dict[int, list[int]] = {}  # set that a task is about -> sets inside it whose turn has come
        self._hard: list[int] = []
        self._tasks: TasksUnderWay[tuple[int, Sequence[Attempt]]] = TasksUnderWay(crew, search.shared(crew))
        self._orders = SetOrders(Target(level.goal), None)
        self._work = self._attempts = 0
        self._number = len(search.log)
        self._first = self._number

    def close_all(self) -> Status | None:
        """Until every set is closed; the limit that stopped it, if one did."""
        try:
            while True:
                self._hand_out()
                if not len(self._tasks):
                    break
                for (number, attempts), proven in self._tasks.answers():
                    self._take(number, attempts, proven)
                self.search.tell()
                stopped = self.search.stop()
                if stopped is not None:
                    return stopped
        finally:
            self._orders.stopped = True
            self._tasks.recall()
        for mask in self._hard:
            if not self.level.supports.is_closed(mask) and not self.level.is_paid:
                if not self.search.settle(mask, self.level):
                    return self.search.stop() or Status.NUMERICAL_ERROR
                self.search.tell()
        return None

    def _budget(self) -> int:
        """Visits of points of the next task."""
        share = self._work // (self.crew.workers * TASKS_PER_WORKER)
        return min(MOST_WORK, max(LEAST_WORK, share))

    def _hand_out(self) -> None:
        """Give tasks to the workers until none is idle or no set is left."""
        while self._tasks.has_room and not self.level.is_paid:
            budget = self._budget()
            count = 1
            if self._attempts and self.level.goal is not None:
                fair = self.level.supports.n_free // (2 * self.crew.workers)
                count = max(1, min(fair, budget * self._attempts // max(1, self._work)))
            attempts = [attempt for attempt in (self._next() for _ in range(count)) if attempt is not None]
            if not attempts:
                return
            run = self.search.inner()
            orders = self._orders
            if not self.crew.sees_memory:
                orders = SetOrders(Target(self.level.goal), run.time_limit)
            limits = SetLimits(
                MOST_WORK, budget, run.seed, run.options.get("node_limit"), run.options.get("local_steps", 0)
            )
            self._tasks.submit((self._number, attempts), prove_sets, attempts, orders, limits)
            self._number += 1

    def _next(self) -> Attempt | None:
        """The next set that is neither closed nor about to be, with the larger set that is tried first; None if there is none."""
        supports, reach, goal = self.level.supports, self.level.reach, self.level.goal
        while True:
            mask = self._again.popleft() if self._again else next(self._sets, None)
            if mask is None:
                return None
            if supports.is_closed(mask):
                continue
            holder = supports.holder(mask)
            if holder is None:
                break
            self._waiting.setdefault(holder, []).append(mask)
        by = reach.next() if goal is not None and self.search.form.is_plain_but_for_features else 0
        larger = supports.extended(mask, by)
        gain = supports.hold(larger)
        return Attempt(mask, larger, by if larger != mask else 0, gain, reach.most_work(gain))

    def _take(self, number: int, attempts: Sequence[Attempt], proven: SetsProven) -> None:
        """What a task found out, and the sets that it did not get to."""
        self.search.log.append(TaskRecord(self._first, number, -1, round(proven.cpu, 4), proven.work))
        self._work += proven.work
        self._attempts += len(proven.attempted)
        for made in proven.attempted:
            self._take_one(made)
        for attempt in attempts[len(proven.attempted) :]:
            self._again.append(attempt.mask)
            self._let_go(attempt)

    def _take_one(self, made: Attempted) -> None:
        search, level, attempt = self.search, self.level, made.attempt
        if made.tried is not None:
            known = search.take(attempt.larger, made.tried)
            closed = level.goal is not None and made.tried.reaches(level.goal)
            level.reach.tell(attempt.by, made.tried.work, attempt.gain if closed else 0)
            if closed:
                level.close(attempt.larger, known)
        if made.own is not None:
            known = search.take(attempt.mask, made.own)
            level.reach.tell(0, made.own.work, 1)
            if made.own.rule is not None:
                search.offer(attempt.mask, made.own.rule)
            if search.is_settled(attempt.mask, made.own, level.goal):
                level.close(attempt.mask, known)
        if not level.supports.is_closed(attempt.mask):
            self._hard.append(attempt.mask)
        level.covering.lower(search.best)
        self._orders.target.cost = level.goal
        self._let_go(attempt)

    def _let_go(self, attempt: Attempt) -> None:
        """The sets that waited for an attempt may be tried themselves, unless it closed them."""
        self.level.supports.release(attempt.larger)
        self._again.extend(self._waiting.pop(attempt.larger, ()))
