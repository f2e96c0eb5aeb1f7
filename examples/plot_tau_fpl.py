"""Few false positives: three thresholds for one ranking, and what each of them keeps on new data."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from mipclass import TauFPLClassifier
from mipclass.analysis.metrics import rates
from mipclass.plots.style import styled

TAU, DELTA = 0.05, 0.05
THRESHOLDS = ("train", "oob", "umbrella")


def draw(rng: np.random.Generator, negatives: int, positives: int) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussian classes in ten dimensions."""
    y = np.repeat([0, 1], [negatives, positives])
    return rng.standard_normal((len(y), 10)) + 1.0 * y[:, None], y


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    rng = np.random.default_rng(0)
    X_new, y_new = draw(rng, 20_000, 20_000)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in THRESHOLDS}
    for repetition in range(40):
        X, y = draw(rng, 150, 60)
        for name in THRESHOLDS:
            clf = TauFPLClassifier(
                tau=TAU, ranking_tau=2 * TAU, threshold=name, delta=DELTA, R=0.1, n_rounds=5, random_state=repetition
            )
            found[name].append(rates(y_new, clf.fit(X, y).predict(X_new)))
    figure, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    for place, name in enumerate(THRESHOLDS):
        fpr, tpr = np.array(found[name]).T
        spread = place + 0.25 * (np.arange(len(fpr)) / len(fpr) - 0.5)
        axes.plot(fpr, spread, "o", color="C0", markersize=4, alpha=0.6)
        axes.plot(fpr.mean(), place, "|", color="black", markersize=28)
        note = f"above tau: {np.mean(fpr > TAU):.0%}\ntrue-positive rate {tpr.mean():.2f}"
        axes.text(1.02, place, note, va="center", ha="left", transform=axes.get_yaxis_transform())
        print(f"{name:9s} mean rate {fpr.mean():.3f}, above tau {np.mean(fpr > TAU):.0%}, tpr {tpr.mean():.3f}")
    axes.axvline(TAU, color="black", linestyle="--", linewidth=1)
    axes.set_yticks(range(len(THRESHOLDS)), THRESHOLDS)
    axes.text(TAU, 2.45, " tau", va="top")
    axes.set(
        xlabel="false-positive rate on new data (40 training samples; mean marked)",
        ylabel="threshold",
        xlim=(0, None),
        ylim=(-0.5, 2.5),
    )
    axes.set_title(f"Only the umbrella keeps the rate below tau = {TAU} in {1 - DELTA:.0%} of samples")
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tau_fpl.png")
