"""Equal rates for two groups: what parity costs in errors, exactly."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import mipclass
from mipclass import models
from mipclass.plots.style import styled

GAPS = (0.0, 0.1, 0.2, 0.3, 0.5)


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    rng = np.random.default_rng(1)
    groups = np.repeat(["a", "b"], 20)
    y = rng.integers(0, 2, 40)
    X = np.column_stack([y + 0.8 * rng.normal(size=40) + (groups == "b"), rng.normal(size=40) + 0.5 * (groups == "b")])
    errors, rates = [], []
    for gap in GAPS:
        parity = models.RateParity(groups, at_most=gap, rate="positive")
        problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=parity)
        result = mipclass.solve(problem, "highs")
        errors.append(result.objective)
        rates.append(parity.rates(problem, result.values))
        print(f"gap <= {gap:.0%}: {result.objective:g} errors ({result.claim}), called positive {rates[-1]}")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    left.plot(GAPS, errors, marker="o")
    left.set(xlabel="largest difference of selection rates", ylabel="fewest errors", title="What parity costs")
    for group in "ab":
        right.plot(GAPS, [rate[group] for rate in rates], marker="o", label=f"group {group}")
    right.set(xlabel="largest difference of selection rates", ylabel="share called positive", ylim=(0, 1))
    right.set_title("The rates behind each point")
    right.legend()
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "equal_rates.png")
