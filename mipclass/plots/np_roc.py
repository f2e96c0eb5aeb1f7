"""The NP-ROC plot: what a scorer can do near a tolerated false-positive rate, with bands that hold for new data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..analysis.thresholds import check_rate
from ..arrays import Array
from ..errors import InvalidInputError

LEAST_RATE = 1e-4
"""Smallest false-positive rate on a logarithmic axis, unless half a negative is more."""

GRID_POINTS = 501
"""False-positive rates at which the band is drawn."""


@dataclass
class NPRocDisplay:
    """True- against false-positive rate over all thresholds, with bands, and tau as a line.

    For the threshold at the j-th largest of n negative scores (held out from training) the false-positive rate of new data
    follows a Beta(j, n - j + 1) law if scores are continuous. `fpr_upper` is its 1 - delta quantile (the umbrella's bound
    of Tong, Feng and Li 2018), `fpr_lower` its delta quantile. `tpr_lower` and `tpr_upper` are the Clopper-Pearson limits
    of the true-positive rate at the same threshold, each at level delta. The pessimistic curve (fpr_upper, tpr_lower) and
    the optimistic one (fpr_lower, tpr_upper) bound the band; each of the four limits holds with probability 1 - delta at
    a given threshold, not over all thresholds at once.

    Make one by `from_estimator` or `from_predictions`; `plot(ax=...)` draws it and sets `ax_` and `figure_`.
    """

    thresholds: Array
    fpr: Array
    tpr: Array
    fpr_lower: Array
    fpr_upper: Array
    tpr_lower: Array
    tpr_upper: Array
    tau: float
    delta: float
    name: str | None = None
    point: tuple[float, float] | None = None

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, scores: ArrayLike, *, tau: float = 0.05, delta: float = 0.05, pos_label: Any = None,
        name: str | None = None, at_threshold: float | None = None, ax: Any = None,
    ) -> NPRocDisplay:  # fmt: skip
        """From labels and scores of held-out points; `at_threshold` marks one decision (score > threshold)."""
        display = cls._compute(y_true, scores, tau, delta, pos_label, name, at_threshold)
        return display.plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, tau: float | None = None, delta: float = 0.05,
        name: str | None = None, ax: Any = None,
    ) -> NPRocDisplay:  # fmt: skip
        """From a fitted classifier and held-out points; its own decision is marked, its `tau` used when it has one."""
        tau = getattr(estimator, "tau", 0.05) if tau is None else tau
        scores = estimator.decision_function(X)
        display = cls._compute(y, scores, tau, delta, estimator.classes_[1], name or type(estimator).__name__, 0.0)
        return display.plot(ax=ax)

    @classmethod
    def _compute(
        cls, y_true: ArrayLike, scores: ArrayLike, tau: float, delta: float, pos_label: Any, name: str | None,
        at_threshold: float | None,
    ) -> NPRocDisplay:  # fmt: skip
        from scipy.stats import beta

        from ..analysis.metrics import positive_mask

        check_rate("tau", tau)
        check_rate("delta", delta)
        positive, _ = positive_mask(y_true, pos_label)
        values = np.asarray(scores, dtype=np.float64).ravel()
        if values.shape != positive.shape:
            raise InvalidInputError(
                f"scores must have one entry for each of {positive.size} labels; got {values.shape}."
            )
        negatives, positives = np.sort(values[~positive])[::-1], np.sort(values[positive])
        n, m = len(negatives), len(positives)
        j = np.arange(1, n + 1)
        above = m - np.searchsorted(positives, negatives, side="right")  # positives called positive at each threshold
        tpr_lower = np.where(above > 0, beta.ppf(delta, above, m - above + 1), 0.0)
        tpr_upper = np.where(above < m, beta.ppf(1 - delta, above + 1, m - above), 1.0)
        point = None
        if at_threshold is not None:
            called = values > at_threshold
            point = (float(called[~positive].mean()), float(called[positive].mean()))
        return cls(
            thresholds=negatives,
            fpr=(j - 1) / n,
            tpr=above / m,
            fpr_lower=beta.ppf(delta, j, n - j + 1),
            fpr_upper=beta.ppf(1 - delta, j, n - j + 1),
            tpr_lower=tpr_lower,
            tpr_upper=tpr_upper,
            tau=tau,
            delta=delta,
            name=name,
            point=point,
        )

    def plot(self, ax: Any = None, *, log: bool = False) -> NPRocDisplay:
        """Draw the curve, its band and tau; `log=True` stretches small false-positive rates."""
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        grid = (
            np.linspace(0.0, 1.0, GRID_POINTS)
            if not log
            else np.geomspace(max(LEAST_RATE, 0.5 / len(self.fpr)), 1.0, GRID_POINTS)
        )
        low = _step(self.fpr_upper, self.tpr_lower, grid)
        high = _step(self.fpr_lower, self.tpr_upper, grid, above=True)
        ax.fill_between(grid, low, high, alpha=0.2, linewidth=0, label=f"{1 - self.delta:.0%} limits for new data")
        ax.step(np.append(self.fpr, 1.0), np.append(self.tpr, 1.0), where="post", label=self.name or "held-out points")
        ax.axvline(self.tau, color="black", linestyle="--", linewidth=1, label=f"tau = {self.tau:g}")
        if self.point is not None:
            ax.plot(*self.point, "o", color="black", label=f"decision ({self.point[0]:.3f}, {self.point[1]:.3f})")
        if log:
            ax.set_xscale("log")
        ax.set(xlabel="false-positive rate", ylabel="true-positive rate", ylim=(-0.02, 1.02))
        ax.legend(loc="lower right")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _step(fpr: Array, tpr: Array, grid: Array, above: bool = False) -> Array:
    """tpr of the last point whose fpr is at most the grid's (or, above, of the first whose fpr is at least it)."""
    if above:
        at = np.searchsorted(fpr, grid, side="left")
        return np.append(tpr, 1.0)[at]
    at = np.searchsorted(fpr, grid, side="right") - 1
    return np.where(at >= 0, tpr[np.maximum(at, 0)], 0.0)
