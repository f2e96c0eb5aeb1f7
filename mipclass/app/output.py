"""What commands hand out: JSON for machines, a clean stdout, files that can be written, exit codes."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ..errors import InvalidInputError
from ..protocol.result import Result, Status

EXIT_ERROR, EXIT_NOT_PROVEN, EXIT_INFEASIBLE = 1, 3, 4
WIDTH_WITHOUT_TERMINAL = 160
"""Columns of what is written to a file or a pipe, where no terminal says how wide it is."""

out = Console(
    highlight=False, soft_wrap=True, markup=False, width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL
)
"""Where commands print tables and sentences for people."""


def as_json(value: Any) -> Any:
    """Arrays as lists, infinities as null: what JSON can hold."""
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return as_json(value.tolist())
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, np.generic):
        return as_json(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)


def result_as_json(result: Result) -> dict[str, Any]:
    """What a result says, in the form that JSON can hold; without its certificate, trace and extras."""
    why = ["status", "claim", "objective", "bound", "gap", "recounted", "certified"]
    names = [*why, "seconds", "nodes", "iterations", "solver", "version", "raw_status", "values"]
    return {name: as_json(getattr(result, name)) for name in names}


@contextmanager
def only_answers_on_stdout() -> Iterator[None]:
    """Send what is printed within, also by solvers written in C, to stderr: machines read stdout."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        with suppress(OSError, AttributeError, TypeError):  # no such library on this system
            ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def exit_code(result: Result, require_proof: bool) -> int:
    """The exit code of a command that ends with this result; it fails for want of a proof only when one was required."""
    if result.status is Status.INFEASIBLE:
        return EXIT_INFEASIBLE
    if require_proof and result.claim != "proven":
        return EXIT_NOT_PROVEN
    return 0 if result.has_point else EXIT_ERROR


def check_writable(*paths: Path | None) -> None:
    """Refuse a path that cannot be written before the work whose result should go there."""
    for path in paths:
        if path is not None and path.is_dir():
            raise InvalidInputError(f"{str(path)!r} is a folder; name a file in it.")
        if path is not None and not path.resolve().parent.is_dir():
            raise InvalidInputError(f"there is no folder {str(path.parent)!r} to write {path.name} to; make it first.")
