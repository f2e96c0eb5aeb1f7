"""Swap search over combinations of D points (CSA): one sweep of a pencil is the loss of all N - D swaps of one point.

A vertex is the hyperplane w through the chosen rows P (D of them, w spans their null space). With U the transposed
inverse of [P; w'], row r of U is the direction u_r that leaves every chosen row on the hyperplane except row r, so the
rules v(p) = (1 - |p|) w + p u_r are all the hyperplanes through the other D - 1 rows: every swap of row r is a breakpoint.

The chosen rows count as correct, because w + eps * (sum of the u_k) has them all on their right side. Other rows that
lie on every rule of the pencil (lattice data) are judged by that same nudge, so a loss found here belongs to a true
rule; it is nevertheless recounted from the rows before it becomes the incumbent.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .line_search import near_row
from .pencil import ON_ALL, Array, Indices, Work, loss_of_margins, rule_at, sweep
from .random import State, below

REFRESH = 64  # pivots between two fresh inverses


@njit(cache=True)
def fresh_directions(Z: Array, chosen: Indices, w: Array) -> Array:
    """Transposed inverse of [P; w'], P the chosen rows."""
    m = Z.shape[1]
    G = np.empty((m, m))
    for k in range(m - 1):
        G[:, k] = Z[chosen[k]]
    G[:, m - 1] = w
    return np.linalg.inv(G)


@njit(cache=True)
def replace_row(U: Array, r: int, row: Array) -> None:
    """U <- transposed inverse of the matrix whose row r became `row` (Sherman and Morrison), in place; O(m^2)."""
    image = U @ row
    column = U[r] / image[r]
    image[r] -= 1.0
    for j in range(U.shape[0]):
        U[j] -= image[j] * column


@njit(cache=True)
def margins_of_pencil(
    Z: Array, weights: Array, chosen: Indices, r: int, w: Array, U: Array, a: Array
) -> tuple[Array, Array, Array, float]:
    """(u, b = Z u, nudge, constant) of the pencil that frees chosen row r; exact zeros by index in a and b."""
    m = Z.shape[1]
    u = U[r].copy()
    u /= np.sqrt(np.dot(u, u))
    b = Z @ u
    nudge = np.zeros(m)
    for k in range(m - 1):
        a[chosen[k]] = 0.0
        if k != r:
            b[chosen[k]] = 0.0
            nudge += U[k]
    constant = 0.0
    for i in range(Z.shape[0]):
        if abs(a[i]) + abs(b[i]) <= ON_ALL:
            is_chosen = False
            for k in range(m - 1):
                if chosen[k] == i:
                    is_chosen = True
            if not is_chosen and np.dot(Z[i], nudge) <= 0.0:
                constant += weights[i]
    return u, b, nudge, constant


@njit(cache=True)
def nudged(Z: Array, v: Array, nudge: Array) -> Array:
    """v + eps * nudge with eps half the step at which the first row off the hyperplane would change sides."""
    margins = Z @ v
    change = Z @ nudge
    eps = 1.0 / max(np.sqrt(np.dot(nudge, nudge)), 1e-300)
    for i in range(Z.shape[0]):
        if abs(margins[i]) > ON_ALL and margins[i] * change[i] < 0.0:
            eps = min(eps, -0.5 * margins[i] / change[i])
    w = v + eps * nudge
    return w / np.sqrt(np.dot(w, w))


@njit(cache=True)
def move_to(Z: Array, chosen: Indices, r: int, j: int, v: Array, w: Array, U: Array, pivots: NDArray[np.int64]) -> bool:
    """Swap chosen row r for row j, whose hyperplane is v. False, with nothing changed, when j is dependent."""
    m = Z.shape[1]
    size = np.sqrt(np.dot(U[r], U[r]))
    if abs(np.dot(Z[j], U[r])) < 1e-7 * size:
        return False
    w[:] = v
    chosen[r] = j
    pivots[0] += 1
    if pivots[0] % REFRESH == 0:
        U[:, :] = fresh_directions(Z, chosen, w)
        w[:] = U[m - 1] / np.sqrt(np.dot(U[m - 1], U[m - 1]))
    else:
        replace_row(U, r, Z[j])
    replace_row(U, m - 1, w)
    return True


@njit(cache=True)
def swap_steps(
    Z: Array,
    weights: Array,
    chosen: Indices,
    w: Array,
    U: Array,
    best_w: Array,
    best_chosen: Indices,
    losses: Array,
    counters: NDArray[np.int64],
    steps: int,
    patience: int,
    strict: bool,
    state: State,
    work: Work,
) -> int:
    """`steps` pencils, in place; counters = (idle pencils, pivots, next position, recounts that differed).

    strict: rows are freed in turn and only a lower loss is accepted (the paper's search); it ends when no swap of any
    row helps. Otherwise rows are freed at random, equal losses are accepted, and after `patience` pencils without a
    new best two or three rows of the best combination are swapped at random. Returns the pencils swept.
    """
    m = Z.shape[1]
    a = Z @ w
    for step in range(steps):
        if losses[1] <= 0.0:
            return step
        r = counters[2] % (m - 1) if strict else below(state, m - 1)
        counters[2] += 1
        counters[0] += 1
        u, b, nudge, constant = margins_of_pencil(Z, weights, chosen, r, w, U, a)
        target = losses[0] - 1e-9 * (1.0 + abs(losses[0])) if strict else losses[0]
        loss, low, high, side = sweep(a, b, weights, constant, target, False, state, work)
        if loss < np.inf:
            if loss < losses[1]:
                rule = nudged(Z, rule_at(0.5 * (low + high), side, w, u), nudge)
                recounted = loss_of_margins(Z @ rule, weights)
                if recounted != loss:
                    counters[3] += 1
                    loss = recounted
                if loss < losses[1]:
                    losses[1] = loss
                    best_w[:] = rule
                    best_chosen[:] = chosen
                    counters[0] = 0
            # Go to one end of the arc; p = 0 is where we are.
            end = low if below(state, 2) == 0 else high
            if abs(end) < 1e-14 or abs(end - 2.0) < 1e-14:
                end = low + high - end
            key, bins = work[0], work[1]
            target_key = end - 2.0 if end > 1.0 else end
            for j in range(Z.shape[0]):
                if bins[j] < work[3].shape[0] - 2 and key[j] == target_key and chosen[r] != j:
                    if move_to(Z, chosen, r, j, rule_at(end, side, w, u), w, U, counters[1:2]):
                        losses[0] = loss
                        a = Z @ w
                    break
        if strict and counters[0] >= m - 1:
            return step + 1
        if not strict and counters[0] >= patience:
            counters[0] = 0
            kick(Z, chosen, w, U, best_chosen, counters[1:2], state)
            a = Z @ w
            losses[0] = np.inf
    return steps


@njit(cache=True)
def kick(
    Z: Array, chosen: Indices, w: Array, U: Array, best_chosen: Indices, pivots: NDArray[np.int64], state: State
) -> None:
    """Back to the best combination, then two or three of its rows swapped for random rows near the hyperplane."""
    m = Z.shape[1]
    chosen[:] = best_chosen
    start_vertex(Z, chosen, w, U)
    for _ in range(2 + below(state, 2)):
        a = Z @ w
        j = near_row(a, state)
        r = below(state, m - 1)
        u = U[r] / np.sqrt(np.dot(U[r], U[r]))
        change = np.dot(Z[j], u)
        v = change * w - a[j] * u  # through row j and the chosen rows but r
        length = np.sqrt(np.dot(v, v))
        if length > 1e-9:
            move_to(Z, chosen, r, j, v / length, w, U, pivots)


@njit(cache=True)
def start_vertex(Z: Array, chosen: Indices, w: Array, U: Array) -> None:
    """w and U for the chosen (independent) rows; w keeps its side as far as it can."""
    m = Z.shape[1]
    basis = np.empty((m - 1, m))
    for k in range(m - 1):
        v = Z[chosen[k]].copy()
        for _ in range(2):
            for l in range(k):
                v -= np.dot(basis[l], v) * basis[l]
        basis[k] = v / np.sqrt(np.dot(v, v))
    null = w.copy()
    best = np.zeros(m)
    for j in range(-1, m):  # the given w may lie in the span of the rows; then some axis does not
        if j >= 0:
            null[:] = 0.0
            null[j] = 1.0
        for _ in range(2):
            for k in range(m - 1):
                null -= np.dot(basis[k], null) * basis[k]
        if np.dot(null, null) > np.dot(best, best):
            best[:] = null
        if np.dot(best, best) > 1e-6:
            break
    w[:] = best / np.sqrt(np.dot(best, best))
    U[:, :] = fresh_directions(Z, chosen, w)


@njit(cache=True)
def nearest_independent(Z: Array, margins: Array) -> Indices:
    """The D = m - 1 rows nearest to the hyperplane that are linearly independent (m = number of columns = rank)."""
    m = Z.shape[1]
    order = np.argsort(np.abs(margins))
    basis = np.empty((m - 1, m))
    chosen = np.empty(m - 1, np.int64)
    size = 0
    for i in order:
        if size == m - 1:
            break
        v = Z[i].copy()
        for _ in range(2):
            for k in range(size):
                v -= np.dot(basis[k], v) * basis[k]
        length = np.sqrt(np.dot(v, v))
        if length > 1e-7:
            basis[size] = v / length
            chosen[size] = i
            size += 1
    return chosen
