"""Exact lower bounds at the nodes of a branch-and-cut tree, from the LP's dual values.

A node calls some points wrong and some right. Multipliers v >= 0 on supports and mu >= 0 on limits with

    sum_{I with i} v_I <= c_i + sum_k mu_k l_ki        for every point i not called yet

prove for every rule at the node

    cost >= sum_I v_I + sum_{i wrong} (c_i + sum_k mu_k l_ki - sum_{I with i} v_I) - sum_k mu_k at_most_k,

rounded up, also to the next sum of some of the costs (`sums`). Dual values are rounded to whole multiples of 1/scale and shrunk until the conditions hold exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np

from ....arrays import Array, Index, Positions
from ..sums import Sums
from .cover import CoverData
from .master import Master, Relaxation
from .multipliers import ExactSupports
from .separator import Support

SCALE_BITS, SUM_BITS = 30, 52
"""Multipliers have at most SCALE_BITS binary digits behind the point, fewer where all costs together would need more than
SUM_BITS digits."""

NO_GAIN = 1e-9
"""A ray that adds less than this per unit of its length is taken for rounding."""

MOST_IN_ALL = 2.0**60
"""The multipliers of supports, which are held in 64 bits, add up to no more than this: neither they nor what they put on a point can overflow."""

MANY_DIGITS = 20
"""Binary digits of the sum of all costs from which on a bound is rounded up to the next attainable sum: with fewer, rounding up to a
whole number already removes the rounding of linear programs."""

SHRUNK = 1 - 1e-12
"""Factor that covers the rounding of the ratio by which multipliers are shrunk."""

Called = tuple[int, ...]
"""Points that a node calls wrong, or right."""


@dataclass(frozen=True, eq=False)
class LeafProof:
    """Multipliers numerators / scale: `v` for the supports with these numbers, `mu` for the limits; and the bound they prove.

    `mu` are whole numbers in float64: where errors of small coefficients break a limit, they exceed 64 bits.
    """

    supports: Positions
    v: Index
    mu: Array
    bound: int


class LeafBounds:
    """Proofs at the nodes of one search."""

    def __init__(self, data: CoverData, master: Master) -> None:
        self.data, self.master = data, master
        self.exact = ExactSupports(data)
        total = int(data.costs.sum())
        self.scale = 1 << max(0, min(SCALE_BITS, SUM_BITS - max(total, 1).bit_length()))
        self.impossible = 2 * (total + 1)  # more than any rule costs: a node with this bound has none
        self.sums = Sums(data.costs.tolist() if total.bit_length() > MANY_DIGITS else [])

    def nothing(self) -> LeafProof:
        """The proof that costs are not negative."""
        return LeafProof(np.zeros(0, np.intp), np.zeros(0, np.int64), np.zeros(len(self.data.limits)), 0)

    def better(
        self, known: LeafProof, relaxed: Relaxation, wrong: Called, right: Called, stop: Callable[[], object]
    ) -> LeafProof:
        """The proof that the LP's dual values give at a node, when its bound is higher than the known one; else the known.

        Subsystems that are not confirmed before `stop()` do not take part.
        """
        if relaxed.value <= known.bound:
            return known
        factor = float(self.scale)
        if relaxed.cover is None:
            gain = self._ray_gain(relaxed, wrong)
            if gain <= NO_GAIN:
                return known
            factor *= self.impossible / gain
        in_all = float(relaxed.multipliers.sum()) * factor
        # Multipliers that are smaller by one factor for all of them prove a bound that is smaller by it at the most.
        factor *= min(1.0, MOST_IN_ALL / in_all) if in_all else 1.0
        v, mu = np.floor(relaxed.multipliers * factor), np.ceil(relaxed.limit_multipliers * factor)
        if not (np.isfinite(v).all() and np.isfinite(mu).all()):
            return known
        v = v.astype(np.int64)
        proof = self.sealed(relaxed.supports, v, mu, wrong, right)
        if proof.bound > known.bound:
            looked = self._look_at(proof.supports, stop)
            sound = np.array([self.exact.known.get(support) is not None for support in looked], dtype=bool)
            if len(sound) < len(proof.supports) or not sound.all():
                self.master.refuse(proof.supports[: len(sound)][~sound])
                kept = np.flatnonzero(sound)
                proof = self.sealed(proof.supports[kept], proof.v[kept], proof.mu, wrong, right)
        return proof if proof.bound > known.bound else known

    def _look_at(self, supports: Positions, stop: Callable[[], object]) -> list[Support]:
        """The subsystems whose exact multipliers are known or were looked for before `stop()`, from the first on."""
        looked: list[Support] = []
        for number in supports:
            support = self.master.supports[number]
            if support not in self.exact.known:
                if stop():
                    break
                self.exact(support)
            looked.append(support)
        return looked

    def _ray_gain(self, ray: Relaxation, wrong: Called) -> float:
        """What a ray adds to the bound per unit of its length."""
        n, v, mu = self.data.n, ray.multipliers, ray.limit_multipliers
        load = self.master.pool[ray.supports].T @ v if len(ray.supports) else np.zeros(n)
        room = sum((m * c for m, (c, _) in zip(mu, self.data.limits, strict=True)), np.zeros(n))
        ends = sum(m * k for m, (_, k) in zip(mu, self.data.limits, strict=True))
        return float(v.sum() + (room - load)[list(wrong)].sum() - ends)

    def sealed(self, supports: Positions, v: Index, mu: Array, wrong: Called, right: Called) -> LeafProof:
        """The multipliers with v shrunk until the conditions hold exactly, and the bound that follows."""
        data = self.data
        room = data.costs.astype(object) * self.scale
        numerators = [int(m) for m in mu]
        for m, limit in zip(numerators, data.exact_limits, strict=True):
            if m:
                room = room + np.array([floor(m * limit.unit * c) for c in limit.whole.tolist()], dtype=object)
        load = self._load(supports, v)
        is_free = np.ones(data.n, dtype=bool)
        is_free[list(wrong)] = False
        is_free[list(right)] = False
        over = np.flatnonzero(is_free & (load > room))
        if len(over):
            shrink = min(float(room[i]) / float(load[i]) for i in over) * SHRUNK
            v = np.floor(v * max(shrink, 0.0)).astype(np.int64)
            load = self._load(supports, v)
            if (is_free & (load > room)).any():
                v = np.zeros_like(v)
                load = self._load(supports, v)
        total = Fraction(int(v.sum()))
        for i in wrong:
            total += int(room[i]) - int(load[i])
        for m, (_, at_most) in zip(numerators, data.limits, strict=True):
            total -= m * Fraction(at_most)
        used = v > 0
        bound = min(self.impossible, max(0, ceil(total / self.scale)))
        return LeafProof(supports[used], v[used], mu, self.sums.least_from(bound))

    def _load(self, supports: Positions, v: Index) -> Index:
        """What the multipliers of the supports put on each point."""
        load = np.zeros(self.data.n, dtype=np.int64)
        members = self.master.pool[supports]
        np.add.at(load, members.indices, np.repeat(v, np.diff(members.indptr)))
        return load
