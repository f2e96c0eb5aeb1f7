"""Combinatorial search approximation (CSA): swap one of the D points that carry the hyperplane, sweep by sweep.

Nguyen & Sanner (2013), section 4. The paper recomputes a hyperplane for every swap; here the N - D swaps of one point
are the breakpoints of one pencil (`kernels.pencil_swap`), found in O(N) plus a little sorting.

variant="default"  the search starts from a descent on a smooth loss (`smoothed`), equal losses are accepted, and after
                   `patience` pencils without a new best two or three points of the best combination are swapped at
                   random; stops after `steps` pencils.
                   With many rows most of the pencils are swept inside bands (`banded`).
variant="paper"    only a lower loss is accepted; stops when no swap of any point helps.
Claim              heuristic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ...numeric.random import State, random_state
from ...protocol.options import Option, number
from .method import COMMON_OPTIONS, VARIANT_OPTION, Found, LossSearch, PlainZeroOne
from .prepared import WeightedRows
from .starts import least_squares_rule
from .walk import BestRule, LocalResult, OnImprovement, Stop

if TYPE_CHECKING:
    from .kernels.window import Band


class Swaps:
    """Swaps of the rows on the hyperplane, over unit rows of which the rule v has the given loss, inside a band; a `walk.Walk`."""

    def __init__(
        self, unit: Array, weights: Array, v: Array, loss: float, band: Band, patience: int, strict: bool, state: State
    ) -> None:
        from .kernels.pencil import work_arrays
        from .kernels.pencil_swap import first_vertex

        self.unit, self.weights, self.band, self.state = unit, weights, band, state
        self.patience, self.strict = patience, strict
        self.at = first_vertex(unit, v.copy(), loss)
        self.work = work_arrays(len(unit))

    @property
    def best(self) -> Array:
        """The best rule so far."""
        return self.at.best_w

    @property
    def loss(self) -> float:
        """Its loss."""
        return float(self.at.losses[1])

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to lower, or no swap of any row helps (strict)."""
        from .kernels.pencil_swap import IDLE

        is_stuck = self.strict and self.at.counters[IDLE] >= self.unit.shape[1] - 1
        return self.loss <= 0.0 or bool(is_stuck)

    def go(self, steps: int) -> int:
        """Sweep so many pencils, fewer when the search comes to its own end; the number swept."""
        from .kernels.pencil_swap import swap_steps

        how = self.patience, self.strict, self.band
        return int(swap_steps(self.unit, self.weights, self.at, steps, *how, self.state, self.work))


def swap_search(
    rows: WeightedRows,
    w0: Array | None = None,
    rng: np.random.Generator | int = 0,
    *,
    steps: int = 50_000,
    patience: int = 2_000,
    strict: bool = False,
    smooth: bool = True,
    stop: Stop | None = None,
    on_improvement: OnImprovement | None = None,
) -> LocalResult:
    """Lower the weighted 0-1 loss over the rows by swaps of the D rows on the hyperplane.

    Parameters are those of `local.local_search`; `strict` is the paper's search (no smooth descent, no equal moves, no kicks).
    """
    from .banded import banded_search, has_many
    from .kernels.window import whole_circle

    start = least_squares_rule(rows.Z, rows.weights) if w0 is None else np.asarray(w0, dtype=np.float64)
    best = BestRule(rows, start, rows.cost(start), stop, on_improvement)
    m = rows.map.shape[1]
    if m < 2 or best.loss <= 0.0:
        return best.result()

    generator = np.random.default_rng(rng)
    state = random_state(int(generator.integers(2**62)))
    v = rows.direction(start)

    def swaps(unit: Array, weights: Array, v: Array, loss: float, band: Band) -> Swaps:
        return Swaps(unit, weights, v, loss, band, patience, strict, state)

    if has_many(rows) and not strict:
        banded_search(best, v, swaps, generator, steps)
    else:
        begin = best.descend(v) if smooth and not strict else (v, best.loss)
        best.walk(swaps(rows.unit, rows.weights, *begin, whole_circle(m)), steps)
    return best.result()


class CombinatorialSwaps(PlainZeroOne):
    """Swaps of the points on the hyperplane; see the module's docstring."""

    name = "csa"
    promise = "heuristic: swaps of the points on the hyperplane, seconds for a hundred thousand points"
    options = (
        COMMON_OPTIONS
        | VARIANT_OPTION
        | {
            "steps": Option(20_000, "pencils swept (each is all swaps of one point)", number(1, integer=True)),
            "patience": Option(2_000, "pencils without a new best before a kick", number(1, integer=True)),
        }
    )

    def search(self, task: LossSearch) -> Found:
        """Swap search with the options of the run."""
        options = task.run.options
        limits = {"steps": options["steps"], "patience": options["patience"], "strict": options["variant"] == "paper"}
        got = swap_search(
            task.data, task.start, task.rng, stop=task.run.stop, on_improvement=task.on_improvement, **limits
        )
        return Found(got.w, stopped=task.run.stop(), iterations=got.steps)
