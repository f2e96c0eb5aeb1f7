"""Prioritised combinatorial search (PCS), exact when it finishes, by pencils instead of single hyperplanes.

Nguyen & Sanner (2013), Algorithm 2, looks at every hyperplane through D points, nearest points first: O(D^3) for each of
the (N choose D). Here D - 1 points are fixed and the N - D + 1 hyperplanes through them and one more point come from one
sweep (`kernels.pencil_enumeration`), usually without a sort.

Why this is exact. Some best rule lies in an open cell of the arrangement {z_i.w = 0}. The cell has an edge: a piece of
a line through rows E of rank D - 1 (in general position just D - 1 rows), on which only rows of E are tied. The loss next
to the edge is the loss of the other rows on the edge plus the least loss that a nudge can give to E, which is the same
problem in D - 1 dimensions: zero when E is independent, solved by recursion otherwise (lattice data). Rows closer than 1e-10
to a flat count as lying on it, and every improvement is recounted on the data: a loss that cannot be confirmed there is
never reported, and then neither is a proof. The scope of a proof says which rules this leaves out (`scope.margin_of_floats`).

Fewer pencils. In general position the cell also has a corner, where D rows are tied, and each D - 1 of them make an edge. So
only a family of pencils that meets every set of D rows is swept (`is_needed`), about half of all; where rows out of general
position could matter all are swept after all.

variant="paper" uses lexicographic order, as "next combination" in the paper, from the SVM's rule; the default orders
combinations by their farthest point, which tries all combinations of the nearest points first, and starts from a short
swap search, since a good incumbent is what spares the sorting (from the least-squares rule where there are few pencils).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import comb

import numpy as np

from ...arrays import Array, Index, Positions
from ...numeric.random import random_state
from ...protocol.options import Option, number, optional
from ...protocol.run import Run
from .csa import swap_search
from .form import ZeroOneForm
from .kernels import pencil_enumeration as kernel
from .kernels.nudge import nudge_for_all, nudged_off
from .kernels.pencil import ON_ALL, work_arrays
from .method import COMMON_OPTIONS, VARIANT_OPTION, Found, LossSearch, PlainZeroOne
from .prepared import WeightedRows, count_loss
from .starts import least_squares_rule, start_rule

Stop = Callable[[], object]

MOST_FLAT_PENCILS = 5_000
"""Pencils swept on one flat; beyond that its best nudge so far stands in and the search no longer counts as finished."""

FEW_PENCILS = 20_000
"""Pencils that are swept in less time than the fit of an SVM takes, so that the search starts without one."""

PIECE = 2e7
"""Operations in one call of the compiled enumeration, about 50 ms: between two calls the caller may stop it."""

IMPROVEMENT = 1.0
"""Units by which a rule must lower the loss to be better: weights are whole numbers."""

FLAT_RANK = 1e-8
"""Singular values of a flat's unit rows below this fraction of the largest one count as zero."""


class _Stopped(Exception):
    """The caller asked to stop in the middle of a search."""


@dataclass(frozen=True)
class EnumerationResult:
    """Best rule, its loss counted on Z; finished: every pencil was swept and every improvement was confirmed."""

    w: Array
    loss: float
    finished: bool
    pencils: int
    combinations: int
    unconfirmed: int


