"""The number of threads that BLAS uses."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread, for many small factorisations in a row.

    On small matrices the synchronisation of threads costs more than they save, above all on a busy machine, where they
    wait for each other (thirty times slower, measured with another process on one of two cores).
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  SciPy loads a BLAS of its own, which the controller finds only when it is loaded.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
