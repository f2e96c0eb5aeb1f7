"""Rules of a user's or a method's own inside a solver's branch and bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array


@dataclass(frozen=True)
class Cut:
    """lower <= sum_k coefficients[k] x[columns[k]] <= upper, valid for every integer-feasible point."""

    columns: NDArray[np.int64]
    coefficients: Array
    lower: float
    upper: float


@dataclass(frozen=True)
class Hooks:
    """A user's or a method's rules inside a solver's branch and bound. Each may be absent.

    incumbent(x) -> a full point to try, or None; x is the current relaxation's point (None before the first).
    separate(x) -> cuts violated by x (also asked at integer points, where an empty list accepts x).
    propagate(lower, upper) -> (columns, new lower, new upper) to tighten, or None when the node holds nothing better. What
        it cuts off must be infeasible or no better than an incumbent: points found elsewhere are not checked against it.
    branch(lower, upper, x) -> (column, value to try first), or None to leave the choice to the solver.
    """

    incumbent: Callable[[Array | None], Array | None] | None = None
    separate: Callable[[Array], list[Cut]] | None = None
    propagate: Callable[[Array, Array], tuple[NDArray[np.int64], Array, Array] | None] | None = None
    branch: Callable[[Array, Array, Array | None], tuple[int, int] | None] | None = None


def check_hooks(value: Any) -> str | None:
    """The check of an option `hooks` where every rule is honoured."""
    return None if value is None or isinstance(value, Hooks) else "None or mipclass.protocol.hooks.Hooks"


def check_hooks_without_cuts(value: Any) -> str | None:
    """Likewise where no cuts can be taken: rules to propagate and branch only guide a search and may be left out, but an
    answer that ignores lazy constraints would be wrong."""
    if isinstance(value, Hooks) and value.separate is not None:
        return "Hooks without a `separate` rule, which this solver cannot follow (solver 'scip' can)"
    return check_hooks(value)
