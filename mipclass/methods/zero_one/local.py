"""Local search for the weighted 0-1 loss by exact line searches: the warm start of every other method.

Data        rows z_i = y_i (x_i, 1) of Z, weights c_i >= 0
Minimise    sum_i c_i [z_i.w <= 0]   over w != 0
Step        along v(p) = (1 - |p|) w + p u the loss is piecewise constant; all its pieces come from one pass over the
            sorted breakpoints (`kernels.pencil.sweep`), so a step finds the best rule of a whole circle.
Claim       heuristic: the loss is counted on the data; proven only when it equals what every rule must pay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...protocol.options import Option, number
from .method import COMMON_OPTIONS, Found, LossSearch, PlainZeroOne
from .prepared import WeightedRows, count_loss
from .starts import least_squares_rule

PIECE = 2e7
"""Operations in one call of a compiled search, about 50 ms: between two calls the caller may stop it. The number of steps
in a piece follows from the size of the data and not from the clock, so that runs repeat."""

SORTING = 40
"""Operations that a sweep spends on each row beyond its products: histogram and sorting."""


@dataclass(frozen=True)
class LocalResult:
    """Best rule found (in the coordinates of Z), its loss counted on Z, and the line searches spent."""

    w: Array
    loss: float
    steps: int


def steps_of_a_piece(rows: WeightedRows) -> int:
    """Sweeps of a pencil in one call of a compiled search."""
    return max(5, int(PIECE / (rows.Z.size + SORTING * len(rows.Z))))


def local_search(
    rows: WeightedRows,
    w0: Array | None = None,
    rng: np.random.Generator | int = 0,
    *,
    steps: int = 20_000,
    patience: int = 2_000,
    stop: Callable[[], object] | None = None,
    on_improvement: Callable[[Array, float, int], None] | None = None,
) -> LocalResult:
    """Lower the weighted 0-1 loss of w over the rows by at most `steps` exact line searches.

    Parameters
    ----------
    rows : signed rows y_i (x_i, 1) with nonnegative weights.
    w0 : (m,) start; None starts from the weighted least-squares rule.
    rng : generator or seed; the same seed gives the same answer, however the search is cut into pieces.
    steps, patience : line searches in all, and without a new best before a kick.
    stop : asked about every 50 ms; anything but None or False ends the search with the best rule so far.
    on_improvement : called with (w, loss, steps) after pieces that improved.
    """
    from ...numeric.random import random_state
    from .kernels.line_search import local_steps
    from .kernels.pencil import work_arrays

    start = least_squares_rule(rows.Z, rows.weights) if w0 is None else np.asarray(w0, dtype=np.float64)
    best, best_loss = start, rows.cost(start)
    flipped = rows.cost(-start)
    if flipped < best_loss:
        best, best_loss = -start, flipped
    if rows.map.shape[1] < 2 or best_loss <= 0.0:
        return LocalResult(best, best_loss, 0)

    generator = np.random.default_rng(rng)
    state = random_state(int(generator.integers(2**62)))
    v = rows.whitened(best)
    v = v / np.float64(np.linalg.norm(v)) if np.any(v) else np.eye(rows.map.shape[1])[0]
    best_v = v.copy()
    losses = np.full(2, count_loss(rows.unit, rows.weights, v))
    idle = np.zeros(1, dtype=np.int64)
    work = work_arrays(len(rows.Z))
    piece = steps_of_a_piece(rows)
    done = 0
    while done < steps and best_loss > 0.0 and not (stop is not None and stop()):
        asked = min(piece, steps - done)
        did = local_steps(rows.unit, rows.weights, v, best_v, losses, idle, asked, patience, state, work)
        done += did
        w = rows.map @ best_v
        loss = rows.cost(w)  # counted again, because the way back from whitened coordinates rounds
        if loss < best_loss:
            best, best_loss = w, loss
            if on_improvement is not None:
                on_improvement(best, best_loss, done)
        if did < asked:
            break
    return LocalResult(best, best_loss, done)


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
