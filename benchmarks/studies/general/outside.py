"""Files that nobody here wrote: each LP and QP of a folder by every solver, counted as solved, honest failure or wrong claim.

The folder is the one that the environment variable MIPCLASS_OUTSIDE names, else `outside` in MIPCLASS_DATA. Every .mps, .qps and .lp
file in it or below counts, packed by gzip or not. A file `optima.csv` (problem,optimum) beside them holds published optima, such
as those of Maros & Meszaros (1999); a problem without one is compared with what the solvers prove of each other.

Run: MIPCLASS_OUTSIDE=folder python -m benchmarks.studies.general.outside
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import mipclass
from benchmarks.harness import Case, Results, Study, table
from mipclass.errors import MipclassError
from mipclass.modelling.program import Feature, Program

ACCURACY = 1e-6
"""Largest distance from the optimum, relative to max(1, |optimum|), of an objective that counts as solved or a bound as valid."""
LIMIT = {True: 60.0, False: 10.0}
"""Seconds for one solve, in a full and in a quick run."""
QUICK = ("piqp", "highs", "osqp", "cvxpy:CLARABEL")
"""The solvers of a quick run; a full one takes every installed solver for LPs or QPs."""
ENDINGS = (".mps", ".qps", ".lp", ".mps.gz", ".qps.gz", ".lp.gz")
WITHOUT_LIMIT = {"cvxpy:PIQP"}
"""Solvers that mipclass cannot give a time limit."""


def folder() -> Path:
    """The folder that the user names."""
    named = os.environ.get("MIPCLASS_OUTSIDE")
    return Path(named) if named else Path(os.environ.get("MIPCLASS_DATA", "data")) / "outside"


@cache
def files() -> dict[str, Path]:
    """Every problem of the folder by its path below it, without the ending."""
    found = sorted(path for path in folder().rglob("*") if path.name.lower().endswith(ENDINGS))
    return {str(path.relative_to(folder())).partition(".")[0]: path for path in found}


@cache
def optima() -> dict[str, float]:
    """Published optima by the problem's path below the folder."""
    known = {}
    for path in folder().rglob("optima.csv"):
        where = path.parent.relative_to(folder())
        for row in csv.DictReader(path.read_text().splitlines()):
            known[str(where / row["problem"])] = float(row["optimum"])
    return known


def solve_file(problem: str, solver: str, limit: float) -> dict[str, Any]:
    """One file by one solver; an error of ours is an honest failure, any other surfaces."""
    program: Program = mipclass.read(files()[problem])
    time_limit = None if solver in WITHOUT_LIMIT else limit
    try:
        result = mipclass.solve(program, solver, time_limit=time_limit)
    except MipclassError as err:
        return {
            "kind": str(program.kind),
            "claim": "none",
            "status": f"refused: {err}",
            "objective": None,
            "bound": None,
        }
    return {
        "kind": str(program.kind),
        "claim": result.claim,
        "status": str(result.status),
        "objective": result.objective,
        "bound": result.bound,
    }


def verdict(cell: dict[str, Any], truth: float | None) -> str:
    """Solved, failed (an honest failure) or wrong (a claim that the truth contradicts); None is the truth of no optimum known."""
    if cell["claim"] != "proven":
        return "failed"
    if truth is None:
        return "solved"
    room = ACCURACY * max(1.0, abs(truth))
    if cell["status"] != "optimal" or abs(cell["objective"] - truth) > room:
        return "wrong"
    return "wrong" if cell["bound"] is not None and cell["bound"] > truth + room else "solved"


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run: solvers that declare the kind of the file."""
    takes = {row.name: row.features for row in mipclass.solvers() if row.kind == "backend" and row.installed}
    solvers = [name for name in takes if full or name in QUICK]
    for problem, path in files().items():
        kind = mipclass.read(path).kind
        for solver in solvers:
            if kind in (Feature.LP, Feature.QP) and kind in takes[solver]:
                yield Case(solver, solve_file, {"problem": problem, "solver": solver, "limit": LIMIT[full]})


def report(results: Results) -> str:
    """The section's markdown."""
    by_problem: dict[str, dict[str, dict[str, Any]]] = {}
    for cell in results.cells:
        if cell.error is None:
            by_problem.setdefault(cell.case.parameters["problem"], {})[cell.case.label] = cell.measured
    counts: dict[tuple[str, str], dict[str, int]] = {}
    unlike = []
    for problem, cells in by_problem.items():
        truth = _truth(problem, cells)
        for solver, cell in cells.items():
            found = verdict(cell, truth)
            tally = counts.setdefault((cell["kind"], solver), {"solved": 0, "failed": 0, "wrong": 0})
            tally[found] += 1
            if found != "solved":
                unlike.append([problem, solver, found, cell["status"].partition(":")[0], cell["objective"], truth])
    rows = [[kind, solver, *tally.values()] for (kind, solver), tally in sorted(counts.items())]
    return "\n\n".join(
        [
            f"{len(by_problem)} files. Solved: proven, and within {ACCURACY:g} of the optimum (published, else the median of what the solvers "
            "prove), the bound not above it. Honest failure: nothing is claimed. Wrong: a claim that the optimum contradicts.",
            table(["kind", "solver", "solved", "honest failure", "wrong claim"], rows),
            table(["file", "solver", "verdict", "status", "objective", "optimum"], unlike) if unlike else "",
        ]
    ).strip()


def _truth(problem: str, cells: dict[str, dict[str, Any]]) -> float | None:
    if problem in optima():
        return optima()[problem]
    proven = [
        cell["objective"] for cell in cells.values() if cell["claim"] == "proven" and cell["objective"] is not None
    ]
    return float(median(proven)) if proven else None


study = Study(
    "outside",
    "Files that nobody here wrote",
    cases,
    report,
    packages=("piqp", "osqp", "highspy", "pyscipopt", "clarabel"),
)

if __name__ == "__main__":
    study.main()
