"""A linear rule as people read it: few digits, no idle weights, one normalisation, the same decision for every point.

    positive  iff  w.x > t      with  max_j |w_j| = 1,  t = -b

Rounding w moves every score. The rounded rule is kept when the scores of the points called positive still lie above those
of the others, and the gap between them is not much narrower, relative to the range of all scores; t is then any number in
that gap, and the shortest one near its middle is taken. Whole weights are shown as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, Mask

MOST_DIGITS = 17  # significant decimal digits that tell every float64 from its neighbours
KEPT_GAP = 0.5  # share of the gap between the two groups of scores that rounding and dropping have to leave
MIDDLE = 0.25  # the threshold stays this share of the gap away from either end
WHOLE_UP_TO = 1000.0  # whole weights up to this size are those of a scorecard, which are shown as they are


@dataclass(frozen=True)
class ReadableRule:
    """positive iff w.x > threshold, in the units of the columns; `features` are the names of the columns."""

    w: Array
    threshold: float
    features: tuple[str, ...]

    def condition(self) -> str:
        """The inequality as text, e.g. `petal width > 1.7`; "always" or "never" when no weight is left.

        It is turned round, from > to <, when most of its weights are negative.
        """
        used = np.flatnonzero(self.w)
        if len(used) == 0:
            return "always" if self.threshold < 0 else "never"
        if len(used) == 1:
            j = int(used[0])
            sign = ">" if self.w[j] > 0 else "<"
            return f"{self.features[j]} {sign} {_shortest(self.threshold / self.w[j])}"
        is_falling = np.count_nonzero(self.w < 0) > np.count_nonzero(self.w > 0)
        way, sign = (-1.0, "<") if is_falling else (1.0, ">")
        parts = [_term(way * float(self.w[j]), self.features[j], first=k == 0) for k, j in enumerate(used)]
        return f"{' '.join(parts)} {sign} {_shortest(way * self.threshold)}"

    def sentence(self, positive: Any, negative: Any) -> str:
        """What is predicted when, e.g. `1 if petal width > 1.7, else 0`."""
        condition = self.condition()
        if condition in ("always", "never"):
            return f"always {positive if condition == 'always' else negative}"
        return f"{positive} if {condition}, else {negative}"


def readable(w: Array, b: float, X: Any, features: Sequence[str], *, free_offset: bool = True) -> ReadableRule:
    """The rule w.x + b > 0 with as few weights and digits as keep the decision for every row of X.

    X : (n, d) dense or sparse.     free_offset : whether the threshold may move inside the gap between the two groups.
    """
    w, names = np.asarray(w, dtype=np.float64), tuple(features)
    if (_is_whole(w) and float(b).is_integer()) or not np.any(w):
        return ReadableRule(w, -b, names)
    scores = np.asarray(X @ w).ravel()
    positive = scores + b > 0
    if free_offset and (positive.all() or not positive.any()):
        return ReadableRule(np.zeros_like(w), -1.0 if positive.all() else 1.0, names)
    if _is_whole(w):
        threshold = _short_between(*_Search(X, positive, -b, free_offset).ends(scores)) if free_offset else -b
        return ReadableRule(w, threshold if np.array_equal(scores > threshold, positive) else -b, names)
    largest = float(np.abs(w).max())
    search = _Search(X, positive, -b / largest, free_offset)
    for shorter in (search.drop(w / largest), w / largest):
        rounded = search.round(shorter)
        if rounded is not None:
            return ReadableRule(*rounded, names)
    return ReadableRule(w, -b, names)  # points so near the boundary that every other way of rounding moves one across


@dataclass(frozen=True)
class _Search:
    """Shorter rules with the same decisions; `threshold` is that of the normalised rule, which stays unless it is free."""

    X: Any
    positive: Mask
    threshold: float
    free: bool

    def gap(self, scores: Array) -> float:
        """The gap between the scores of the two groups, relative to their range; negative when no threshold parts them."""
        width = float(np.ptp(scores))
        low, high = self.ends(scores)
        parts = self.free or low <= self.threshold < high
        return (high - low) / width if width > 0 and parts else -np.inf

    def ends(self, scores: Array) -> tuple[float, float]:
        """The largest score of the negative points and the smallest of the positive ones."""
        low = float(np.max(scores[~self.positive], initial=-np.inf))
        return low, float(np.min(scores[self.positive], initial=np.inf))

    def drop(self, w: Array) -> Array:
        """w with the weights of least influence set to zero, one after the other, while the gap stays."""
        w = w.copy()
        scores = np.asarray(self.X @ w).ravel()
        least = KEPT_GAP * self.gap(scores)
        columns = self.X.tocsc() if hasattr(self.X, "tocsc") else self.X
        influence = np.abs(w) * _spread(columns)
        for j in np.argsort(influence, kind="stable"):
            column = columns[:, [j]]
            part = w[j] * np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel()
            if w[j] != 0.0 and np.count_nonzero(w) > 1 and self.gap(scores - part) >= max(least, np.finfo(float).tiny):
                scores = scores - part
                w[j] = 0.0
        return np.asarray(w / np.abs(w).max())

    def round(self, w: Array) -> tuple[Array, float] | None:
        """The first rounding of w, by number of digits, that keeps the gap and every decision, with its threshold, if any."""
        least = KEPT_GAP * self.gap(np.asarray(self.X @ w).ravel())
        for digits in range(1, MOST_DIGITS + 1):
            short = np.array([float(f"{value:.{digits - 1}e}") for value in w])
            scores = np.asarray(self.X @ short).ravel()
            threshold = _short_between(*self.ends(scores)) if self.free else self.threshold
            if self.gap(scores) >= least and np.array_equal(scores > threshold, self.positive):
                return short, threshold
        return None


def _short_between(low: float, high: float) -> float:
    """The number with the fewest decimals in the middle part of (low, high)."""
    middle, room = 0.5 * (low + high), (0.5 - MIDDLE) * (high - low)
    for digits in range(1, MOST_DIGITS + 1):
        short = float(f"{middle:.{digits - 1}e}")
        if abs(short - middle) <= room:
            return short
    return middle


def _spread(X: Any) -> Array:
    """The range of each column."""
    if hasattr(X, "toarray"):
        return np.asarray((X.max(axis=0) - X.min(axis=0)).toarray()).ravel()
    return np.asarray(np.ptp(X, axis=0))


def _is_whole(w: Array) -> bool:
    return bool(np.all(w == np.round(w)) and np.abs(w).max(initial=0.0) <= WHOLE_UP_TO)


def _shortest(value: float) -> str:
    """The shortest text that means this number."""
    text = f"{value + 0.0:.12g}"
    return text if float(text) == value else repr(float(value))


def _term(weight: float, name: str, *, first: bool) -> str:
    """One term of a sum, with its sign."""
    sign = ("-" if weight < 0 else "") if first else ("- " if weight < 0 else "+ ")
    size = abs(weight)
    return f"{sign}{name}" if size == 1.0 else f"{sign}{_shortest(size)} {name}"
