"""False positives limited exactly: the best line for each allowed rate, against moving the SVM's threshold."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import mipclass
from mipclass import models
from mipclass.plots.style import styled

RATES = (0.0, 0.05, 0.1, 0.2, 0.4)


def missed_by_shifting(X: np.ndarray, y: np.ndarray, rate: float) -> float:
    """Missed positives of the hinge SVM's direction with its threshold moved to keep the rate."""
    w = mipclass.solve(models.hinge_svm(X, y), "highs").values["w"]
    scores = X @ w
    negatives = np.sort(scores[y == 0])[::-1]
    threshold = negatives[int(np.floor(rate * len(negatives) + 1e-9))]
    return float(np.mean(scores[y == 1] <= threshold))


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    rng = np.random.default_rng(4)
    X = np.vstack([rng.normal(0, 1, (20, 2)), rng.normal([1.4, 0.7], 1, (20, 2))])
    y = np.repeat([0, 1], 20)
    exact, shifted = [], []
    for rate in RATES:
        problem = models.Model(
            X, y, minimize=models.ZeroOne(on="positives"), subject_to=models.FalsePositiveRate(at_most=rate)
        )
        result = mipclass.solve(problem, "highs")
        exact.append(result.objective / 20)
        shifted.append(missed_by_shifting(X, y, rate))
        print(f"false positives <= {rate:.0%}: misses {exact[-1]:.0%} ({result.claim}), shifted SVM {shifted[-1]:.0%}")
    figure, axes = plt.subplots(figsize=(6.5, 4))
    axes.step(RATES, exact, where="post", marker="o", label="exact Neyman-Pearson (proven)")
    axes.step(RATES, shifted, where="post", marker="s", linestyle="--", label="SVM with its threshold moved")
    axes.set(xlabel="largest false-positive rate", ylabel="share of positives missed", ylim=(0, 1))
    axes.set_title("Choosing the line for the limit beats moving a line chosen without it")
    axes.legend()
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "false_positive_limit.png")
