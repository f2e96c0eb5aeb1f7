"""One model, every installed solver that can: the same objective from each, at different speeds."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import mipclass
from mipclass import models
from mipclass.plots.style import styled


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = X[:, 0] + 0.5 * rng.normal(size=150) > 0
    problem = models.hinge_svm(X, y, C=1.0)
    names = [row.name for row in mipclass.solvers(problem) if row.accepts and row.kind == "backend"]
    results = {name: mipclass.solve(problem, name) for name in names}
    results = {name: result for name, result in results.items() if result.status == "optimal"}
    best = min(problem.recount(result.values) for result in results.values())
    for name, result in results.items():
        print(f"{name:18s} {result.objective:.9f} {result.seconds:.3f} s, recounted {result.recounted}")
    figure, axes = plt.subplots(figsize=(8, 4))
    axes.barh(list(results), [result.seconds for result in results.values()], color="C0")
    for k, result in enumerate(results.values()):
        off = problem.recount(result.values) / best - 1
        axes.annotate(f" off by {off:.0e}", (result.seconds, k), va="center", fontsize=8)
    axes.set(xscale="log", xlabel="seconds, building included")
    axes.set_title("A hinge SVM declared once and solved by every installed QP solver")
    axes.margins(x=0.2)
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "swap_solvers.png")
