"""A small resumable benchmark harness: a case is a function with parameters, a study is a list of cases and a report.

A script holds its functions, its list of cases and its report, and ends in `main`::

    from benchmarks.harness import Case, Results, Study

    def solve_ours(name, seed):               # any picklable function of plain parameters
        X, y = datasets.load(name)
        start = time.perf_counter()
        loss = ...
        return {"loss": loss, "seconds": time.perf_counter() - start}     # "seconds" may be left out

    def cases(full):
        names = ["liver_bupa", "pima", "cmc"] if full else ["liver_bupa"]
        for name in names:
            for label, function in {"ours": solve_ours, "peer": solve_peer}.items():
                yield Case(label, function, {"name": name, "seed": 0})

    def report(results):                      # markdown; results.compare(...) writes the usual table
        return results.compare(measure="seconds", baseline="peer")

    study = Study("exact", "Exact 0-1 loss", cases, report, repeats=3)

    if __name__ == "__main__":
        study.main()

Run it from the repository's root with `python -m benchmarks.exact`: `--quick` (the default; one repetition) or `--full`,
`--jobs N`, `--repeats N`, `--only TEXT`, `--fresh`, `--no-write`.

* A *cell* is one repetition of one case. Each finished cell is one JSON file under `benchmarks/.cache/<study>/`, written
  by an atomic rename: a killed run goes on where it stopped, and `--fresh` forgets what was there.
* Cells run in the order repetition, then case: peers of the same parameters are timed next to each other, several times,
  so that a slow minute of the machine hits all of them. Comparisons use medians over the repetitions.
* The harness adds `seconds` (wall clock of the whole call, unless the function returned its own), `cpu_seconds` and
  `peak_mb` (growth of the resident memory over its level before the call; None where the system cannot tell).
* BLAS and OpenMP are held to `threads` threads (one by default) during a cell. `warmup()` is called once in each process
  before its first cell, for just-in-time compilation and imports.
* A case that raises is reported with its error, makes the run end with code 1, and is tried again by the next run.
* `--jobs N` runs cells in parallel through joblib; under `joblib.parallel_config("dask")` on a cluster. Use it for studies of
  quality, not of time.
* The report becomes one section of `benchmarks/RESULTS.md`, replaced in place, with dates, versions and machine, and with
  the number of cached cells that are older than the present source. A quick run never replaces the section of a full one.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import hashlib
import json
import os
import platform
import re
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy", "osqp", "cvxpy", "pyomo", "numba")
HEADER = "# Results\n\nWritten by the scripts of this folder; each replaces its own section. `seconds` are medians.\n"


@dataclass(frozen=True)
class Case:
    """`function(**parameters)`, shown as `label` among the cases that share its parameters."""

    label: str
    function: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.label}({', '.join(f'{k}={v}' for k, v in self.parameters.items())})"

    def key(self, repetition: int) -> str:
        """Stable name of a cell: what is computed, not how the script around it looks."""
        identity = [self.label, self.function.__qualname__, dict(self.parameters), repetition]
        text = json.dumps(identity, sort_keys=True, default=_plain)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Cell:
    """One repetition of one case: its measurements, or the error that ended it; when and with which code."""

    case: Case
    repetition: int
    measured: dict[str, Any]
    error: str | None = None
    when: str = ""
    code: str = ""


class Results:
    """All finished cells of a study, with the usual questions to ask them."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = list(cells)

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(cell.case.label for cell in self.cells))

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The different parameter sets, in the order of the cases."""
        unique = {json.dumps(dict(c.case.parameters), default=_plain): dict(c.case.parameters) for c in self.cells}
        return list(unique.values())

    def where(self, label: str | None = None, **parameters: Any) -> Results:
        """The cells with this label and these parameter values."""

        def fits(case: Case) -> bool:
            missing = object()
            return (label is None or case.label == label) and all(
                case.parameters.get(name, missing) == value for name, value in parameters.items()
            )

        return Results([cell for cell in self.cells if fits(cell.case)])

    def all(self, measure: str) -> list[Any]:
        """Every recorded value of `measure`, failed cells left out."""
        return [c.measured[measure] for c in self.cells if c.error is None and c.measured.get(measure) is not None]

    def median(self, measure: str) -> float | None:
        values = self.all(measure)
        return float(statistics.median(values)) if values else None

    def errors(self) -> list[str]:
        return [f"{cell.case}: {cell.error.strip().splitlines()[-1]}" for cell in self.cells if cell.error]

    def compare(self, measure: str = "seconds", baseline: str | None = None, digits: int = 3) -> str:
        """A markdown table: one row for each parameter set, one column for each label; with the ratio to `baseline`."""
        names = list(dict.fromkeys(name for setting in self.settings for name in setting))
        rows = []
        for setting in self.settings:
            here = self.where(**setting)
            reference = here.where(baseline).median(measure) if baseline is not None else None
            row: list[Any] = [setting.get(name, "") for name in names]
            for label in self.labels:
                value = here.where(label).median(measure)
                if value is None:
                    row.append("failed" if here.where(label).errors() else "-")
                elif reference and label != baseline:
                    row.append(f"{value:.{digits}g} ({value / reference:.2g}x)")
                else:
                    row.append(f"{value:.{digits}g}")
            rows.append(row)
        return table([*names, *self.labels], rows)


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A markdown table; floats with four digits, None as a dash."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_shown(entry) for entry in line) + " |" for line in lines)


@dataclass
class LastRun:
    """What the last run of a study did: cells wanted, of these found in the cache and computed; failures; its section."""

    cells: int = 0
    cached: int = 0
    computed: int = 0
    failures: tuple[str, ...] = ()
    section: str = ""
    written: bool = False


@dataclass
class Study:
    """See the module's docstring. `cases(full)` yields the cases, `report(results)` writes the section's markdown."""

    name: str
    title: str
    cases: Callable[[bool], Iterable[Case]]
    report: Callable[[Results], str]
    repeats: int = 1
    threads: int = 1
    packages: Sequence[str] = ()
    warmup: Callable[[], Any] | None = None
    cache: Path | None = None
    results_file: Path = HERE / "RESULTS.md"
    last: LastRun = field(default_factory=LastRun)

    def __post_init__(self) -> None:
        root = Path(os.environ.get("MIPCLASS_BENCH_CACHE", HERE / ".cache"))
        self.cache = Path(self.cache) if self.cache is not None else root / self.name

    def main(self, argv: Sequence[str] | None = None) -> int:
        """The command line of a study; ends the process with code 1 when a case failed."""
        parser = argparse.ArgumentParser(description=self.title)
        size = parser.add_mutually_exclusive_group()
        size.add_argument("--quick", action="store_true", help="the small list of cases (default)")
        size.add_argument("--full", action="store_true", help="all cases")
        parser.add_argument("--jobs", type=int, default=1, help="cells at a time, through joblib")
        parser.add_argument("--repeats", type=int, help=f"of each case; {self.repeats} with --full, else one")
        parser.add_argument("--only", default="", help="only cases whose description contains this text")
        parser.add_argument("--fresh", action="store_true", help="forget cached cells of these cases first")
        parser.add_argument("--no-write", action="store_true", help="print the section, leave RESULTS.md alone")
        given = parser.parse_args(argv)
        self.repeats = given.repeats or (self.repeats if given.full else 1)
        chosen = [case for case in self.cases(given.full) if given.only in str(case)]
        if not chosen:
            parser.error(f"no case of study {self.name!r} contains {given.only!r}")
        results = self.run(chosen, jobs=given.jobs, fresh=given.fresh)
        section = self.section(results, full=given.full)
        self.last.failures, self.last.section = tuple(results.errors()), section
        print(section)
        if not given.no_write and not given.only:
            self.last.written = self.write(section, full=given.full)
        if results.errors():
            print("\n".join(["failed:", *results.errors()]), file=sys.stderr)
            raise SystemExit(1)
        return 0

    def run(self, cases: Iterable[Case], *, jobs: int = 1, fresh: bool = False) -> Results:
        """All cells of `cases`: from the cache where they are there, computed and cached one by one where not."""
        import joblib

        assert self.cache is not None
        self.cache.mkdir(parents=True, exist_ok=True)
        cases = list(cases)
        # Repetition outside, case inside: peers of the same parameters alternate in time.
        wanted = [(case, repetition) for repetition in range(self.repeats) for case in cases]
        if len({case.key(0) for case in cases}) != len(cases):
            raise ValueError(f"study {self.name!r} lists a case twice; label and parameters must differ.")
        if fresh:
            for case, repetition in wanted:
                self._path(case, repetition).unlink(missing_ok=True)
        missing = [(case, repetition) for case, repetition in wanted if self._load(case, repetition) is None]
        self.last = LastRun(cells=len(wanted), cached=len(wanted) - len(missing))
        tasks = (joblib.delayed(run_cell)(case, rep, self.threads, self.warmup) for case, rep in missing)
        failed: list[Cell] = []
        parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered" if jobs != 1 else "generator")
        for done, cell in enumerate(parallel(tasks), start=1):
            self._tell(done, len(missing), cell)
            if cell.error is None:
                self._store(cell)
                self.last.computed += 1
            else:
                failed.append(cell)
        found = [cell for cell in (self._load(case, repetition) for case, repetition in wanted) if cell is not None]
        return Results([*found, *failed])

    # -- the cache ------------------------------------------------------------------------------------------------------

    def _path(self, case: Case, repetition: int) -> Path:
        assert self.cache is not None
        return self.cache / f"{case.key(repetition)}.json"

    def _load(self, case: Case, repetition: int) -> Cell | None:
        try:
            stored = json.loads(self._path(case, repetition).read_text())
        except FileNotFoundError:
            return None
        return Cell(case, repetition, stored["measured"], when=stored.get("when", ""), code=stored.get("code", ""))

    def _store(self, cell: Cell) -> None:
        record = {
            "case": str(cell.case),
            "repetition": cell.repetition,
            "measured": cell.measured,
            "when": _today(),
            "code": fingerprint(),
            "versions": self.versions(),
        }
        _write_atomically(
            self._path(cell.case, cell.repetition), json.dumps(record, default=_plain, indent=1, allow_nan=True)
        )

    def _tell(self, done: int, total: int, cell: Cell) -> None:
        what = f"{cell.measured['seconds']:.3g} s" if cell.error is None else cell.error.strip().splitlines()[-1]
        print(f"[{done}/{total}] {cell.case} #{cell.repetition}: {what}", file=sys.stderr, flush=True)

    # -- the report -----------------------------------------------------------------------------------------------------

    def versions(self) -> dict[str, str]:
        found = {"python": platform.python_version()}
        for package in (*PACKAGES, *self.packages):
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                found[package] = "absent"
        return found

    def section(self, results: Results, *, full: bool) -> str:
        """The markdown between this study's two markers."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions().items() if number != "absent")
        body = self.report(results).strip()
        failures = "".join(f"\n- failed: {line}" for line in results.errors())
        size = "full" if full else "quick"
        return (
            f"<!-- begin {self.name} {size} -->\n## {self.title}\n\n{body}\n{failures}\n"
            f"{_origin(results)}, {size}, {self.repeats} repetition(s), {self.threads} thread(s), {os.cpu_count()} cores, {platform.machine()} {platform.system()}; {versions}.\n"
            f"<!-- end {self.name} -->"
        )

    def write(self, section: str, *, full: bool) -> bool:
        """Replace this study's section of the results file, or add it at the end; False: a full run's section stays."""
        text = self.results_file.read_text() if self.results_file.exists() else HEADER
        mine = re.compile(rf"<!-- begin {re.escape(self.name)} (\w+) -->.*?<!-- end {re.escape(self.name)} -->", re.S)
        before = mine.search(text)
        if before is not None and before.group(1) == "full" and not full:
            print(f"{self.results_file.name} keeps the section of the last full run.", file=sys.stderr)
            return False
        if before is not None:
            text = text[: before.start()] + section + text[before.end() :]
        else:
            text = text.rstrip("\n") + "\n\n" + section + "\n"
        _write_atomically(self.results_file, text)
        return True


