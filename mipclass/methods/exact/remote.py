"""A proving search in a process of its own, seen as a Prover: rules go both ways, bounds come back, the proof at the end.

The process is started by joblib's loky, which needs no guard around the caller's main module and no fork.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from ...arrays import Array
from ...protocol.tasks import TaskRecord
from .iis.cover import CoverData
from .provers import IISProver, Stop

TELL_SECONDS = 0.1
"""Seconds between two messages of the process: often enough for the caller's limits."""

POLL_SECONDS = 0.05
"""Seconds that either side sleeps when it has nothing to do."""


def work(connection: Any, data: CoverData, seed: int, start: Array) -> None:
    """What the process does: search, tell of bounds and rules at most ten times a second, and end with the proof.

    Ctrl-C in a terminal reaches all its processes, and is for the caller alone, which ends this one itself.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prover = IISProver(data, seed)
    prover.offer(start)
    told_best, told_at, asked_to_end = prover.best, 0.0, False

    def tell(now: bool = False) -> None:
        nonlocal told_best, told_at
        if now or time.monotonic() - told_at > TELL_SECONDS:
            told_at = time.monotonic()
            rule = prover.rule if prover.best != told_best else None
            told_best = prover.best
            connection.send(("state", prover.lower, prover.best, prover.nodes, rule, prover.exhausted))

    def stop() -> bool:
        nonlocal asked_to_end
        while connection.poll():
            what, rule = connection.recv()
            if what == "end":
                asked_to_end = True
            else:
                prover.offer(rule)
        return asked_to_end

    try:
        prover.advance(stop, tell)
        tell(now=True)
        while not stop():
            time.sleep(POLL_SECONDS)
        connection.send(("proof", prover.lower, prover.best, prover.nodes, prover.rule, prover.proof()))
    except (EOFError, BrokenPipeError):
        pass  # the caller has gone; nobody is left to tell
    finally:
        connection.close()


class RemoteIIS:
    """The prover `iis` in another process. `poll` takes in what it has sent; `close` ends it."""

    name = "iis"
    log: Sequence[TaskRecord] = ()

    def __init__(self, data: CoverData, seed: int, start: Array) -> None:
        from joblib.externals.loky.backend import get_context

        context = get_context("loky")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, data, seed, start), daemon=True)
        self._process.start()
        theirs.close()
        self.lower, self.nodes, self.exhausted = 0, 0, False
        self.best: int | None = None
        self.rule: Array | None = None
        self._proof: dict[str, Any] | None = None
        self._closed = False

    def poll(self) -> None:
        """Take in what the process has sent."""
        try:
            while not self.exhausted and self._connection.poll():
                self._take(self._connection.recv())
        except (EOFError, OSError):
            self.exhausted = True  # it died; its last bound needs a proof that will not come

    def _take(self, message: tuple[Any, ...]) -> None:
        what, lower, best, self.nodes, rule, last = message
        if rule is not None:
            self.best, self.rule = best, rule
        if what == "proof":
            self._proof = last
            self.lower = lower
        else:
            self.lower, self.exhausted = lower, bool(last)

    def offer(self, W: Array) -> None:
        """Send a rule to the process."""
        try:
            if self._process.is_alive():
                self._connection.send(("rule", W))
        except OSError:
            self.exhausted = True  # it has just died

    def advance(self, stop: Stop, on_progress: Callable[[], None]) -> None:
        """Wait for it, as long as `stop` allows."""
        while not self.exhausted and not stop():
            self.poll()
            on_progress()
            time.sleep(POLL_SECONDS)

    def outlook(self) -> dict[str, Any]:
        """Branch and cut cannot tell."""
        return {}

    def seconds_to_check(self, threads: int) -> float:
        """Nothing to speak of: its tree is small."""
        return 0.0

    def proof(self) -> dict[str, Any]:
        """The proof that `close(want_proof=True)` fetched."""
        assert self._proof is not None, "close() fetches the proof"
        return self._proof

    def close(self, want_proof: bool, seconds: float = 0.0) -> bool:
        """End the process; True when its proof was wanted and came within these seconds."""
        if self._closed:
            return self._proof is not None
        self._closed = True
        try:
            if want_proof:
                self._connection.send(("end", None))
                until = time.monotonic() + seconds
                while self._proof is None and time.monotonic() < until:
                    if self._connection.poll(0.1):
                        self._take(self._connection.recv())
        except (EOFError, OSError):
            pass  # it died on the way; the caller goes on with its own proof
        self._process.terminate()
        self._process.join()
        self._connection.close()
        return self._proof is not None
