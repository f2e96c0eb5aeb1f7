"""Go on in CVXPY: a support vector machine whose scores may differ only so much between two groups."""

from __future__ import annotations

import sys
from typing import Any

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import mipclass
from mipclass import models
from mipclass.plots.style import styled

LIMITS = np.linspace(0.0, 1.2, 9)


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 300)
    y = np.where(rng.random(300) < 0.3 + 0.4 * group, 1, -1)
    X = np.column_stack([y + rng.normal(size=300), 1.5 * group + rng.normal(size=300), rng.normal(size=300)])
    svm = models.Model(X, y, minimize=0.5 * models.L2() + 1.0 * models.Hinge())
    problem = svm.program().to_cvxpy()

    # From here on it is an ordinary CVXPY problem with variables by name.
    w, limit = problem.var_dict["w"], cp.Parameter(nonneg=True)
    apart = X[group == 1].mean(axis=0) - X[group == 0].mean(axis=0)
    fair = cp.Problem(problem.objective, [*problem.constraints, cp.abs(apart @ w) <= limit])

    losses, gaps, accuracies = [], [], []
    for limit.value in LIMITS:
        result = mipclass.solve(fair, "highs")
        values = {name: result.values[name] for name in ("w", "b")}
        losses.append(svm.recount(values))
        gaps.append(float(apart @ result.values["w"]))
        accuracies.append(float(np.mean((X @ result.values["w"] + result.values["b"] > 0) == (y > 0))))
        print(f"limit {limit.value:.2f}: objective {losses[-1]:.2f}, gap {gaps[-1]:.3f}, accuracy {accuracies[-1]:.3f}")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    left.plot(LIMITS, losses, marker="o")
    left.set(xlabel="largest difference of mean scores", ylabel="SVM objective", title="What the limit costs")
    right.plot(LIMITS, gaps, marker="o", label="difference of mean scores")
    right.plot(LIMITS, accuracies, marker="s", label="accuracy")
    right.set(xlabel="largest difference of mean scores", title="A constraint written in CVXPY")
    right.legend()
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "go_on_in_cvxpy.png")
