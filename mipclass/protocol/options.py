"""Solver options: declared with default, meaning and check; unknown ones are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from typing import Any

import numpy as np

from ..checks import is_number, is_whole_number
from ..errors import OptionError

Check = Callable[[Any], str | None]
"""None when the value is fine, else what is allowed ("a number >= 0")."""


@dataclass(frozen=True)
class Option:
    """One option: its default, its meaning in a few words, and what may be given for it."""

    default: Any
    doc: str
    check: Check | None = None


Options = Mapping[str, Option]


def one_of(*allowed: Any) -> Check:
    """The check that a value is one of the allowed ones."""

    def check(value: Any) -> str | None:
        known = isinstance(value, str | int | float | type(None)) and value in allowed
        return None if known else "one of " + ", ".join(repr(a) for a in allowed)

    return check


def number(at_least: float | None = None, at_most: float | None = None, *, integer: bool = False) -> Check:
    """The check that a value is a number (a whole one if `integer`) within the limits, which are themselves allowed."""

    def check(value: Any) -> str | None:
        kind = "an integer" if integer else "a number"
        limits = [f">= {at_least:g}"] if at_least is not None else []
        limits += [f"<= {at_most:g}"] if at_most is not None else []
        allowed = " ".join([kind, " and ".join(limits)]).strip()
        if not (is_whole_number(value) if integer else is_number(value)):
            return allowed
        too_low = at_least is not None and not value >= at_least
        too_high = at_most is not None and not value <= at_most
        return allowed if too_low or too_high else None

    return check


def a_path(value: Any) -> str | None:
    """The check that a value names a file or folder."""
    return None if isinstance(value, str | PathLike) and str(value) else "a path"


def optional(check: Check) -> Check:
    """The check that a value is None or passes `check`."""
    return lambda value: None if value is None else check(value)


def resolve_options(owner: str, declared: Options, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Defaults overlaid with what the user gave; unknown names and bad values raise OptionError."""
    if given is not None and not isinstance(given, Mapping):
        raise OptionError(f"options takes a mapping from name to value; got {type(given).__name__}.")
    values = {name: option.default for name, option in declared.items()}
    for name, value in (given or {}).items():
        if name not in declared:
            near = get_close_matches(name, declared, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            known = ", ".join(sorted(declared)) or "no options"
            raise OptionError(f"solver {owner!r} has no option {name!r}; it takes {known}.{hint}")
        check = declared[name].check
        complaint = check(value) if check is not None else None
        if complaint is not None:
            raise OptionError(f"option {name!r} of solver {owner!r} must be {complaint}; got {value!r}.")
        values[name] = value.item() if isinstance(value, np.generic) else value  # solvers take Python's numbers
    return values
