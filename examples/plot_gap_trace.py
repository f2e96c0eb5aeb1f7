"""Incumbent and bound over time: a good answer comes early, its proof late; a warm start brings the answer forward."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import mipclass
from mipclass import models
from mipclass.plots import GapTraceDisplay
from mipclass.plots.style import styled


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(45, 3))
    y = X[:, 0] + 0.9 * rng.normal(size=45) > 0
    problem = models.zero_one(X, y)
    start = mipclass.solve(problem, "local")
    results = {
        "HiGHS": mipclass.solve(problem, "highs", time_limit=10),
        "HiGHS from local search": mipclass.solve(problem, "highs", warm_start=start, time_limit=10),
    }
    display = GapTraceDisplay.from_results(results)
    claims = {result.claim for result in results.values()}
    display.ax_.set_title(f"Fewest errors of 45 points: found at once, {' / '.join(sorted(claims))} later")
    if path is not None:
        display.figure_.savefig(path)
    return display.figure_


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "gap_trace.png")
