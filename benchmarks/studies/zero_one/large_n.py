"""Proofs by boxes of many points: processor seconds, boxes and memory against the number of points.

Data        two normal classes of equal size and unit variance, their means 1.5 apart: the best rule errs on a quarter of the points.
Growth      log(ratio of the processor seconds) / log(ratio of n) between two rows of a table, and the same of the seconds per box:
            an exponent of 1 is linear growth.
Seconds     of the whole call: a first rule, the search, the certificate and its check.

Per box the seconds grow far more slowly than n, since a box looks only at the points that the box above leaves uncertain, a share that shrinks as
boxes do. In theory boxes of side h near the optimum number h^(-D/2), hold n h uncertain points, and end at h = n^(-2/3): n^((D+1)/3) visits of points.
Run: python -m benchmarks.studies.zero_one.large_n
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from math import log
from typing import Any

import numpy as np

from benchmarks.harness import Case, Results, Study, table
from mipclass import models, solve

SIZES = {1: (10_000, 100_000, 1_000_000), 2: (10_000, 50_000, 200_000, 1_000_000), 3: (10_000, 50_000, 200_000)}
"""Features -> numbers of points."""

QUICK_SIZES = {2: (1_000, 5_000)}
APART = 1.5
"""Distance of the two means in standard deviations."""

WARM_POINTS = 10_000
"""Points of the proofs that come before those that are timed."""

LIMIT = 1_800.0
"""Seconds for each proof."""


def overlapping(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two normal classes in turn, whose means differ in the first feature."""
    y = np.arange(n) % 2
    X = np.random.default_rng(seed).standard_normal((n, d))
    X[:, 0] += APART * y
    return X, y


def prove(n: int, d: int) -> dict[str, Any]:
    """One proof."""
    problem = models.zero_one(*overlapping(n, d))
    cpu = time.process_time()
    result = solve(problem, "exact", time_limit=LIMIT)
    return {
        "loss": result.objective,
        "bound": result.bound,
        "certified": result.certified,
        "nodes": result.nodes,
        "cpu": time.process_time() - cpu,
    }


def warmup() -> None:
    """Compile and import everything that is timed: many points are searched by other kernels than few."""
    for d in SIZES:
        prove(WARM_POINTS, d)


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    for d, sizes in (SIZES if full else QUICK_SIZES).items():
        for n in sizes:
            yield Case(f"{n} x {d}", prove, {"n": n, "d": d})


def exponent(first: tuple[float, float], second: tuple[float, float]) -> float | None:
    """Of the growth of a measure between two sizes, given as (size, measure)."""
    (n, low), (more, high) = first, second
    return log(high / low) / log(more / n) if low > 0 and high > 0 and more != n else None


def report(results: Results) -> str:
    """The section's markdown."""
    rows: list[list[Any]] = []
    for d in sorted({cell.case.parameters["d"] for cell in results.cells}):
        here = [cell for cell in results.cells if cell.case.parameters["d"] == d and cell.error is None]
        found = sorted((cell.case.parameters["n"], cell.measured) for cell in here)
        grown: list[list[float | None]] = [[None, None]]
        for (n, got), (more, next_got) in pairwise(found):
            grown.append([
                exponent((n, got["cpu"]), (more, next_got["cpu"])),
                exponent((n, got["cpu"] / max(1, got["nodes"])), (more, next_got["cpu"] / max(1, next_got["nodes"]))),
            ])  # fmt: skip
        for (n, got), growth in zip(found, grown, strict=False):
            shown = [got["loss"], got["bound"], "yes" if got["certified"] else "no", got["nodes"], got["cpu"]]
            rows.append([d, n, *shown, 1e3 * got["cpu"] / max(1, got["nodes"]), *growth, got.get("peak_mb")])
    header = ["features", "points", "loss", "bound", "certified", "boxes", "CPU s", "ms per box", "growth of CPU s"]
    return table([*header, "growth per box", "peak memory (MB)"], rows)


study = Study("large_n", "Proofs of many points", cases, report, warmup=warmup)

if __name__ == "__main__":
    study.main()
