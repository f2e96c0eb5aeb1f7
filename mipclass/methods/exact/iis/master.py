"""The covering LP over the infeasible subsystems found so far, solved warm; rows that are slack for long leave it for a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ....arrays import Array, Positions
from ....backends.linear_session import LinearSession
from ....modelling.builder import Builder
from ....protocol.result import Status
from ....protocol.run import Run
from .cover import CoverData
from .row_store import RowStore
from .separator import Support

FEW_ROWS = 1200
"""Rows up to which the LP is never purged."""

GROWTH = 1.5
"""The LP is purged again once it has grown by this factor."""

NEARLY_TIGHT = 0.05
"""Rows whose slack is below this stay in the LP when it is purged."""

KEPT_SHARE = 0.75
"""The LP is loaded afresh only when at most this share of its rows stays."""

NOT_ZERO = 1e-9
"""Dual values and entries of a ray below this are rounding."""

COST_BITS = 20
"""Binary digits of the largest cost in the LP; larger ones are divided by a power of two."""

VIOLATED = 1 - 1e-6
"""A support is violated when the cover hits it by less than this; one, less the LP's feasibility tolerance."""


@dataclass(frozen=True)
class Relaxation:
    """The LP's answer at a node. Infeasible: `cover` is None and the multipliers prove it (a ray, to be scaled up)."""

    value: float
    cover: Array | None
    supports: Positions
    multipliers: Array
    limit_multipliers: Array


