"""Outliers cost what every other error costs: the hard-margin loss, proven, beside the soft margin that they pull."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

import mipclass
from mipclass import models
from mipclass.plots.style import styled

C = 10.0


def two_clouds_and_outliers() -> tuple[np.ndarray, np.ndarray]:
    """Two clouds of 30 points, and six points of the upper one far below the other."""
    rng = np.random.default_rng(4)
    y = np.repeat([1, -1, 1], [30, 30, 6])
    X = rng.normal(size=(66, 2)) * [1.2, 0.5]
    X += np.vstack([np.tile([0.0, 1.3], (30, 1)), np.tile([0.0, -1.3], (30, 1)), np.tile([4.0, -6.0], (6, 1))])
    return X, y


def draw(axes: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray, b: float, title: str) -> None:
    """The points, the rule with its margin, and circles around the points within or beyond it."""
    for label, color, marker in ((1, "#1f5f9e", "o"), (-1, "#b3541e", "s")):
        axes.scatter(*X[y == label].T, s=18, color=color, marker=marker)
    pays = y * (X @ w + b) < 1 - 1e-6
    axes.scatter(*X[pays].T, s=80, facecolors="none", edgecolors="0.2", label=f"{pays.sum()} points pay")
    ends = np.array([X[:, 0].min() - 0.5, X[:, 0].max() + 0.5])
    for level, style in ((-1, ":"), (0, "-"), (1, ":")):
        axes.plot(ends, (level - b - w[0] * ends) / w[1], color="k", linestyle=style, linewidth=1.0)
    axes.set(xlim=ends, ylim=(X[:, 1].min() - 0.5, X[:, 1].max() + 0.5), title=title)
    axes.legend(loc="lower left")


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    X, y = two_clouds_and_outliers()
    problem = models.Model(X, y, minimize=0.5 * models.L2() + C * models.ZeroOne(margin=1))
    proven = mipclass.solve(problem)
    soft = SVC(kernel="linear", C=C).fit(X, y)
    w, b = soft.coef_[0], float(soft.intercept_[0])
    soft_cost = 0.5 * w @ w + C * np.sum(y * (X @ w + b) < 1 - 1e-6)
    print(f"{proven.solver}: {proven.objective:.3f}, bound {proven.bound:.3f}, certified: {proven.certified}")
    print(f"the soft margin's rule costs {soft_cost:.3f}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
    draw(left, X, y, w, b, f"Soft margin: cost {soft_cost:.1f}")
    draw(
        right,
        X,
        y,
        proven.values["w"],
        float(proven.values["b"]),
        f"Hard-margin loss: cost {proven.objective:.1f}, proven",
    )
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "hard_margin.png")
