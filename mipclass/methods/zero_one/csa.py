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
from .local import LocalResult, count_loss, least_squares_rule, unit_rows
from .method import COMMON_OPTIONS, VARIANT_OPTION, Found, PlainZeroOne, Task
from .prepared import whitening


def swap_search(
    Z: Array,
    weights: Array,
    w0: Array | None = None,
    rng: np.random.Generator | int = 0,
    *,
    steps: int = 50_000,
    patience: int = 2_000,
    strict: bool = False,
    stop: Callable[[], object] | None = None,
    on_improvement: Callable[[Array, float, int], None] | None = None,
) -> LocalResult:
    """Lower the weighted 0-1 loss over the rows of Z by swaps of the D rows on the hyperplane.

    Parameters are those of `local.local_search`; `strict` is the paper's search (no equal moves, no kicks).
    """
    from ...numeric.random import random_state
    from .kernels.pencil import work_arrays
    from .kernels.pencil_swap import first_independent, start_vertex, swap_steps

    Z = np.ascontiguousarray(Z, dtype=np.float64)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    start = least_squares_rule(Z, weights) if w0 is None else np.asarray(w0, dtype=np.float64)
    best, best_loss = start, count_loss(Z, weights, start)
    M = whitening(Z) if len(Z) else np.zeros((0, 0))
    m = M.shape[1]
    if m < 2 or best_loss <= 0.0:
        return LocalResult(best, best_loss, 0)

    rows = unit_rows(Z, M)
    state = random_state(int(np.random.default_rng(rng).integers(2**62)))
    v = np.asarray(np.linalg.lstsq(M, start, rcond=None)[0], dtype=np.float64)
    chosen = first_independent(rows, np.argsort(np.abs(rows @ v), kind="stable"))
    directions = np.empty((m, m))
    start_vertex(rows, chosen, v, directions)
    best_v, best_chosen = v.copy(), chosen.copy()
    losses = np.array([np.inf, best_loss])
    counters = np.zeros(3, dtype=np.int64)
    work = work_arrays(len(Z))
    piece = max(5, int(2e7 / (Z.size + 40 * len(Z))))
    done = 0
    while done < steps and best_loss > 0.0 and not (stop is not None and stop()):
        asked = min(piece, steps - done)
        did = swap_steps(
            rows, weights, chosen, v, directions, best_v, best_chosen, losses, counters, asked, patience, strict, state, work
        )  # fmt: skip
        done += did
        w = M @ best_v
        loss = count_loss(Z, weights, w)
        if loss < best_loss:
            best, best_loss = w, loss
            if on_improvement is not None:
                on_improvement(best, best_loss, done)
        if did < asked or (strict and counters[0] >= m - 1):
            break
    return LocalResult(best, best_loss, done)


class CombinatorialSwaps(PlainZeroOne):
    """See the module's docstring."""

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

    def search(self, task: Task) -> Found:
        options = task.run.options
        got = swap_search(
            task.data.Z,
            task.data.weights,
            task.start,
            task.rng,
            steps=options["steps"],
            patience=options["patience"],
            strict=options["variant"] == "paper",
            stop=task.run.stop,
            on_improvement=lambda w, loss, steps: task.tell(loss, iterations=steps),
        )
        return Found(got.w, stopped=task.run.stop(), iterations=got.steps)