class Master:
    """min costs.e over e >= 0, limits and chosen supports. `supports` is the pool of all of them; `rows` those in the LP."""

    def __init__(self, data: CoverData) -> None:
        self.data = data
        self.run: Run | None = None  # brings the time limit into a single LP
        self.supports: list[Support] = []
        self.index: dict[Support, int] = {}
        self._members = RowStore()  # of each support, the points
        self._ones = np.ones(0)
        self.pool = self._matrix()
        self.refused = np.zeros(0, dtype=np.intp)  # of the pool: not infeasible after all
        # A power of two that brings large costs to a size at which the LP's absolute tolerances are small; one for small costs.
        self.unit = 2.0 ** max(0, int(data.costs.max(initial=0)).bit_length() - COST_BITS)
        self._fixed = np.zeros(data.n, dtype=np.int8)  # -1 right, +1 wrong, 0 free
        self._load(np.zeros(0, dtype=np.intp))

    def _load(self, rows: Positions) -> None:
        build = Builder("cover")
        e = build.variables("e", self.data.n, lower=0.0)
        build.minimize((self.data.costs / self.unit) @ e)
        for k, (coefficients, at_most) in enumerate(self.data.limits):
            build.subject_to(f"limit{k}", coefficients @ e <= at_most)
        self.lp = LinearSession(build.build())
        self.rows = np.zeros(0, dtype=np.intp)
        self._purge_at = FEW_ROWS
        self._add_rows(rows)
        fixed = np.flatnonzero(self._fixed)
        if len(fixed):
            self.lp.set_column_bounds(fixed, self._lower(fixed), self._upper(fixed))

    def _add_rows(self, rows: Positions) -> None:
        rows = rows[~np.isin(rows, self.refused)]
        if len(rows):
            self.lp.add_rows(self.pool[rows], 1.0, np.inf)
            self.rows = np.concatenate([self.rows, rows])

    def add(self, supports: list[Support]) -> int:
        """Add supports to pool and LP; how many were new."""
        numbers = self.remember([support for support in supports if support not in self.index])
        self._add_rows(numbers)
        return len(numbers)

    def remember(self, new: list[Support]) -> Positions:
        """Add new supports to the pool alone; their numbers."""
        first = len(self.supports)
        if not new:
            return np.zeros(0, dtype=np.intp)
        for support in new:
            self.index[support] = len(self.supports)
            self.supports.append(support)
        self._members.append([[i for i in support if i < self.data.n] for support in new])
        self.pool = self._matrix()
        return np.arange(first, len(self.supports), dtype=np.intp)

    def _matrix(self) -> Any:
        """The pool as a matrix of zeros and ones, a row for each support, without a copy."""
        entries, starts = self._members.packed()
        if len(self._ones) < len(entries):
            self._ones = np.ones(2 * len(entries))
        return sp.csr_array((self._ones[: len(entries)], entries, starts), shape=(len(starts) - 1, self.data.n))

    def refuse(self, supports: Positions) -> None:
        """Take supports, by their number, out of the LP for good."""
        self.refused = np.union1d(self.refused, supports)
        places = len(self.data.limits) + np.flatnonzero(np.isin(self.rows, supports))
        if len(places):
            self.lp.set_row_bounds(places, -np.inf, np.inf)

    def reload(self, rows: Positions) -> None:
        """An LP of these supports alone."""
        self._load(rows)

    def recall(self, cover: Array, at_most: int) -> int:
        """Bring back the pool's most violated rows that are not in the LP; how many."""
        chosen = self.missed(cover, self.rows, at_most)
        self._add_rows(chosen)
        return len(chosen)

    def missed(self, cover: Array, known: Positions, at_most: int) -> Positions:
        """The pool's supports that the cover misses most, without the known ones."""
        hit = self.pool @ cover
        hit[known] = np.inf
        hit[self.refused] = np.inf
        violated = np.flatnonzero(hit < VIOLATED)
        return violated[np.argsort(hit[violated], kind="stable")[:at_most]]

    def fix(self, wrong: Positions, right: Positions) -> None:
        """Points called wrong or right at a node; all others free."""
        wanted = np.zeros(self.data.n, dtype=np.int8)
        wanted[wrong], wanted[right] = 1, -1
        changed = np.flatnonzero(wanted != self._fixed)
        self._fixed = wanted
        if len(changed):
            self.lp.set_column_bounds(changed, self._lower(changed), self._upper(changed))

    def _lower(self, points: Positions) -> Array:
        return np.where(self._fixed[points] == 1, 1.0, 0.0)

    def _upper(self, points: Positions) -> Array:
        return np.where(self._fixed[points] == -1, 0.0, np.where(self._fixed[points] == 1, 1.0, np.inf))

    def solve(self) -> Relaxation | None:
        """The LP at the node, or None when HiGHS failed or the time is up."""
        answer = self.lp.solve(self.run)
        k = len(self.data.limits)
        if answer.status is Status.INFEASIBLE and answer.ray is not None:
            ray = np.abs(np.asarray(answer.ray))
            used = np.flatnonzero(ray[k:] > NOT_ZERO)
            return Relaxation(np.inf, None, self.rows[used], ray[k:][used], ray[:k])
        if answer.status is not Status.OPTIMAL or answer.x is None or answer.row_duals is None:
            return None
        duals = np.asarray(answer.row_duals)
        used = np.flatnonzero(duals[k:] > NOT_ZERO)
        assert answer.objective is not None
        v, mu = self.unit * duals[k:][used], self.unit * np.maximum(-duals[:k], 0.0)
        relaxation = Relaxation(self.unit * answer.objective, np.clip(answer.x, 0.0, 1.0), self.rows[used], v, mu)
        self._purge(relaxation)
        return relaxation

    def _purge(self, at: Relaxation) -> None:
        """Once the LP has grown enough since the last purge, load it afresh with the rows that are nearly tight."""
        if len(self.rows) <= self._purge_at or at.cover is None:
            return
        slack = self.pool[self.rows] @ at.cover - 1
        keep = slack < NEARLY_TIGHT
        keep[np.isin(self.rows, at.supports)] = True
        if keep.mean() < KEPT_SHARE:
            basis_rows = self.rows[keep]
            self._load(basis_rows)
        self._purge_at = max(FEW_ROWS, int(GROWTH * len(self.rows)))
