"""One solve's limits and its line of reporting: clock, stop requests, trace, callback, progress."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO

from ..arrays import Array
from ..kernels.waiting import working_seconds
from .checkpoint import CheckpointFolder
from .crew import Crew, ThreadCrew, crew_for
from .result import Status, Trace, Values, relative_gap


@dataclass(frozen=True)
class Event:
    """What a callback sees: the state of the search when something changed."""

    seconds: float
    objective: float | None
    bound: float | None
    nodes: int | None
    iterations: int | None
    extra: Mapping[str, Any]

    @property
    def gap(self) -> float | None:
        """The relative gap between objective and bound; None without both."""
        return relative_gap(self.objective, self.bound)


Callback = Callable[[Event], Any]
"""Called with each Event; only the answer False stops the solve."""

Related = Callable[[int], Iterable[Array]]
"""For a number of errors: weights w of rules that heuristics for related problems find."""

LINE_SECONDS_TERMINAL, LINE_SECONDS_FILE = 0.1, 1.0
"""Least seconds between two progress lines: rewritten in place on a terminal, appended elsewhere."""


@dataclass
class Run:
    """Everything one solve may use. The clock starts when the Run is made, so building counts; it stands still while kernels are
    compiled.

    A solver asks `stop()` often (it is cheap) and calls `report(...)` whenever the incumbent, the bound or the effort
    changed. Neither ever raises for a limit: the solver returns its incumbent with the status that `stop()` gave. A solve
    inside this one gets `inner(...)`.

    `warm_start` holds values by name ("w", "b", ...), in the user's units; a backend gets its start as an argument. `related` gives first
    rules of heuristics for related problems where the driver knows some.
    """

    time_limit: float | None = None
    gap: float = 0.0
    seed: int = 0
    threads: int = 1
    warm_start: Values | None = None
    callback: Callback | None = None
    progress: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    solver: str = ""
    trace: Trace = field(default_factory=list, init=False)
    objective: float | None = None
    bound: float | None = None
    interrupted: bool = False

    def __post_init__(self) -> None:
        self._start = working_seconds()
        self._meter: ProgressMeter | None = None
        self._outer: Run | None = None
        self._crews: dict[bool, Crew | None] = {}  # of threads, and of processes in their place
        self._own_threads: ThreadCrew | None = None
        self.checkpoint: CheckpointFolder | None = None
        self.related: Related | None = None
        self.begin(self.solver, self.options)

    def begin(self, solver: str, options: dict[str, Any]) -> None:
        """Name the solver once it is chosen and forget what another one reported; the clock has been running all along."""
        self.solver, self.options = solver, options
        self.objective_unit = 1.0  # what solvers report is in this unit, see solving.objective_unit
        self.objective = self.bound = None
        self.trace = []
        self._meter = ProgressMeter(solver, sys.stderr) if self.progress else None

    @classmethod
    def quiet(cls, *, seed: int = 0, time_limit: float | None = None, gap: float = 0.0, **options: Any) -> Run:
        """A Run of its own, without callback or progress; inside another solve use `inner`."""
        return cls(time_limit=time_limit, gap=gap, seed=seed, options=options)

    def inner(
        self,
        *,
        time_limit: float | None = None,
        gap: float = 0.0,
        seed: int | None = None,
        callback: Callback | None = None,
        progress: bool = False,
        **options: Any,
    ) -> Run:
        """A Run for a solve inside this one: what is left of its time, its stop requests, and its seed unless another is given.

        time_limit : seconds for the inner solve; it may only shorten what is left.
        callback : called with the inner solve's events. This Run's own callback is not; Ctrl-C or its answer False end the
            inner solve all the same.
        """
        left = self.seconds_left() if time_limit is None else min(time_limit, self.seconds_left())
        limit = None if left == float("inf") else left
        seed = self.seed if seed is None else seed
        run = Run(time_limit=limit, gap=gap, seed=seed, callback=callback, progress=progress, options=options)
        run._outer = self
        return run

    def interrupt(self) -> None:
        """Ask this solve, and those that it is inside of, to stop."""
        self.interrupted = True
        if self._outer is not None:
            self._outer.interrupt()

    def seconds(self) -> float:
        """Seconds since the Run was made, without those in which kernels were compiled."""
        return working_seconds() - self._start

    def seconds_left(self) -> float:
        """Seconds until the time limit, at least 0; infinity without a limit."""
        return float("inf") if self.time_limit is None else max(0.0, self.time_limit - self.seconds())

    def stop(self) -> Status | None:
        """INTERRUPTED after Ctrl-C or a callback's False, TIME_LIMIT when the time is used up, else None."""
        if self.interrupted or (self._outer is not None and self._outer.stop() is Status.INTERRUPTED):
            return Status.INTERRUPTED
        if self.time_limit is not None and self.seconds() >= self.time_limit:
            return Status.TIME_LIMIT
        return None

    def report(
        self,
        *,
        objective: float | None = None,
        bound: float | None = None,
        nodes: int | None = None,
        iterations: int | None = None,
        **extra: Any,
    ) -> None:
        """Record the best objective and bound so far; tell the callback and the progress line."""
        changed = False
        objective = None if objective is None else objective * self.objective_unit
        bound = None if bound is None else bound * self.objective_unit
        if objective is not None and (self.objective is None or objective < self.objective):
            self.objective, changed = float(objective), True
        if bound is not None and (self.bound is None or bound > self.bound):
            self.bound, changed = float(bound), True
        now = self.seconds()
        if changed:
            self.trace.append((now, self.objective, self.bound))
        if self.callback is not None:
            answer = self.callback(Event(now, self.objective, self.bound, nodes, iterations, extra))
            if answer is False:  # only False stops; None and everything else go on
                self.interrupted = True
        if self._meter is not None:
            self._meter.show(Event(now, self.objective, self.bound, nodes, iterations, extra))

    def crew(self, in_processes: bool = False) -> Crew | None:
        """The workers for this solve's tasks, which solves inside it share; None when the caller works alone.

        in_processes : with processes in the place of threads, for tasks that hold the interpreter's lock for much of their time.
        """
        if self._outer is not None:
            return self._outer.crew(in_processes)
        if in_processes not in self._crews:
            self._crews[in_processes] = crew_for(self.threads, in_processes)
        return self._crews[in_processes]

    def threads_here(self) -> int:
        """Threads that the caller may use while its workers rest: as many as these are, if they are on this machine."""
        if self._outer is not None:
            return self._outer.threads_here()
        return max(
            [self.threads, *(crew.workers for crew in self._crews.values() if crew is not None and crew.is_here)]
        )

    def own_threads(self) -> Crew | None:
        """As many threads of the caller as `threads_here` says, for tasks while other workers are set up; None for a single one."""
        if self._outer is not None:
            return self._outer.own_threads()
        if self._own_threads is None and self.threads_here() > 1:
            self._own_threads = ThreadCrew(self.threads_here())
        return self._own_threads

    def say(self, words: str) -> None:
        """Put words on the progress line, for as long as there is nothing to report."""
        if self._meter is not None:
            self._meter.write(f"{self.solver}: {words}")

    def close(self) -> None:
        """End the progress line and let the workers go."""
        if self._meter is not None:
            self._meter.close()
        for crew in (*self._crews.values(), self._own_threads):
            if crew is not None:
                crew.close()
        self._crews, self._own_threads = {}, None


