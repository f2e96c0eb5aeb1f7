"""The two linear programs of the paper's branch and bound, kept warm: is a cell empty, is a point in a hull."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...arrays import Array, Index, Mask
from ...backends.linear_session import LinearSession
from ...errors import MipclassError
from ...modelling.builder import Builder
from ...protocol.result import Status

SEPARABLE = 1e-6
"""Least margin, over rows of length one, that counts as positive: above HiGHS's feasibility tolerance of 1e-7."""

SUPPORT = 1e-9
"""Dual values above this belong to the support; smaller ones are rounding."""

SHADOW = 1e-9
"""A point outside a hull's projections by more than this fraction of their size is outside the hull."""

INSIDE = 1e-8
"""Largest residual of sum u_k p_k = p, over rows of length one, at which p counts as inside the hull."""

N_DIRECTIONS = 64
"""Random directions, besides the axes, on which hulls are projected."""


class CellLP:
    """The rule of widest margin with some points right and some wrong.

    Maximise rho  subject to  z_i.w >= rho (right),  z_i.w <= -rho (wrong),  |w_j| <= 1, rho <= 1.

    rho > 0 iff the cell is not empty. Otherwise the multipliers u of the rows satisfy sum u = 1, sum +-u_i z_i = 0: their
    support, at most one more than the number of columns of Z, is a set of decisions that cannot hold together.
    """

    def __init__(self, Z: Array) -> None:
        n, m = Z.shape
        self.Z, self.n = Z, n
        build = Builder("cell")
        w = build.variables("w", m, lower=-1.0, upper=1.0)
        rho = build.variables("rho", upper=1.0)
        build.subject_to("right", Z @ w - rho >= 0.0)
        build.subject_to("wrong", Z @ w + rho <= 0.0)
        build.minimize(-1.0 * rho)
        self.session = LinearSession(build.build())
        self.right, self.wrong = np.ones(n, dtype=bool), np.ones(n, dtype=bool)
        self.solves = 0

    def solve(self, right: Mask, wrong: Mask) -> tuple[Array | None, Index]:
        """(w, no decisions) for a cell with points, (None, the decisions of a conflict as 2 i + error) for an empty one."""
        self._toggle(right, wrong)
        self.solves += 1
        answer = self.session.solve()
        if answer.status is not Status.OPTIMAL or answer.x is None or answer.row_duals is None:
            raise MipclassError(f"the cell LP ended with {answer.raw_status!r}; rescale the data or use solver='pcs'.")
        w, rho = answer.x[:-1], answer.x[-1]
        if rho > SEPARABLE:
            return w, np.zeros(0, dtype=np.int64)
        support = np.flatnonzero(np.abs(answer.row_duals) > SUPPORT)
        return None, 2 * (support % self.n) + (support >= self.n)

    def _toggle(self, right: Mask, wrong: Mask) -> None:
        changed = np.flatnonzero(right != self.right)
        if len(changed):
            on = right[changed]
            self.session.set_row_bounds(changed, np.where(on, 0.0, -np.inf), np.full(len(changed), np.inf))
        changed = np.flatnonzero(wrong != self.wrong)
        if len(changed):
            on = wrong[changed]
            self.session.set_row_bounds(self.n + changed, np.full(len(changed), -np.inf), np.where(on, 0.0, np.inf))
        self.right, self.wrong = right.copy(), wrong.copy()


class HullLP:
    """Whether a point is in the convex hull of others: u >= 0, sum u = 1, sum u_k p_k = p (paper, section 3).

    Points are homogeneous, (x, 1) in any coordinates, so that the sum of u needs no row of its own. Most points are
    ruled out beforehand, by their projections on fixed directions.
    """

    def __init__(self, points: Array, features: Array, rng: np.random.Generator) -> None:
        n, m = points.shape
        self.points = points
        directions = np.column_stack(
            [np.eye(features.shape[1]), rng.standard_normal((features.shape[1], N_DIRECTIONS))]
        )
        self.shadows = features @ directions
        build = Builder("hull")
        u = build.variables("u", n, lower=0.0, upper=0.0)
        build.subject_to("is_p", sp.csr_array(points.T) @ u == np.zeros(m))
        self.session = LinearSession(build.build())
        self.used = np.zeros(n, dtype=bool)
        self.solves = 0

    def inside(self, hull: Mask, candidates: Mask) -> Index:
        """Which of the candidates lie in the hull of the points of `hull`."""
        if not hull.any():
            return np.zeros(0, dtype=np.int64)
        low, high = self.shadows[hull].min(axis=0), self.shadows[hull].max(axis=0)
        size = SHADOW * np.maximum(np.abs(low), np.abs(high))
        among = np.flatnonzero(candidates)
        in_shadow = ((self.shadows[among] >= low - size) & (self.shadows[among] <= high + size)).all(axis=1)
        return np.array([p for p in among[in_shadow] if self._is_inside(hull, int(p))], dtype=np.int64)

    def _is_inside(self, hull: Mask, p: int) -> bool:
        changed = np.flatnonzero(hull != self.used)
        if len(changed):
            upper = np.where(hull[changed], np.inf, 0.0)
            self.session.set_column_bounds(changed, np.zeros(len(changed)), upper)
            self.used = hull.copy()
        point = self.points[p]
        self.session.set_row_bounds(np.arange(len(point)), point, point)
        self.solves += 1
        answer = self.session.solve()
        if answer.x is None:
            return False
        return bool(np.abs(self.points.T @ answer.x - point).max() <= INSIDE)
