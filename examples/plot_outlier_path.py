"""The outlier path: multipliers move in straight lines and jump when a point reaches the cut-off (Figures 1, 2 and 4 of
Suzumura et al. 2014, made again).

Above: the two ways from the hinge loss to the ramp, by theta (1 to 0, with s = 0) and by s (from far below to 0, with theta = 0).
Below: multipliers along theta, where circles mark jumps to a strictly better local solution; the SVM's line and the robust one, with
the outliers it found.
"""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from mipclass import models, solve
from mipclass.plots import OutlierPathDisplay
from mipclass.plots.style import styled


def data(seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Two noisy classes with outliers."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal([-1.2, 0.4], 0.7, (30, 2)), rng.normal([1.2, -0.4], 0.7, (30, 2))])
    y = np.repeat([-1, 1], 30)
    return np.vstack([X, [[2.6, -0.2], [2.4, -1.1], [2.0, 0.3]]]), np.append(y, [-1, -1, -1])


def _telling(path: Any) -> np.ndarray:
    """Four points: the two that jump farthest, and of the others the two that travel farthest."""
    multipliers = path.multipliers(np.arange(len(path.y)))
    steps = np.abs(np.diff(multipliers, axis=0))
    jumped = np.argsort(-steps[np.flatnonzero(path.jumps) - 1].max(axis=0))[:2]
    others = [k for k in np.argsort(-steps.sum(axis=0)) if k not in jumped]
    return np.sort([*jumped, *others[:2]])


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    X, y = data()
    model = models.robust_svm(X, y, C=10.0, intercept="penalised")
    result = solve(model, "outlier-path")
    found = result.extra["path"]
    figure, ((by_theta, by_s), (middle, right)) = plt.subplots(2, 2, figsize=(11, 8.4), layout="constrained")
    margins = np.linspace(-2, 2, 401)
    for theta in (1.0, 0.75, 0.5, 0.25, 0.0):
        by_theta.plot(margins, models.Ramp(theta, 0.0).of_margin(margins), label=rf"$\theta = {theta:g}$")
    by_theta.set(xlabel="margin $y f(x)$", ylabel="loss", title=r"From the hinge to the ramp by $\theta$ ($s = 0$)")
    for s in (-2.0, -1.5, -1.0, -0.5, 0.0):
        by_s.plot(margins, models.Ramp(0.0, s).of_margin(margins), label=f"$s = {s:g}$")
    by_s.set(xlabel="margin $y f(x)$", ylabel="loss", title=r"From the hinge to the ramp by $s$ ($\theta = 0$)")
    by_theta.legend(fontsize=8)
    by_s.legend(fontsize=8)
    OutlierPathDisplay.from_path(found, points=_telling(found), ax=middle)
    middle.set_title(f"Multipliers of four points: {len(found)} breakpoints, {int(found.jumps.sum())} jumps (circles)")
    for label, colour in ((-1, "C1"), (1, "C0")):
        right.scatter(*X[y == label].T, s=14, color=colour)
    right.scatter(*X[result.extra["outliers"]].T, s=90, facecolors="none", edgecolors="black", label="outliers found")
    ys = np.array([X[:, 1].min() - 0.5, X[:, 1].max() + 0.5])
    svm = solve(models.robust_svm(X, y, C=10.0, theta=1.0, intercept="penalised"), "outlier-path").values
    for name, values, style in (("SVM", svm, "--"), ("robust SVM", result.values, "-")):
        w, b = values["w"], float(values["b"])
        right.plot(-(w[1] * ys + b) / w[0], ys, style, color="black", label=name)
    right.set(xlim=(X[:, 0].min() - 0.5, X[:, 0].max() + 0.5), ylim=ys, xlabel="$x_1$", ylabel="$x_2$")
    right.set_title("Outliers turn the SVM's line, not the robust one")
    right.legend(fontsize=8)
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
    plt.show()
