"""Thirty outliers pull every convex loss; the 0-1 loss does not move, and its optimum is proven."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from mipclass import ZeroOneClassifier
from mipclass.plots.style import INKS, styled


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.normal([-1.2, 0], 1.1, (135, 2)), rng.normal([1.2, 0], 1.1, (135, 2)), rng.normal([-9, 4], 1, (30, 2))]
    )
    y = np.repeat([-1, 1, 1], [135, 135, 30])
    rules = {"logistic regression": LogisticRegression(), "linear SVM": LinearSVC(), "0-1 loss": ZeroOneClassifier()}
    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    ax.scatter(*X[y < 0].T, s=12, c=INKS[0], marker="s", label="negative")
    ax.scatter(*X[y > 0].T, s=12, c=INKS[1], label="positive (30 of them far out)")
    ax.set(xlim=(-13, 6), ylim=(-4.5, 8), xlabel="$x_1$", ylabel="$x_2$")
    errors = {}
    # The two convex losses almost coincide: the later line is drawn dotted upon a wide pale one.
    looks = ({"c": "0.75", "lw": 5}, {"c": "black", "ls": ":"}, {"c": "black"})
    for (name, rule), look in zip(rules.items(), looks, strict=True):
        rule.fit(X, y)
        errors[name] = int((rule.predict(X) != y).sum())
        w, b = rule.coef_[0], rule.intercept_[0]
        at = -w * b / (w @ w)
        ax.axline(at, at + np.array([-w[1], w[0]]), label=f"{name}: {errors[name]} errors", zorder=1, **look)
    best = rules["0-1 loss"].result_
    print(errors, f"{best.claim}: no line makes fewer than {best.bound:g} errors ({best.seconds:.2f} s)")
    ax.set_title(f"{errors['0-1 loss']} errors, proven least; convex losses make {errors['linear SVM']} and more")
    ax.legend(loc="lower left")
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "zero_one.png")
