"""Local search for the weighted 0-1 loss by exact line searches: the warm start of every other method.

Data        rows z_i = y_i (x_i, 1) of Z, weights c_i >= 0
Minimise    sum_i c_i [z_i.w <= 0]   over w != 0
Step        along v(p) = (1 - |p|) w + p u the loss is piecewise constant; all its pieces come from one pass over the
            sorted breakpoints (`kernels.pencil.sweep`), so a step finds the best rule of a whole circle.
Start       the descent on a smooth loss from the given rule (`smoothed`), which steps over most local optima.
Many rows   most line searches see the rows near the best hyperplane alone (`banded`).
Claim       heuristic: the loss is counted on the data; proven only when it equals what every rule must pay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ...numeric.random import State, random_state
from ...protocol.options import Option, number
from .method import COMMON_OPTIONS, Found, LossSearch, PlainZeroOne
from .prepared import WeightedRows, count_loss
from .starts import least_squares_rule
from .walk import BestRule, LocalResult, OnImprovement, Stop

if TYPE_CHECKING:
    from .kernels.window import Band


class LineSearches:
    """Line searches over unit rows from the rule v, inside a band; a `walk.Walk`."""

    def __init__(
        self, unit: Array, weights: Array, v: Array, loss: float, band: Band, patience: int, state: State
    ) -> None:
        from .kernels.pencil import work_arrays

        self.unit, self.weights, self.band, self.patience, self.state = unit, weights, band, patience, state
        self.v, self.best = v.copy(), v.copy()
        self.losses = np.full(2, loss)
        self.idle = np.zeros(1, dtype=np.int64)
        self.work = work_arrays(len(unit))

    @property
    def loss(self) -> float:
        """The loss of the best rule so far."""
        return float(self.losses[1])

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to lower."""
        return self.loss <= 0.0

    def go(self, steps: int) -> int:
        """Make so many line searches, fewer when the loss reaches zero; the number made."""
        from .kernels.line_search import local_steps

        at = self.v, self.best, self.losses, self.idle
        return int(local_steps(self.unit, self.weights, *at, steps, self.patience, self.band, self.state, self.work))


def local_search(
    rows: WeightedRows,
    w0: Array | None = None,
    rng: np.random.Generator | int = 0,
    *,
    steps: int = 20_000,
    patience: int = 2_000,
    smooth: bool = True,
    stop: Stop | None = None,
    on_improvement: OnImprovement | None = None,
) -> LocalResult:
    """Lower the weighted 0-1 loss of w over the rows by at most `steps` exact line searches.

    Parameters
    ----------
    rows : signed rows y_i (x_i, 1) with nonnegative weights.
    w0 : (m,) start; None starts from the weighted least-squares rule.
    rng : generator or seed; the same seed gives the same answer, however the search is cut into pieces.
    steps, patience : line searches in all, and without a new best before a kick.
    smooth : begin with the descent on a smooth loss; with many rows this is always so.
    stop : asked about every 50 ms; anything but None or False ends the search with the best rule so far.
    on_improvement : called with (w, loss, steps) after pieces that improved.
    """
    from .banded import banded_search, has_many
    from .kernels.window import whole_circle

    start = least_squares_rule(rows.Z, rows.weights) if w0 is None else np.asarray(w0, dtype=np.float64)
    if rows.cost(-start) < rows.cost(start):
        start = -start
    best = BestRule(rows, start, rows.cost(start), stop, on_improvement)
    m = rows.map.shape[1]
    if m < 2 or best.loss <= 0.0:
        return best.result()

    generator = np.random.default_rng(rng)
    state = random_state(int(generator.integers(2**62)))
    v = rows.direction(start)

    def line_searches(unit: Array, weights: Array, v: Array, loss: float, band: Band) -> LineSearches:
        return LineSearches(unit, weights, v, loss, band, patience, state)

    if has_many(rows):
        banded_search(best, v, line_searches, generator, steps)
    else:
        begin = best.descend(v) if smooth else (v, count_loss(rows.unit, rows.weights, v))
        best.walk(line_searches(rows.unit, rows.weights, *begin, whole_circle(m)), steps)
    return best.result()


class LocalSearch(PlainZeroOne):
    """Exact line searches along random directions; see the module's docstring."""

    name = "local"
    promise = "heuristic: exact line searches from a linear SVM, seconds for a hundred thousand points"
    options = COMMON_OPTIONS | {
        "steps": Option(20_000, "line searches", number(1, integer=True)),
        "patience": Option(2_000, "line searches without a new best before a kick", number(1, integer=True)),
    }

    def search(self, task: LossSearch) -> Found:
        """Local search with the options of the run."""
        options = task.run.options
        limits = {"steps": options["steps"], "patience": options["patience"], "stop": task.run.stop}
        got = local_search(task.data, task.start, task.rng, on_improvement=task.on_improvement, **limits)
        return Found(got.w, stopped=task.run.stop(), iterations=got.steps)