# -- one cell -------------------------------------------------------------------------------------------------------------

_warmed: set[str] = set()


def run_cell(case: Case, repetition: int, threads: int = 1, warmup: Callable[[], Any] | None = None) -> Cell:
    """Call the case's function once and measure it. Never raises: the error belongs to the cell."""
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(threads):
            if warmup is not None and warmup.__qualname__ not in _warmed:
                warmup()
                _warmed.add(warmup.__qualname__)
            returned, measured = measure(case.function, **case.parameters)
    except Exception:  # a failed case is a finding; KeyboardInterrupt still ends the run
        return Cell(case, repetition, {}, traceback.format_exc())
    measured.update(returned if isinstance(returned, Mapping) else {"value": returned})
    # Through JSON and back, so that a fresh cell and a cached one look the same.
    return Cell(case, repetition, json.loads(json.dumps(measured, default=_plain)))


def measure(function: Callable[..., Any], *arguments: Any, **parameters: Any) -> tuple[Any, dict[str, Any]]:
    """The function's answer and {"seconds", "cpu_seconds", "peak_mb"} of the call."""
    start_mb = _reset_peak_memory()
    start, start_cpu = time.perf_counter(), time.process_time()
    returned = function(*arguments, **parameters)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    peak = _memory_mb("VmHWM")
    growth = None if start_mb is None or peak is None else max(0.0, peak - start_mb)
    return returned, {"seconds": seconds, "cpu_seconds": cpu, "peak_mb": growth}


