"""A paper's figures beside ours: which cells are better, within the error, or worse, and why.

A study of a paper's tables has a function `compared(results) -> Comparisons`. A cell is *better* where ours is at least as good as the
printed figure, *within the error* where it is worse by at most TOLERATED standard errors of the difference, and *worse* otherwise. A worse cell
needs a cause, and a cause counts only where its experiment, run by the same study, confirms it (`Cause.holds`); otherwise the cell stays open.

A full run of a study stores its cells in `benchmarks/comparisons/<study>.json`; docs/tools/reproduction.py makes the page
"Reproduction" of them, and `mipclass reproduce` prints the same counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from .store import BENCHMARKS, write_atomically

TOLERATED = 2.0
"""Standard errors of the difference by which a cell may be worse than the printed figure and count as within the error."""
FOLDER = BENCHMARKS / "comparisons"
VERDICTS = ("better", "within error", "worse", "open")
"""What a cell can be; "open" is worse without a cause that an experiment confirms."""


@dataclass(frozen=True)
class Comparison:
    """One cell: the printed figure, ours, and the standard error of their difference (0 for counts without chance)."""

    table: str
    row: str
    column: str
    paper: float
    ours: float
    error: float
    higher_is_better: bool = False
    cause: str = ""
    evidence: str = ""

    @property
    def shortfall(self) -> float:
        """How much worse ours is, in the unit of the table; negative where it is better."""
        return self.paper - self.ours if self.higher_is_better else self.ours - self.paper

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        if self.shortfall <= 0.0:
            return "better"
        if self.shortfall <= TOLERATED * self.error:
            return "within error"
        return "worse" if self.cause else "open"

    @property
    def is_met(self) -> bool:
        """Whether the printed figure is reached up to TOLERATED standard errors."""
        return self.verdict in ("better", "within error")


@dataclass(frozen=True)
class Cause:
    """Why cells are worse, and what the study's experiment showed; None for rows or columns means all of them."""

    sentence: str
    evidence: str
    holds: bool
    table: str
    rows: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None

    def explains(self, cell: Comparison) -> bool:
        """Whether the experiment was made for this cell and confirmed the cause."""
        return (
            self.holds
            and cell.table == self.table
            and (self.rows is None or cell.row in self.rows)
            and (self.columns is None or cell.column in self.columns)
        )


@dataclass(frozen=True)
class Comparisons:
    """All compared cells of a study."""

    study: str
    when: str
    cells: tuple[Comparison, ...]

    @property
    def tables(self) -> list[str]:
        """The paper's tables, in the order of the cells."""
        return list(dict.fromkeys(cell.table for cell in self.cells))

    def count(self, table: str, verdict: str) -> int:
        """The cells of a table with this verdict."""
        return sum(cell.table == table and cell.verdict == verdict for cell in self.cells)

    def counts(self) -> list[dict[str, Any]]:
        """For each table the number of cells with each verdict."""
        return [
            {"study": self.study, "table": table, **{verdict: self.count(table, verdict) for verdict in VERDICTS}}
            for table in self.tables
        ]

    def save(self, folder: Path = FOLDER) -> None:
        """Write the study's file, one cell per line, so that two versions are easy to compare."""
        cells = ",\n".join("  " + json.dumps(asdict(cell), ensure_ascii=False) for cell in self.cells)
        head = f'"study": {json.dumps(self.study)}, "when": {json.dumps(self.when)}'
        write_atomically(folder / f"{self.study}.json", f'{{{head}, "cells": [\n{cells}\n]}}\n')


def settle(study: str, when: str, cells: Iterable[Comparison], causes: Sequence[Cause]) -> Comparisons:
    """The cells, each worse one with the first cause that explains it."""
    settled = []
    for cell in cells:
        found = next((cause for cause in causes if cause.explains(cell)), None) if cell.verdict == "open" else None
        settled.append(cell if found is None else replace(cell, cause=found.sentence, evidence=found.evidence))
    return Comparisons(study, when, tuple(settled))


def load(study: str, folder: Path = FOLDER) -> Comparisons | None:
    """What the last full run of a study stored, or None."""
    path = folder / f"{study}.json"
    if not path.is_file():
        return None
    stored = json.loads(path.read_text())
    return Comparisons(stored["study"], stored["when"], tuple(Comparison(**cell) for cell in stored["cells"]))


def count_in_words(counts: dict[str, Any]) -> str:
    """One line for a table, such as "zero_one_tables, Table 1: 40 better, 2 within error, 3 worse (cause shown), 0 open"."""
    return (
        f"{counts['study']}, {counts['table']}: {counts['better']} better, {counts['within error']} within error, "
        f"{counts['worse']} worse (cause shown), {counts['open']} open"
    )


def error_of_difference(ours: Sequence[float], printed_deviation: float | None = None, printed_runs: int = 1) -> float:
    """Standard error of (mean of ours - printed mean of `printed_runs` runs); without a printed deviation ours stands for it."""
    deviation = stdev(ours) if len(ours) > 1 else 0.0
    other = deviation if printed_deviation is None else printed_deviation
    return float((deviation**2 / len(ours) + other**2 / printed_runs) ** 0.5)


def compare_means(
    place: tuple[str, str, str],
    paper: float,
    ours: Sequence[float],
    *,
    printed_deviation: float | None = None,
    printed_runs: int = 1,
    higher_is_better: bool = False,
) -> Comparison:
    """The cell at `place` (table, row, column) for the mean of our runs."""
    error = error_of_difference(ours, printed_deviation, printed_runs)
    return Comparison(*place, float(paper), fmean(ours), error, higher_is_better)