class ProgressMeter:
    """One line on stderr, rewritten in place on a terminal and appended once a second elsewhere."""

    def __init__(self, solver: str, stream: TextIO) -> None:
        self._solver, self._stream, self._last = solver, stream, float("-inf")
        self._in_place = stream.isatty()
        self._written = False

    def show(self, event: Event) -> None:
        """Write the event's numbers, unless a line was written a moment ago."""
        if event.seconds - self._last < (LINE_SECONDS_TERMINAL if self._in_place else LINE_SECONDS_FILE):
            return
        self._last = event.seconds
        parts = [f"{self._solver or 'solve'} {event.seconds:7.1f} s"]
        for name in ("objective", "bound", "gap", "nodes", "iterations"):
            value = getattr(event, name)
            if value is not None:
                parts.append(f"{name} {value:.6g}")
        for name, value in event.extra.items():
            if isinstance(value, int | float | str):
                parts.append(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}")
        self.write("  ".join(parts))

    def write(self, line: str) -> None:
        """Write the line now."""
        self._written = True
        self._stream.write(f"\r\x1b[K{line}" if self._in_place else f"{line}\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the line on a terminal and go to the next."""
        if self._in_place and self._written:
            self._stream.write("\n")
            self._stream.flush()


@contextmanager
def interruptible(run: Run) -> Iterator[None]:
    """Turn the first Ctrl-C into a stop request; a second one raises KeyboardInterrupt as usual.

    Signal handlers belong to the main thread; elsewhere this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_interrupt(signum: int, frame: Any) -> None:
        if run.stop() is Status.INTERRUPTED:
            raise KeyboardInterrupt
        run.interrupt()

    previous = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
