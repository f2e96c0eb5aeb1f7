"""A lazy cut inside SCIP collects all rules with the fewest errors in a single search."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import mipclass
from mipclass import models
from mipclass.plots.style import styled
from mipclass.protocol.hooks import Cut, Hooks


def all_best_rules(problem: Any) -> tuple[dict[tuple[int, ...], Any], Any]:
    """Each set of errors that a best rule can make, with such a rule; and the result of the search that saw them all."""
    fewest = mipclass.solve(problem, "scip").objective
    program = problem.program()
    error = np.arange(program.block("error").start, program.block("error").stop)
    found: dict[tuple[int, ...], Any] = {}

    def keep_and_exclude(x: Any) -> list[Cut]:
        """Asked at every point that SCIP would accept: keep a best rule, then forbid its errors (a 'no-good' cut)."""
        wrong = tuple(np.flatnonzero(x[error] > 0.5))
        if program.violation(x) <= 1e-6 and len(wrong) == fewest:
            found.setdefault(wrong, problem.decode(x))
        cuts = []
        for kept in found:
            sign = np.ones(len(error))
            sign[list(kept)] = -1.0
            if x[error] @ sign < 1 - len(kept) - 1e-6:
                cuts.append(Cut(error, sign, 1.0 - len(kept), np.inf))
        return cuts

    search = mipclass.solve(program, "scip", options={"hooks": Hooks(separate=keep_and_exclude)})
    return found, search


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    rng = np.random.default_rng(42)
    X = rng.normal(size=(18, 2))
    y = X[:, 0] + 1.2 * rng.normal(size=18) > 0
    found, search = all_best_rules(models.zero_one(X, y))
    print(f"{len(found)} best rules; without them, {search.objective:g} errors are the least ({search.nodes} nodes)")

    figure, axes = plt.subplots(figsize=(7, 5))
    across = np.array([X[:, 0].min() - 0.5, X[:, 0].max() + 0.5])
    for k, (wrong, rule) in enumerate(found.items()):
        w, b = rule["w"], float(rule["b"])
        axes.plot(across, -(w[0] * across + b) / w[1], color=f"C{k}", lw=1.5)
        axes.scatter(*X[list(wrong)].T, s=160 + 70 * k, facecolors="none", edgecolors=f"C{k}")
    axes.scatter(*X[y].T, color="black", marker="+", s=60, label="positive")
    axes.scatter(*X[~y].T, color="black", marker="o", s=20, label="negative")
    axes.set(
        xlim=across, ylim=(X[:, 1].min() - 0.6, X[:, 1].max() + 0.6), xlabel="first feature", ylabel="second feature"
    )
    errors = len(next(iter(found)))
    axes.set_title(f"One search finds all {len(found)} ways to make {errors} errors (rings: whose errors)")
    axes.legend(loc="lower right")
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "rules_inside_scip.png")
