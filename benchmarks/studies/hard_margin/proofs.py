"""Proven hard-margin loss on published instances (Santana et al., 2025): ours, HiGHS and SCIP in the same time; gaps of heuristics.

The instances and the published figures are those of Santana, Serrano, Schiffer & Vidal (J. Global Optimization 92, 2025).

1. 0.5 * L2() + C * ZeroOne(margin=1) with C = 1, 100 and 10,000 on the first instance of each group: rule, bound and seconds of each solver, one thread. `auto` is `directions` up to
   six features and `subsystems` beyond; its proofs carry certificates, which are checked inside the time limit. The published figures
   (CPLEX with combinatorial Benders cuts, the best of their eight settings, 600 s) are read from published.csv beside the data.
2. Heuristics for the same problem: their cost above the proven optimum. `op-theta` and `op-s` are the Outlier Paths of the ramp loss with an intercept
   column, `cccp` CCCP for the same loss (each for s = 0 and s = -1, the better one), `rgd-tree` the best of RGD-trees with 0, 1 ... n/3 outliers; the
   direction of each rule gets the best slab (offset and width) for the hard-margin loss, so that directions are compared and not scales. `start` is
   the rule from which `auto` starts a proof of 60 s.

Run: python -m benchmarks.studies.hard_margin.proofs       MIPCLASS_DATA must name the folder that has hard_margin/ (docs/datasets.md).
Quick: 60 s for each solver; full: 600 s. HiGHS and SCIP run on three groups of 60 points and on breast. A full run takes up to
seven hours on one core, most of it at the limit.
Every cell is kept when it is done. With --within SECONDS a run starts no further cell after that time and writes the section of what is
there; the same command goes on. --only "auto(" runs the proofs of `auto` alone.
"""

from __future__ import annotations

import csv
import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Case, Results, Study, table
from mipclass import models, solve
from mipclass.errors import MipclassWarning
from mipclass.methods.hard_margin.form import HardMarginForm, match_hard_margin

PRICES = (1.0, 100.0, 10000.0)
FULL_LIMIT, QUICK_LIMIT = 600.0, 60.0
"""Seconds for each solver."""

SAME = 1e-6
"""Relative difference up to which two objectives are the same: the published ones have six decimals."""

GENERAL = ("highs", "scip")
WITHIN_REACH = ("n60d2A", "n60d5A", "n60d10A", "breast")
"""Groups on which HiGHS and SCIP run: one of the smallest for each number of features, and one of few errors. All of them would take days."""

HEURISTICS = ("op-theta", "op-s", "cccp", "rgd-tree", "start")
PATHS = {
    "op-theta": ("outlier-path", {"path": "theta"}),
    "op-s": ("outlier-path", {"path": "s"}),
    "cccp": ("cccp", {}),
}
"""Solver and options of the heuristics for the ramp loss."""


def folder() -> Path:
    """Where the instances are."""
    return Path(os.environ.get("MIPCLASS_DATA", "data")) / "hard_margin"


@cache
def published() -> dict[tuple[str, float], dict[str, Any]]:
    """(instance, C) -> the best upper bound of all runs, and whether and in how many seconds the best setting proved it."""
    found: dict[tuple[str, float], dict[str, Any]] = {}
    with (folder() / "published.csv").open() as file:
        for row in csv.DictReader(file):
            here = found.setdefault((row["instance"], float(row["C"])), {})
            if row["method"] == "best_bounds":
                here |= {"upper": float(row["upper"]), "lower": float(row["lower"])}
            elif row["method"] == "best_cb":
                here |= {"proven": row["optimal"] == "1", "seconds": float(row["seconds"])}
    return found


def group(instance: str) -> str:
    """The group of an instance: size and type of the simulated ones, name of the others."""
    return instance.split("Tj")[0].split("5f")[0]


def problem(instance: str, C: float) -> models.Model:
    """The hard-margin loss on an instance."""
    data = np.load(folder() / f"{instance}.npz")
    return models.Model(data["X"], data["y"], minimize=0.5 * models.L2() + C * models.ZeroOne(margin=1))


def prove(instance: str, C: float, solver: str, limit: float) -> dict[str, Any]:
    """Rule and bound of a solver within `limit` seconds."""
    stated = problem(instance, C)
    started, cpu = time.perf_counter(), time.process_time()
    result = solve(stated, solver=solver, time_limit=limit)
    return {
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
        "objective": result.objective,
        "bound": result.bound,
        "status": str(result.status),
        "certified": result.certified,
        "solver": result.solver,
        "nodes": result.nodes,
    }


