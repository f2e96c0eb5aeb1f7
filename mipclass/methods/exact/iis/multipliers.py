"""Exact multipliers of infeasible subsystems: what float arithmetic found, confirmed in whole numbers or refused.

A subsystem that rounding has blurred (its points were dependent before) is confirmed within the relative margin (`within_margin`).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..rational import integer_matrix
from ..within_margin import multipliers_within_margin
from .cover import CoverData
from .null_space import NullVectors
from .separator import Support


class ExactSupports:
    """Multipliers of supports, computed once each; None marks one that float arithmetic got wrong.

    blurred : the supports whose multipliers hold within the relative margin alone.
    """

    def __init__(self, data: CoverData) -> None:
        self.data = data
        self._floats = np.vstack([data.Z, *(a[None, :] for a, _ in data.sides)])
        *self.rows, self._scales = integer_matrix(np.vstack([self._floats, data.scales]))
        self._null_vector = NullVectors(self.rows)
        self.known: dict[Support, list[int] | None] = {}
        self.blurred: set[Support] = set()

    def __call__(self, support: Support) -> list[int] | None:
        if support not in self.known:
            found = self._compute(support)
            if found is None and not self.data.margin:
                found = self._compute_within_margin(support)
                if found is not None:
                    self.blurred.add(support)
            self.known[support] = found
        return self.known[support]

    def _compute_within_margin(self, support: Support) -> list[int] | None:
        """Multipliers whose combination is zero up to the relative margin; side rows must be homogeneous."""
        n, members = self.data.n, list(support)
        if any(self.data.sides[i - n][1] for i in members if i >= n):
            return None
        divisors = np.where(self.data.scales > 0, self.data.scales, 1.0)
        rows = [self.rows[i] for i in members]
        return multipliers_within_margin(
            self._floats[members] / divisors, rows, self._scales, sum(1 for i in members if i < n)
        )

    def _compute(self, support: Support) -> list[int] | None:
        u = self._null_vector(support)
        if u is None:
            return None
        n = self.data.n
        for candidate in (u, [-v for v in u]):
            if all(v >= 0 for v in candidate):
                soft = sum(v for i, v in zip(support, candidate, strict=True) if i < n)
                ends = sum(
                    (
                        v * Fraction(self.data.sides[i - n][1])
                        for i, v in zip(support, candidate, strict=True)
                        if i >= n
                    ),
                    Fraction(0),
                )
                holds = soft + ends > 0 if self.data.margin else soft > 0 and ends >= 0
                if holds:
                    return candidate
        return None
