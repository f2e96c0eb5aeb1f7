"""Local search for the 0-1 loss: exact line searches along random directions, plateau moves, and kicks."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .pencil import Array, Work, loss_of_margins, rule_at, sweep
from .random import State, below, normal, uniform

MOST_HELD = 24  # rows held in place by one direction; more makes the directions dear and no better


@njit(cache=True)
def near_row(margins: Array, state: State) -> int:
    """A random row near the hyperplane: the nearest of a random number of random rows."""
    n = margins.shape[0]
    best = below(state, n)
    for _ in range(1 << below(state, 8)):
        i = below(state, n)
        if abs(margins[i]) < abs(margins[best]):
            best = i
    return best


@njit(cache=True)
def direction(Z: Array, w: Array, margins: Array, state: State) -> Array:
    """A random unit u orthogonal to w and to a few rows near the hyperplane, whose margins it leaves alone.

    With no row held this is a random direction; with D - 1 rows held it is a rotation about them.
    """
    d = Z.shape[1]
    held = below(state, min(d - 1, MOST_HELD + 1)) if d > 2 else 0
    basis = np.empty((held + 1, d))
    basis[0] = w
    size = 1
    for _ in range(held):
        v = Z[near_row(margins, state)].copy()
        for k in range(size):
            v -= np.dot(basis[k], v) * basis[k]
        length = np.sqrt(np.dot(v, v))
        if length > 1e-6:
            basis[size] = v / length
            size += 1
    u = np.empty(d)
    while True:
        for j in range(d):
            u[j] = normal(state)
        for _ in range(2):  # twice is enough for orthogonality to rounding
            for k in range(size):
                u -= np.dot(basis[k], u) * basis[k]
        length = np.sqrt(np.dot(u, u))
        if length > 1e-8:
            return u / length


@njit(cache=True)
def local_steps(
    Z: Array,
    weights: Array,
    w: Array,
    best_w: Array,
    losses: Array,
    idle: NDArray[np.int64],
    steps: int,
    patience: int,
    state: State,
    work: Work,
) -> int:
    """`steps` line searches, in place: w, best_w, losses = (current, best) and idle (steps since an improvement).

    Rows of Z and w have length one. A step moves to the best arc of its pencil when that is no worse than the current
    loss. After `patience` steps without a new best, the search starts again from a kick off the best rule. Losses are
    recounted from Z w at every new best. Returns the number of steps done (fewer when the loss reaches zero).
    """
    margins = Z @ w
    since_exact = 0
    for step in range(steps):
        if losses[1] <= 0.0:
            return step
        u = direction(Z, w, margins, state)
        b = Z @ u
        loss, low, high, side = sweep(margins, b, weights, 0.0, losses[0], True, state, work)
        idle[0] += 1
        if loss < np.inf:
            p = low + (0.1 + 0.8 * uniform(state)) * (high - low)
            w[:] = rule_at(p, side, w, u)
            since_exact += 1
            if loss < losses[0] or since_exact > 30:
                margins = Z @ w
                loss = loss_of_margins(margins, weights)
                since_exact = 0
            else:
                q = p if p <= 1.0 else p - 2.0
                s = side if p <= 1.0 else -side
                margins = s * ((1.0 - abs(q)) * margins + q * b)
                margins /= np.sqrt((1.0 - abs(q)) ** 2 + q * q)  # w and u are orthonormal
            losses[0] = loss
            if loss < losses[1]:
                losses[1] = loss
                best_w[:] = w
                idle[0] = 0
        if idle[0] >= patience:
            idle[0] = 0
            u = direction(Z, best_w, Z @ best_w, state)
            w[:] = best_w + 10.0 ** (-1.0 - 2.0 * uniform(state)) * u
            w /= np.sqrt(np.dot(w, w))
            margins = Z @ w
            losses[0] = loss_of_margins(margins, weights)
            since_exact = 0
    return steps
