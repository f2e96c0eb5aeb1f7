"""The rules of a branch and bound over n yes/no decisions.

A node is an array `fixed` of n small integers: FREE (-1), 0 or 1. For a 0-1 loss decision i is "point i is an error"; any
other problem with yes/no decisions fits as well. The same object can run in the tree here (`search`) and inside a MIP
solver (`as_hooks`), because it sees nothing but `fixed`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..protocol.hooks import Hooks

FREE = -1
"""The value of a decision that is not taken yet."""
Decisions = NDArray[np.int8]
"""One node: FREE, 0 or 1 for each decision."""


@dataclass(frozen=True)
class Incumbent:
    """A solution: its objective and the values that the problem's `recount` understands ("w", "b", ...)."""

    objective: float
    values: Mapping[str, Any]


class Rules(ABC):
    """How to search. Only `bound` and `branch` are needed for a correct tree; `incumbent` must answer at leaves.

    The objective is minimised. Every answer must hold for all solutions below the node, except that propagation may drop
    solutions as long as one best solution stays.
    """

    n: int
    """The number of decisions."""

    @abstractmethod
    def bound(self, fixed: Decisions) -> float:
        """A lower bound on the objective below this node."""

    @abstractmethod
    def branch(self, fixed: Decisions) -> tuple[int, int] | None:
        """(decision, value to try first) among the FREE ones; None when nothing is left to decide."""

    def propagate(self, fixed: Decisions, changed: int | None) -> Decisions | None:
        """`fixed` with what it implies, or None when nothing below can be a solution.

        changed : the decision just taken, None when unknown (at the root, or inside a MIP solver).
        """
        return fixed

    def incumbent(self, fixed: Decisions) -> Incumbent | None:
        """A solution found at this node, or None. At a leaf: the solution itself, or None when there is none."""
        return None

    def separate(self, fixed: Decisions) -> None:
        """Learn from this node (cuts, conflicts) for later bounds; called before `bound`."""


def as_hooks(
    rules: Rules,
    columns: NDArray[np.int64],
    encode: Callable[[Mapping[str, Any]], Array],
    *,
    first: Incumbent | None = None,
) -> Hooks:
    """The rules inside a MIP solver whose binary `columns` are the decisions (SCIP: all; HiGHS: incumbents only).

    encode : a full point of the program from an incumbent's values.   first : proposed before anything else.
    """
    best = [np.inf]
    waiting = [] if first is None else [first]

    def decisions(lower: Array, upper: Array) -> Decisions:
        low, high = np.round(lower[columns]), np.round(upper[columns])
        return np.where(low == high, low, FREE).astype(np.int8)

    def propose(x: Array | None) -> Array | None:
        found = waiting.pop() if waiting else None
        if found is None and x is not None:
            rounded = np.where(x[columns] < 0.5, 0, FREE).astype(np.int8)
            found = rules.incumbent(rounded)
        if found is None or found.objective >= best[0]:
            return None
        best[0] = found.objective
        return encode(found.values)

    def tighten(lower: Array, upper: Array) -> tuple[NDArray[np.int64], Array, Array] | None:
        before = decisions(lower, upper)
        after = rules.propagate(before, None)
        if after is None:
            return None
        new = np.flatnonzero((before == FREE) & (after != FREE))
        values = after[new].astype(np.float64)
        return columns[new], values, values

    def choose(lower: Array, upper: Array, x: Array | None) -> tuple[int, int] | None:
        chosen = rules.branch(decisions(lower, upper))
        return None if chosen is None else (int(columns[chosen[0]]), chosen[1])

    return Hooks(incumbent=propose, propagate=tighten, branch=choose)
