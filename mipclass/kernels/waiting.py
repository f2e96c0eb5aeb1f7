"""The wait for the compiler: it is counted apart from the search, and it is announced.

A kernel is compiled once and then kept (`cache_folder`). Seconds inside `compiling()` are on no solve's clock: what a solver
finds within a time limit does not depend on whether its kernels were compiled before.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

ANNOUNCED_AFTER = 1.0
"""Seconds of compilation in this process after which the wait is announced."""


class Wait:
    """How long this process has waited for the compiler. Compilations are nested, and numba runs one at a time."""

    def __init__(self) -> None:
        self._done = 0.0
        self._depth = 0
        self._since = 0.0
        self._timer: threading.Timer | None = None
        self._announced = False

    def seconds(self) -> float:
        """Seconds spent so far; they go on while something is being compiled."""
        return self._done + (time.perf_counter() - self._since if self._depth else 0.0)

    def begin(self) -> None:
        """A compilation begins."""
        if self._depth == 0:
            self._since = time.perf_counter()
            if not self._announced:
                self._timer = threading.Timer(max(0.0, ANNOUNCED_AFTER - self._done), self.announce)
                self._timer.daemon = True
                self._timer.start()
        self._depth += 1

    def end(self) -> None:
        """A compilation has ended."""
        self._depth -= 1
        if self._depth == 0:
            self._done += time.perf_counter() - self._since
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def hush(self) -> None:
        """Somebody else tells the user that this process compiles."""
        self._announced = True

    def announce(self) -> None:
        """Tell the user, once in a process."""
        if not self._announced:
            self._announced = True
            print("mipclass: compiling, once; later calls start at once", file=sys.stderr, flush=True)


WAIT = Wait()
"""The wait of this process."""


def working_seconds() -> float:
    """A clock that stands still while kernels are compiled."""
    return time.perf_counter() - WAIT.seconds()


@contextmanager
def compiling() -> Iterator[None]:
    """Time inside is time for the compiler."""
    WAIT.begin()
    try:
        yield
    finally:
        WAIT.end()
