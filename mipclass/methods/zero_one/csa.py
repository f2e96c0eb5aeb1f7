"""Combinatorial search approximation (CSA): swap one of the D points that carry the hyperplane, sweep by sweep.

Nguyen & Sanner (2013), section 4. The paper recomputes a hyperplane for every swap; here the N - D swaps of one point
are the breakpoints of one pencil (`kernels.pencil_swap`), found in O(N) plus a little sorting.

variant="default"  equal losses are accepted, and after `patience` pencils without a new best two or three points of
                   the best combination are swapped at random; stops after `steps` pencils.
variant="paper"    only a lower loss is accepted; stops when no swap of any point helps.
Claim              heuristic.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array
from ...protocol.options import Option, number
from .local import LocalResult, steps_of_a_piece
from .method import COMMON_OPTIONS, VARIANT_OPTION, Found, LossSearch, PlainZeroOne
from .prepared import WeightedRows
from .starts import least_squares_rule


def swap_search(
    rows: WeightedRows,
    w0: Array | None = None,
    rng: np.random.Generator | int = 0,
    *,
    steps: int = 50_000,
    patience: int = 2_000,
    strict: bool = False,
    stop: Callable[[], object] | None = None,
    on_improvement: Callable[[Array, float, int], None] | None = None,
) -> LocalResult:
    """Lower the weighted 0-1 loss over the rows by swaps of the D rows on the hyperplane.

    Parameters are those of `local.local_search`; `strict` is the paper's search (no equal moves, no kicks).
    """
    from ...numeric.random import random_state
    from .kernels.pencil import work_arrays
    from .kernels.pencil_swap import IDLE, first_vertex, swap_steps

    start = least_squares_rule(rows.Z, rows.weights) if w0 is None else np.asarray(w0, dtype=np.float64)
    best, best_loss = start, rows.cost(start)
    m = rows.map.shape[1]
    if m < 2 or best_loss <= 0.0:
        return LocalResult(best, best_loss, 0)

    state = random_state(int(np.random.default_rng(rng).integers(2**62)))
    at = first_vertex(rows.unit, rows.whitened(start), best_loss)
    work = work_arrays(len(rows.Z))
    piece = steps_of_a_piece(rows)
    done = 0
    while done < steps and best_loss > 0.0 and not (stop is not None and stop()):
        asked = min(piece, steps - done)
        did = swap_steps(rows.unit, rows.weights, at, asked, patience, strict, state, work)
        done += did
        w = rows.map @ at.best_w
        loss = rows.cost(w)
        if loss < best_loss:
            best, best_loss = w, loss
            if on_improvement is not None:
                on_improvement(best, best_loss, done)
        if did < asked or (strict and at.counters[IDLE] >= m - 1):
            break
    return LocalResult(best, best_loss, done)


class CombinatorialSwaps(PlainZeroOne):
    """Swaps of the points on the hyperplane; see the module's docstring."""

    name = "csa"
    promise = "heuristic: swaps of the points on the hyperplane; the best of the quick searches"
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
