"""Conversions of a Program to and from files, Pyomo and CVXPY, looked up by name and imported on first use.

They are methods of Program, but their code uses Program and lives in rooms that may import this one (files/, bridges/).
`mipclass/__init__.py` registers here which function implements which method.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

_WHERE: dict[str, str] = {}
"""Name of the conversion -> "package.module:function"."""


def provide(name: str, where: str) -> None:
    """Register the function at `where`, written "package.module:function", as the conversion of that name."""
    _WHERE[name] = where


def conversion(name: str) -> Callable[..., Any]:
    """The function registered as the conversion of that name."""
    module, _, function = _WHERE[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
