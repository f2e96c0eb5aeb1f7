"""How many features are enough? The proven fewest errors for each limit on the number of features used."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

import mipclass
from mipclass import models
from mipclass.plots.style import styled


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    iris = load_iris()
    X, y = iris.data[iris.target > 0], iris.target[iris.target > 0]
    names = [name.removesuffix(" (cm)") for name in iris.feature_names]
    limits = range(1, len(names) + 1)
    errors, used = [], []
    for limit in limits:
        problem = models.Model(
            X, y, minimize=models.ZeroOne(), subject_to=models.MaxFeatures(limit), feature_names=names
        )
        result = mipclass.solve(problem)
        assert result.certified
        errors.append(result.objective)
        used.append([name for name, w in zip(names, result.values["w"], strict=True) if w])
        print(f"at most {limit}: {result.objective:g} errors ({result.claim}), uses {', '.join(used[-1]) or 'nothing'}")
    figure, axes = plt.subplots(figsize=(7, 4.5))
    bars = axes.bar(limits, errors, color="C0")
    axes.bar_label(bars, fmt="%g")
    axes.set_xticks(limits, [f"{limit}\n" + "\n".join(features) for limit, features in zip(limits, used, strict=True)])
    axes.set(xlabel="features allowed, and which are used", ylabel="fewest errors of 100", ylim=(0, 1.15 * max(errors)))
    axes.set_title("Iris: petal width alone leaves 6 errors; each bar is proven")
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "at_most_k_features.png")