def _reset_peak_memory() -> float | None:
    """Set Linux's high-water mark of this process to its present level; that level in MB, or None elsewhere.

    Memory that earlier cells freed goes back to the system first; a call that reused it would seem to need none.
    """
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, AttributeError, TypeError):  # another system
        return None
    return _memory_mb("VmRSS")


def _memory_mb(entry: str) -> float | None:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    found = re.search(rf"^{entry}:\s+(\d+) kB", status, re.M)
    return int(found.group(1)) / 1024 if found else None


# -- small tools ------------------------------------------------------------------------------------------------------------


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def fingerprint() -> str:
    """A short hash of the package's source, so that old cells can be told from new ones."""
    digest = hashlib.sha256()
    for path in sorted([*(HERE.parent / "mipclass").rglob("*.py"), *(HERE.parent / "models").rglob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _origin(results: Results) -> str:
    """When the cells were measured, and how many of them before the source was changed last."""
    done = [cell for cell in results.cells if cell.error is None]
    dates = sorted({cell.when for cell in done}) or [_today()]
    old = sum(cell.code != fingerprint() for cell in done)
    remark = f" ({old} of {len(done)} cells with an earlier state of the source)" if old else ""
    return " to ".join([dates[0], dates[-1]][: len(dates)]) + remark


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays, tuples and paths as JSON knows them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def _shown(entry: Any) -> str:
    if entry is None:
        return "-"
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)


def _write_atomically(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    os.replace(temporary, path)


def product(**axes: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """All combinations as parameter sets: product(n=[10, 20], seed=[0, 1])."""
    from itertools import product as combinations

    for values in combinations(*axes.values()):
        yield dict(zip(axes, values, strict=True))
