"""Proofs too long for one machine: the bound after two CPU hours, killed once, and the time that would close them.

Each search by boxes has two threads and stops after two hours of processor time: one hour on two free cores, more on shared ones. After half of it the
process is killed with SIGKILL and started again with the same checkpoint. What it knew just before and just after that is in the table. The study
itself may be stopped as well: the same command goes on from the checkpoint.

Trend       The search proves rising targets, one pass after another. With the CPU seconds c(t) at which the targets t were reached, a straight
            line through (t, log c(t)) of the last passes is followed up to the loss of the rule in hand. If that rule is optimal, a proof takes
            about so long. 64 workers share it evenly, which is the least they can need.

Run: python -m benchmarks.studies.zero_one.long_proofs     MIPCLASS_DATA must name the folder of the data sets (docs/datasets.md).
Quick: one CPU minute. Full: two CPU hours for each data set.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Case, Results, Study, table
from benchmarks.harness.store import BENCHMARKS
from mipclass import datasets, models, solve

NAMES = ("ilpd", "cmc")
FULL_SECONDS, QUICK_SECONDS = 7200.0, 60.0
"""CPU seconds of a search, both threads together."""

BETWEEN_LINES = 5.0
"""CPU seconds between two lines of the log."""

LAST_PASSES = 4
"""Passes through which the trend goes."""

CLUSTER = 64
"""Workers for which the time to the end is estimated."""

CHILD = """
import json, sys
from benchmarks.studies.zero_one.long_proofs import search
search(*json.loads(sys.argv[1]))
"""

Line = list[float]
"""Of the log: number of the process, CPU seconds of all processes so far, objective, bound, target of the pass, share of it that is done."""


def search(name: str, seconds: float, place: str) -> None:
    """One process of a search: goes on from the checkpoint until the CPU seconds of all of them are used up, and writes lines of the log."""
    X, y = datasets.load(name)
    warmup()
    log = Path(place) / "log"
    number, earlier = (_lines(log)[-1][0] + 1, _lines(log)[-1][1]) if _lines(log) else (0, 0.0)
    began, last = time.process_time(), [-np.inf]

    def note(event: Any) -> bool:
        cpu = time.process_time() - began
        if "target" in event.extra and cpu - last[0] >= BETWEEN_LINES:
            last[0] = cpu
            told = [event.objective, event.bound, event.extra["target"], event.extra["share"]]
            with log.open("a") as file:
                file.write(json.dumps([number, earlier + cpu, *told]) + "\n")
        return earlier + cpu < seconds

    solve(models.zero_one(X, y), "box", threads=2, callback=note, options={"checkpoint": f"{place}/proof"})


def _lines(log: Path) -> list[Line]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def prove(name: str, seconds: float) -> dict[str, Any]:
    """A search killed half-way and resumed; it also goes on where an earlier run of this study was stopped. Its log and its last bound, checked."""
    place = BENCHMARKS / ".cache" / "long_proofs_under_way" / f"{name}-{seconds:g}"
    place.mkdir(parents=True, exist_ok=True)
    log = place / "log"
    for goal in (seconds / 2, seconds):
        if not _lines(log) or _lines(log)[-1][1] < goal:
            _search_until(goal, json.dumps([name, seconds, str(place)]), log)
    X, y = datasets.load(name)
    *_, (_, _, objective, bound, _, _) = _lines(log)
    # The gap that is reached already ends the search at once; what follows is the certificate of its bound and the check.
    began, gap = time.process_time(), 1.0 - bound / objective + 1e-9
    result = solve(models.zero_one(X, y), "box", gap=gap, threads=2, options={"checkpoint": f"{place}/proof"})
    got = {
        "objective": result.objective,
        "bound": result.bound,
        "certified": result.certified,
        "check": time.process_time() - began,
        "disk": sum(file.stat().st_size for file in (place / "proof").rglob("*") if file.is_file()) / 1e6,
        "log": thinned(_lines(log)),
    }
    shutil.rmtree(place)
    return got


def thinned(log: list[Line]) -> list[Line]:
    """The first and last lines of each process, bound and target."""
    told = [(number, bound, target) for number, _, _, bound, target, _ in log]
    ends = [0, *(k for k in range(1, len(log)) if told[k] != told[k - 1]), len(log)]
    return [log[k] for begin, end in pairwise(ends) for k in sorted({begin, end - 1})]


def _search_until(goal: float, given: str, log: Path) -> None:
    """Run a process of the search; kill it when its log has reached these CPU seconds."""
    process = subprocess.Popen([sys.executable, "-c", CHILD, given])
    try:
        while process.poll() is None and not (_lines(log) and _lines(log)[-1][1] >= goal):
            time.sleep(1.0)
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()


def reached(log: list[Line]) -> list[tuple[float, float]]:
    """(bound, CPU seconds at which it was first known), rising, without the trivial bound."""
    first: dict[float, float] = {}
    for _, cpu, _, bound, *_ in log:
        if bound > max(first, default=0.0):
            first[bound] = cpu
    return list(first.items())


def resumed(log: list[Line]) -> list[tuple[Line, Line]]:
    """The last line of each process that was killed and the first one of the next."""
    return [(before, after) for before, after in pairwise(log) if before[0] != after[0]]


def seconds_to_close(log: list[Line]) -> float | None:
    """CPU seconds until the bound meets the objective, by the trend of the last passes; None before two passes."""
    last = reached(log)[-LAST_PASSES:]
    if len(last) < 2:
        return None
    slope, offset = np.polyfit([bound for bound, _ in last], np.log([cpu for _, cpu in last]), 1)
    return float(np.exp(slope * log[-1][2] + offset))


def warmup() -> None:
    """Compile and import everything that is timed."""
    X, y = datasets.load("liver_bupa")
    solve(models.zero_one(X[:100], y[:100]), "box", time_limit=20.0, threads=2)


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    for name in NAMES:
        yield Case("box", prove, {"name": name, "seconds": FULL_SECONDS if full else QUICK_SECONDS})


def report(results: Results) -> str:
    """The section's markdown."""
    cells = [cell for cell in results.cells if cell.error is None]
    ends, times, kills = [], [], []
    for cell in cells:
        name, got = cell.case.parameters["name"], cell.measured
        closing = seconds_to_close(got["log"])
        hours = [None, None] if closing is None else [closing / 3600, closing / 3600 / CLUSTER]
        certified = f"{'yes' if got['certified'] else 'no'} ({got['check']:.0f})"
        ends.append([name, got["log"][-1][1], got["objective"], got["bound"], certified, *hours, got["disk"]])
        times.append([name, ", ".join(f"{bound:g} ({cpu:.0f})" for bound, cpu in reached(got["log"]))])
        for before, after in resumed(got["log"]):
            shown = [f"{line[4]:g}, {100 * line[5]:.1f} %" for line in (before, after)]
            kills.append([name, before[1], before[3], after[3], *shown, after[1] - before[1]])
    header = ["data", "CPU s", "loss", "bound", "certified (CPU s)", "CPU hours to close"]
    header += [f"hours with {CLUSTER} workers", "checkpoint MB"]
    parts = [
        "Loss and bound of a search by boxes with two threads, and the time to close the gap by the trend, if the rule in hand is optimal. "
        f"Hours with {CLUSTER} workers are a lower estimate: no worker ever waits.",
        table(header, ends),
        "Bound (CPU seconds at which it was proven).",
        table(["data", "bounds"], times),
        "Killed with SIGKILL and resumed: bound before and after; target and share of its pass before and after; CPU seconds between the two reports.",
        table(["data", "CPU s", "bound before", "after", "pass before", "after", "CPU s between"], kills),
    ]
    # A cell may hold a remark about how it came about.
    parts += [f"{c.case.parameters['name']}: {c.measured['note']}" for c in cells if "note" in c.measured]
    return "\n\n".join(parts)


study = Study("long_proofs", "Proofs too long for one machine", cases, report, warmup=warmup, kept=True)

if __name__ == "__main__":
    study.main()
