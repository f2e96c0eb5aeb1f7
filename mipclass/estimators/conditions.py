"""Conditions of a scorecard: columns as they are, or comparisons `x_j >= threshold` at quantiles of the training data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Index

WHOLE_VALUES = 10
"""A column of at most this many different whole numbers, 0/1 columns above all, is used as it is."""


@dataclass(frozen=True, eq=False)
class Conditions:
    """Condition k is x[column_k] >= threshold_k, or the value x[column_k] itself where threshold_k is NaN."""

    column: Index
    threshold: Array

    @classmethod
    def as_they_are(cls, n_features: int) -> Conditions:
        """Every column itself."""
        return cls(np.arange(n_features), np.full(n_features, np.nan))

    @classmethod
    def at_quantiles(cls, X: Array, weights: Array, most: int) -> Conditions:
        """At most `most` thresholds for each column that is no short list of whole numbers and not constant."""
        columns: list[int] = []
        thresholds: list[float] = []
        for j in range(X.shape[1]):
            values, place = np.unique(X[weights > 0, j], return_inverse=True)
            is_short_list = len(values) <= WHOLE_VALUES and (values == np.round(values)).all()
            if is_short_list or len(values) == 1:  # a constant column has no two values to put a threshold between
                columns.append(j)
                thresholds.append(np.nan)
                continue
            share = np.cumsum(np.bincount(place.ravel(), weights[weights > 0], len(values)))
            share = share[:-1] / share[-1]  # of the points below each later value
            cuts = np.unique([np.argmin(np.abs(share - q)) for q in np.arange(1, most + 1) / (most + 1)])
            for cut in cuts:
                columns.append(j)
                thresholds.append(shortest_between(float(values[cut]), float(values[cut + 1])))
        return cls(np.array(columns, dtype=np.int64), np.array(thresholds))

    def apply(self, X: Array) -> Array:
        """The value of each condition, 0 or 1 for a comparison."""
        values = X[:, self.column]
        return np.where(np.isnan(self.threshold), values, (values >= self.threshold).astype(np.float64))

    def names(self, features: list[str]) -> list[str]:
        """Each condition in words."""
        return [
            features[j] if np.isnan(t) else f"{features[j]} >= {t:.12g}"
            for j, t in zip(self.column, self.threshold, strict=True)
        ]


def shortest_between(low: float, high: float) -> float:
    """The number t with low < t <= high that has the fewest decimals."""
    for digits in range(-6, 15):
        t = (
            float(np.floor(high * 10.0**digits) / 10.0**digits)
            if digits >= 0
            else float(np.floor(high / 10.0**-digits) * 10.0**-digits)
        )
        if low < t <= high:
            return t
    return high