def _cost_of_direction(form: HardMarginForm, w: Any) -> float:
    """The cost of the best slab of a direction; of the constant rule when the direction is zero."""
    from mipclass.methods.hard_margin.kernels.local import best_slab, partial_sums

    norm = np.linalg.norm(w)
    if not norm > 0:
        return float(min(costs.sum() for costs in form.cloud_costs))
    up, down = form.P @ (w / norm), form.N @ (w / norm)
    below, above = (np.asarray(partial_sums(costs)) for costs in form.cloud_costs)
    return float(best_slab(np.sort(up), np.sort(down), below, above, form.terms)[0])


def approach(instance: str, C: float, heuristic: str) -> dict[str, Any]:
    """The cost of a heuristic's direction."""
    stated = problem(instance, C)
    form = match_hard_margin(stated)
    assert isinstance(form, HardMarginForm)
    started = time.perf_counter()
    if heuristic == "start":
        first = {"node_limit": 1, "certificate": False}
        result = solve(stated, solver="subsystems", time_limit=QUICK_LIMIT, options=first)
        return {"cost": result.objective, "seconds": time.perf_counter() - started}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MipclassWarning)  # trees without a separating slab still give directions
        cost = min(_costs(form, C, heuristic))
    return {"cost": cost, "seconds": time.perf_counter() - started}


