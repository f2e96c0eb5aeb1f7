"""What the compiled homotopy asks of an operator; numba chooses the version for its type when the caller is compiled.

`join`, `lies_in_span`, `rates`, `catch_up` and `stands_still` say so themselves where kernels run as Python. Below each stand its
versions for SignedRows and SignedGram and the `overload` by which compiled code chooses between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from ....arrays import Array
from ....numeric.cholesky_update import dot, solve_lower, solve_upper
from ....numeric.vectors import set_multiple
from .active_set import DEPENDENT, ActiveSet, append_points, append_row
from .compiled import inner_kernel
from .legs import Leg, Motion, put_rates_of_levels
from .nearness import Near, add_products
from .operators import Operator, SignedGram, SignedRows
from .partition import States
from .rows import add_rows, all_products, combine_rows, dot_rows

STILL = 1e-14  # a rate of w below this share of the mass is rounding: the margins stand still
DRIFT = 1e-9  # largest change of a margin at which w counts as unmoved; the random shifts of the levels are 1e-10


def join(operator: Operator, active_set: ActiveSet, j: int, spare: Array) -> float:
    """Put point j at the end of A; returns its Schur complement relative to Q_jj. `spare` is (1, capacity) scratch."""
    return (
        join_rows(operator, active_set, j, spare)
        if isinstance(operator, SignedRows)
        else join_gram(operator, active_set, j, spare)
    )


def join_rows(operator: SignedRows, active_set: ActiveSet, j: int, spare: Array) -> float:
    """`join` for rows."""
    return append_row(operator.matrix, operator.rows, operator.diagonal, active_set, j, spare)


def join_gram(operator: SignedGram, active_set: ActiveSet, j: int, spare: Array) -> float:
    """`join` for a Gram matrix."""
    one = np.empty(1, dtype=np.int64)
    one[0] = j
    return append_points(operator.matrix, operator.diagonal, active_set, one, spare)


@overload(join, strict=False)
def _join(operator: Any, active_set: Any, j: Any, spare: Any) -> Any:
    return join_rows if operator.instance_class is SignedRows else join_gram


def lies_in_span(operator: Operator, complement: float) -> bool:
    """Whether a point that has just joined is to stay out, because it lies in the span of the others.

    Points of a Gram matrix stay: their pivots have been raised to a floor.
    """
    return isinstance(operator, SignedRows) and complement < DEPENDENT


@overload(lies_in_span, strict=False)
def _lies_in_span(operator: Any, complement: Any) -> Any:
    if operator.instance_class is SignedRows:
        return lambda operator, complement: complement < DEPENDENT
    return lambda operator, complement: False


def rates(
    operator: Operator, state: States, active_set: ActiveSet, leg: Leg, driven: float, motion: Motion, near: Near
) -> tuple[float, bool]:
    """da_A = inv(Q_AA)(dl_A - (Qv)_A) and dm = Qv + Q_{:,A} da_A for the points near, where dl is dp on the edge, dq on ties.

    Returns the mass sum_j |da_j| sqrt(Q_jj) relative to which rounding is measured (it includes `driven`, that of v), and
    whether w moves at all: when the active rows span the space it does not, and dm is left as it was.
    """
    if isinstance(operator, SignedRows):
        return rates_rows(operator, state, active_set, leg, driven, motion, near)
    return rates_gram(operator, state, active_set, leg, driven, motion, near)


@inner_kernel
def total_mass(active_set: ActiveSet, da: Array, root: Array, driven: float) -> float:
    """driven + sum over A of |da_j| sqrt(Q_jj)."""
    for c in range(active_set.size[0]):
        driven += abs(da[c]) * root[active_set.active[c]]
    return driven


def rates_rows(
    operator: SignedRows, state: States, active_set: ActiveSet, leg: Leg, driven: float, motion: Motion, near: Near
) -> tuple[float, bool]:
    """`rates` for rows, with dw = Z'(v + da) on the way."""
    Z, rows, active, U = operator.matrix, operator.rows, active_set.active, active_set.U
    da, dm, dw = motion
    k = active_set.size[0]
    wanted = np.empty(k)
    put_rates_of_levels(leg, state, active_set, wanted)
    dot_rows(Z, rows, active, k, leg.drive, da)
    for c in range(k):
        da[c] = wanted[c] - da[c]
    solve_lower(U, k, da)
    solve_upper(U, k, da)
    mass = total_mass(active_set, da, operator.root, driven)
    set_multiple(dw, 1.0, leg.drive)
    add_rows(Z, rows, active, da, k, dw)
    # One step of refinement: da solves a least-squares problem whose conditioning the normal equations square.
    rest = np.empty(k)
    dot_rows(Z, rows, active, k, dw, rest)
    for c in range(k):
        rest[c] = wanted[c] - rest[c]
    solve_lower(U, k, rest)
    solve_upper(U, k, rest)
    add_rows(Z, rows, active, rest, k, dw)
    for c in range(k):
        da[c] += rest[c]
    if dot(dw, dw) <= (STILL * mass) ** 2:
        return mass, False
    if near.size[0] < dm.shape[0]:
        for e in range(near.size[0]):
            dm[near.which[e]] = 0.0
        add_products(near, Z, rows, dw, 1.0, dm, True)
    elif rows.start.shape[0]:
        all_products(rows, dw, dm)
    else:
        dm[:] = 0.0
        combine_rows(operator.columns, operator.features, dw, dw.shape[0], dm)
    for c in range(k):
        dm[active[c]] = wanted[c]
    return mass, True


