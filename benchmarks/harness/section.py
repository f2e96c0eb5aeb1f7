"""RESULTS.md: each study owns one section between two markers, which a run replaces in place."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import store
from .results import Results

PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy", "osqp", "cvxpy", "pyomo", "numba")
"""Packages whose versions every section names."""
HEADER = "# Results\n\nWritten by the scripts of this folder; each replaces its own section. `seconds` are medians.\n"


def versions(further: Iterable[str] = ()) -> dict[str, str]:
    """Python's version and those of the packages, "absent" where one is not installed."""
    found = {"python": platform.python_version()}
    for package in (*PACKAGES, *further):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


def origin(results: Results, families: tuple[str, ...] = ()) -> str:
    """When the cells were measured, and how many of them before the source was changed last; families of the study: see `store.fingerprint`."""
    done = [cell for cell in results.cells if cell.error is None]
    dates = sorted({cell.when for cell in done}) or [store.today()]
    old = sum(cell.code != store.fingerprint_of(cell.case, families) for cell in done)
    remark = f" ({old} of {len(done)} cells with an earlier state of the source)" if old else ""
    return " to ".join([dates[0], dates[-1]][: len(dates)]) + remark


def replace_section(file: Path, name: str, section: str, *, full: bool, absent: Sequence[str] = ()) -> bool:
    """Replace the study's section of the file, or add it at the end; False: the section of a full run, or of a run with all packages, stays.

    absent : packages of the study that are not installed, so that the new section has less in it than the old one.
    """
    text = file.read_text() if file.exists() else HEADER
    mine = re.compile(rf"<!-- begin {re.escape(name)} (\w+) -->.*?<!-- end {re.escape(name)} -->", re.S)
    before = mine.search(text)
    if before is not None and before.group(1) == "full" and not full:
        print(f"{file.name} keeps the section of the last full run.", file=sys.stderr)
        return False
    if before is not None and absent:
        print(f"{file.name} keeps its section: not installed: {', '.join(absent)}.", file=sys.stderr)
        return False
    if before is not None:
        text = text[: before.start()] + section + text[before.end() :]
    else:
        text = text.rstrip("\n") + "\n\n" + section + "\n"
    store.write_atomically(file, text)
    return True
