"""A study: its cases, its report, its command line, and the run that fills the gaps in its cache."""

from __future__ import annotations

import argparse
import itertools
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib

from . import store
from .case import Case, Cell
from .comparison import Cause, Comparison, Comparisons, settle
from .measuring import run_cell
from .results import Results
from .section import origin, replace_section, versions
from .store import BENCHMARKS, CellStore


@dataclass
class LastRun:
    """What the last run of a study did: cells wanted, of these found in the cache, computed, and left to a later run; failures; its section.

    `compared` has the paper's cells beside ours, None where the study has none.
    """

    cells: int = 0
    cached: int = 0
    computed: int = 0
    left: int = 0
    failures: tuple[str, ...] = ()
    section: str = ""
    written: bool = False
    compared: Comparisons | None = None


@dataclass
class Study:
    """A list of cases and a report, as the package's docstring describes.

    `cases(full)` yields the cases and `report(results)` writes the section's markdown. `compared(results)` gives the cells of the
    paper's tables beside ours, and the causes of those that are worse (see `comparison`). `name` is the key of the section and of
    the cache: renaming a study forgets both. `cache` names another file for the cells. A study that is `kept` has the cells of its full runs in the
    repository, in benchmarks/cells/, because they take hours; others have theirs in a folder that is not. `families` of methods are those that its
    cells run (none: all), so that a change of another family's source makes no cell old; a case may name its own.
    """

    name: str
    title: str
    cases: Callable[[bool], Iterable[Case]]
    report: Callable[[Results], str]
    repeats: int = 1
    threads: int = 1
    packages: Sequence[str] = ()
    warmup: Callable[[], Any] | None = None
    cache: Path | None = None
    kept: bool = False
    families: tuple[str, ...] = ()
    results_file: Path = BENCHMARKS / "RESULTS.md"
    compared: Callable[[Results], tuple[Sequence[Comparison], Sequence[Cause]]] | None = None
    last: LastRun = field(default_factory=LastRun)

    def __post_init__(self) -> None:
        self._store = CellStore(self._cells(full=False))

    def _cells(self, full: bool) -> Path:
        """The file of the cells of a quick or a full run."""
        chosen = os.environ.get("MIPCLASS_BENCH_CACHE")
        if self.cache is not None:
            return Path(self.cache)
        if chosen is not None:
            return Path(chosen) / f"{self.name}.jsonl"
        return BENCHMARKS / ("cells" if full and self.kept else ".cache") / f"{self.name}.jsonl"

    def main(self, argv: Sequence[str] | None = None) -> int:
        """The command line of a study; ends the process with code 1 when a case failed."""
        parser = self._parser()
        given = parser.parse_args(argv)
        self._store = CellStore(self._cells(given.full))
        self.repeats = given.repeats or (self.repeats if given.full else 1)
        chosen = [case for case in self.cases(given.full) if given.only in str(case)]
        chosen = [case for case in chosen if not any(text in str(case) for text in given.without)]
        if not chosen:
            without = f" and none of {given.without}" if given.without else ""
            parser.error(f"no case of study {self.name!r} contains {given.only!r}{without}")
        results = self.run(chosen, jobs=given.jobs, fresh=given.fresh, within=given.within)
        section = self.section(results, full=given.full)
        self.last.failures, self.last.section = tuple(results.errors()), section
        print(section)
        if self.compared is not None:
            self.last.compared = settle(self.name, origin(results, self.families), *self.compared(results))
        if not given.no_write and not given.only and not given.without:
            absent = [name for name, number in versions(self.packages).items() if number == "absent"]
            self.last.written = replace_section(self.results_file, self.name, section, full=given.full, absent=absent)
            if given.full and self.last.compared is not None:
                self.last.compared.save(self.results_file.parent / "comparisons")
        if results.errors():
            print("\n".join(["failed:", *results.errors()]), file=sys.stderr)
            raise SystemExit(1)
        return 0

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(description=self.title)
        size = parser.add_mutually_exclusive_group()
        size.add_argument("--quick", action="store_true", help="the small list of cases (default)")
        size.add_argument("--full", action="store_true", help="all cases")
        parser.add_argument("--jobs", type=int, default=1, help="cells at a time, through joblib")
        parser.add_argument("--repeats", type=int, help=f"of each case; {self.repeats} with --full, else one")
        parser.add_argument("--only", default="", help="only cases whose description contains this text")
        parser.add_argument("--without", action="append", default=[], help="no cases with this text; may be repeated")
        parser.add_argument(
            "--within", type=float, help="seconds after which no further cell is started; the same command goes on"
        )
        parser.add_argument("--fresh", action="store_true", help="forget cached cells of these cases first")
        parser.add_argument("--no-write", action="store_true", help="print the section, leave RESULTS.md alone")
        return parser

    def run(self, cases: Iterable[Case], *, jobs: int = 1, fresh: bool = False, within: float | None = None) -> Results:
        """All cells of `cases`: read from the cache, or computed and cached one by one where they are missing.

        After `within` seconds no further cell is computed; those that are missing then are left out.
        """
        end = math.inf if within is None else time.monotonic() + within
        cases = list(cases)
        if len({case.key(0) for case in cases}) != len(cases):
            raise ValueError(f"study {self.name!r} lists a case twice; label and parameters must differ.")
        # Repetition outside, case inside: peers of the same parameters alternate in time.
        wanted = [(case, repetition) for repetition in range(self.repeats) for case in cases]
        if fresh:
            for case, repetition in wanted:
                self._store.forget(case, repetition)
        missing = [(case, repetition) for case, repetition in wanted if self._store.load(case, repetition) is None]
        self.last = LastRun(cells=len(wanted), cached=len(wanted) - len(missing))
        in_time = itertools.takewhile(lambda _: time.monotonic() < end, missing)
        tasks = (joblib.delayed(run_cell)(case, rep, self.threads, self.warmup) for case, rep in in_time)
        failed: list[Cell] = []
        parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered" if jobs != 1 else "generator")
        for done, cell in enumerate(parallel(tasks), start=1):
            _tell(done, len(missing), cell)
            if cell.error is None:
                self._store.save(cell, versions(self.packages), store.fingerprint_of(cell.case, self.families))
                self.last.computed += 1
            else:
                failed.append(cell)
        self.last.left = len(missing) - self.last.computed - len(failed)
        found = [self._store.load(case, repetition) for case, repetition in wanted]
        return Results([*(cell for cell in found if cell is not None), *failed])

    def section(self, results: Results, *, full: bool) -> str:
        """The markdown between this study's two markers."""
        installed = {name: number for name, number in versions(self.packages).items() if number != "absent"}
        body = self.report(results).strip()
        left = f"\n{self.last.left} of {self.last.cells} cells are left to a later run.\n" if self.last.left else ""
        failures = "".join(f"\n- failed: {line}" for line in dict.fromkeys(results.errors()))
        size = "full" if full else "quick"
        machine = f"{os.cpu_count()} cores, {platform.machine()} {platform.system()}"
        software = ", ".join(f"{name} {number}" for name, number in installed.items())
        return (
            f"<!-- begin {self.name} {size} -->\n## {self.title}\n\n{body}\n{left}{failures}\n"
            f"{origin(results, self.families)}, {size}, {self.repeats} repetition(s), {self.threads} thread(s), {machine}; {software}.\n"
            f"<!-- end {self.name} -->"
        )


def _tell(done: int, total: int, cell: Cell) -> None:
    what = f"{cell.measured['seconds']:.3g} s" if cell.error is None else cell.error.strip().splitlines()[-1]
    print(f"[{done}/{total}] {cell.case} #{cell.repetition}: {what}", file=sys.stderr, flush=True)
