"""Prices of limits on errors: Lagrangian relaxation over the rules that were seen.

    minimise c(e)   subject to   l_k(e) <= L_k                    e the errors of a rule
    g(p) = min_e  c(e) + sum_k p_k (l_k(e) - L_k)  <=  optimum     for all prices p >= 0

g is concave, and any set of rules gives an upper estimate of it, which a linear program maximises (Kelley's cutting planes). The prices
proposed are simple fractions near the maximum, so that the costs c + sum_k p_k l_k of the points stay small whole numbers of units.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil, gcd, lcm
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...arrays import Array
from .box.copies import is_copied
from .iis.cover import CoverData
from .iis.offsets import with_best_offset
from .iis.tree import closed_within
from .sums import Sums

DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 128, 256, 1024, 4096)
"""Denominators of prices that are tried, in units of a typical cost per typical coefficient; the first that serves is taken."""

HIGHEST = 4
"""Largest price, as a multiple of all costs together per typical coefficient: beyond it one excess outweighs every cost."""

SMALL_GAP = Fraction(1, 50)
"""Share of the bound up to which one typical cost is a gap that boxes close soon."""


class RulePool:
    """Rules that were seen, as points (cost, excess over each limit), with the best one that keeps the limits.

    Costs are exact, in whole numbers of `unit`; prices are units per unit of a limit's coefficients.
    """

    def __init__(self, cover: CoverData) -> None:
        assert cover.masses is not None
        self.cover = cover
        self.unit = cover.masses.unit
        self._costs = cover.masses.whole
        self.rules: dict[tuple[int, tuple[Fraction, ...]], Array] = {}
        self.best: int | None = None
        self.best_W: Array | None = None
        self._ceiling: int | None = None
        self.sums = Sums(self._costs.tolist())
        self.total = int(self._costs.sum())
        self._typical = [_typical(coefficients) for coefficients, _ in cover.limits]
        self._cost = _typical(self._costs)
        columns = [
            self._costs.tolist(),
            *([limit.unit * v for v in limit.whole.tolist()] for limit in cover.exact_limits),
        ]
        self._kinds = Counter(zip(*columns, strict=True))  # (cost, coefficient of each limit) -> number of rows

    def take(self, W: Array) -> bool:
        """Note a rule that keeps the rows on (w, b), and the same with the best offset that keeps the limits; whether the incumbent
        improved."""
        before = self.best
        for candidate in (W, with_best_offset(self.cover, W)):
            if candidate is not None and np.isfinite(candidate).all() and self.cover.keeps_sides(candidate):
                self._note(candidate)
        return self.best != before

    def _note(self, W: Array) -> None:
        cover = self.cover
        wrong = cover.errors(W)
        cost, excesses = int(self._costs[wrong].sum()), tuple(cover.excesses(wrong))
        self.rules.setdefault((cost, excesses), np.array(W))
        if all(excess <= 0 for excess in excesses) and (self.best is None or cost < self.best):
            self.best, self.best_W = cost, np.array(W)

    def estimate(self, prices: tuple[Fraction, ...]) -> Fraction:
        """The least priced cost of a rule that was seen: an upper estimate of g, in counts."""
        return min(self._priced(seen, prices) for seen in self.rules)

    def cheapest(self, prices: tuple[Fraction, ...]) -> Array:
        """The rule that was seen of least priced cost."""
        return self.rules[min(self.rules, key=lambda seen: self._priced(seen, prices))]

    @staticmethod
    def _priced(seen: tuple[int, tuple[Fraction, ...]], prices: tuple[Fraction, ...]) -> Fraction:
        cost, excesses = seen
        return cost + sum((p * excess for p, excess in zip(prices, excesses, strict=True)), Fraction(0))

    def rounded_up(self, bound: Fraction) -> Fraction:
        """A bound on the cost of rules that keep the limits, raised to the next sum of costs, where sums are known and reach it."""
        if not self.sums.known or bound > self.total:
            return bound
        return Fraction(self.sums.least_from(ceil(bound)))

    def to_exceed(self) -> Fraction:
        """What a bound has to exceed to prove the incumbent optimal, or that no rule keeps the limits at a cost that is of interest.

        Sums that differ from such a cost by rounding alone (three weights of 1/3 and one of 1) count as that cost.
        """
        least = min((cost for cost in (self.best, self._ceiling) if cost is not None), default=None)
        if least is None:
            return Fraction(self.total)
        return Fraction(self.sums.greatest_below(least - closed_within(least)) if least > 0 else -1)

    def look_below(self, cost: Fraction) -> None:
        """Rules that cost so much or more are of no interest."""
        self._ceiling = ceil(cost / self.unit)

    def prices(self) -> tuple[Fraction, ...]:
        """Simple prices at which the estimate of g is as good as at its maximum: it proves the incumbent, if the maximum does.

        Prices at which few copies of the points have weight one (`box.copies`) may be worse by one typical cost where that is little
        (SMALL_GAP): their search is faster by more than it takes to close this gap box by box.
        """
        floats = self._best_floats()
        near = [price * float(t) for price, t in zip(floats, self._typical, strict=True)]
        candidates = []
        for q in DENOMINATORS:
            step = self._cost / q
            candidates.append(
                tuple(round(v / float(step)) * step / t for v, t in zip(near, self._typical, strict=True))
            )
        values = [self.estimate(prices) for prices in candidates]
        wanted = min(max(map(self.rounded_up, values)), self.rounded_up(self.to_exceed() + Fraction(1, 2)))
        good = [prices for prices, value in zip(candidates, values, strict=True) if self.rounded_up(value) >= wanted]
        if not self.sums.known:
            return candidates[int(np.argmax([float(v) for v in values]))]
        if self._has_copies(good[0]):
            return good[0]
        enough = wanted - (self._cost if self._cost <= SMALL_GAP * wanted else 0)
        copied = [
            (value, -k)
            for k, (prices, value) in enumerate(zip(candidates, values, strict=True))
            if self.rounded_up(value) >= enough and self._has_copies(prices)
        ]
        return candidates[-max(copied)[1]] if copied else good[0]

    def _has_copies(self, prices: tuple[Fraction, ...]) -> bool:
        """Whether a box search at these prices copies its points, so that each row has weight one."""
        used: dict[Fraction, int] = {}
        for (cost, *coefficients), count in self._kinds.items():
            priced = cost + sum((p * c for p, c in zip(prices, coefficients, strict=True)), Fraction(0))
            if priced > 0:
                used[priced] = used.get(priced, 0) + count
        denominator = lcm(*(cost.denominator for cost in used))
        multiples = {int(cost * denominator): count for cost, count in used.items()}
        unit = gcd(*multiples)
        return bool(used) and is_copied(sum(m // unit * count for m, count in multiples.items()), sum(used.values()))

    def _best_floats(self) -> Array:
        """The prices that maximise the estimate, by a linear program: max t, t - sum_k p_k excess_k <= cost for each rule."""
        from ...backends.linear_session import LinearSession
        from ...modelling.program import Program

        K = len(self._typical)
        cost = np.array([c for c, _ in self.rules], dtype=np.float64) / float(self._cost)
        scale = np.array([float(t) for t in self._typical])
        excess = np.array([[float(x) for x in xs] for _, xs in self.rules]).reshape(len(cost), K) / scale
        highest = HIGHEST * (self.total + 1) / float(self._cost)
        lp = Program(
            c=np.append(np.zeros(K), -1.0),
            A=sp.csr_array(np.column_stack([-excess, np.ones(len(cost))])),
            row_lower=np.full(len(cost), -np.inf),
            row_upper=cost,
            lower=np.append(np.zeros(K), -np.inf),
            upper=np.append(np.full(K, highest), np.inf),
            integer=np.zeros(K + 1, dtype=np.bool_),
            name="prices of limits",
        )
        answer = LinearSession(lp, presolve="off").solve(None)
        found = np.zeros(K) if answer.x is None else np.maximum(0.0, answer.x[:-1])
        return np.asarray(found * float(self._cost) / scale)


def _typical(values: NDArray[Any]) -> Fraction:
    """The median size of the values that are not zero, exactly; 1 without any."""
    sizes = np.sort(np.abs(values[values != 0])).tolist()
    return Fraction(sizes[(len(sizes) - 1) // 2]) if len(sizes) else Fraction(1)
