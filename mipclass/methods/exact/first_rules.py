"""First incumbents of the proving methods: the caller's rule, and those of local and swap searches.

Under limits on errors the searches minimise  costs + price * limits  without the limits. The price rises while the limits are
violated and falls while they are kept, so that the search crosses the limits to and fro: the best feasible rules lie there.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ...arrays import Array
from ...protocol.run import Run
from ..zero_one.prepared import ZeroOneData, prepare
from ..zero_one.starts import least_squares_rule
from ..zero_one.walk import LocalResult, OnImprovement
from .box.cone import Cone
from .form import ProofForm

MOST_WORK = 3e8
"""Line searches times entries of the data that the first rule may take: some seconds."""

FEWEST_STEPS = 200
"""Line searches that are made however large the data are."""

STEPS_IN_NO_DIMENSION, STEPS_FACTOR = 50, 4
"""Line searches that are made in r dimensions, at most: 50 * 4^r. Boxes prove few dimensions in less time than more of them take, and find the
rules that are missed."""

SHORT = 3_000
"""Line searches, and as many pencils, of a short search."""

PIECE = 300
"""Line searches or pencils at one price of the limits."""

RATE = 1.3
"""Factor by which a price rises or falls after each piece."""

RESTARTS = 3
"""Independent searches with prices, each from another seed."""

SMALLEST = 1e-300
"""Least divisor: a limit without coefficients gets a finite price."""


def _affordable(size: int) -> int:
    """Line searches that the first rule may take on data with this many entries."""
    return int(MOST_WORK / max(1, size))


def _worthwhile(Z: Array) -> int:
    """Line searches that pay on these rows: those that are affordable, and fewer in few dimensions."""
    return min(STEPS_IN_NO_DIMENSION * STEPS_FACTOR ** (Z.shape[1] - 1), max(FEWEST_STEPS, _affordable(Z.size)))


def initial_rule(data: ZeroOneData, run: Run) -> Array:
    """The caller's rule, unless it is zero, or the one of least squares, over the kept columns."""
    given = _given_rule(data, run)
    return given if given is not None and np.any(given) else least_squares_rule(data.Z, data.weights)


def _given_rule(data: ZeroOneData, run: Run) -> Array | None:
    """The rule that the caller gave, over the kept columns; None without one."""
    if run.warm_start is None or "w" not in run.warm_start:
        return None
    return data.restricted(np.append(run.warm_start["w"], run.warm_start.get("b", 0.0)))


def first_rule(data: ZeroOneData, run: Run, cone: Cone | None = None, start: Array | None = None) -> Array:
    """A good rule of the plain problem over all features, inside the cone, if one is given: `start`, the caller's or least squares, improved
    by local and swap search, or by a swap search alone, whichever ends lower, as each is caught in bad local optima at times. The two run at
    the same time where the run has several threads, with the same answer."""
    from ..zero_one.csa import swap_search
    from ..zero_one.local import local_search

    start = _given_rule(data, run) if start is None else data.restricted(start)
    steps = min(int(run.options.get("local_steps", 0)), _worthwhile(data.Z))

    def tell(W: Array, cost: float, done: int) -> None:
        if inside is None or cost < rows.weights[-1]:
            run.report(objective=data.value(cost), iterations=done)

    inside = None if cone is None else cone.over(data)
    rows = data if inside is None else inside.beside(data)
    if inside is not None and (start is None or not inside.has(start)):
        start = inside.interior

    def from_local_optimum() -> LocalResult:
        found = local_search(rows, start, run.seed, steps=steps, stop=run.stop, on_improvement=tell)
        return swap_search(rows, found.w, run.seed, steps=2 * steps, stop=run.stop, on_improvement=tell)

    def from_start(tell: OnImprovement | None) -> LocalResult:
        return swap_search(rows, start, run.seed + 1, steps=2 * steps, stop=run.stop, on_improvement=tell)

    if run.threads_here() > 1:
        # The caller's callback is called from the caller's own thread alone.
        with ThreadPoolExecutor(1, thread_name_prefix="mipclass") as helper:
            other = helper.submit(from_start, None)
            ends = [from_local_optimum(), other.result()]
    else:
        ends = [from_local_optimum(), from_start(tell)]
    best = min(ends, key=lambda found: found.loss)
    return np.append(*data.rule(best.w))


def improved_rule(data: ZeroOneData, start: Array, run: Run, cone: Cone | None = None) -> Array:
    """A rule over all features, improved by a short local and swap search; inside the cone, if one is given."""
    from ..zero_one.csa import swap_search
    from ..zero_one.local import local_search

    steps = min(int(run.options.get("local_steps", 0)), SHORT, _worthwhile(data.Z))
    inside = None if cone is None else cone.over(data)
    rows = data if inside is None else inside.beside(data)
    found = local_search(rows, data.restricted(start), run.seed, steps=steps, stop=run.stop)
    found = swap_search(rows, found.w, run.seed, steps=steps, stop=run.stop)
    return np.append(*data.rule(found.w))


def first_rules(form: ProofForm, run: Run) -> Iterator[Array]:
    """Rules (w, b) over all features: zero weights with either sign of the offset, the caller's, and those of searches."""
    d = form.X.shape[1]
    if form.cone is not None:
        yield form.cone.interior
    yield np.append(np.zeros(d), 1.0)
    yield np.append(np.zeros(d), -1.0)
    given = run.warm_start
    if given is not None and "w" in given:
        yield np.append(given["w"], given.get("b", 0.0))
    if form.statement.margin or not form.statement.intercept:
        return
    if form.statement.limits:
        for restart in range(RESTARTS):
            yield from _priced_rules(form, run, run.seed + restart)
        return
    if len(form.data.Z) and run.options.get("local_steps", 0):
        yield first_rule(form.data, run, form.cone)


def _priced_rules(form: ProofForm, run: Run, seed: int) -> Iterator[Array]:
    """Local optima at changing prices of the limits, as the module says."""
    from ..zero_one.csa import swap_search
    from ..zero_one.local import local_search

    X, y, statement = form.X, form.y, form.statement
    limits = [(np.asarray(coefficients, dtype=np.float64), at_most) for coefficients, at_most in statement.limits]
    prices = np.array([1.0 / max(float(np.abs(c).max(initial=0.0)), SMALLEST) for c, _ in limits])
    steps = min(int(run.options.get("local_steps", 0)), max(FEWEST_STEPS, _affordable(X.size) // RESTARTS))
    start: Array | None = None
    for piece in range(-(-steps // PIECE)):
        if run.stop() is not None:
            return
        priced = statement.costs + sum(p * c for p, (c, _) in zip(prices, limits, strict=True))
        data = prepare(X, y, priced, keep_columns=bool(statement.rows))
        if not len(data.Z):
            return
        search = local_search if piece % 2 else swap_search
        inside = None if form.cone is None else form.cone.over(data)
        rows = data if inside is None else inside.beside(data)
        if start is None and inside is not None:
            start = inside.interior
        # A smooth descent in each piece would lead to the same few rules again and again.
        smooth = piece == 0
        found = search(rows, start, 1000 * seed + piece, steps=PIECE, patience=PIECE // 4, smooth=smooth, stop=run.stop)
        w, b = data.rule(found.w)
        yield np.append(w, b)
        start = found.w
        wrong = y * (X @ w + b) <= 0
        broken = np.array([float(c[wrong].sum()) > at_most for c, at_most in limits])
        prices = prices * np.where(broken, RATE, 1.0 / RATE)