def _costs(form: HardMarginForm, C: float, heuristic: str) -> Iterator[float]:
    X, y = form.X, form.model.y_pm1
    if heuristic == "rgd-tree":
        for outliers in sorted({*range(10), *range(10, len(y) // 3, 5)}):
            if outliers < min(len(cloud) for cloud in form.cloud_costs):
                result = solve(models.outlier_svm(X, y, outliers), solver="rgd-tree")
                yield _cost_of_direction(form, result.values["w"]) if result.values else np.inf
        return
    wide, (solver, options) = np.column_stack([X, np.ones(len(X))]), PATHS[heuristic]
    for s in (0.0, -1.0):
        result = solve(models.robust_svm(wide, y, C, 0.0, s), solver=solver, options=options)
        yield _cost_of_direction(form, np.asarray(result.values["w"])[:-1]) if result.values else np.inf


def warmup() -> None:
    """Compile and import everything that is timed."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    for solver in ("directions", "subsystems", *GENERAL):
        solve(models.Model(X, y, minimize=0.5 * models.L2() + models.ZeroOne(margin=1)), solver=solver, time_limit=1)
    for solver, options in PATHS.values():
        solve(models.robust_svm(X, y, 1.0, 0.0, 0.0), solver=solver, options=options)
    solve(models.outlier_svm(X, y, 14), solver="rgd-tree")


def instances() -> list[str]:
    """The first instance of each group, small ones first."""
    names = sorted({name for name, _ in published()}, key=lambda name: np.load(folder() / f"{name}.npz")["X"].size)
    return [name for name in names if name.endswith(("j0", "f1i1"))]


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    limit = FULL_LIMIT if full else QUICK_LIMIT
    for name in instances():
        for C in PRICES:
            yield Case("auto", prove, {"instance": name, "C": C, "solver": "auto", "limit": limit})
            if group(name) in WITHIN_REACH:
                for solver in GENERAL:
                    yield Case(solver, prove, {"instance": name, "C": C, "solver": solver, "limit": limit})
            for heuristic in HEURISTICS:
                yield Case(heuristic, approach, {"instance": name, "C": C, "heuristic": heuristic})


def report(results: Results) -> str:
    """The section's markdown."""
    proofs = [cell for cell in results.cells if cell.case.function is prove and cell.error is None]
    parts = [
        "Proven within the limit, of the runs made: by `auto` (in brackets: those whose certificate was also checked within the limit), HiGHS, SCIP, and "
        "by the best published setting (CPLEX with Benders cuts, 600 s) on the same instances and C.",
        _counts(proofs),
        _missing(proofs),
        _agreement(proofs),
        "Objective / bound (seconds) where `auto` proves what the publication left open, or the other way round.",
        _beside(proofs, lambda ours, theirs: ours != theirs),
        "The same where neither proves it.",
        _beside(proofs, lambda ours, theirs: not ours and not theirs),
        "Heuristics: cost of the best slab of their direction above the proven optimum, in percent: median and, in brackets, largest over the proven cells "
        "(`=` up to 1e-6).",
        _gaps(results),
    ]
    return "\n\n".join(part for part in parts if part)


def _is_proven(got: dict[str, Any]) -> bool:
    return got["status"] == "optimal"


def _counts(proofs: list[Any]) -> str:
    rows, total = [], [0] * 6
    names = list(dict.fromkeys(group(cell.case.parameters["instance"]) for cell in proofs))
    for name in names:
        mine = [cell for cell in proofs if group(cell.case.parameters["instance"]) == name]
        by = {label: [c for c in mine if c.case.label == label] for label in ("auto", *GENERAL)}
        count = {label: sum(_is_proven(c.measured) for c in cells) for label, cells in by.items()}
        certified = sum(_is_proven(c.measured) and c.measured["certified"] for c in by["auto"])
        theirs = sum(published()[c.case.parameters["instance"], c.case.parameters["C"]]["proven"] for c in by["auto"])
        row = [len(by["auto"]), count["auto"], certified, theirs, count["highs"], count["scip"]]
        total = [old + new for old, new in zip(total, row, strict=True)]
        general = [f"{count[label]} of {len(by[label])}" if by[label] else "-" for label in GENERAL]
        rows.append([name, row[0], f"{row[1]} ({row[2]})", row[3], *general])
    runs = {label: sum(cell.case.label == label for cell in proofs) for label in GENERAL}
    ends = [f"{total[4]} of {runs['highs']}", f"{total[5]} of {runs['scip']}"]
    rows.append(["all", total[0], f"{total[1]} ({total[2]})", total[3], *ends])
    return table(["group", "runs", "auto", "published", "highs", "scip"], rows)


def _missing(proofs: list[Any]) -> str:
    """The groups of which no instance was run."""
    done = {group(cell.case.parameters["instance"]) for cell in proofs}
    missing = sorted({group(name) for name, _ in published()} - done)
    return f"Not run: {', '.join(missing)}." if missing else ""


def _agreement(proofs: list[Any]) -> str:
    """How the proven optima compare with the published values."""
    same = below = above = 0
    for cell in proofs:
        if cell.case.label != "auto" or not _is_proven(cell.measured):
            continue
        upper = published()[cell.case.parameters["instance"], cell.case.parameters["C"]]["upper"]
        difference = (cell.measured["objective"] - upper) / upper
        same, below, above = same + (abs(difference) <= SAME), below + (difference < -SAME), above + (difference > SAME)
    return (
        f"Optima of `auto` next to the best published objective: {same} equal to {SAME:g} relative, {below} smaller (the published run was "
        f"stopped before its optimum), {above} larger."
    )


def _beside(proofs: list[Any], chosen: Callable[[bool, bool], bool]) -> str:
    """Ours beside the published figures, for cells chosen by whether we and they prove the optimum."""
    rows = []
    for cell in proofs:
        instance, C = cell.case.parameters["instance"], cell.case.parameters["C"]
        theirs, got = published()[instance, C], cell.measured
        if cell.case.label == "auto" and chosen(_is_proven(got), theirs["proven"]):
            bound = "none" if got["bound"] is None else f"{got['bound']:.6g}"
            mine = f"{got['objective']:.8g} / {bound} ({got['seconds']:.1f})"
            rows.append(
                [instance, f"{C:g}", mine, f"{theirs['upper']:.8g} / {theirs['lower']:.6g} ({theirs['seconds']:.0f})"]
            )
    return table(["instance", "C", "auto", "published"], rows)


def _gaps(results: Results) -> str:
    optima = {
        (cell.case.parameters["instance"], cell.case.parameters["C"]): cell.measured["objective"]
        for cell in results.cells
        if cell.case.label == "auto" and cell.error is None and _is_proven(cell.measured)
    }
    gaps: dict[str, dict[str, list[float]]] = {"all": {}}
    for cell in results.cells:
        key = (cell.case.parameters["instance"], cell.case.parameters["C"])
        if cell.case.function is approach and cell.error is None and key in optima:
            gap = cell.measured["cost"] / optima[key] - 1
            for name in (group(key[0]), "all"):
                gaps.setdefault(name, {}).setdefault(cell.case.label, []).append(gap)
    together = gaps.pop("all")
    rows = [
        [name, *(_median_and_largest(by.get(label, [])) for label in HEURISTICS)]
        for name, by in (*gaps.items(), ("all", together))
    ]
    equal = [
        f"{sum(gap <= SAME for gap in together.get(label, []))} of {len(together.get(label, []))}"
        for label in HEURISTICS
    ]
    return table(["group", *HEURISTICS], [*rows, ["optima found", *equal]])


def _median_and_largest(gaps: list[float]) -> str:
    """Both in percent, `=` for none."""
    if not gaps:
        return "-"
    shown = ["=" if gap <= SAME else f"{100 * gap:.2g}" for gap in (float(np.median(gaps)), max(gaps))]
    return f"{shown[0]} ({shown[1]})" if shown[1] != "=" else "="


study = Study(
    "hard_margin", "Proven hard-margin loss", cases, report, warmup=warmup, packages=("pyscipopt",), kept=True
)

if __name__ == "__main__":
    study.main()
