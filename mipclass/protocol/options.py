"""Solver options: declared with default, meaning and check; unknown ones are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ..errors import OptionError


@dataclass(frozen=True)
class Option:
    """One option. `check` returns None when the value is fine, else what is allowed ("a number >= 0")."""

    default: Any
    doc: str
    check: Callable[[Any], str | None] | None = None


Options = Mapping[str, Option]


def one_of(*allowed: Any) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        known = isinstance(value, str | int | float | type(None)) and value in allowed
        return None if known else "one of " + ", ".join(repr(a) for a in allowed)

    return check


def number(
    at_least: float | None = None, at_most: float | None = None, *, integer: bool = False
) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        kind = "an integer" if integer else "a number"
        limits = [f">= {at_least:g}"] if at_least is not None else []
        limits += [f"<= {at_most:g}"] if at_most is not None else []
        allowed = " ".join([kind, " and ".join(limits)]).strip()
        is_number = isinstance(value, int) if integer else isinstance(value, int | float)
        if isinstance(value, bool) or not is_number:
            return allowed
        too_low = at_least is not None and not value >= at_least
        too_high = at_most is not None and not value <= at_most
        return allowed if too_low or too_high else None

    return check


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
        values[name] = value
    return values
