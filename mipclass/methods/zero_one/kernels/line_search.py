"""Local search for the 0-1 loss: exact line searches along random directions, plateau moves, and kicks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ....kernels.decorator import njit
from ....numeric.random import State, below, normal, uniform
from ....numeric.vectors import add_multiple, length, remove_components, row_products, set_multiple
from .pencil import Work, loss_of_margins, rule_at
from .window import Band, is_inside, sweep_inside

# Rows, rules and directions have length one, so these are distances without a unit.
MOST_HELD = 24  # rows held in place by one direction; more makes the directions expensive and no better
DEPENDENT = 1e-6  # a row whose part outside the span of the held rows is shorter than this is not held
VANISHED = 1e-8  # a random direction whose part outside the span of the held rows is shorter than this is drawn again
REFRESH = 30  # moves after which margins are computed afresh instead of updated, which removes their rounding errors


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
    set_multiple(basis[0], 1.0, w)
    size = 1
    u = np.empty(d)
    for _ in range(held):
        set_multiple(u, 1.0, Z[near_row(margins, state)])
        remove_components(u, basis, size)
        norm = length(u)
        if norm > DEPENDENT:
            set_multiple(basis[size], 1.0 / norm, u)
            size += 1
    while True:
        for j in range(d):
            u[j] = normal(state)
        remove_components(u, basis, size)
        norm = length(u)
        if norm > VANISHED:
            set_multiple(u, 1.0 / norm, u)
            return u


@njit(cache=True, nogil=True)
def local_steps(
    Z: Array,
    weights: Array,
    w: Array,
    best_w: Array,
    losses: Array,
    idle: NDArray[np.int64],
    steps: int,
    patience: int,
    band: Band,
    state: State,
    work: Work,
) -> int:
    """`steps` line searches, in place: w, best_w, losses = (current, best) and idle (steps since an improvement).

    Rows of Z and w have length one. A step moves to the best arc of its pencil when that is no worse than the current
    loss. After `patience` steps without a new best, the search starts again from a kick off the best rule. Losses are
    recounted from Z w at every new best. Returns the number of steps done (fewer when the loss reaches zero). The rules
    stay inside the band.
    """
    n = Z.shape[0]
    margins, b = np.empty(n), np.empty(n)
    row_products(Z, w, margins)
    since_exact = 0
    for step in range(steps):
        if losses[1] <= 0.0:
            return step
        u = direction(Z, w, margins, state)
        row_products(Z, u, b)
        loss, low, high, side = sweep_inside(margins, b, weights, 0.0, losses[0], True, band, w, u, state, work)
        idle[0] += 1
        if loss < np.inf:
            p = low + (0.1 + 0.8 * uniform(state)) * (high - low)
            set_multiple(w, 1.0, rule_at(p, side, w, u))
            since_exact += 1
            if loss < losses[0] or since_exact > REFRESH:
                row_products(Z, w, margins)
                loss = band.outside + loss_of_margins(margins, weights)
                since_exact = 0
            else:
                turn(margins, b, p, side)
            losses[0] = loss
            if loss < losses[1]:
                losses[1] = loss
                set_multiple(best_w, 1.0, w)
                idle[0] = 0
        if idle[0] >= patience:
            idle[0] = 0
            row_products(Z, best_w, margins)
            u = direction(Z, best_w, margins, state)
            set_multiple(w, 1.0, best_w)
            add_multiple(w, band.kick * 10.0 ** (-2.0 * uniform(state)), u)
            set_multiple(w, 1.0 / length(w), w)
            if not is_inside(band, w):
                set_multiple(w, 1.0, best_w)
            row_products(Z, w, margins)
            losses[0] = band.outside + loss_of_margins(margins, weights)
            since_exact = 0
    return steps


@njit(cache=True)
def turn(margins: Array, b: Array, p: float, side: float) -> None:
    """Margins of w become those of side * v(p), w and u being orthonormal."""
    if p > 1.0:
        p -= 2.0
        side = -side
    size = side / np.sqrt((1.0 - abs(p)) ** 2 + p * p)
    for i in range(margins.shape[0]):
        margins[i] = size * ((1.0 - abs(p)) * margins[i] + p * b[i])
