"""What a proof of the robust SVM needs of the points: costs of rules, bounds of nodes, and descents. With and without a free offset.

A rule is a vector w; with a free offset its last entry is b, in coordinates in which the points lie around the origin. The intervals of a
node are those of the margins and, with a free offset, last that of b; its multipliers then end with an estimate of b.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array, Mask
from ..kernels.envelope_bound import MOST_INSIDE, SWEEPS, convex_step, cost_of, maximise, narrow, rounded
from ..kernels.offset_bound import (
    best_offset,
    convex_step_with_offset,
    cost_with_offset,
    maximise_with_offset,
    narrow_with_offset,
    rounded_with_offset,
)
from ..kernels.packing import pack

TOLERANCE = 1e-9
"""Relative distance below the incumbent's cost at which a bound counts as meeting it; room for rounding in every decision."""

A_MOMENT, MOST_BLOCKS = 50_000_000, 400
"""Multiplications in one call of a kernel, about 0.05 s, and blocks of ascent, at most."""

MOST_STEPS = 100
"""Convex problems of one descent; each lowers the cost, so that few are needed."""

Stop = Callable[[], object]
"""True when the time is used up."""


class Rounded(NamedTuple):
    """Multipliers as whole numbers of a unit: the bound D that they prove, v = sum_i alpha_i z_i and beta = sum_i alpha_i y_i."""

    value: float
    v: Array
    beta: float
    numbers: Array


class RuleBall(NamedTuple):
    """Weights w within a distance of a centre."""

    centre: Array
    radius: float


class Packed(NamedTuple):
    """Disjoint groups of points: what every rule of a node pays for them, the group of each point or 0, and the multipliers of their points."""

    total: float
    groups: NDArray[np.uint8]
    numbers: Array


