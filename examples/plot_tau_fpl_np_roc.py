"""NP-ROC: a few per cent of the negatives look like positives, and a ranking made for low rates turns away from them."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import LinearSVC

from mipclass import TauFPLClassifier
from mipclass.plots import NPRocDisplay
from mipclass.plots.style import styled

TAU = 0.03


def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """n negatives, 5 % of them in a cluster beside the positives, and n/2 positives."""
    cluster = int(0.05 * n)
    plain = rng.standard_normal((n - cluster, 2))
    odd = rng.normal([5.0, 0.0], [0.5, 0.5], size=(cluster, 2))
    positives = rng.normal([3.0, 1.5], [1.0, 1.0], size=(n // 2, 2))
    return np.vstack([plain, odd, positives]), np.repeat(["negative", "positive"], [n, n // 2])


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    rng = np.random.default_rng(0)
    (X, y), (X_new, y_new) = draw(rng, 1000), draw(rng, 1000)
    rankings = {
        "linear SVM": LinearSVC(),
        "tau-FPL": TauFPLClassifier(tau=TAU, ranking_tau=2 * TAU, R=1e-2, random_state=0),
    }
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained", sharey=True)
    for axes, (name, model) in zip(panels, rankings.items(), strict=True):
        scores = model.fit(X, y).decision_function(X_new)
        display = NPRocDisplay.from_predictions(y_new, scores, tau=TAU, name=name, at_threshold=0.0, ax=axes)
        fpr, tpr = display.point or (np.nan, np.nan)
        at_tau = float(display.tpr[display.fpr <= TAU].max())
        axes.set(xlim=(-0.01, 0.3))
        axes.set_title(f"{name}: finds {at_tau:.0%} at a rate of {TAU:.0%}")
        print(f"{name}: at tau {at_tau:.3f}; its own decision: rate {fpr:.3f}, finds {tpr:.3f}")
    figure.suptitle("A ranking that looks at the worst negatives finds more positives at a low false-positive rate")
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tau_fpl_np_roc.png")
