"""njit for the kernels of the package: numba's own, with the compiled code kept in `cache_folder`.

numba chooses the folder of a function when the function is decorated, by its global setting CACHE_DIR. The setting is changed for
that moment alone, so that the functions of other packages stay where they are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

from .cache_folder import cache_folder
from .waiting import WAIT

_SETTING = threading.Lock()


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """numba.njit with these options. With cache=True compiled code is kept where a folder can be written."""

    def compiled(function: Callable[..., Any]) -> Any:
        folder = cache_folder(function.__code__.co_filename) if options.get("cache") else None
        with _SETTING:
            before = numba.config.CACHE_DIR
            numba.config.CACHE_DIR = "" if folder is None else str(folder)
            try:
                return numba.njit(**{**options, "cache": folder is not None})(function)
            finally:
                numba.config.CACHE_DIR = before

    return compiled


class _Compilations(event.Listener):
    """Hears of every compilation, and of none that the cache makes unnecessary."""

    def on_start(self, event: Any) -> None:
        """The compiler begins with a function."""
        WAIT.begin()

    def on_end(self, event: Any) -> None:
        """The compiler is done with a function."""
        WAIT.end()


event.register("numba:compile", _Compilations())
