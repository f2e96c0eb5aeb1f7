"""How long the checker goes on, and with how many threads: whoever asks for a check may say when to give it up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_STOP: ContextVar[Callable[[], object] | None] = ContextVar("stop", default=None)

_THREADS: ContextVar[int] = ContextVar("threads", default=1)


class UnfinishedError(Exception):
    """The check was given up: nothing is known of the certificate."""


@contextmanager
def until(stop: Callable[[], object] | None, threads: int = 1) -> Iterator[None]:
    """Checks inside raise UnfinishedError once `stop()` is true, None for checks without a limit; they may use so many threads."""
    token, crew = _STOP.set(stop), _THREADS.set(threads)
    try:
        yield
    finally:
        _STOP.reset(token)
        _THREADS.reset(crew)


def helpers() -> int:
    """Threads that a check may use."""
    return _THREADS.get()


def look() -> None:
    """Raise UnfinishedError if the check is no longer wanted. Every loop of the checker looks at each of its steps."""
    stop = _STOP.get()
    if stop is not None and stop():
        raise UnfinishedError