def rates_gram(
    operator: SignedGram, state: States, active_set: ActiveSet, leg: Leg, driven: float, motion: Motion, near: Near
) -> tuple[float, bool]:
    """`rates` for a Gram matrix."""
    active, U = active_set.active, active_set.U
    da, dm = motion.da, motion.dm
    k = active_set.size[0]
    drive = leg.drive
    wanted = np.empty(k)
    put_rates_of_levels(leg, state, active_set, wanted)
    for c in range(k):
        da[c] = wanted[c] - drive[active[c]]
    solve_lower(U, k, da)
    solve_upper(U, k, da)
    set_multiple(dm, 1.0, drive)
    combine_rows(operator.matrix, active, da, k, dm)
    for c in range(k):
        dm[active[c]] = wanted[c]
    return total_mass(active_set, da, operator.root, driven), True


@overload(rates, strict=False)
def _rates(operator: Any, state: Any, active_set: Any, leg: Any, driven: Any, motion: Any, near: Any) -> Any:
    return rates_rows if operator.instance_class is SignedRows else rates_gram


def stands_still(operator: Operator, way: Array) -> bool:
    """Whether w, which has moved by `way`, has left every margin where it was.

    Without a w (Gram matrix) every event counts as a move.
    """
    return isinstance(operator, SignedRows) and bool(np.sqrt(dot(way, way)) * operator.widest <= DRIFT)


def catch_up(operator: Operator, near: Near, m: Array) -> None:
    """Move the margins of the points that are not listed to the present w; a Gram matrix has a list of all points."""
    if isinstance(operator, SignedRows):
        catch_up_rows(operator, near, m)


def catch_up_rows(operator: SignedRows, near: Near, m: Array) -> None:
    """`catch_up` for rows."""
    if near.size[0] < m.shape[0]:
        add_products(near, operator.matrix, operator.rows, near.way, 1.0, m, False)
        near.way[:] = 0.0


@overload(catch_up, strict=False)
def _catch_up(operator: Any, near: Any, m: Any) -> Any:
    return catch_up_rows if operator.instance_class is SignedRows else lambda operator, near, m: None


@overload(stands_still, strict=False)
def _stands_still(operator: Any, way: Any) -> Any:
    if operator.instance_class is SignedRows:
        return lambda operator, way: np.sqrt(dot(way, way)) * operator.widest <= DRIFT
    return lambda operator, way: False