@dataclass(frozen=True, eq=False)
class RampProblem:
    """The points z_i = y_i x_i and their losses; the rule has no offset, or one that is among its weights."""

    Z: Array
    costs: Array
    theta: float
    s: float

    @property
    def loss(self) -> tuple[Array, float, float]:
        """As the kernels take it."""
        return self.costs, self.theta, self.s

    @cached_property
    def squares(self) -> Array:
        """|z_i|^2."""
        return np.asarray((self.Z**2).sum(axis=1))

    @cached_property
    def norms(self) -> Array:
        """|z_i|."""
        return np.sqrt(self.squares)

    @property
    def origin(self) -> Array:
        """The rule without weights."""
        return np.zeros(self.Z.shape[1])

    def cost(self, w: Array) -> float:
        """The objective of a rule."""
        return float(cost_of(self.Z, self.loss, w))

    def margins(self, w: Array) -> Array:
        """The margins of a rule."""
        return np.asarray(self.Z @ w)

    @cached_property
    def blocks(self) -> int:
        """Blocks of ascent in one call of a kernel, which cannot be interrupted."""
        n, d = self.Z.shape
        inside = min(n, 3 * d, MOST_INSIDE)
        return int(min(MOST_BLOCKS, max(1, A_MOMENT // (SWEEPS * n * d + inside**2 * (d + inside)))))

    def reach(self, cost: float) -> tuple[Array, Array]:
        """The intervals of rules that cost less than this."""
        reach = self.norms * np.sqrt(2 * cost) * (1 + TOLERANCE)
        return -reach, reach

    def start(self) -> Array:
        """First multipliers."""
        return np.zeros(len(self.Z))

    def maximise(
        self, corners: Any, low: Array, high: Array, alpha: Array, target: float, gain: float, blocks: int
    ) -> tuple[float, Array]:
        """(D, rule) near the dual's maximum, with alpha changed in place."""
        value, v = maximise(self.Z, self.squares, corners, alpha, target, gain, blocks)
        return float(value), v

    def rounded(self, corners: Any, low: Array, high: Array, alpha: Array, unit: float, most: float) -> Rounded:
        """The multipliers as whole multiples of a unit, at most so many."""
        value, v, numbers = rounded(self.Z, corners, alpha, unit, most)
        return Rounded(float(value), v, 0.0, numbers)

    def packed(self, low: Array, high: Array, ball: RuleBall, unit: float) -> Packed:
        """Conflicting points in disjoint groups."""
        total, groups, numbers = pack(self.Z, self.squares, self.loss, low, high, tuple(ball), (0.0, 0.0), False, unit)
        return Packed(float(total), groups, numbers)

    def only(self, chosen: Mask) -> RampProblem:
        """The same problem with the chosen points alone."""
        return RampProblem(self.Z[chosen], self.costs[chosen], self.theta, self.s)

    def ball(self, bound: Rounded, target: float) -> RuleBall:
        """Where the weights of rules lie that cost less than the target, given a bound."""
        return RuleBall(bound.v, float(np.sqrt(2 * max(0.0, target - bound.value)) * (1 + TOLERANCE)))

    def narrow(self, low: Array, high: Array, bound: Rounded, target: float) -> bool:
        """Whether no rule is left that costs less than the target; its intervals shrink in place."""
        return bool(narrow(self.Z, self.norms, low, high, bound.v, 2 * (target - bound.value)))

    def convex_step(self, outliers: Mask, alpha: Array) -> tuple[float, Array]:
        """(cost, rule) of a step of the concave-convex procedure."""
        cost, w = convex_step(self.Z, self.squares, self.loss, outliers, alpha, self.blocks)
        return float(cost), w

    def descend(self, outliers: Mask, stop: Stop) -> tuple[float, Array]:
        """(cost, rule) of the concave-convex procedure from a set of outliers, up to where it is stopped."""
        alpha, best = self.start(), (self.cost(self.origin), self.origin)
        for _ in range(MOST_STEPS):
            if stop():
                break
            cost, w = self.convex_step(outliers, alpha)
            if cost >= best[0] * (1 - TOLERANCE / 1000):
                break
            best, outliers = (cost, w), self.margins(w) < self.s
        return best


@dataclass(frozen=True, eq=False)
class OffsetProblem(RampProblem):
    """The points z_i = y_i (x_i - centre) and their labels; the rule has a free offset, which is its last entry."""

    y: Array
    centre: Array

    @cached_property
    def spread(self) -> float:
        """A typical length of the points."""
        return float(np.sqrt(self.squares.mean())) or 1.0

    def _ends(self, b: float, low: float, high: float) -> tuple[float, float, float, float]:
        """As the kernels take them: an offset, its interval, and t of the proximal term, such that the multiplier of one point moves b by 1 or more."""
        return float(b), float(low), float(high), float(max(self.spread, 1 / np.sqrt(self.costs.mean())))

    @cached_property
    def origin(self) -> Array:
        """The best constant rule."""
        zero = np.zeros(self.Z.shape[1])
        return np.append(zero, best_offset(self.Z, self.y, self.loss, zero)[1])

    def cost(self, w: Array) -> float:
        """The objective of a rule."""
        return float(cost_with_offset(self.Z, self.y, self.loss, np.ascontiguousarray(w[:-1]), float(w[-1])))

    def margins(self, w: Array) -> Array:
        """The margins of a rule."""
        return np.asarray(self.Z @ w[:-1] + self.y * w[-1])

    def reach(self, cost: float) -> tuple[Array, Array]:
        """The intervals of rules that cost less than this.

        From b = 1 + max |z_i| |w| over the positive points on these have no loss, and the others' losses do not fall as b grows.
        """
        radius = np.sqrt(2 * cost) * (1 + TOLERANCE)
        most = 1 + radius * self.norms[self.y > 0].max(initial=0.0)
        least = -1 - radius * self.norms[self.y < 0].max(initial=0.0)
        ends = self.y[:, None] * np.array([least, most])
        reach = self.norms * radius
        return np.append(ends.min(axis=1) - reach, least), np.append(ends.max(axis=1) + reach, most)

    def start(self) -> Array:
        """First multipliers, and an offset."""
        return np.zeros(len(self.Z) + 1)

    def maximise(
        self, corners: Any, low: Array, high: Array, alpha: Array, target: float, gain: float, blocks: int
    ) -> tuple[float, Array]:
        """(D, rule) near the dual's maximum, with alpha changed in place."""
        ends = self._ends(alpha[-1], low[-1], high[-1])
        value, v, b = maximise_with_offset(
            self.Z, self.y, self.squares, corners, alpha[:-1], ends, target, gain, blocks
        )
        alpha[-1] = b
        return float(value), np.append(v, best_offset(self.Z, self.y, self.loss, v)[1])

    def rounded(self, corners: Any, low: Array, high: Array, alpha: Array, unit: float, most: float) -> Rounded:
        """The multipliers as whole multiples of a unit, at most so many."""
        value, v, beta, numbers = rounded_with_offset(
            self.Z, self.y, corners, alpha[:-1], low[-1], high[-1], unit, most
        )
        return Rounded(float(value), v, float(beta), numbers)

    def packed(self, low: Array, high: Array, ball: RuleBall, unit: float) -> Packed:
        """Conflicting points in disjoint groups."""
        ends = float(low[-1]), float(high[-1])
        total, groups, numbers = pack(self.Z, self.y, self.loss, low, high, tuple(ball), ends, True, unit)
        return Packed(float(total), groups, numbers)

    def only(self, chosen: Mask) -> OffsetProblem:
        """The same problem with the chosen points alone."""
        Z, costs, y = self.Z[chosen], self.costs[chosen], self.y[chosen]
        return OffsetProblem(Z, costs, self.theta, self.s, y, self.centre)

    def narrow(self, low: Array, high: Array, bound: Rounded, target: float) -> bool:
        """Whether no rule is left that costs less than the target; its intervals shrink in place."""
        return bool(narrow_with_offset(self.Z, self.y, self.norms, low, high, bound.v, bound.beta, bound.value, target))

    def convex_step(self, outliers: Mask, alpha: Array) -> tuple[float, Array]:
        """(cost, rule) of a step of the concave-convex procedure."""
        low, high = self.reach(self.cost(self.origin))
        ends = self._ends(alpha[-1], low[-1], high[-1])
        cost, w, b = convex_step_with_offset(
            self.Z, self.y, self.squares, self.loss, outliers, alpha[:-1], ends, self.blocks
        )
        alpha[-1] = b
        return float(cost), np.append(w, b)
