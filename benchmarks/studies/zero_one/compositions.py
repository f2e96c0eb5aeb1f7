"""Proofs of compositions: the 0-1 loss with limits on errors, signs, few features and whole weights, `exact` beside HiGHS and SCIP.

A composition is one entry of COMPOSITIONS, a function from data to a Model, and one of RUNS, the data sets and seconds it is run with.
Errors are recounted from the data. `bound` is what the solver claims for the problem it was given: for `exact` the true loss, with a
certificate that the independent checker accepted; for HiGHS (big-M) and SCIP (indicators) the loss with a margin eps.

* Neyman-Pearson: fewest missed positives with at most 5 % (10 %) of the negatives called positive.
* Signs: fewest errors with the sign of every weight that least squares give it; and the same with the first sign turned round.
* Signs and limit: the first two together.
* Few features: fewest errors with at most one, two or three features, on all sets of Nguyen & Sanner.
* Whole weights: fewest errors with whole weights from -5 to 5, at most five of them not zero, and a free offset.

Time limits are wall-clock; `cpu` is the processor time of the call, search and check, which on a busy machine is less. Every solver has one thread.
MIPCLASS_DATA must name the folder of the data sets (docs/datasets.md). Cells are cached one by one, so that a run can be cut into calls
on several cores, of which the last one writes the section:

    python -m benchmarks.studies.zero_one.compositions --full --without "exact("                          HiGHS and SCIP
    python -m benchmarks.studies.zero_one.compositions --full --only "exact(" --without "limit=3600"      `exact`, minutes at most
    python -m benchmarks.studies.zero_one.compositions --full --only "limit=3600"                         `exact`, up to an hour each
    python -m benchmarks.studies.zero_one.compositions --full                                             what is left, and the section
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Case, Results, Study, table
from mipclass import datasets, models, solve

SOLVERS = ("exact", "highs", "scip")

QUICK_SECONDS = 5.0
"""Time limit of a quick run."""

PEER_SECONDS = 60.0
"""Time limit of the general solvers, whose bounds stay near zero for hours."""


SEVEN_SETS = ("liver_bupa", "breast_wisconsin", "heart_statlog", "pima", "cmc", "ilpd", "sonar")
"""The data sets of Nguyen & Sanner."""


def signs(X: Any, y: Any, turned: int = 0) -> models.Monotone:
    """The signs of the weights of least squares, the first few of them turned round."""
    standard = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    w = np.linalg.lstsq(standard, np.where(y == np.max(y), 1.0, -1.0), rcond=None)[0]
    return models.Monotone({j: (-1 if j < turned else 1) * (1 if w[j] >= 0 else -1) for j in range(X.shape[1])})


def with_signs(X: Any, y: Any, turned: int = 0) -> models.Model:
    """Fewest errors with the signs of least squares."""
    return models.Model(X, y, minimize=models.ZeroOne(), subject_to=signs(X, y, turned))


def with_few(X: Any, y: Any, *constraints: models.Constraint) -> models.Model:
    """Fewest errors under the constraints."""
    return models.Model(X, y, minimize=models.ZeroOne(), subject_to=constraints)


COMPOSITIONS: dict[str, Callable[[Any, Any], models.Model]] = {
    "Neyman-Pearson 5 %": lambda X, y: models.neyman_pearson(X, y, 0.05),
    "Neyman-Pearson 10 %": lambda X, y: models.neyman_pearson(X, y, 0.1),
    "signs": with_signs,
    "signs, one turned": lambda X, y: with_signs(X, y, turned=1),
    "signs and Neyman-Pearson 5 %": lambda X, y: models.neyman_pearson(X, y, 0.05).subject_to(signs(X, y)),
    "one feature": lambda X, y: with_few(X, y, models.MaxFeatures(1)),
    "two features": lambda X, y: with_few(X, y, models.MaxFeatures(2)),
    "three features": lambda X, y: with_few(X, y, models.MaxFeatures(3)),
    "whole weights": lambda X, y: with_few(X, y, models.IntegerCoefficients(5), models.MaxFeatures(5)),
}
"""Name in the tables -> the problem on some data."""

RUNS: dict[str, dict[str, float]] = {
    "Neyman-Pearson 5 %": {"breast_wisconsin": 60, "liver_bupa": 300, "heart_statlog": 3600, "pima": 3600},
    "Neyman-Pearson 10 %": {"liver_bupa": 300},
    "signs": {"liver_bupa": 300, "pima": 1800},
    "signs, one turned": {"liver_bupa": 300},
    "signs and Neyman-Pearson 5 %": {"liver_bupa": 300},
    "one feature": dict.fromkeys(SEVEN_SETS, 600),
    "two features": dict.fromkeys(SEVEN_SETS, 600),
    "three features": dict.fromkeys(SEVEN_SETS, 600),
    "whole weights": dict.fromkeys(("liver_bupa", "breast_wisconsin", "heart_statlog", "pima"), 60),
}
"""Composition -> data set -> time limit of `exact` in seconds."""


def compose(composition: str, name: str, solver: str, limit: float) -> dict[str, Any]:
    """One composition on one data set by one solver."""
    X, y = datasets.load(name)
    problem = COMPOSITIONS[composition](X, y)
    started, cpu = time.perf_counter(), time.process_time()
    result = solve(problem, solver=solver, time_limit=limit)
    return {
        "objective": problem.recount(result.values) if result.values else None,
        "bound": result.bound,
        "nodes": result.nodes,
        "status": str(result.status),
        "certified": result.certified,
        "kind": None if result.certificate is None else result.certificate.kind,
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
    }


def warmup() -> None:
    """Compile and import everything that is timed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1, -1)
    for composition in COMPOSITIONS.values():
        solve(composition(X, y), solver="exact", time_limit=10.0)


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    for composition, sets in RUNS.items():
        for name, seconds in sets.items() if full else [next(iter(sets.items()))]:
            for solver in SOLVERS:
                limit = (seconds if solver == "exact" else min(seconds, PEER_SECONDS)) if full else QUICK_SECONDS
                parameters = {"composition": composition, "name": name, "solver": solver, "limit": limit}
                yield Case(solver, compose, parameters)


