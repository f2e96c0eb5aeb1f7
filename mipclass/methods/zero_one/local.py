"""Local search for the weighted 0-1 loss by exact line searches: the warm start of every other method.

Data        rows z_i = y_i (x_i, 1) of Z, weights c_i >= 0
Minimise    sum_i c_i [z_i.w <= 0]   over w != 0
Step        along v(p) = (1 - |p|) w + p u the loss is piecewise constant; all its pieces come from one pass over the
            sorted breakpoints (`kernels.pencil.sweep`), so a step finds the best rule of a whole circle.
Claim       heuristic: the loss is counted on the data; proven only when it meets what every rule must pay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...protocol.options import Option, number
from .method import COMMON_OPTIONS, Found, PlainZeroOne, Task
from .prepared import whitening


def unit_rows(Z: Array, M: Array) -> Array:
    """Rows of Z M, each of length one (zero rows stay zero): the same 0-1 loss in even coordinates."""
    from .kernels.standardise import to_unit_length

    rows = np.ascontiguousarray(Z @ M)
    to_unit_length(rows)
    return rows


def count_loss(Z: Array, weights: Array, w: Array) -> float:
    """Weight of the rows with z_i.w <= 0."""
    return float(weights[Z @ w <= 0.0].sum())


@dataclass(frozen=True)
class LocalResult:
    """Best rule found (in the coordinates of Z), its loss counted on Z, and the line searches spent."""

    w: Array
    loss: float
    steps: int


def local_search(
    Z: Array,
    weights: Array,
    w0: Array | None = None,
    rng: np.random.Generator | int = 0,
    *,
    steps: int = 20_000,
    patience: int = 2_000,
    stop: Callable[[], object] | None = None,
    on_improvement: Callable[[Array, float, int], None] | None = None,
) -> LocalResult:
    """Lower the weighted 0-1 loss of w over the rows of Z by at most `steps` exact line searches.

    Parameters
    ----------
    Z : (n, m) rows y_i (x_i, 1).
    weights : (n,) nonnegative weights.
    w0 : (m,) start; None starts from the weighted least-squares rule.
    rng : generator or seed; the same seed gives the same answer, however the search is cut into pieces.
    steps, patience : line searches in all, and without a new best before a kick.
    stop : asked about every 50 ms; anything but None or False ends the search with the best rule so far.
    on_improvement : called with (w, loss, steps) after pieces that improved.
    """
    from ...numeric.random import random_state
    from .kernels.line_search import local_steps
    from .kernels.pencil import work_arrays

    Z = np.ascontiguousarray(Z, dtype=np.float64)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    start = least_squares_rule(Z, weights) if w0 is None else np.asarray(w0, dtype=np.float64)
    best, best_loss = start, count_loss(Z, weights, start)
    flipped = count_loss(Z, weights, -start)
    if flipped < best_loss:
        best, best_loss = -start, flipped
    M = whitening(Z) if len(Z) else np.zeros((0, 0))
    if M.shape[1] < 2 or best_loss <= 0.0:
        return LocalResult(best, best_loss, 0)

    generator = np.random.default_rng(rng)
    state = random_state(int(generator.integers(2**62)))
    rows = unit_rows(Z, M)
    v = np.asarray(np.linalg.lstsq(M, best, rcond=None)[0], dtype=np.float64)
    v = v / np.float64(np.linalg.norm(v)) if np.any(v) else np.eye(M.shape[1])[0]
    best_v = v.copy()
    losses = np.full(2, count_loss(rows, weights, v))
    idle = np.zeros(1, dtype=np.int64)
    work = work_arrays(len(Z))
    piece = max(5, int(2e7 / (Z.size + 40 * len(Z))))  # about 50 ms, a fixed count so that runs repeat
    done = 0
    while done < steps and best_loss > 0.0 and not (stop is not None and stop()):
        asked = min(piece, steps - done)
        did = local_steps(rows, weights, v, best_v, losses, idle, asked, patience, state, work)
        done += did
        w = M @ best_v
        loss = count_loss(Z, weights, w)  # rounding on the way back is why this is counted again
        if loss < best_loss:
            best, best_loss = w, loss
            if on_improvement is not None:
                on_improvement(best, best_loss, done)
        if did < asked:
            break
    return LocalResult(best, best_loss, done)


def least_squares_rule(Z: Array, weights: Array) -> Array:
    """The rule nearest to margins of one in the weighted least-squares sense (scale-safe, never all zero)."""
    scale = np.abs(Z).max(axis=0, initial=0.0)
    scale = np.where(scale > 0.0, scale, 1.0)
    root = np.sqrt(weights)
    w: Array = np.linalg.lstsq((Z / scale) * root[:, None], root, rcond=None)[0] / scale
    if not np.any(w):
        w[-1] = 1.0
    return w


class LocalSearch(PlainZeroOne):
    """See the module's docstring."""

    name = "local"
    promise = "heuristic: exact line searches from a linear SVM, seconds for a hundred thousand points"
    options = COMMON_OPTIONS | {
        "steps": Option(20_000, "line searches", number(1, integer=True)),
        "patience": Option(2_000, "line searches without a new best before a kick", number(1, integer=True)),
    }

    def search(self, task: Task) -> Found:
        options = task.run.options
        got = local_search(
            task.data.Z,
            task.data.weights,
            task.start,
            task.rng,
            steps=options["steps"],
            patience=options["patience"],
            stop=task.run.stop,
            on_improvement=lambda w, loss, steps: task.tell(loss, iterations=steps),
        )
        return Found(got.w, stopped=task.run.stop(), iterations=got.steps)
