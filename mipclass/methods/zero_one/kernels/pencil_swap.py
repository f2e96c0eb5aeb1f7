"""Swap search over combinations of D points (CSA): one sweep of a pencil is the loss of all N - D swaps of one point.

A vertex is the hyperplane w through the chosen rows P (D of them, w spans their null space). With U the transposed
inverse of [P; w'], row r of U is the direction u_r that leaves every chosen row on the hyperplane except row r, so the
rules v(p) = (1 - |p|) w + p u_r are all the hyperplanes through the other D - 1 rows: every swap of row r is a breakpoint.

The chosen rows count as correct, because w + eps * (sum of the u_k) has them all on their right side. Other rows that
lie on every rule of the pencil (lattice data) are judged by that same nudge, so a loss found here belongs to a true
rule; it is nevertheless recounted from the rows before it becomes the incumbent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays import Array, Index
from ....kernels.decorator import njit
from ....numeric.gauss_jordan import invert
from ....numeric.random import State, below
from ....numeric.vectors import add_multiple, inner, length, remove_components, row_products, set_multiple
from .line_search import near_row
from .pencil import ON_ALL, SMALLEST, Work, loss_of_margins, rule_at
from .window import Band, is_inside, sweep_inside

# Rows and rules have length one, so these are distances without a unit.
REFRESH = 64  # rank-one updates of U between two fresh inverses, which remove the rounding errors of the updates
DEPENDENT = 1e-7  # a row closer than this to the span of others counts as dependent on them
PARALLEL = 1e-9  # a hyperplane through a new row shorter than this (relative to its direction) is lost in rounding
OUTSIDE_SPAN = 1e-6  # squared distance from a span that is large enough for a safe normal vector
HERE = 1e-14  # breakpoints closer than this to p = 0 (or p = 2) are the present vertex
IMPROVEMENT = 1.0  # units by which a strict step must lower the loss: weights are whole numbers
IDLE, PIVOTS, TURN = 0, 1, 2  # entries of `counters`: pencils since a new best, pivots, next position


class Vertex(NamedTuple):
    """Where a swap search stands, changed in place.

    chosen, w, U : the D rows on the hyperplane, the hyperplane, and the directions of the module's text.
    best_w, best_chosen : the best rule so far and the rows it came from.
    losses : (of the present vertex, of the best rule).   counters : see IDLE, PIVOTS, TURN.
    """

    chosen: Index
    w: Array
    U: Array
    best_w: Array
    best_chosen: Index
    losses: Array
    counters: Index


def first_vertex(Z: Array, w: Array, loss: float) -> Vertex:
    """The hyperplane through the first D independent rows in order of |z.w|; w becomes its normal vector, in place."""
    m = Z.shape[1]
    chosen = first_independent(Z, np.argsort(np.abs(Z @ w), kind="stable"))
    U = np.empty((m, m))
    start_vertex(Z, chosen, w, U)
    return Vertex(chosen, w, U, w.copy(), chosen.copy(), np.array([np.inf, loss]), np.zeros(3, np.int64))


@njit(cache=True)
def fresh_directions(Z: Array, chosen: Index, w: Array, U: Array) -> None:
    """U <- transposed inverse of [P; w'], P the chosen rows; O(m^3)."""
    m = Z.shape[1]
    G = np.empty((m, m))
    for j in range(m):
        for k in range(m - 1):
            G[j, k] = Z[chosen[k], j]
        G[j, m - 1] = w[j]
    invert(G, U, 0.0)


@njit(cache=True)
def replace_row(U: Array, r: int, row: Array) -> None:
    """U <- transposed inverse of the matrix whose row r became `row` (Sherman and Morrison), in place; O(m^2)."""
    m = U.shape[0]
    pivot = inner(U[r], row)
    for j in range(m):
        if j != r:
            add_multiple(U[j], -inner(U[j], row) / pivot, U[r])
    set_multiple(U[r], 1.0 / pivot, U[r])


@njit(cache=True)
def margins_of_pencil(
    Z: Array, weights: Array, chosen: Index, r: int, U: Array, a: Array, b: Array, u: Array, nudge: Array
) -> float:
    """Fill u, b = Z u and the nudge of the pencil that frees chosen row r; returns what rows on all its rules cost.

    Chosen rows get exact zeros in a and b, by index.
    """
    m = Z.shape[1]
    set_multiple(u, 1.0 / length(U[r]), U[r])
    row_products(Z, u, b)
    set_multiple(nudge, 0.0, u)
    for k in range(m - 1):
        a[chosen[k]] = 0.0
        if k != r:
            b[chosen[k]] = 0.0
            add_multiple(nudge, 1.0, U[k])
    constant = 0.0
    for i in range(Z.shape[0]):
        if abs(a[i]) + abs(b[i]) <= ON_ALL:
            is_chosen = False
            for k in range(m - 1):
                if chosen[k] == i:
                    is_chosen = True
            if not is_chosen and inner(Z[i], nudge) <= 0.0:
                constant += weights[i]
    return constant


@njit(cache=True)
def nudged(Z: Array, v: Array, nudge: Array) -> Array:
    """v + eps * nudge with eps half the step at which the first row off the hyperplane would change sides."""
    eps = 1.0 / max(length(nudge), SMALLEST)
    for i in range(Z.shape[0]):
        margin = inner(Z[i], v)
        change = inner(Z[i], nudge)
        if abs(margin) > ON_ALL and margin * change < 0.0:
            eps = min(eps, -0.5 * margin / change)
    add_multiple(v, eps, nudge)
    set_multiple(v, 1.0 / length(v), v)
    return v


@njit(cache=True)
def move_to(Z: Array, at: Vertex, r: int, j: int, v: Array) -> bool:
    """Swap chosen row r for row j, whose hyperplane is v. False, with nothing changed, when j is dependent."""
    m = Z.shape[1]
    if abs(inner(Z[j], at.U[r])) < DEPENDENT * length(at.U[r]):
        return False
    set_multiple(at.w, 1.0, v)
    at.chosen[r] = j
    at.counters[PIVOTS] += 1
    if at.counters[PIVOTS] % REFRESH == 0:
        fresh_directions(Z, at.chosen, at.w, at.U)
        set_multiple(at.w, 1.0 / length(at.U[m - 1]), at.U[m - 1])
    else:
        replace_row(at.U, r, Z[j])
    replace_row(at.U, m - 1, at.w)
    return True


@njit(cache=True, nogil=True)
def swap_steps(
    Z: Array,
    weights: Array,
    at: Vertex,
    steps: int,
    patience: int,
    strict: bool,
    band: Band,
    state: State,
    work: Work,
) -> int:
    """`steps` pencils from the vertex `at`, in place; the number of pencils swept.

    strict: rows are freed in turn and only a lower loss is accepted (the paper's search); it ends when no swap of any
    row helps. Otherwise rows are freed at random, equal losses are accepted, and after `patience` pencils without a
    new best two or three rows of the best combination are swapped at random. The rules stay inside the band.
    """
    w, U, chosen, losses, counters = at.w, at.U, at.chosen, at.losses, at.counters
    n, m = Z.shape
    a, b, u, nudge = np.empty(n), np.empty(n), np.empty(m), np.empty(m)
    row_products(Z, w, a)
    for step in range(steps):
        if losses[1] <= 0.0:
            return step
        r = counters[TURN] % (m - 1) if strict else below(state, m - 1)
        counters[TURN] += 1
        counters[IDLE] += 1
        constant = margins_of_pencil(Z, weights, chosen, r, U, a, b, u, nudge)
        target = losses[0]
        if strict and target < np.inf:
            target -= IMPROVEMENT
        loss, low, high, side = sweep_inside(a, b, weights, constant, target, False, band, w, u, state, work)
        if loss < np.inf:
            if loss < losses[1]:
                rule = nudged(Z, rule_at(0.5 * (low + high), side, w, u), nudge)
                row_products(Z, rule, b)
                loss = band.outside + loss_of_margins(b, weights)
                if loss < losses[1] and is_inside(band, rule):
                    losses[1] = loss
                    set_multiple(at.best_w, 1.0, rule)
                    copy_indices(at.best_chosen, chosen)
                    counters[IDLE] = 0
            # Go to one end of the arc; p = 0 is where we are.
            end = low if below(state, 2) == 0 else high
            if abs(end) < HERE or abs(end - 2.0) < HERE:
                end = low + high - end
            j = row_at(end, chosen[r], work)
            if j >= 0 and move_to(Z, at, r, j, rule_at(end, side, w, u)):
                if strict:
                    counters[IDLE] = 0
                losses[0] = loss
                row_products(Z, w, a)
        if strict and counters[IDLE] >= m - 1:
            return step + 1
        if not strict and counters[IDLE] >= patience:
            counters[IDLE] = 0
            kick(Z, at, a, band, state)
            row_products(Z, w, a)
            losses[0] = np.inf
    return steps


@njit(cache=True)
def row_at(p: float, but: int, work: Work) -> int:
    """A row other than `but` whose breakpoint in the last sweep is p (or p - 2); -1 when there is none."""
    key, bins, _, sums = work
    if p > 1.0:
        p -= 2.0
    for j in range(key.shape[0]):
        if key[j] == p and j != but and bins[j] < sums.shape[0] - 2:
            return j
    return -1


@njit(cache=True)
def copy_indices(target: Index, source: Index) -> None:
    """target <- source."""
    for k in range(source.shape[0]):
        target[k] = source[k]


@njit(cache=True)
def kick(Z: Array, at: Vertex, a: Array, band: Band, state: State) -> None:
    """Back to the best combination, then two or three of its rows swapped for random rows near the hyperplane, inside the band."""
    m = Z.shape[1]
    copy_indices(at.chosen, at.best_chosen)
    start_vertex(Z, at.chosen, at.w, at.U)
    v = np.empty(m)
    for _ in range(2 + below(state, 2)):
        row_products(Z, at.w, a)
        j = near_row(a, state)
        r = below(state, m - 1)
        set_multiple(v, inner(Z[j], at.U[r]), at.w)
        add_multiple(v, -a[j], at.U[r])  # through row j and the chosen rows but r
        size = length(v)
        if size > PARALLEL * length(at.U[r]):
            set_multiple(v, 1.0 / size, v)
            if not is_inside(band, v):
                set_multiple(v, -1.0, v)
            if is_inside(band, v):
                move_to(Z, at, r, j, v)


@njit(cache=True)
def start_vertex(Z: Array, chosen: Index, w: Array, U: Array) -> None:
    """w and U for the chosen (independent) rows; w keeps its side as far as it can."""
    m = Z.shape[1]
    basis = np.empty((m - 1, m))
    v, best = np.empty(m), np.zeros(m)
    for k in range(m - 1):
        set_multiple(v, 1.0, Z[chosen[k]])
        remove_components(v, basis, k)
        set_multiple(basis[k], 1.0 / length(v), v)
    for j in range(-1, m):  # the given w may lie in the span of the rows; then some axis does not
        if j < 0:
            set_multiple(v, 1.0, w)
        else:
            set_multiple(v, 0.0, w)
            v[j] = 1.0
        remove_components(v, basis, m - 1)
        if inner(v, v) > inner(best, best):
            set_multiple(best, 1.0, v)
        if inner(best, best) > OUTSIDE_SPAN:
            break
    set_multiple(w, 1.0 / length(best), best)
    fresh_directions(Z, chosen, w, U)


@njit(cache=True)
def first_independent(Z: Array, order: Index) -> Index:
    """The first D = m - 1 linearly independent rows in the given order (m = number of columns = rank)."""
    m = Z.shape[1]
    basis = np.empty((m - 1, m))
    v = np.empty(m)
    chosen = np.empty(m - 1, np.int64)
    size = 0
    for i in order:
        if size == m - 1:
            break
        set_multiple(v, 1.0, Z[i])
        remove_components(v, basis, size)
        norm = length(v)
        if norm > DEPENDENT:
            set_multiple(basis[size], 1.0 / norm, v)
            chosen[size] = i
            size += 1
    return chosen
