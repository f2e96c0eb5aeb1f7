"""A user's rules inside branch and bound, carried along a road: they speak of the original columns, the solver of the reduced.

Reductions keep the original columns first and in order, so a column has one number in both programs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array, Index
from ..protocol.hooks import Cut, Hooks
from .base import Answer, Receipt


def hooks_along(hooks: Hooks, receipt: Receipt) -> Hooks:
    """The rules as the solver of the reduced program asks them."""
    return Hooks(
        incumbent=None if hooks.incumbent is None else _incumbent(hooks.incumbent, receipt),
        separate=None if hooks.separate is None else _separate(hooks.separate, receipt),
        propagate=None if hooks.propagate is None else _propagate(hooks.propagate, receipt),
        branch=None if hooks.branch is None else _branch(hooks.branch, receipt),
    )


def _point(x: Array, receipt: Receipt) -> Array:
    """The original's point for a point of the reduced program."""
    point = receipt.back(Answer(x)).x
    assert point is not None
    return point


def _incumbent(
    rule: Callable[[Array | None], Array | None], receipt: Receipt
) -> Callable[[Array | None], Array | None]:
    def incumbent(x: Array | None) -> Array | None:
        found = rule(None if x is None else _point(x, receipt))
        return None if found is None else receipt.forward(np.asarray(found, dtype=np.float64))

    return incumbent


def _separate(rule: Callable[[Array], list[Cut]], receipt: Receipt) -> Callable[[Array], list[Cut]]:
    def carried(cut: Cut, n: int) -> Cut:
        row = np.zeros(n)
        np.add.at(row, cut.columns, cut.coefficients)
        reduced = receipt.forward_row(row)
        used = np.flatnonzero(reduced)
        return Cut(used, reduced[used], cut.lower, cut.upper)

    def separate(x: Array) -> list[Cut]:
        point = _point(x, receipt)
        return [carried(cut, len(point)) for cut in rule(point)]

    return separate


def _propagate(
    rule: Callable[[Array, Array], tuple[Index, Array, Array] | None], receipt: Receipt
) -> Callable[[Array, Array], tuple[Index, Array, Array] | None]:
    def propagate(lower: Array, upper: Array) -> tuple[Index, Array, Array] | None:
        found = rule(*receipt.back_bounds(lower, upper))
        return None if found is None else receipt.forward_bounds(*found)

    return propagate


def _branch(
    rule: Callable[[Array, Array, Array | None], tuple[int, int] | None], receipt: Receipt
) -> Callable[[Array, Array, Array | None], tuple[int, int] | None]:
    def branch(lower: Array, upper: Array, x: Array | None) -> tuple[int, int] | None:
        return rule(*receipt.back_bounds(lower, upper), None if x is None else _point(x, receipt))

    return branch
