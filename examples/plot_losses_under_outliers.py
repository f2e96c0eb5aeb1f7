"""Outliers move every convex loss; the 0-1 loss ignores them (figures 1 and 2 of Nguyen & Sanner 2013).

300 points of two classes, 10 % of them outliers far on the wrong side. Least squares, the hinge loss and the log loss
turn their lines towards the outliers; the line of fewest errors does not, and here it is proven to have the fewest.
"""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import mipclass
from mipclass import models
from mipclass.plots.style import styled


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two noisy classes with outliers."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal([-1.5, 0], [1, 2], (135, 2)), rng.normal([1.5, 0], [1, 2], (135, 2))])
    outliers = rng.normal([14, 9], [1.5, 1.5], (30, 2))
    return np.vstack([X, outliers]), np.repeat([-1, 1, -1], [135, 135, 30])


def rules(X: np.ndarray, y: np.ndarray) -> dict[str, tuple[np.ndarray, float]]:
    """(w, b) of each loss by its name."""
    logistic = LogisticRegression(C=1e6).fit(X, y)
    found = {"log loss": (logistic.coef_[0], float(logistic.intercept_[0]))}
    for name, loss in {"squared loss": models.Squared(), "hinge loss": models.Hinge()}.items():
        values = mipclass.solve(models.Model(X, y, minimize=loss), "highs").values
        found[name] = values["w"], float(values["b"])
    result = mipclass.solve(models.zero_one(X, y), "pcs")
    found[f"0-1 loss ({result.claim})"] = result.values["w"], float(result.values["b"])
    return found


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    X, y = data()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    for label, colour in ((-1, "C1"), (1, "C0")):
        left.scatter(*X[y == label].T, s=10, color=colour, alpha=0.6)
    xs = np.linspace(X[:, 1].min() - 1, X[:, 1].max() + 1, 2)
    errors = {}
    for (name, (w, b)), style in zip(rules(X, y).items(), (":", "-.", "--", "-"), strict=True):
        errors[name] = int(np.sum(np.where(X @ w + b > 0, 1, -1) != y))
        left.plot(-(w[1] * xs + b) / w[0], xs, style, color="black", label=f"{name}: {errors[name]} errors")
    left.set(xlim=(X[:, 0].min() - 1, X[:, 0].max() + 1), ylim=(xs[0], xs[-1]), xlabel="$x_1$", ylabel="$x_2$")
    left.legend(loc="lower right", fontsize=8)
    left.set_title("Convex losses follow 30 outliers; the 0-1 loss does not")
    margins = np.linspace(-1.5, 2, 400)
    curves = {
        "0-1": margins <= 0,
        "squared": (1 - margins) ** 2,
        "hinge": np.maximum(0, 1 - margins),
        "log": models.Logistic().of_margin(margins),
        "sigmoid, K = 5": models.Sigmoid(5.0).of_margin(margins),
    }
    for name, values in curves.items():
        right.plot(margins, values, label=name)
    right.set(ylim=(-0.1, 4), xlabel="margin $y f(x)$", ylabel="loss", title="Losses as functions of the margin")
    right.legend()
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "losses_under_outliers.png")
