"""Cuts at the root: separate central covers (`packing`) until new supports hardly raise the bound.

Each round proves a bound of its own, as any multipliers within the costs do. The tree's LP starts from the supports that are tight
in the end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ....arrays import Array, Positions
from .cover import CoverData
from .master import Master, Relaxation
from .packing import PackingLP
from .separator import Separator, choose

MOST_POINTS = 4000
"""Points up to which the root is cut this way: each step factors a dense matrix of points by points."""

LOOSE, TIGHT = 0.03, 1e-3
"""Relative gap of the LP: loose at first, which cuts deepest; tight in the end, and every RECORD_EVERY rounds for a good bound."""

TIGHTEN = 6.0
"""Factor by which the gap is tightened when rounds at the present one have stalled."""

RECORD_EVERY = 6
"""Rounds between two LPs that are solved to the tight gap for their bound."""

NEW_SUPPORTS, FEWEST_SUPPORTS = 4, 50
"""New supports per point in a round, and the least number allowed in a round."""

REUSE = 200
"""New supports of one round that may share a point."""

FEWEST_LOOKS, MOST_LOOKS = 1, 4
"""Walks of the separating simplex in a round: per point at least, and the most as a multiple of that."""

FEWEST_LOOKS_IN_ALL = 100
"""Walks in a round, whatever the number of points."""

SLACK = 0.2
"""Supports that the cover exceeds by more leave the LP; the pool keeps them."""

NOT_ZERO = 1e-3
"""Multipliers above this fraction of a mean cost keep a slack support in the LP."""

PATIENCE, LEAST_RISE = 6, 0.1
"""Rounds are stalled when the bound rose by less than LEAST_RISE mean costs in PATIENCE rounds."""


class RootCuts:
    """The loop of one search. `advance` may be left at any step and called again."""

    def __init__(self, data: CoverData, separator: Separator, master: Master) -> None:
        self.data, self.separator, self.master = data, separator, master
        self.done = not 0 < data.n <= MOST_POINTS
        self.looks = self._fewest = max(FEWEST_LOOKS_IN_ALL, FEWEST_LOOKS * data.n)
        self.cover = np.zeros(data.n)
        self.supports = np.zeros(0, dtype=np.intp)  # those in the LP, by their number in the pool
        self._covered = np.zeros(0, dtype=np.intp)  # the points they hold: all others have cover zero
        self._lp: PackingLP | None = None
        self._gap = LOOSE
        self._values: list[float] = []  # of the rounds at this gap
        self._solved = False
        self._rounds = 0

    def advance(
        self,
        stop: Callable[[], object],
        on_solved: Callable[[Relaxation], bool],
        on_rules: Callable[[list[Array]], None],
    ) -> bool:
        """Rounds until done (True) or stopped (False). `on_solved` takes a round's multipliers and says whether they are enough."""
        while not self.done:
            if self._lp is not None:
                if not self._solve(self._lp, stop):
                    return False
                if self._lp.is_diverging:  # the tree's LP proves it infeasible
                    break
                if on_solved(self._relaxation(self._lp)):
                    return True
                if self._is_stalled(self._lp.unit):
                    if self._gap <= TIGHT:
                        break
                    self._gap, self._values = max(TIGHT, self._gap / TIGHTEN), []
            more = self._find(stop, on_rules)
            if not len(more) and stop():
                return False
            if not len(more):
                break
            self._load(np.concatenate([self._useful(), more]))
        if not self.done:
            self.done = True
            self.master.reload(self._tightest())
        return True

    def _solve(self, lp: PackingLP, stop: Callable[[], object]) -> bool:
        """To the present gap for the cover, and now and then further for the bound; False when stopped."""
        if not self._solved:
            if not lp.solve(self._gap, stop):
                return False
            self.cover[self._covered] = lp.e
            self._values.append(lp.value)
            self._rounds += 1
            self._solved = True
        return self._rounds % RECORD_EVERY > 0 or lp.solve(TIGHT, stop)

    def _is_stalled(self, unit: float) -> bool:
        values = self._values
        return len(values) > PATIENCE and values[-1] - values[-1 - PATIENCE] < LEAST_RISE * unit

    def _relaxation(self, lp: PackingLP) -> Relaxation:
        """The multipliers without the many tiny ones that the bound, rounded up, does not need."""
        v, mu = lp.multipliers
        spare = 0.5 * (lp.value - np.floor(lp.value))
        order = np.argsort(v)
        used = np.sort(order[np.searchsorted(np.cumsum(v[order]), spare) :])
        return Relaxation(lp.value, np.clip(self.cover, 0.0, 1.0), self.supports[used], v[used], mu)

    def _useful(self) -> Positions:
        """The LP's supports without the slack ones."""
        if self._lp is None:
            return self.supports
        v, _ = self._lp.multipliers
        return self.supports[(self._lp.surplus < SLACK) | (v > NOT_ZERO * self._lp.unit)]

    def _find(self, stop: Callable[[], object], on_rules: Callable[[list[Array]], None]) -> Positions:
        """Supports that the cover misses: from the pool, and new ones."""
        n, at_most, most = self.data.n, max(FEWEST_SUPPORTS, NEW_SUPPORTS * self.data.n), MOST_LOOKS * self._fewest
        back = self.master.missed(self.cover, self.supports, at_most)
        while True:
            looks = self.looks
            found, rules = self.separator.violated(self.cover, self.cover, looks, enough=3 * at_most, stop=stop)
            on_rules(rules)
            if any(support[0] >= n for support in found):  # side rows alone are infeasible: the tree's LP says so
                return np.zeros(0, dtype=np.intp)
            new = choose([s for s in found if s not in self.master.index], self.cover, n, at_most, REUSE)
            self.looks = min(most, 2 * looks) if len(new) <= n // 20 else max(self._fewest, looks // 2)
            if len(new) or len(back) or looks == most or stop():
                return np.concatenate([back, self.master.remember(new)])

    def _load(self, supports: Positions) -> None:
        self.supports = supports = supports[~np.isin(supports, self.master.refused)]
        members = self.master.pool[supports]
        self._covered = np.unique(members.indices)
        at = np.full(self.data.n, -1)
        at[self._covered] = np.arange(len(self._covered))
        shape = (len(supports), len(self._covered))
        members = sp.csr_array((members.data, at[members.indices], members.indptr), shape=shape)
        limits = [coefficients[self._covered] for coefficients, _ in self.data.limits]
        self._lp = PackingLP(
            members,
            self.data.costs[self._covered].astype(np.float64),
            np.array(limits).reshape(len(limits), len(self._covered)),
            np.array([at_most for _, at_most in self.data.limits]),
        )
        self.cover = np.zeros(self.data.n)
        self._solved = False

    def _tightest(self) -> Positions:
        """The supports that a simplex needs to start near this LP's optimum."""
        if self._lp is None:
            return self.supports
        order = np.argsort(self._lp.surplus, kind="stable")[: 2 * self.data.n]
        return np.sort(self.supports[order[self._lp.surplus[order] < SLACK]])
