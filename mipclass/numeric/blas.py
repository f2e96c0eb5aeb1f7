"""How many threads linear algebra takes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread: for many small factors in a row, whose threads spend more on meeting than they save, above all on a
    busy machine, where they wait for each other (thirty times slower, measured with another process on one of two cores)."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  it brings a BLAS of its own, which the controller must see
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
