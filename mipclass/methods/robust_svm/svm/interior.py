"""Interior point for the dual of a linear SVM without an offset, with work and memory linear in the number of points.

    minimise  1/2 |w0 + Z'a|^2 - sum_i a_i    subject to  0 <= a <= C        (rows Z_i = y_i x_i; w0 = 0 for the SVM itself)

With multipliers z, v >= 0 of the two bounds, Newton's equations are (Z Z' + D) da = r, D = z/a + v/(C - a), and by Woodbury's
identity only the d x d matrix I + Z' inv(D) Z is factored. Mehrotra's predictor and corrector take some twenty steps,
however large C is or however badly the features are scaled: where coordinate descent takes thousands of sweeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ....arrays import Array

LARGEST_D = 1000  # features up to which a step, which costs n d^2, is worth taking
STEPS = 60  # most steps; some twenty are usual
LONGEST = 0.995  # share of the way to the boundary that a step takes, so that all variables stay positive
NO_STEP = 1e-10  # a step length below this, primal and dual, makes no progress
CLOSED = 1e-8  # a relative gap that the homotopy after it closes at once
# A multiplier goes to a bound when its distance to it, relative to C, is below this multiple of the bound's own multiplier;
# the first multiple that leaves the gap closed is taken.
BOUND_MULTIPLES = (1.0, 1e-3, 1e-6)


def interior_point(Z: Array, C: Array, tolerance: float, stop: Callable[[], object], w0: Array | float = 0.0) -> Array:
    """Multipliers whose gap and gradient are below `tolerance`, or as near as float64 or `stop` lets it come.

    Multipliers that belong at a bound are put there.
    """
    a = 0.5 * C
    w = w0 + Z.T @ a
    gradient = Z @ w - 1.0
    z = np.maximum(gradient, 0.0) + 1.0
    v = z - gradient
    for _ in range(STEPS):
        gap = float(a @ z + (C - a) @ v)
        exact = gap <= tolerance * (1.0 + float(C.sum())) and np.abs(gradient - z + v).max() <= tolerance
        newton = None if exact or stop() is not None else _Newton.factored(Z, a, C - a, z, v, gradient)
        if newton is None:
            break
        da, dz, dv = newton.direction(0.0, 0.0)
        primal, dual = _longest(a, C, z, v, da, dz, dv)
        ahead = float((a + primal * da) @ (z + dual * dz) + (C - a - primal * da) @ (v + dual * dv))
        target = gap / (2 * len(a)) * (ahead / gap) ** 3
        da, dz, dv = newton.direction(target - da * dz, target + da * dv)
        primal, dual = _longest(a, C, z, v, da, dz, dv)
        if not np.isfinite(da).all() or max(primal, dual) < NO_STEP:
            break
        a = a + LONGEST * primal * da
        z, v = z + LONGEST * dual * dz, v + LONGEST * dual * dv
        w = w0 + Z.T @ a
        gradient = Z @ w - 1.0
    return _at_bounds(Z, C, a, z, v, w0)


def _at_bounds(Z: Array, C: Array, a: Array, z: Array, v: Array, w0: Array | float) -> Array:
    """Multipliers that belong at a bound put there, as many as leave the gap closed: a small share of a large C may still matter."""
    allowed = max(CLOSED, 2.0 * _relative_gap(Z, C, a, w0))
    share = a / C
    for part in BOUND_MULTIPLES:
        low = share < part * z
        put = np.where(low & (share < 0.5), 0.0, np.where(~low & (1.0 - share < part * v), C, a))
        if _relative_gap(Z, C, put, w0) <= allowed:
            return np.asarray(put)
    return a


def _relative_gap(Z: Array, C: Array, a: Array, w0: Array | float) -> float:
    """(primal - dual) / (1 + primal) at the multipliers a."""
    shift = Z.T @ a
    w = w0 + shift
    primal = 0.5 * float(w @ w) + float(C @ np.maximum(0.0, 1.0 - Z @ w))
    dual = float(a.sum()) + 0.5 * float(w @ w) - float(w @ shift)
    return (primal - dual) / (1.0 + abs(primal))


@dataclass(frozen=True)
class _Newton:
    """Newton's equations at one point; `below` is C - a, `weighted` is inv(D) Z."""

    Z: Array
    a: Array
    below: Array
    z: Array
    v: Array
    gradient: Array
    D: Array
    weighted: Array
    factor: Any

    @classmethod
    def factored(cls, Z: Array, a: Array, below: Array, z: Array, v: Array, gradient: Array) -> _Newton | None:
        """The equations with their matrix factored, or None when float64 cannot factor it any more, or has put multipliers at a bound."""
        if not ((a > 0.0) & (below > 0.0)).all():
            return None
        D = z / a + v / below
        weighted = Z / D[:, None]
        normal = Z.T @ weighted
        normal[np.diag_indices_from(normal)] += 1.0
        if not np.isfinite(normal).all():
            return None
        try:
            factor = cho_factor(normal, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
        return cls(Z, a, below, z, v, gradient, D, weighted, factor)

    def direction(self, lower: Array | float, upper: Array | float) -> tuple[Array, Array, Array]:
        """(da, dz, dv) towards a z = lower, (C - a) v = upper and a gradient that equals z - v."""
        right = lower / self.a - upper / self.below - self.gradient
        dw = cho_solve(self.factor, self.weighted.T @ right, check_finite=False)
        da = (right - self.Z @ dw) / self.D
        # Where D is tiny, rounding parts Z'da from dw; one step of refinement brings them together again.
        da += self.weighted @ cho_solve(self.factor, dw - self.Z.T @ da, check_finite=False)
        dz = lower / self.a - self.z - self.z / self.a * da
        dv = upper / self.below - self.v + self.v / self.below * da
        return da, dz, dv


def _longest(a: Array, C: Array, z: Array, v: Array, da: Array, dz: Array, dv: Array) -> tuple[float, float]:
    """Steps, at most 1, that keep a inside its bounds and z, v positive."""

    def limit(x: Array, dx: Array) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):  # an x may have been rounded to 0
            fastest = float(np.fmin.reduce(dx / x, initial=0.0))
        return -1.0 / fastest if fastest < 0.0 else np.inf

    return min(1.0, limit(a, da), limit(C - a, -da)), min(1.0, limit(z, dz), limit(v, dv))