def report(results: Results) -> str:
    """The section's markdown."""
    rows: list[list[Any]] = []
    for composition in COMPOSITIONS:
        here = [c for c in results.cells if c.case.parameters["composition"] == composition and c.error is None]
        for name in dict.fromkeys(cell.case.parameters["name"] for cell in here):
            by_solver = {c.case.label: c.measured for c in here if c.case.parameters["name"] == name}
            peers = (_entry(by_solver.get(solver)) for solver in SOLVERS[1:])
            rows.append([composition, name, *_ours(by_solver.get("exact")), *peers])
    limits = {c.case.parameters["limit"] for c in results.cells if c.case.label != "exact"}
    head = (
        "Errors, bound and processor seconds of `exact`, search and check, and whether the independent checker accepted its certificate; "
        f"HiGHS and SCIP: errors / bound after at most {max(limits, default=PEER_SECONDS):g} seconds, one thread each. The limits of `exact` are in the study.\n"
    )
    headings = ["problem", "data", "errors", "bound", "CPU s", "certified", "HiGHS", "SCIP"]
    return "\n".join([head, table(headings, rows)])


def _numbers(got: dict[str, Any]) -> list[str]:
    """Errors and bound."""
    return ["none" if got[key] is None else f"{got[key]:.4g}" for key in ("objective", "bound")]


def _ours(got: dict[str, Any] | None) -> list[str]:
    if got is None:
        return ["-"] * 4
    return [*_numbers(got), f"{got['cpu']:.1f}", "yes" if got["certified"] else "no"]


def _entry(got: dict[str, Any] | None) -> str:
    return "-" if got is None else " / ".join(_numbers(got))


study = Study("compositions", "Proofs of compositions", cases, report, warmup=warmup, packages=("pyscipopt",))

if __name__ == "__main__":
    study.main()
