"""Scorecards and their losses: the points in the kernels' layout, the best card found so far, and the objective of a card."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Array, Index
from ...protocol.result import Values
from .form import LogisticForm

IMPROVEMENT = 1e-10
"""A card replaces another one when its objective is lower by more than this fraction of it, so that rounding does not decide."""


@dataclass(frozen=True)
class Card:
    """Weights, offset, scale s = 1 / multiplier, and the objective of the rule."""

    w: Array
    b: float
    s: float
    objective: float

    @property
    def support(self) -> Index:
        """The features with a weight other than zero."""
        return np.flatnonzero(self.w)


@dataclass(frozen=True, eq=False)
class Cards:
    """The weighted points of a form; `features` are the columns of the form that X has."""

    form: LogisticForm
    X: Array
    y: Array
    c: Array
    features: Index

    @classmethod
    def of(cls, form: LogisticForm) -> Cards:
        """The distinct points of the form, in an order that does not depend on the order of the data."""
        X = np.ascontiguousarray(form.points.dense())
        everything = np.arange(form.d)
        return cls(form, X, form.points.y_pm1.astype(np.float64), form.weights, everything).only(everything)

    def only(self, columns: Index) -> Cards:
        """The points in these features alone, merged again: few features have few different rows."""
        table = np.ascontiguousarray(np.column_stack([self.X[:, columns], self.y])) + 0.0
        rows = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
        _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
        c = np.bincount(inverse.ravel(), self.c, len(first)).astype(np.float64)
        return Cards(self.form, np.ascontiguousarray(self.X[first][:, columns]), self.y[first], c, columns)

    def without(self, columns: Index) -> Cards:
        """The points in these features, not merged."""
        return Cards(self.form, np.ascontiguousarray(self.X[:, columns]), self.y, self.c, columns)

    @cached_property
    def signed(self) -> Array:
        """A row per feature and, last, one for the offset; a column y_i (x_i, 1) per point, divided by a fixed multiplier."""
        rows = np.vstack([self.X.T, np.ones(len(self.y))]) * self.y
        scale = 1.0 if self.form.has_free_multiplier else self.form.multipliers[0]
        return np.ascontiguousarray(rows / scale)

    @cached_property
    def columns(self) -> Array:
        """A row per feature."""
        return np.ascontiguousarray(self.X.T)

    @cached_property
    def spreads(self) -> Array:
        """The standard deviation of each feature, by which weights are compared."""
        return np.asarray(
            np.sqrt(np.maximum(self.c @ self.X**2 / self.c.sum() - (self.c @ self.X / self.c.sum()) ** 2, 0))
        )

    @cached_property
    def are_whole(self) -> bool:
        """All features are whole numbers, so that cards can be evaluated by counting totals."""
        return bool((np.round(self.X) == self.X).all()) and self.form.whole

    @property
    def s_range(self) -> Array:
        """The range of s = 1 / multiplier, in the units of the user's weights."""
        low, high = self.form.multipliers
        return np.array([1.0 / high, 1.0 / low])

    @property
    def cone(self) -> Array:
        """The range of s in the units of `signed`."""
        return self.s_range if self.form.has_free_multiplier else np.ones(2)

    @property
    def b_range(self) -> Array:
        """The range of the offset."""
        return np.array(self.form.b_range)

    @cached_property
    def squares(self) -> Array:
        """The L2 penalty of each feature and, last, of the offset, which has none."""
        return np.append(np.full(len(self.features), self.form.l2), 0.0)

    def penalty(self, w: Array) -> float:
        """What the objective adds to the loss for these weights."""
        form = self.form
        return float(form.l1 * np.abs(w).sum() + form.l2 * (w @ w) + form.l0 * np.count_nonzero(w))

    def card(self, w: Array, start: Array | None = None) -> Card:
        """The best card with these weights; its objective is infinite when no offset satisfies the other constraints."""
        from .kernels.moves import card_loss

        used = np.flatnonzero(w)
        t = np.ascontiguousarray(self.X[:, used] @ w[used])
        first = self.first_scale(t) if start is None else start
        whole, counted = self.form.whole_offset, self.are_whole
        loss, b, s = card_loss(t, self.y, self.c, self.s_range, self.b_range, whole, counted, first, np.inf)
        card = Card(np.array(w), float(b), float(s), float(loss) + self.penalty(w))
        return self._admitted(card, t) if self.form.others else card

    def _admitted(self, card: Card, t: Array) -> Card:
        """The card with the best offset that satisfies the constraints which are no bounds.

        The loss rises on both sides of the best offset, so offsets are tried in the order of their losses. Beyond the totals all
        points have the same sign, and nothing changes.
        """
        from .kernels.card import best_scale

        def at(b: float) -> Card:
            loss, s = best_scale(t, self.y, self.c, b, self.s_range[0], self.s_range[1], card.s)
            return Card(card.w, b, float(s), float(loss) + self.penalty(card.w))

        least = max(self.b_range[0], min(card.b, -float(t.max()) - 1.0))
        most = min(self.b_range[1], max(card.b, -float(t.min()) + 1.0))
        below, above, now = card.b - 1.0, card.b + 1.0, card
        left = at(below) if below >= least else None
        right = at(above) if above <= most else None
        while not self._is_admitted(now):
            if left is None and right is None:
                return Card(card.w, card.b, card.s, np.inf)
            if right is None or (left is not None and left.objective <= right.objective):
                assert left is not None
                now, below = left, below - 1.0
                left = at(below) if below >= least else None
            else:
                now, above = right, above + 1.0
                right = at(above) if above <= most else None
        return now

    def _is_admitted(self, card: Card) -> bool:
        w = np.zeros(self.form.d)
        w[self.features] = card.w
        values = {"w": w, "b": np.asarray(card.b)}
        return all(constraint.violation(self.form.model, values) == 0 for constraint in self.form.others)

    def first_scale(self, t: Array) -> Array:
        """(v0, s) to start from: total scores t are brought to about one unit of log-odds, around their mean."""
        s = float(np.clip(1.0 / (1e-9 + t.std()), *self.s_range))
        return np.array([-s * float(t.mean()), s])

    def values(self, card: Card) -> Values:
        """The card as decoded values."""
        values = {"w": np.array(card.w) + 0.0, "b": np.asarray(card.b + 0.0)}
        return values | ({"multiplier": np.asarray(1.0 / card.s)} if self.form.has_free_multiplier else {})
