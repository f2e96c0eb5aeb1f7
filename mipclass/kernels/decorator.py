"""njit for the kernels of the package: numba's own, with the compiled code kept in `cache_folder`.

numba chooses the folder of a function when the function is decorated, by its global setting CACHE_DIR. The setting is changed for
that moment alone, so that the functions of other packages stay where they are.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event
from numba.core.types.misc import unliteral

from .cache_folder import cache_folder
from .waiting import WAIT

_SETTING = threading.Lock()


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """numba.njit with these options. With cache=True compiled code is kept where a folder can be written."""

    def compiled(function: Callable[..., Any]) -> Any:
        if (
            numba.config.DISABLE_JIT
        ):  # the environment's NUMBA_DISABLE_JIT: kernels run as Python, for debuggers and coverage
            return function
        folder = cache_folder(function.__code__.co_filename) if options.get("cache") else None
        with _SETTING:
            before = numba.config.CACHE_DIR
            numba.config.CACHE_DIR = "" if folder is None else str(folder)
            try:
                kernel = numba.njit(**{**options, "cache": folder is not None, "no_cfunc_wrapper": True})(function)
            finally:
                numba.config.CACHE_DIR = before
        return _without_literals(kernel)

    return compiled


def _without_literals(kernel: Any) -> Any:
    """The kernel, compiled once for all constants that other kernels pass to it.

    numba would compile it anew for each constant among its arguments, which costs a tenth of all compilation and gains nothing that was measured.
    """
    resolve = kernel.get_call_template

    def for_any_value(args: Any, kws: Any) -> Any:
        named = {name: unliteral(given) for name, given in dict(kws).items()}
        return resolve(tuple(unliteral(given) for given in args), named)

    kernel.get_call_template = for_any_value
    return kernel


class _Compilations(event.Listener):
    """Hears of every compilation, and of none that the cache makes unnecessary.

    The garbage collector rests meanwhile: it would look in vain, again and again, through the millions of objects that the compiler
    makes, which takes a twentieth of the time.
    """

    def __init__(self) -> None:
        self._depth, self._collects = 0, False

    def on_start(self, event: Any) -> None:
        """The compiler begins with a function, perhaps within another; it is at work in one thread at a time."""
        WAIT.begin()
        if self._depth == 0:
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """The compiler is done with a function."""
        self._depth -= 1
        if self._depth == 0 and self._collects:
            gc.enable()
        WAIT.end()


event.register("numba:compile", _Compilations())
