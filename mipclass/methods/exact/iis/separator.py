"""Finds infeasible subsystems that a fractional cover does not hit yet, by a warm primal simplex (`kernels.separation`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....arrays import Array
from .cover import CoverData

Support = tuple[int, ...]
"""Members of an infeasible subsystem, in ascending order: points first, then side rows from `data.n` on."""

BUFFER = 4000
"""Supports that one walk may store; a walk that meets more ends early."""

MOST_PIVOTS = 2000
"""Pivots of one walk, at most."""

REFINED = 4
"""Walks at flattened costs after each walk at random costs."""

VIOLATED = 1 - 1e-6
"""A support is violated when the cover hits it by less than this; one, less the LP's feasibility tolerance."""

FLOORS, SPREADS, NOISE = (0.01, 0.05, 0.1), (0.5, 1.0, 1.5), 0.05
"""Random costs: what is added to the cover, the logarithmic standard deviation of the factor, and that of flattened costs."""

FLATTEST, MOST_RAISED = 0.03, 30.0
"""Smallest and largest factor by which flattening changes a cost."""

LOOKS_BETWEEN_STOPS = 200
"""Walks between two questions whether to stop."""

SMALLEST = 1e-300
"""Least divisor: rows of zeros stay zero."""

NOT_ZERO = 1e-9
"""Basic variables below this are rounding."""


class Separator:
    """A simplex whose basis is kept from one cost to the next."""

    def __init__(self, data: CoverData, seed: int = 0) -> None:
        from .kernels import separation as kernel

        self.kernel, self.data = kernel, data
        self.rng = np.random.default_rng(seed)
        sides, limits = data.side_rows()
        rows = [*(data.Z @ data.map), *sides]
        ends = [1.0] * data.n + limits.tolist()
        size = np.array([max(float(np.linalg.norm(row)), SMALLEST) for row in rows])
        # The last equation fixes the scale of u. In the scale-free case any positive weights do; with a margin it is the right-hand side.
        last = np.asarray(ends) / (size if data.margin else np.where(np.arange(len(rows)) < data.n, 1.0, size))
        A = np.ascontiguousarray(np.column_stack([np.asarray(rows) / size[:, None], last]))
        m = A.shape[1]
        basis = np.empty(m, np.int64)
        self.simplex = kernel.Simplex(A, np.ascontiguousarray(A.T), basis, np.empty((m, m)), np.zeros(m))
        self.found = kernel.Supports(np.zeros((BUFFER, m), np.int64), np.zeros(BUFFER, np.int64))
        self.restart()

    def restart(self) -> None:
        """Back to the basis of artificial columns."""
        n, m = self.simplex.A.shape
        self.simplex.basis[:] = n + np.arange(m)
        self.simplex.inverse[:] = np.eye(m)

    def minimise(
        self, cost: Array, cover: Array, threshold: float, max_pivots: int = MOST_PIVOTS
    ) -> tuple[list[Support], float, Array]:
        """Supports met on the way that `cover` hits by less than the threshold; the least cost; the rule in the duals.

        The rule gets every point of cost zero right when the value is positive.
        """
        at, found = self.simplex, self.found
        full_cost = np.concatenate([cost, np.zeros(len(at.A) - self.data.n)])
        at.dual[:] = 0.0
        status, count, value = self.kernel.walk(at, full_cost, cover, self.data.n, threshold, max_pivots, found)
        if status == self.kernel.STALLED or not np.isfinite(at.inverse).all():
            self.restart()
        supports = {tuple(sorted(found.members[k, : found.sizes[k]].tolist())) for k in range(count)}
        dual = at.dual
        W = -(self.data.map @ dual[:-1])
        if self.data.margin and dual[-1] > 0:
            W = W / dual[-1]
        return sorted(supports), float(value), W

    def violated(
        self, cover: Array, centre: Array, looks: int, enough: int = 300, stop: Callable[[], object] | None = None
    ) -> tuple[list[Support], list[Array]]:
        """IISs that `cover` hits by less than one, and the rules met while looking.

        The simplex minimises sum_i cover_i u_i, not the cover of the support. Costs cover_i / u_i make the two equal at a vertex u, so each
        walk at random costs (from points between `cover` and `centre`) is followed by some at such costs. The first look, at `cover`
        itself, is exact for a whole-numbered cover: the least cost is zero if and only if an IIS is not hit.
        """
        found: dict[Support, None] = {}
        rules = []
        floor = 0.0
        for k in range(looks):
            cost = cover
            if k % (1 + REFINED) == 1:
                floor = self.rng.choice(FLOORS)
                spread = self.rng.choice(SPREADS)
                blend = cover + self.rng.random() * (centre - cover)
                cost = (blend + floor) * np.exp(self.rng.normal(0.0, spread, self.data.n))
            elif k > 0:
                cost = self._flattened(cover + floor)
            supports, _, W = self.minimise(cost, cover, VIOLATED)
            found.update(dict.fromkeys(supports))
            rules.append(W)
            if len(found) >= enough or (
                stop is not None and k % LOOKS_BETWEEN_STOPS == LOOKS_BETWEEN_STOPS - 1 and stop()
            ):
                break
        return list(found), rules

    def _flattened(self, cost: Array) -> Array:
        """cost_i / u_i at the present vertex u (up to a factor, within reason), and a little noise elsewhere."""
        cost = cost * np.exp(self.rng.normal(0.0, NOISE, self.data.n))
        basis, u = self.simplex.basis, self.simplex.inverse[:, -1]
        held = (basis < self.data.n) & (u > NOT_ZERO)
        if held.any():
            cost[basis[held]] *= np.clip(np.median(u[held]) / u[held], FLATTEST, MOST_RAISED)
        return cost


def choose(supports: list[Support], cover: Array, n: int, at_most: int, reuse: int) -> list[Support]:
    """The most violated supports, no point in more than `reuse` of them."""
    weight = [sum(cover[i] for i in support if i < n) for support in supports]
    used = np.zeros(n, dtype=np.int64)
    kept = []
    for k in np.argsort(weight, kind="stable"):
        members = [i for i in supports[k] if i < n]
        if all(used[i] < reuse for i in members):
            used[members] += 1
            kept.append(supports[k])
            if len(kept) >= at_most:
                break
    return kept
