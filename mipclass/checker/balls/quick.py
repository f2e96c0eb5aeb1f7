"""Rounds of a proof by balls in float64, with a bound of all rounding errors: what they close is closed.

A sum of k products, in any order, of numbers that themselves carry a few rounding errors is off by at most (k + c) 2^-53 times the sum of the absolute
products, with c the number of roundings per product. SPARE stands for c, several times over, and every error below is counted twice (2^-52).
Points, costs and the bound are the nearest float64 numbers; a, theta and s must be float64 numbers, else there is a Doubt.

The multipliers are what the float64 products of the certificate's numbers and units are: any multipliers are valid. v is what its computed sum is: for
rules below the bound, |w| <= R, the error e of that sum changes v.w by at most |e| R, which is taken from D. So the centres of balls are exact.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .tree import BallProblem, Doubt, Multipliers

SPARE = 40
"""Rounding errors per term of a sum, at most."""

TINY = 1e-250
"""More than all errors by underflow."""

Floats = NDArray[np.float64]


class _Node(NamedTuple):
    """Margins from low to high, b from first to last, and rules in the ball around v / (2 a)."""

    low: Floats
    high: Floats
    first: float
    last: float
    v: Floats
    radius: float


class QuickRounds:
    """The steps of `mipclass.checker.balls.ramp` with intervals that grow by the errors."""

    def __init__(self, problem: BallProblem, units: list[Fraction]) -> None:
        self.a, self.theta, self.s = (_float64(value) for value in (problem.a, problem.theta, problem.s))
        scale = Fraction(1, 1 << problem.digits)
        try:
            self.Z = np.array([[float(value * scale) for value in row] for row in problem.points])
            self.costs = np.array([float(cost) for cost in problem.costs])
            self.units = [float(unit) for unit in units]
            self.bound = float(np.nextafter(float(problem.bound), np.inf))
        except OverflowError as err:
            raise Doubt from err
        self.labels = np.array(problem.labels, dtype=np.float64)
        n, d = self.Z.shape
        self.rate = (n + d + SPARE) * 2.0**-52
        self.sizes = np.abs(self.Z)
        self.norms = np.sqrt((self.Z**2).sum(axis=1)) * (1 + self.rate) + TINY
        self.reach = float(np.sqrt(self.bound / self.a)) * (1 + self.rate) + TINY  # |w| of rules below the bound
        self.least_costs = self.costs * (1 - self.rate)

    def root(self) -> _Node:
        """All rules that cost less than the bound."""
        reach = self.norms * self.reach * (1 + self.rate)
        first = -1 - float(reach[self.labels < 0].max(initial=0.0)) * (1 + self.rate) - self.rate
        last = 1 + float(reach[self.labels > 0].max(initial=0.0)) * (1 + self.rate) + self.rate
        low = np.minimum(self.labels * first, self.labels * last) - reach
        high = np.maximum(self.labels * first, self.labels * last) + reach
        room = self.rate * (np.abs(low) + np.abs(high)) + TINY
        return _Node(low - room, high + room, first, last, np.zeros(self.Z.shape[1]), self.reach)

    def children(self, node: _Node, point: int) -> tuple[_Node, _Node]:
        """The node with margin >= s of the point, and the one with margin <= s, which comes first in the tree."""
        above, below = node.low.copy(), node.high.copy()
        above[point], below[point] = max(above[point], self.s), min(below[point], self.s)
        return node._replace(low=above), node._replace(high=below)

    def round(self, node: _Node, record: Multipliers) -> _Node | None:
        """The node after a round of multipliers; None when it is closed."""
        if (node.low > node.high).any():
            return None
        alpha = record.numbers * (self.units[record.precise] * 2.0**record.shift)
        total, size = 0.0, 0.0
        if record.groups is not None:
            total = self._charges(node, alpha, record.groups)
            size = abs(total)
            alpha = np.where(record.groups > 0, 0.0, alpha)
        least = self._least(node, alpha)
        if record.groups is not None:
            least = np.where(record.groups > 0, 0.0, least)
        v, beta, off = self._sums(alpha)
        square = float(v @ v) / (4 * self.a)
        offset = max(beta * node.first, beta * node.last)
        error = float(np.abs(least).sum()) + square + abs(offset) + size + self.bound
        error = self.rate * (error + float(np.abs(alpha).sum()) * max(abs(node.first), abs(node.last)))
        missing = self.bound - (total + float(least.sum()) - square - offset) + error + off * self.reach + TINY  # B - D
        if not np.isfinite(missing):
            raise Doubt
        if missing <= 0:
            return None
        return self._cut(self._narrow_offset(node, beta, alpha, missing), v, missing)

    def _sums(self, alpha: Floats) -> tuple[Floats, float, float]:
        """sum_i alpha_i z_i as computed, sum_i alpha_i y_i, and the largest length of the first one's error."""
        errors = self.rate * (np.abs(alpha) @ self.sizes)
        return alpha @ self.Z, float(alpha @ self.labels), float(np.sqrt(errors @ errors)) * (1 + self.rate) + TINY

    def _losses(self, margins: Floats) -> Floats:
        return np.where(margins >= self.s, np.maximum(0.0, 1 - margins), 1 - self.s + self.theta * (self.s - margins))

    def _least(self, node: _Node, alpha: Floats) -> Floats:
        """At most min cost loss(m) + alpha m over the interval of each point."""
        inner = [np.clip(value, node.low, node.high) for value in (self.s, 1.0)]
        margins = np.stack([node.low, node.high, *inner])
        losses, slopes = self.costs * self._losses(margins), alpha * margins
        found: Floats = (losses + slopes - self.rate * (losses + np.abs(slopes))).min(axis=0) - TINY
        return found

    def _charges(self, node: _Node, alpha: Floats, groups: NDArray[np.uint8]) -> float:
        """At most what the rules of the node that cost less than the bound pay for all groups."""
        member = groups == np.arange(1, int(groups.max()) + 1)[:, None]
        kept = np.where(member, np.clip(alpha, 0.0, self.least_costs), 0.0)
        g, whole, beta = kept @ self.Z, kept.sum(axis=1), kept @ self.labels
        errors = self.rate * (kept @ self.sizes)
        along, away = g @ node.v / (2 * self.a), np.sqrt((g**2).sum(axis=1)) * node.radius
        offset = np.maximum(beta * node.first, beta * node.last)
        inliers = whole - along - away - offset - np.sqrt((errors**2).sum(axis=1)) * (self.reach * (1 + self.rate))
        sizes = whole * (1 + max(abs(node.first), abs(node.last))) + np.abs(g) @ np.abs(node.v) / (2 * self.a) + away
        inliers -= self.rate * sizes + TINY
        floors = self.costs * self._losses(node.high)
        floor = member @ floors
        dear = np.where(node.low < self.s, (1 - self.s) * self.costs - floors, np.inf)
        outliers = floor + np.where(member, dear, np.inf).min(axis=1)
        outliers -= self.rate * (floor + (1 - self.s) * (member @ self.costs))
        charge = np.minimum(np.maximum(inliers, floor * (1 - self.rate)), outliers)
        return float(charge.sum())

    def _narrow_offset(self, node: _Node, beta: float, alpha: Floats, missing: float) -> _Node:
        """The node with b on one side of (D_0 - B) / beta."""
        error = self.rate * float(np.abs(alpha) @ np.abs(self.labels))
        if abs(beta) <= 2 * error:
            return node
        far = missing / (abs(beta) - error) * (1 + self.rate)
        room = self.rate * (abs(node.first) + abs(node.last) + far) + TINY
        if beta > 0:
            return node._replace(first=max(node.first, node.last - far - room))
        return node._replace(last=min(node.last, node.first + far + room))

    def _cut(self, node: _Node, v: Floats, missing: float) -> _Node | None:
        """The intervals of rules in the ball around v / (2 a); None when none is left."""
        radius = float(np.sqrt(missing / self.a)) * (1 + self.rate) + TINY
        margins = self.Z @ v / (2 * self.a)
        reach = self.norms * radius * (1 + self.rate) + self.rate * (self.sizes @ np.abs(v)) / (2 * self.a) + TINY
        if not np.isfinite(reach).all():
            raise Doubt
        first, last = node.first, node.last
        free = self.labels != 0
        if free.any():
            room = self.rate * (np.abs(margins) + reach)
            least, most = node.low - margins - reach, node.high - margins + reach
            least, most = least - room - self.rate * np.abs(node.low), most + room + self.rate * np.abs(node.high)
            ends = self.labels * least, self.labels * most
            first = max(first, float(np.minimum(*ends)[free].max()))
            last = min(last, float(np.maximum(*ends)[free].min()))
            if first > last:
                return None
        ends = self.labels * first, self.labels * last
        room = self.rate * (np.abs(margins) + reach + np.abs(ends[0]) + np.abs(ends[1]))
        low = np.maximum(node.low, margins - reach + np.minimum(*ends) - room)
        high = np.minimum(node.high, margins + reach + np.maximum(*ends) + room)
        if (low > high).any():
            return None
        return _Node(low, high, first, last, v, radius)


def _float64(value: Fraction) -> float:
    """The same number as a float64; a Doubt when it is none."""
    found = float(value)
    if Fraction(found) != value:
        raise Doubt
    return found
