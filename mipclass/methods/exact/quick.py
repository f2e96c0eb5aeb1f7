"""A good rule for small data without compiled searches: many exact line searches at once, in NumPy.

Compiling the local and the swap search takes far longer than proving most problems of this size, so that they wait until a short race of provers has not settled the problem.

Rows        z_i = t_i (x_i, 1) over standardised features, weights c_i
Line        w(s) = w + s u, s in R: row i is right where  z_i.w + s z_i.u > 0, so that the loss is piecewise constant in s with
            breakpoints -z_i.w / z_i.u. Where no row ties, the loss of -w(s) is the sum of all weights minus the loss of w(s):
            one sorted line gives a whole circle of rules.
Step        the best rule of LINES circles through w; equal losses are accepted.
Claim       heuristic: the loss is counted on the data.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..zero_one.prepared import ZeroOneData

SMALL = 2_000
"""Entries of the rows up to which data are small: 150 iris flowers have 750."""

LINES = 64
"""Circles of one step, half of them towards a single feature or the offset."""

STEPS, PATIENCE = 150, 40
"""Steps in all, and without a new best; a step takes about 0.3 ms on 150 rows."""


def is_small(data: ZeroOneData) -> bool:
    """Whether compiling the local searches would take longer than this search and most proofs."""
    return data.Z.size <= SMALL


def quick_rule(data: ZeroOneData, start: Array, seed: int) -> Array:
    """The rule `start` over the kept columns, improved as the module says."""
    T = data.standardising
    Z = data.Z @ T
    random = np.random.default_rng(seed)
    best, best_cost = start, data.cost(start)
    w, cost = np.linalg.solve(T, start), best_cost
    idle = 0
    for _ in range(STEPS):
        if best_cost <= 0 or idle >= PATIENCE:
            break
        w = w / np.float64(np.linalg.norm(w))
        candidate = _best_of_circles(Z, data.weights, w, _directions(w, random))
        found = data.cost(T @ candidate)
        idle = 0 if found < best_cost else idle + 1
        if found < best_cost:
            best, best_cost = T @ candidate, found
        if found <= cost:
            w, cost = candidate, found
    return best


def _directions(w: Array, random: np.random.Generator) -> Array:
    """LINES unit vectors orthogonal to w, as columns: half of them in the plane of w and an axis."""
    U = random.normal(size=(len(w), LINES))
    axes = LINES // 2
    U[:, :axes] = np.eye(len(w))[:, random.integers(len(w), size=axes)]
    U -= np.outer(w, w @ U)
    size = np.linalg.norm(U, axis=0)
    return np.asarray(U / np.where(size > 0, size, 1.0))


def _best_of_circles(Z: Array, weights: Array, w: Array, U: Array) -> Array:
    """The middle of the best piece of all circles through w and a column of U."""
    a, b = (Z @ w)[:, None], Z @ U
    with np.errstate(divide="ignore", invalid="ignore"):
        breaks = np.where(b == 0, np.inf, -a / b)
    order = np.argsort(breaks, axis=0)
    ends = np.vstack([np.full(U.shape[1], -np.inf), np.take_along_axis(breaks, order, 0), np.full(U.shape[1], np.inf)])
    first = (weights[:, None] * ((b > 0) | ((b == 0) & (a <= 0)))).sum(axis=0)
    changes = np.take_along_axis(-np.sign(b) * weights[:, None], order, 0)
    losses = np.vstack([first, first + np.cumsum(changes, axis=0)])
    angles = np.arctan(ends)
    middles, open_ = (angles[1:] + angles[:-1]) / 2, np.diff(angles, axis=0) > 0
    both = np.stack([np.where(open_, losses, np.inf), np.where(open_, weights.sum() - losses, np.inf)])
    side, piece, line = np.unravel_index(int(np.argmin(both)), both.shape)
    angle = middles[piece, line]
    return np.asarray((1.0 if side == 0 else -1.0) * (np.cos(angle) * w + np.sin(angle) * U[:, line]))
