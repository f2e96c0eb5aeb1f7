"""Where the conversions of a Program live: to and from files, Pyomo and CVXPY.

They are methods of Program, but each is written in terms of Program, in a room above this one. The package's front door
(mipclass/__init__.py) says here which function serves which method; it is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

_WHERE: dict[str, str] = {}


def provide(name: str, where: str) -> None:
    """Let the function at `where`, written "package.module:function", serve the conversion of that name."""
    _WHERE[name] = where


def conversion(name: str) -> Callable[..., Any]:
    """The function that serves the conversion of that name."""
    module, _, function = _WHERE[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
