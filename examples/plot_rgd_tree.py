"""Fifteen per cent flipped labels: the RGD-tree finds and leaves them out, and the slab is that of the clean data."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import LinearSVC

from mipclass import RGDTreeSVC, datasets
from mipclass.plots import RGDTreeDisplay
from mipclass.plots.style import styled


def two_clouds(n: int = 120) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, their true labels, and labels of which 15 % are flipped."""
    rng = np.random.default_rng(3)
    truth = np.repeat([1, -1], n // 2)
    X = rng.normal(size=(n, 2)) @ np.array([[1.6, 0.9], [0.0, 0.5]])
    X += np.outer(truth, [-0.6, 1.5])
    return X, truth, datasets.flip_labels(truth, 0.15, random_state=3)


def line(axes: Any, w: np.ndarray, b: float, level: float, **style: Any) -> None:
    """Draw the line w.x + b = level over the width of the axes."""
    x0 = np.array(axes.get_xlim())
    axes.plot(x0, (level - b - w[0] * x0) / w[1], **style)


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    X, truth, y = two_clouds()
    rgd = RGDTreeSVC(outlier_fraction=0.15, C=None, height=4, n_rounds=3, keep_tree=True, random_state=0).fit(X, y)
    soft = LinearSVC(C=1.0, dual=False).fit(X, y)
    found = int((rgd.outliers_ & (y != truth)).sum())
    print(
        f"left out {rgd.outliers_.sum()} points, {found} of the {(y != truth).sum()} flipped ones; width {rgd.margin_:.3f}"
    )

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for label, color, marker in ((1, "#1f5f9e", "o"), (-1, "#b3541e", "s")):
        left.scatter(*X[y == label].T, s=18, color=color, marker=marker, label=f"label {label:+d}")
    left.scatter(*X[rgd.outliers_].T, s=90, facecolors="none", edgecolors="0.2", label="left out")
    limits = left.get_xlim(), left.get_ylim()
    left.set_xlim(limits[0])
    w, b = rgd.coef_[0], float(rgd.intercept_[0])
    line(left, w, b, 0.0, color="k", label="RGD-tree")
    for level in (-1.0, 1.0):
        line(left, w, b, level, color="k", linestyle=":", linewidth=0.9)
    line(left, soft.coef_[0], float(soft.intercept_[0]), 0.0, color="C2", linestyle="--", label="LinearSVC")
    left.set(ylim=limits[1], title=f"{found} of {(y != truth).sum()} flipped labels found and left out")
    left.legend(fontsize=8)
    RGDTreeDisplay.from_estimator(rgd, ax=right)
    right.set_title("Each tree starts at the widest node of the last")
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "rgd_tree.png")
