"""The dual of the covering LP by a primal-dual interior-point method that stops early, near the centre of the optimal face.

    maximise    sum_I v_I - sum_k mu_k at_most_k
    subject to  sum_{I with i} v_I - sum_k mu_k l_ki + s_i = c_i     (multiplier e_i, the cover)
                v, mu, s >= 0

A simplex returns a vertex of the optimal covers, and a new row moves it far. A central cover is cut off deeper and moves little,
so that far fewer rounds of cuts are needed. A step costs O(n^3 / 3) whatever the number of supports.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ....arrays import Array
from ....numeric.blas import one_blas_thread

MOST_STEPS = 60
"""Interior-point steps of one LP, at most."""

LARGE = 800
"""Points from which on a step takes so long that `stop` is asked after each; below that after every STEPS_BETWEEN."""

STEPS_BETWEEN = 12
"""Steps between two questions whether to stop, on small problems."""

EXACT = 1e-7
"""Violation of the equations, relative to the mean cost, that counts as none."""

DIVERGED = 100.0
"""Multiple of all costs together beyond which the dual objective proves that no cover keeps the limits."""

LEAST_CENTRING = 1e-3
"""Least centring parameter of Mehrotra's corrector: keeps iterates away from the boundary."""

STEP_BACK = 0.99
"""Fraction of the way to the boundary that a step takes."""


class PackingLP:
    """One LP: `members` has a 0-1 row for each support; `limits` a row (l_k) for each limit. Iterates are kept, so that `solve` can be paused."""

    def __init__(self, members: sp.csr_array, costs: Array, limits: Array, at_most: Array) -> None:
        from .kernels.packing import normal_matrix

        self._normal_matrix = normal_matrix
        self.unit = float(costs.mean()) or 1.0
        self.members, self.costs, self.limits = members, costs / self.unit, limits
        self.points = sp.csr_array(members.T)
        self.gain = np.concatenate([np.ones(members.shape[0]), -at_most])  # what x = (v, mu) earns
        self.steps = 0
        n = members.shape[1]
        often = np.bincount(members.indices, minlength=n)
        shares = (self.costs / np.maximum(often, 1))[(self.costs > 0) & (often > 0)]
        self.x = np.full(len(self.gain), 0.5 * float(shares.min(initial=1.0)))
        self.e = np.full(n, 0.2)
        self.z = np.maximum(self._spread(self.e) - self.gain, 0.5)
        self.s = np.maximum(self.costs - self._gather(self.x), 0.1)
        self._matrix = np.empty((n, n))

    def _gather(self, x: Array) -> Array:
        """G x: what supports and limits put on each point."""
        k = self.members.shape[0]
        return np.asarray(self.points @ x[:k] - x[k:] @ self.limits)

    def _spread(self, e: Array) -> Array:
        """G' e."""
        return np.concatenate([self.members @ e, -(self.limits @ e)])

    @property
    def multipliers(self) -> tuple[Array, Array]:
        """(v, mu) in the units of the costs."""
        k = self.members.shape[0]
        return self.x[:k] * self.unit, self.x[k:] * self.unit

    @property
    def value(self) -> float:
        """The dual objective in the units of the costs."""
        return float(self.gain @ self.x) * self.unit

    @property
    def surplus(self) -> Array:
        """By how much the cover exceeds one on each support; near zero for the supports that are tight."""
        return np.asarray(self.z[: self.members.shape[0]])

    @property
    def is_diverging(self) -> bool:
        """The objective is far beyond all costs together: no cover keeps the limits."""
        return abs(float(self.gain @ self.x)) > DIVERGED * max(1.0, float(self.costs.sum()))

    def solve(self, gap: float, stop: Callable[[], object]) -> bool:
        """Go on until the relative gap is closed (True) or `stop()` (False); call again to go on."""
        often = 1 if len(self.e) >= LARGE else STEPS_BETWEEN
        with one_blas_thread():
            while self.steps < MOST_STEPS and not self.is_diverging and not self._is_solved(gap):
                if self.steps % often == 0 and stop():
                    return False
                if not self._step():
                    break
                self.steps += 1
        return True

    def _is_solved(self, gap: float) -> bool:
        apart = float(self.x @ self.z + self.s @ self.e)
        if apart > gap * max(float(self.costs.mean()), abs(float(self.gain @ self.x))):
            return False
        return self._residuals() <= EXACT

    def _residuals(self) -> float:
        primal = np.abs(self.costs - self._gather(self.x) - self.s).max()
        dual = np.abs(self._spread(self.e) - self.gain - self.z).max()
        return float(max(primal, dual))

    def _step(self) -> bool:
        """Mehrotra's predictor and corrector; False when the matrix can no longer be factored."""
        x, z, s, e = self.x, self.z, self.s, self.e
        k = self.members.shape[0]
        ratio = x / z
        matrix = self._matrix
        self._normal_matrix(self.members.indptr, self.members.indices, ratio[:k], matrix)
        matrix += (self.limits.T * ratio[k:]) @ self.limits if len(self.limits) else 0.0
        matrix[np.diag_indices(len(e))] += s / e
        try:
            factor = scipy.linalg.cho_factor(matrix.T, lower=False, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return False
        primal = self.costs - self._gather(x) - s
        dual = self.gain + z - self._spread(e)

        def direction(xz: Array, se: Array) -> tuple[Array, Array, Array, Array]:
            """The Newton step to x z = xz + ... with both products linearised."""
            right = self._gather(xz / z + ratio * dual) + se / e - primal
            de = scipy.linalg.cho_solve(factor, right, check_finite=False)
            dz = self._spread(de) - dual
            return (xz - x * dz) / z, (se - s * de) / e, de, dz

        count = len(x) + len(s)
        mean = float(x @ z + s @ e) / count
        dx, ds, de, dz = direction(-x * z, -s * e)
        p, d = min(_reach(x, dx), _reach(s, ds)), min(_reach(e, de), _reach(z, dz))
        ahead = float((x + p * dx) @ (z + d * dz) + (s + p * ds) @ (e + d * de)) / count
        aim = max((ahead / mean) ** 3, LEAST_CENTRING) * mean
        dx, ds, de, dz = direction(aim - x * z - dx * dz, aim - s * e - ds * de)
        if not (np.isfinite(dx).all() and np.isfinite(de).all()):
            return False
        p = min(1.0, STEP_BACK * min(_reach(x, dx), _reach(s, ds)))
        d = min(1.0, STEP_BACK * min(_reach(e, de), _reach(z, dz)))
        self.x, self.s, self.e, self.z = x + p * dx, s + p * ds, e + d * de, z + d * dz
        return True


def _reach(at: Array, by: Array) -> float:
    """The longest step that keeps at + step * by >= 0, at most two."""
    falling = by < 0
    return min(2.0, float((-at[falling] / by[falling]).min())) if falling.any() else 2.0
