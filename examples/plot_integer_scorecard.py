"""A scorecard with whole-number points that one can add up by hand, optimal among all scorecards of its kind."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import mipclass
from mipclass import models
from mipclass.plots.style import INKS, styled


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    iris = load_iris()
    X, y = np.round(iris.data[iris.target > 0] * 2), iris.target[iris.target > 0] == 2
    names = [name.removesuffix(" (cm)") for name in iris.feature_names]
    problem = models.Model(
        X, y, minimize=models.ZeroOne(), subject_to=models.IntegerCoefficients(-3, 3), feature_names=names
    )
    result = mipclass.solve(problem)
    points, threshold = result.values["w"], -float(result.values["b"])
    print(f"{result.objective:g} errors of {len(y)} ({result.claim})")
    figure, axes = plt.subplots(figsize=(7, 4))
    totals = X @ points
    bins = np.arange(totals.min() - 0.5, totals.max() + 1.5)
    axes.hist([totals[~y], totals[y]], bins=bins, stacked=True, label=["versicolor", "virginica"], color=INKS)
    axes.axvline(threshold, color="black", linestyle="--", label=f"virginica above {threshold:g}")
    card = ", ".join(f"{int(p):+d} x {name}" for p, name in zip(points, names, strict=True) if p)
    axes.set(xlabel=f"points: {card} (each in half centimetres)", ylabel="flowers")
    axes.set_title(f"A scorecard with {result.objective:g} errors, {result.claim} the fewest for points in -3..3")
    axes.xaxis.label.set_fontsize(8)
    axes.legend()
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "integer_scorecard.png")
