"""How long the checker goes on: whoever asks for a check may say when to give it up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_STOP: ContextVar[Callable[[], object] | None] = ContextVar("stop", default=None)


class UnfinishedError(Exception):
    """The check was given up: nothing is known of the certificate."""


@contextmanager
def until(stop: Callable[[], object] | None) -> Iterator[None]:
    """Checks inside raise UnfinishedError once `stop()` is true; None for checks without a limit."""
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)


def look() -> None:
    """Raise UnfinishedError if the check is no longer wanted. Every loop of the checker looks at each of its steps."""
    stop = _STOP.get()
    if stop is not None and stop():
        raise UnfinishedError
