"""Standardised columns: an exact change of variables in which tolerances and random moves have one scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...models.point_sets import PointSets

CONSTANT_FEATURE = 1e-12
"""Standard deviation of a feature, relative to its largest absolute value, below which it is constant up to rounding."""


@dataclass(frozen=True)
class Standardised:
    """x -> (x - centre) / scale for the features, with hyperplanes and l1 prices to match, and f in units of `unit`.

    `unit` is the geometric mean of the two classes' weights: 1 for the paper's means, where f(0) = 2, and between the
    two when they differ by orders of magnitude, so that absolute tolerances fit both.
    """

    sets: PointSets
    centre: Array
    scale: Array
    unit: float

    @classmethod
    def of(cls, sets: PointSets) -> Standardised:
        """Centre and scale the features over both sets; a constant feature keeps its scale."""
        points = np.concatenate([sets.A[:, :-1], sets.B[:, :-1]])
        centre = points.mean(axis=0)
        spread = points.std(axis=0)
        scale = np.where(spread > CONSTANT_FEATURE * np.abs(points).max(axis=0, initial=0.0), spread, 1.0)
        A, B = sets.A.copy(), sets.B.copy()
        A[:, :-1] = (A[:, :-1] - centre) / scale
        B[:, :-1] = (B[:, :-1] - centre) / scale
        unit = float(np.sqrt(sets.p.sum() * sets.q.sum()))
        l1 = sets.l1 / np.append(scale, 1.0) / unit
        return cls(PointSets(A, B, sets.p / unit, sets.q / unit, l1), centre, scale, unit)

    def forward(self, planes: Array) -> Array:
        """Hyperplanes of the user's units in standardised units."""
        out = planes.copy()
        out[:, :-1] *= self.scale
        out[:, -1] -= planes[:, :-1] @ self.centre
        return out

    def back(self, planes: Array) -> Array:
        """Hyperplanes of standardised units in the user's units."""
        out = planes.copy()
        out[:, :-1] /= self.scale
        out[:, -1] += out[:, :-1] @ self.centre
        return out
