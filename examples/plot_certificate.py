"""A proof in the making: incumbent and proven bound of the 0-1 loss meet, and the checker accepts the certificate."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import mipclass
from mipclass import models
from mipclass.plots.style import styled


def overlapping_classes(n: int = 240) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping clouds in four dimensions, some points of one of them far out."""
    rng = np.random.default_rng(7)
    X = np.vstack([rng.normal(0, 1, (n // 2, 4)), rng.normal([1.2, 0.6, 0.0, 0.3], 1, (n // 2, 4))])
    X[: n // 20] += 6
    return X, np.repeat([0, 1], n // 2)


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    X, y = overlapping_classes()
    problem = models.zero_one(X, y)
    seen = []
    result = mipclass.solve(problem, solver="box", callback=lambda event: seen.append((event.nodes, event.bound)))
    steps = [(nodes, bound) for nodes, bound in seen if nodes and bound is not None]
    verdict = mipclass.verify(result.certificate, X, y)
    print(f"{verdict}; {len(result.certificate.to_json()) / 1000:.0f} kB, {verdict.nodes} boxes checked")
    forged = {**result.certificate.content, "lower": {**result.certificate.content["lower"], "bound": "60"}}
    print(f"with a higher bound written into it: {mipclass.verify(forged, X, y)}")

    figure, axes = plt.subplots(figsize=(7, 4.2))
    axes.step(*zip(*steps, strict=True), where="post", label="proven: no line makes fewer errors")
    svm = mipclass.solve(models.hinge_svm(X, y), "highs")
    axes.axhline(problem.recount(svm.values), color="grey", linestyle=":", label="errors of the hinge SVM")
    axes.axhline(result.objective, color="black", linewidth=1, label="errors of the best rule")
    axes.set(xlabel="boxes of weights looked at", ylabel="errors", ylim=(0, None), xscale="log")
    axes.set_title(f"No line makes fewer than {result.bound:g} errors on these {len(y)} points: proven and checked")
    axes.legend(loc="lower right", fontsize=9)
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "certificate.png")
