"""solvers: every solver, what it promises and, for a problem, whether it can solve it and why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..backends.base import Backend
from ..errors import MipclassError, SolverNotFoundError, UnsupportedProgramError
from ..methods.base import Method, Refusal
from ..modelling.problem import Problem
from ..reductions.chain import road_to
from ..views.html import html_table
from ..views.text_table import text_table
from . import registry
from .arguments import as_problem


@dataclass(frozen=True)
class SolverInfo:
    """One row of `solvers()`: `accepts` is None without a problem; `reason` says why not."""

    name: str
    kind: str
    installed: bool
    features: tuple[str, ...]
    promise: str
    accepts: bool | None = None
    reason: str = ""


class SolverTable(list[SolverInfo]):
    """The rows of `solvers()`; printed as a table, in a terminal and in a notebook."""

    def __str__(self) -> str:
        return text_table(*self._cells())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(*self._cells())

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Headings and lines: what each solver takes, or for a problem whether it takes that, and its promise or its reason."""
        if any(row.accepts is not None for row in self):
            return ["solver", "takes it", "promise, or why not"], [
                [row.name, "yes" if row.accepts else "no", row.reason or row.promise] for row in self
            ]
        return ["solver", "kind", "installed", "takes", "promise"], [
            [row.name, row.kind, "yes" if row.installed else "no", ", ".join(row.features), row.promise or row.reason]
            for row in self
        ]


def solvers(problem: Any = None) -> SolverTable:
    """Every solver, what it promises and, for a given problem, whether it can solve it and why not.

    A list of SolverInfo that prints as a table.
    """
    task = None if problem is None else as_problem(problem)
    rows = [_backend_row(name, task) for name in _listed_backends()]
    for name in registry.method_names():
        method = registry.find(name)
        form = method.match(task) if task is not None and isinstance(method, Method) else None
        accepts = None if task is None else not isinstance(form, Refusal)
        reason = form.reason if isinstance(form, Refusal) else ""
        rows.append(SolverInfo(name, "method", True, (), method.promise, accepts, reason))
    return SolverTable(rows)


def _listed_backends() -> list[str]:
    members = [name for family in registry.FAMILIES for name in registry.family_members(family)]
    return [*registry.backend_names(), *members]


def _backend_row(name: str, task: Problem | None) -> SolverInfo:
    try:
        backend = registry.find(name)
    except SolverNotFoundError as missing:
        return SolverInfo(name, "backend", False, (), "", None if task is None else False, str(missing))
    if not isinstance(backend, Backend):
        raise MipclassError(f"the entry point {name!r} in mipclass.backends is not a Backend.")
    features = tuple(sorted(backend.features))
    if task is None:
        return SolverInfo(name, "backend", True, features, backend.promise)
    try:
        program, _ = road_to(backend.features).apply(task.program())
        lacking = program.needs - backend.features
        reason = f"lacks {', '.join(sorted(lacking))}" if lacking else ""
    except UnsupportedProgramError as err:
        reason = str(err)
    return SolverInfo(name, "backend", True, features, backend.promise, not reason, reason)