@dataclass
class PencilSearch:
    """Least loss over homogeneous rows of full column rank, by enumeration of pencils; see the module's text.

    rows, weights : (n, m) unit rows in priority order, and their weights.
    loss, v : best loss so far and a rule that has it (None: `loss` is only a bound to beat).
    """

    rows: Array
    weights: Array
    loss: float
    v: Array | None = None
    lexicographic: bool = False
    only_needed: bool = False
    stop: Callable[[PencilSearch], object] | None = None
    on_improvement: Callable[[PencilSearch], None] | None = None
    pencils: int = 0
    unconfirmed: int = 0
    _flats: dict[bytes, tuple[float, Array]] = field(default_factory=dict)

    def run(self) -> None:
        """Sweep all pencils; raises _Stopped when told to stop (the best rule so far is kept)."""
        n, m = self.rows.shape
        if m == 0 or n == 0:
            if self.loss > 0 and n == 0:
                self.loss, self.v = 0.0, np.zeros(m)
            return
        if m == 1:
            self._two_rules()
        elif not (self.only_needed and self._enumerate(only_needed=True)):
            self._enumerate(only_needed=False)

    def _target(self) -> float:
        return self.loss - IMPROVEMENT

    def _offer(self, v: Array, expected: float) -> None:
        """Take v when its loss, counted on the rows, is a new best; note when it is not what was expected."""
        loss = count_loss(self.rows, self.weights, v)
        if loss > expected:
            self.unconfirmed += 1
        if loss < self.loss:
            self.loss, self.v = loss, v
            if self.on_improvement is not None:
                self.on_improvement(self)

    def _two_rules(self) -> None:
        for v in (np.array([1.0]), np.array([-1.0])):
            self._offer(v, np.inf)

    def _enumerate(self, only_needed: bool) -> bool:
        """Sweep the pencils; False as soon as the family that is needed in general position may not be enough."""
        n, m = self.rows.shape
        levels = m - 2
        at = kernel.first_enumeration(self.rows)
        fixed, counters = at.fixed[:levels], at.counters
        state, work = random_state(0), work_arrays(n)
        budget = max(4, int(PIECE / (n * (m + 4))))
        code = kernel.PAUSED
        while code != kernel.FINISHED and self.loss > 0.0:
            if self.stop is not None and self.stop(self):
                raise _Stopped
            before = int(counters[kernel.SWEPT])
            code = kernel.pencil_steps(
                self.weights, at, self.lexicographic, only_needed, self._target(), budget, state, work
            )
            self.pencils += int(counters[kernel.SWEPT]) - before
            if only_needed and counters[kernel.TIED]:
                return False
            if code != kernel.CANDIDATE:
                continue
            is_independent = counters[kernel.ON_FLAT] == levels
            if only_needed and not is_independent:
                return False
            plane = at.projected[levels, :2]
            flat = fixed if is_independent else np.flatnonzero(np.abs(plane).sum(axis=0) <= ON_ALL)
            flat_loss, nudge = self._nudge_of(flat, fixed)
            loss = float(at.found[0]) + flat_loss
            if loss <= self._target():
                self._offer(nudged_off(self.rows, at.found[1:], nudge, flat), loss)
        return True

    def _nudge_of(self, flat: Positions, fixed: Index) -> tuple[float, Array]:
        """Least loss of the rows of a flat under a nudge off it, and such a nudge."""
        if len(flat) == len(fixed):  # independent rows: all can be right at once
            return 0.0, nudge_for_all(self.rows, flat)
        key = flat.astype(np.int64).tobytes()
        if key not in self._flats:
            self._flats[key] = self._solve_flat(self.rows[flat], self.weights[flat])
        return self._flats[key]

    def _solve_flat(self, rows: Array, weights: Array) -> tuple[float, Array]:
        """The same problem on the rows of a flat, in the coordinates of their span.

        High-dimensional lattices have flats too large to enumerate; then the best nudge found stands in, and the
        search no longer counts as finished (`unconfirmed`).
        """
        _, size, axes = np.linalg.svd(rows, full_matrices=False)
        axes = axes[size > FLAT_RANK * size[0]]
        inner_rows = np.ascontiguousarray(rows @ axes.T)
        v = np.asarray(np.linalg.lstsq(inner_rows, np.ones(len(rows)), rcond=None)[0], dtype=np.float64)
        inner = PencilSearch(inner_rows, weights, count_loss(inner_rows, weights, v), v)
        inner.stop = lambda search: search.pencils >= MOST_FLAT_PENCILS or (self.stop is not None and self.stop(self))
        try:
            inner.run()
        except _Stopped:
            self.unconfirmed += 1
        self.unconfirmed += inner.unconfirmed
        return inner.loss, np.asarray(axes.T @ inner.v)


def in_apparent_general_position(Z: Array) -> bool:
    """Whether no feature has a value twice; lattice data, which are full of rows on common planes, fail this at once."""
    X = Z[:, :-1] * Z[:, -1:]
    X.sort(axis=0)
    return bool((X[1:] > X[:-1]).all())


