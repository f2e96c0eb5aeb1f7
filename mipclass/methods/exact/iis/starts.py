"""First rules for branch and cut over infeasible subsystems."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....arrays import Array
from ...zero_one.prepared import prepare
from ..answer import Task
from ..exact import MOST_STEPS, first_rule

PIECE = 300  # line searches or pencils at one price of the limits
RATE = 1.3
RESTARTS = 3


def first_rules(task: Task) -> Iterator[Array]:
    """Rules (w, b) over all features: zero weights with either sign of the offset, the caller's, and those of local searches."""
    d = task.X.shape[1]
    yield np.append(np.zeros(d), 1.0)
    yield np.append(np.zeros(d), -1.0)
    given = task.run.warm_start
    if given is not None and "w" in given:
        yield np.append(given["w"], given.get("b", 0.0))
    if task.statement.margin or not task.statement.intercept:
        return
    if task.statement.limits:
        for restart in range(RESTARTS):
            yield from _priced_rules(task, task.run.seed + restart)
        return
    data = prepare(task.X, task.y, task.statement.costs)
    if len(data.Z) and task.run.options.get("local_steps", 0):
        yield first_rule(task, data)


def _priced_rules(task: Task, seed: int) -> Iterator[Array]:
    """Local optima of  costs + price * limits  without the limits, the price rising while they are broken and falling while they are kept.

    The search so goes to and fro across the limits, which is where the best rules that keep them lie.
    """
    from ...zero_one.csa import swap_search
    from ...zero_one.local import local_search

    statement, run = task.statement, task.run
    limits = [(np.asarray(coefficients, dtype=np.float64), at_most) for coefficients, at_most in statement.limits]
    prices = np.array([1.0 / max(float(np.abs(c).max(initial=0.0)), 1e-300) for c, _ in limits])
    steps = min(int(run.options.get("local_steps", 0)), max(200, int(MOST_STEPS / max(1, task.X.size)) // RESTARTS))
    start: Array | None = None
    for piece in range(-(-steps // PIECE)):
        if run.stop() is not None:
            return
        data = prepare(task.X, task.y, statement.costs + sum(p * c for p, (c, _) in zip(prices, limits, strict=True)))
        if not len(data.Z):
            return
        search = local_search if piece % 2 else swap_search
        found = search(
            data.Z, data.weights, start, 1000 * seed + piece, steps=PIECE, patience=PIECE // 4, stop=run.stop
        )
        w, b = data.rule(found.w)
        yield np.append(w, b)
        start = found.w
        wrong = task.y * (task.X @ w + b) <= 0
        broken = np.array([float(c[wrong].sum()) > at_most for c, at_most in limits])
        prices = prices * np.where(broken, RATE, 1.0 / RATE)
