"""The printed branch and bound and the one with conflicts: the same proof with a third of the tree."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from mipclass import models, solve
from mipclass.plots import SearchTreeDisplay
from mipclass.plots.style import styled


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    y = np.where(X[:, 0] + 1.2 * rng.standard_normal(30) > 0, 1, -1)
    problem = models.zero_one(X, y)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for ax, variant, name in zip(axes, ("paper", "default"), ("hull rules only", "with conflicts"), strict=True):
        result = solve(problem, solver="bnb", options={"variant": variant, "keep_tree": True})
        SearchTreeDisplay.from_result(result, ax=ax, bounds=False)
        ax.set_title(f"{name}: {result.objective:g} errors {result.claim}, {result.nodes} nodes")
        print(f"{name}: {result}")
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "zero_one_tree.png")