def prioritised_search(
    rows: WeightedRows,
    w0: Array | None = None,
    *,
    lexicographic: bool = False,
    most_pencils: int | None = None,
    stop: Stop | None = None,
    on_improvement: Callable[[Array, float, int], None] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> EnumerationResult:
    """Least weighted 0-1 loss over signed rows y_i (x_i, 1); exact when `finished`.

    w0 is the rule whose nearest rows come first, and the first incumbent; None takes the mean of the whitened rows, about
    their least-squares rule. `stop` and `on_progress` are called about every 50 ms.
    """
    Z, M, unit = rows.Z, rows.map, rows.unit
    if w0 is None:
        v = rows.weights @ unit
        start = M @ v if np.any(v) else np.eye(Z.shape[1])[-1]
    else:
        start = np.asarray(w0, dtype=np.float64)
        v = rows.whitened(start)
    order = np.argsort(np.abs(unit @ v), kind="stable")
    best_w, best_loss = start, rows.cost(start)

    def confirm(search: PencilSearch) -> None:
        nonlocal best_w, best_loss
        w = np.asarray(M @ np.asarray(search.v))
        loss = rows.cost(w)
        if loss != search.loss:  # rounding on the way back from whitened rows changed the side of a row
            search.unconfirmed += 1
        if loss < best_loss:
            best_w, best_loss = w, loss
            if on_improvement is not None:
                on_improvement(w, loss, search.pencils)

    def ask(search: PencilSearch) -> bool:
        if on_progress is not None:
            on_progress(search.pencils)
        used_up = most_pencils is not None and search.pencils >= most_pencils
        return used_up or bool(stop is not None and stop())

    search = PencilSearch(
        np.ascontiguousarray(unit[order]),
        rows.weights[order],
        best_loss,
        lexicographic=lexicographic,
        only_needed=not lexicographic and in_apparent_general_position(Z),
        stop=ask,
        on_improvement=confirm,
    )
    try:
        search.run()
        finished = search.unconfirmed == 0
    except _Stopped:
        finished = False
    combinations = _combinations(len(unit), unit.shape[1], None if finished else search.pencils)
    return EnumerationResult(best_w, best_loss, finished, search.pencils, combinations, search.unconfirmed)


def _combinations(n: int, m: int, pencils: int | None) -> int:
    """Combinations of D = m - 1 of n rows that so many pencils went through, an estimate; None: all of them."""
    every = comb(n, max(m - 1, 0))
    return every if pencils is None else min(every, pencils * n // max(m - 1, 1))


def n_pencils(Z: Array) -> int:
    """Pencils through D - 1 of the rows of Z, which has D + 1 columns."""
    n, m = Z.shape
    return comb(n, max(m - 2, 0))


class PrioritisedSearch(PlainZeroOne):
    """Enumeration of all pencils, nearest points first; see the module's docstring."""

    name = "pcs"
    promise = "proven when it finishes (small D), in floating point; anytime otherwise"
    options = (
        COMMON_OPTIONS
        | VARIANT_OPTION
        | {
            "pencils": Option(None, "most pencils to sweep; None: all", optional(number(1, integer=True))),
        }
    )

    def first_rule(self, form: ZeroOneForm, run: Run) -> Array:
        """The least-squares rule where there are few pencils, else the usual start."""
        is_small = n_pencils(form.data.Z) <= FEW_PENCILS
        if run.warm_start is not None or run.options["variant"] == "paper" or not is_small:
            return start_rule(form, run)
        return least_squares_rule(form.data.Z, form.data.weights)

    def search(self, task: LossSearch) -> Found:
        """A short swap search (not in the printed variant), then the enumeration."""
        run, data = task.run, task.data
        is_paper = run.options["variant"] == "paper"
        start = task.start
        if not is_paper:
            steps = 20 + min(1_000, n_pencils(data.Z) // 100)
            # The enumeration of few points may take less time than a smooth descent.
            start = swap_search(data, start, task.rng, steps=steps, smooth=False, stop=run.stop).w
            task.tell(data.cost(start))
        got = prioritised_search(
            data,
            start,
            lexicographic=is_paper,
            most_pencils=run.options["pencils"],
            stop=run.stop,
            on_improvement=task.on_improvement,
            on_progress=lambda pencils: task.tell(iterations=pencils),
        )
        extra = {"combinations": got.combinations, "unconfirmed": got.unconfirmed}
        lower = got.loss if got.finished else 0.0
        return Found(got.w, lower, run.stop(), iterations=got.pencils, extra=extra, resolution=ON_ALL)
