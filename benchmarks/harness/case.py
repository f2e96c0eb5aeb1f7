"""What is measured: a case is a function with parameters, a cell is one repetition of a case."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product as combinations
from typing import Any

KEY_LENGTH = 20
"""Hexadecimal digits of a cell's name: 80 bits, so that two cells of a study never share a file."""


@dataclass(frozen=True)
class Case:
    """`function(**parameters)`, shown as `label` among the cases that share its parameters.

    families : of methods that the function runs; None: those of the study (see `Study.families`).
    """

    label: str
    function: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    families: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return f"{self.label}({', '.join(f'{k}={v}' for k, v in self.parameters.items())})"

    def key(self, repetition: int) -> str:
        """Stable name of a cell: it depends on what is computed, not on the module that holds the function."""
        identity = [self.label, self.function.__qualname__, dict(self.parameters), repetition]
        text = json.dumps(identity, sort_keys=True, default=plain)
        return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


@dataclass(frozen=True)
class Cell:
    """One repetition of one case: its measurements or the error that ended it, its date, and the source's fingerprint."""

    case: Case
    repetition: int
    measured: dict[str, Any]
    error: str | None = None
    when: str = ""
    code: str = ""


def product(**axes: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """All combinations as parameter sets: product(n=[10, 20], seed=[0, 1])."""
    for values in combinations(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def plain(value: Any) -> Any:
    """NumPy scalars and arrays, sets and paths in the form that JSON can hold."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)
