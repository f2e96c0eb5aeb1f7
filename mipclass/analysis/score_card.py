"""ScoreCard: a rule with whole weights as a card that people can use: conditions with points, totals with probabilities.

    total points = sum of the points of the conditions that hold (or of points times value)
    probability of the positive class = 1 / (1 + exp(-(total + offset) / multiplier))

A card of the 0-1 loss has no multiplier: a total above the threshold -offset predicts the positive class.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..arrays import Array

MOST_ROWS = 12
"""Rows of the table of totals; with more different totals, neighbours share a row."""

STYLE = "border-collapse:collapse;font-family:sans-serif;margin:0.5em 0"
CELL = "padding:0.15em 0.8em;border-bottom:1px solid #d8dee5"


@dataclass(frozen=True, eq=False)
class ScoreCard:
    """A scorecard.

    conditions : (text, points) of each line; `per_unit[k]` when the points are multiplied by the value of a feature.
    offset, multiplier : as in the module's formula; multiplier is None for a rule without probabilities.
    totals, weights, positives : the different totals of the training points, the weight of the points that have each, and
        the weight of the positive ones among them.
    positive : the label of the positive class.
    calibration : (slope, shift) applied to the log-odds, (1, 0) for none.
    """

    conditions: tuple[tuple[str, int], ...]
    per_unit: tuple[bool, ...]
    offset: float
    multiplier: float | None
    totals: Array
    weights: Array
    positives: Array
    positive: Any = 1
    calibration: tuple[float, float] = (1.0, 0.0)

    def probability(self, total: Any) -> Any:
        """The probability of the positive class for a total (a number or an array); None without a multiplier."""
        if self.multiplier is None:
            return None
        slope, shift = self.calibration
        odds = slope * (np.asarray(total, dtype=np.float64) + self.offset) / self.multiplier + shift
        return 0.5 * (1.0 + np.tanh(0.5 * odds))

    def rows(self) -> list[tuple[str, str, float, float]]:
        """The table of totals: (totals, probability or prediction, weight of the points, fraction of positives)."""
        if not len(self.totals):
            return []
        share = np.cumsum(self.weights) / self.weights.sum()
        count = len(self.totals)
        group = (
            np.arange(count)
            if count <= MOST_ROWS
            else np.minimum((share * MOST_ROWS - 1e-9).astype(int), MOST_ROWS - 1)
        )
        found = []
        for k in np.unique(group):
            inside = np.flatnonzero(group == k)
            low, high = self.totals[inside[0]], self.totals[inside[-1]]
            weight = float(self.weights[inside].sum())
            words = _number(low) if low == high else f"{_number(low)} to {_number(high)}"
            found.append((words, self._verdict(low, high), weight, float(self.positives[inside].sum()) / weight))
        return found

    def _verdict(self, low: float, high: float) -> str:
        """The probability of totals from low to high, or the class that they predict."""
        if self.multiplier is None:
            sides = {bool(total + self.offset > 0) for total in (low, high)}
            return "either" if len(sides) > 1 else str(self.positive) if sides == {True} else f"not {self.positive}"
        first, last = (f"{100 * float(self.probability(total)):.1f}%" for total in (low, high))
        return first if first == last else f"{first} to {last}"

    def lines(self) -> list[tuple[str, str]]:
        """(condition, points) of each line in words."""
        return [
            (f"{text} (its value)" if unit else text, f"{points:+d}" + (" x value" if unit else ""))
            for (text, points), unit in zip(self.conditions, self.per_unit, strict=True)
        ]

    def __str__(self) -> str:
        lines = [(text.removesuffix(" (its value)"), points) for text, points in self.lines()]
        wide = max([len(text) for text, _ in lines] + [len("condition")])
        out = [f"{'condition':<{wide}}  points", *(f"{text:<{wide}}  {points:>6}" for text, points in lines), ""]
        out.append(self._explanation())
        table = self.rows()
        if table:
            head = (
                "total",
                "probability" if self.multiplier is not None else "prediction",
                "rows",
                f"share of {self.positive}",
            )
            cells = [head, *((a, b, f"{n:g}", f"{100 * f:.1f}%") for a, b, n, f in table)]
            widths = [max(len(row[k]) for row in cells) for k in range(4)]
            out += ["", *("  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in cells)]
        return "\n".join(out)

    def _explanation(self) -> str:
        if self.multiplier is None:
            return f"predict {self.positive} when the total is above {_number(-self.offset)}"
        sign = "+" if self.offset >= 0 else "-"
        words = f"probability of {self.positive} = 1 / (1 + exp(-(total {sign} {_number(abs(self.offset))}) / {self.multiplier:.4g}))"
        slope, shift = self.calibration
        return (
            words if (slope, shift) == (1.0, 0.0) else f"{words}, log-odds recalibrated to {slope:.3g} x {shift:+.3g}"
        )

    def html(self) -> str:
        """The card as two HTML tables."""
        second = "probability" if self.multiplier is not None else "prediction"
        points = [[text, p] for text, p in self.lines()]
        totals = [[a, b, f"{n:g}", f"{100 * f:.1f}%"] for a, b, n, f in self.rows()]
        heads = ["total", second, "rows", f"share of {self.positive}"]
        return f"{_table(['condition', 'points'], points)}<p>{escape(self._explanation())}</p>{_table(heads, totals)}"

    def _repr_html_(self) -> str:
        return self.html()


def _table(heads: list[str], rows: list[list[str]]) -> str:
    """An HTML table whose first column is aligned to the left and the others to the right."""

    def row(cells: list[str], tag: str) -> str:
        sides = ["left", *["right"] * (len(cells) - 1)]
        inside = (
            f"<{tag} style='text-align:{side};{CELL}'>{escape(c)}</{tag}>" for c, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(inside)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table style='{STYLE}'><thead>{row(heads, 'th')}</thead><tbody>{body}</tbody></table>"


def _number(value: float) -> str:
    return f"{value:.10g}"


def count_totals(totals: Array, weights: Array, is_positive: Any) -> Array:
    """The different totals in ascending order: rows (total, weight, weight of the positive points)."""
    kept = weights > 0
    different, place = np.unique(np.round(totals[kept], 9), return_inverse=True)
    size = len(different)
    counts = np.bincount(place.ravel(), weights[kept], size)
    positives = np.bincount(place.ravel(), (weights * is_positive)[kept], size)
    return np.column_stack([different, counts, positives]) + 0.0
