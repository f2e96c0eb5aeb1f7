"""A scorecard as a picture: points as bars, and the probability of each total with the observed fractions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..analysis.score_card import ScoreCard
from ..errors import InvalidInputError
from .style import INKS, TINTS

FIGURE_SIZE = (10.0, 4.2)
"""Inches: two panels side by side."""

LARGEST_DOT = 260.0
"""Area of the dot of the most frequent total, in points squared."""


class ScoreCardDisplay:
    """Left: the points of each condition. Right: the probability of each total (curve) and what was observed (dots).

    Parameters
    ----------
    card : a ScoreCard, e.g. `RiskScoreClassifier.card_`.

    Attributes
    ----------
    ax_ : the two Axes. figure_ : their figure, after `plot`.
    """

    def __init__(self, card: ScoreCard) -> None:
        self.card = card

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> ScoreCardDisplay:
        """Draw the card of a fitted classifier."""
        return cls(estimator.card_).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> ScoreCardDisplay:
        """Draw on two Axes, which are made when none are given."""
        if ax is None:
            import matplotlib.pyplot as plt

            self.figure_, axes = plt.subplots(1, 2, figsize=FIGURE_SIZE, layout="constrained")
        else:
            axes = np.ravel(ax)
            if len(axes) != 2:
                raise InvalidInputError(f"a scorecard is drawn on two Axes, points and totals; got {len(axes)}.")
            self.figure_ = axes[0].figure
        self.ax_ = tuple(axes)
        self._points(axes[0])
        self._totals(axes[1])
        return self

    def _points(self, axes: Any) -> None:
        lines = self.card.lines()
        points = np.array([points for _, points in self.card.conditions], dtype=float)
        place = np.arange(len(lines))[::-1]
        axes.barh(place, points, color=[INKS[1] if p > 0 else INKS[0] for p in points], height=0.62)
        reach = float(np.abs(points).max(initial=1.0))
        for y, p, (_, words) in zip(place, points, lines, strict=True):
            side = 1 if p > 0 else -1
            axes.text(p + side * 0.04 * reach, y, words, va="center", ha="left" if side > 0 else "right")
        axes.set_yticks(place, [text for text, _ in lines])
        axes.axvline(0, color="black", linewidth=0.8)
        room = 0.25 * reach
        low, high = float(points.min(initial=0.0)), float(points.max(initial=0.0))
        axes.set_xlim(low - room if low < 0 else 0.0, high + room if high > 0 else 0.0)
        axes.set_xlabel("points")
        axes.set_title("add the points of the lines that hold")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)

    def _totals(self, axes: Any) -> None:
        card = self.card
        share = card.positives / card.weights
        sizes = LARGEST_DOT * card.weights / card.weights.max(initial=1.0)
        axes.scatter(
            card.totals, share, s=np.maximum(sizes, 8.0), color=TINTS[1], edgecolor=INKS[1], label="observed", zorder=2
        )
        low, high = float(card.totals.min(initial=0.0)), float(card.totals.max(initial=1.0))
        if card.multiplier is not None:
            grid = np.linspace(low, high, 300)
            axes.plot(grid, card.probability(grid), color=INKS[1], label="probability of the card", zorder=3)
        else:
            axes.axvline(-card.offset, color=INKS[0], label=f"above: {card.positive}", zorder=3)
        axes.set_ylim(-0.04, 1.04)
        axes.set_xlabel("total points (dots: size by number of rows)")
        axes.set_ylabel(f"fraction of {card.positive}")
        axes.set_title(
            "then read off the probability" if card.multiplier is not None else "then compare with the threshold"
        )
        axes.grid(alpha=0.25)
        axes.legend(loc="lower right", frameon=False)
