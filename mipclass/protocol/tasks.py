"""Tasks under way on a crew: who waits for which answer, and which tasks have to be carried out again because their worker was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeVar

from .crew import Crew

AHEAD = 1
"""Tasks per worker that wait at a worker that does not share memory, so that it is never idle while an answer travels."""

LOOK_SECONDS = 0.1
"""Seconds between two looks at the clock while others are at work."""

MOST_LOSSES = 3
"""Workers that may be lost with the same task before the task itself is blamed."""

Key = TypeVar("Key")
Best = TypeVar("Best", int, int | None, Fraction | None)
"""Cost of an incumbent, None where there may be none yet."""


@dataclass
class Orders(Generic[Best]):
    """What a task is told while it runs, if it shares memory with the caller, and otherwise at its start.

    best : the incumbent's cost.     seconds : after these the task ends by itself.     stopped : it should end now.
    """

    best: Best
    seconds: float = float("inf")
    stopped: bool = False

    def lower(self, best: Best) -> None:
        """An incumbent of this cost is known."""
        if best is not None and (self.best is None or best < self.best):
            self.best = best

    def is_over(self, seconds: float) -> bool:
        """Whether a task that has been running for so many seconds should end."""
        return self.stopped or seconds > self.seconds


class TaskRecord(NamedTuple):
    """One task of a log: the stage it belongs to, before the end of which no task of the next one begins; its number; the task that left
    it its work, or the first part of it (-1: it was there when the stage began); its processor seconds; its effort, in the unit of the
    search; and whether the caller carried it out itself."""

    stage: int
    number: int
    parent: int
    cpu: float
    effort: int
    by_caller: bool = False


def without_answer(shared: Any, function: Callable[..., Any], *arguments: Any) -> None:
    """Carry out a task whose answer nobody needs."""
    function(shared, *arguments)


class SettingUp:
    """Workers that are being set up: processes have to start, to import the package and to load kernels, which takes a second or two.

    Each is given a small task, and the first answer says that they are ready. Until then the caller had better work by itself. Threads are
    ready at once.     token : the crew's, of what the tasks share.
    """

    def __init__(
        self, crew: Crew, thing: Any, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]
    ) -> None:
        """Share `thing`, and carry out `function(thing, *arguments)` on the workers, once for each tuple; the answers are not used."""
        self.token = crew.share(thing)
        self._tasks: list[Future[Any]] = []
        if not crew.sees_memory:
            self._tasks = [crew.submit(without_answer, self.token, function, *each) for each in arguments]

    @property
    def is_over(self) -> bool:
        """Whether a worker is ready, or was lost: the tasks that follow are then repeated elsewhere."""
        if any(task.done() for task in self._tasks):
            self._tasks = []  # a cluster repeats tasks that somebody still knows when it loses their answers
        return not self._tasks


@dataclass
class _Task(Generic[Key]):
    """What it takes to carry out a task once more."""

    key: Key
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    losses: int = 0


class TasksUnderWay(Generic[Key]):
    """Tasks `function(shared, *arguments)` on a crew, each with a key of the caller's. The functions are pure: a task may be repeated."""

    def __init__(self, crew: Crew, token: Any) -> None:
        """token : the crew's, of what the tasks share."""
        self.crew, self._token = crew, token
        self._running: dict[Future[Any], _Task[Key]] = {}

    def __len__(self) -> int:
        return len(self._running)

    @property
    def has_room(self) -> bool:
        """Whether a worker may be idle."""
        return len(self._running) < self.crew.workers * (1 if self.crew.sees_memory else 1 + AHEAD)

    def submit(self, key: Key, function: Callable[..., Any], *arguments: Any) -> None:
        """Hand out a task."""
        self._submit(_Task(key, function, arguments))

    def _submit(self, task: _Task[Key]) -> None:
        self._running[self.crew.submit(task.function, self._token, *task.arguments)] = task

    @property
    def keys(self) -> list[Key]:
        """Keys of the tasks whose answers were not taken yet."""
        return [task.key for task in self._running.values()]

    def answers(self) -> Iterator[tuple[Key, Any]]:
        """Keys and answers of the tasks that have ended, after a wait of LOOK_SECONDS at most, one by one: the next ones count as under way
        meanwhile."""
        done, _ = wait(self._running, LOOK_SECONDS, FIRST_COMPLETED)
        for future in done:
            task = self._running.pop(future)
            error = CancelledError() if future.cancelled() else future.exception()
            if error is None:
                yield task.key, future.result()
                continue
            task.losses += 1
            if not self.crew.has_lost(error) or task.losses > MOST_LOSSES:
                raise error
            self._submit(task)

    def recall(self) -> list[Key]:
        """Bring what is under way to an end: keys of the tasks that are given up. Tasks that share the caller's memory, and that the caller
        has told to stop, are waited for; `answers` has what they found out."""
        for future in self._running:
            future.cancel()
        if self.crew.sees_memory:
            wait(self._running)
        given_up = [future for future in self._running if future.cancelled() or not self.crew.sees_memory]
        return [self._running.pop(future).key for future in given_up]
