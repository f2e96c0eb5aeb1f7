"""First rules for the hard-margin loss: descents from the class means and from random directions, then swaps of single points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array
from ...modelling.problem import Problem
from ...protocol.result import Values
from ...protocol.run import Run
from ..base import Refusal
from .form import HardMarginForm, match_hard_margin

NEAR = 1.2
"""Swaps are tried on rules that cost at most this multiple of the incumbent."""

SPREAD = (0.05, 1.0)
"""Length of a random step from the incumbent, relative to its own, drawn between these."""

A_MOMENT = 20_000_000
"""Pairs of points that the slabs of the swaps between two looks at the clock may go through: about a tenth of a second."""

FEW_ERRORS = 1e-5
"""|w|^2 times this and the features' mean variance is the price of a wide margin while the number of errors is lowered: that of one error for a
margin of less than a hundredth of the spread."""

STARTS, START_SHARE = 100, 0.1
"""Descents, and the largest part of the time that is left, for the first rule of a general solver."""

Stop = Callable[[], object]
"""True when the time is used up."""

Rule = tuple[float, Array, float]
"""(cost, w, b)."""


def improved(form: HardMarginForm, direction: Array, best: float, stop: Stop) -> Rule:
    """The rule that descends from a direction, with swaps when it comes near the incumbent's cost `best`.

    A limit on the errors that the direction does not keep is approached by swaps that lower their number.
    """
    from .kernels.local import descend

    direction = np.ascontiguousarray(direction)
    rule: Rule = descend(form.P, form.N, form.cloud_costs, direction, form.terms)
    if rule[0] == np.inf:
        counted = (FEW_ERRORS * float(form.X.var(axis=0).mean()), 1.0, np.inf)
        fewer = descend(form.P, form.N, form.cloud_costs, direction, counted)
        fewer = _swapped(form, fewer, counted, stop)
        rule = descend(form.P, form.N, form.cloud_costs, np.ascontiguousarray(fewer[1]), form.terms)
    if rule[0] > NEAR * best or not rule[1].any():
        return rule
    return _swapped(form, rule, form.terms, stop)


def _swapped(form: HardMarginForm, rule: Rule, terms: tuple[float, float, float], stop: Stop) -> Rule:
    """The rule after all swaps that help."""
    from .kernels.local import swap

    if not rule[1].any():
        return rule
    move, n = 0, len(form.P) + len(form.N)
    part = max(1, A_MOMENT // (len(form.P) * len(form.N)))
    while move < n and not stop():
        *found, move = swap(form.P, form.N, form.cloud_costs, rule, terms, (move, min(n, move + part)))
        rule = (found[0], found[1], found[2])
    return rule


def first_rule(form: HardMarginForm, starts: int, seed: int, stop: Stop, warm: Array | None) -> Rule:
    """The best rule of so many starts."""
    rng = np.random.default_rng(seed)
    spread = form.X.std(axis=0)
    spread[spread == 0] = 1.0
    means = (form.P.mean(axis=0) - form.N.mean(axis=0)) / spread**2
    best = improved(form, means, np.inf, stop)
    for number in range(starts):
        if stop():
            break
        if warm is not None and number == 0:
            direction = warm
        elif number % 2 and best[1].any():
            length = np.linalg.norm(best[1]) * rng.uniform(*SPREAD) / np.sqrt(form.X.shape[1])
            direction = best[1] + length * rng.standard_normal(form.X.shape[1])
        else:
            direction = rng.standard_normal(form.X.shape[1]) / spread
        rule = improved(form, direction, best[0], stop)
        best = min(best, rule, key=lambda found: found[0])
    return best


def start_for_solver(problem: Problem, run: Run) -> Values | None:
    """A good rule for a solver that starts from nothing, within a part of the run's time; None when this is no hard-margin problem."""
    form = match_hard_margin(problem)
    if isinstance(form, Refusal):
        return None
    end = run.seconds() + START_SHARE * run.seconds_left()
    _, w, b = first_rule(form, STARTS, run.seed, lambda: run.stop() or run.seconds() > end, None)
    w, b, cost = form.feasible(*form.rule(w, b))
    run.report(objective=float(cost))
    return {"w": w, "b": np.asarray(b)} if form.intercept else {"w": w}
