"""First rules for the hard-margin loss: descents from the class means and from random directions, swaps of single points, kicks, and rules of heuristics
for related problems.

The kicks are an iterated local search over the points that a rule keeps right (`kernels.kicks`): a kick leaves a local optimum of the swaps, and
the rule it leads to is kicked next when it costs little more than the best one; series of kicks start elsewhere in turn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array
from ...modelling.problem import Problem
from ...protocol.result import Values
from ...protocol.run import Run
from ..base import Refusal
from .form import AT_MARGIN, HardMarginForm, match_hard_margin

NEAR = 1.2
"""Swaps are tried on rules that cost at most this multiple of the incumbent."""

BETTER = 1e-10
"""Relative improvement that counts as one."""

SPREAD = (0.05, 1.0)
"""Length of a random step from the incumbent, relative to its own, drawn between these."""

A_MOMENT = 1e8
"""Nanoseconds that swaps between two looks at the clock, and each step of a kick, may take, about."""

FEW_ERRORS = 1e-5
"""|w|^2 times this and the features' mean variance is the price of a wide margin while the number of errors is lowered: that of one error for a
margin of less than a hundredth of the spread."""

DESCENT_SHARE, START_SHARE = 0.04, 0.1
"""Largest parts of the time that is left: for the descents, and for descents and kicks together."""

STARTS, KICKS = 100, 800
"""Descents for the first rule, and kicks without success after which it is final."""

WORSE, RETURN = 0.05, 200
"""A kick's rule is kicked next when it costs at most this part more than the best of its series. After so many kicks without success a new series
starts, in turn from a random descent and from the best rule.
The value 0.05 is the best of 0, 0.02 and 0.05 and two annealings (7, 7, 9, 7 and 8 optima of 9), with one seed on nine hard instances and all series from
the best rule: a hint, no more. From other seeds and starts some of the nine are missed."""

MANY = 50
"""Points from which on a solver that starts from nothing is also given the rules of related heuristics. Below that, kicks find nearly all optima (59 of 60 random
sets of 10 to 49 points), and the solver is soon done."""

DRAWS = 200
"""Random numbers of one kick: more than it has points to choose."""

SMALLER_A = (1 / 16, 1 / 4, 1 / 2, 3 / 4, 1.0)
"""Where every descent ends in a constant rule, rules for these multiples of a are found one after the other, each from the one before."""

Stop = Callable[[], object]
"""True when the time is used up."""

Terms = tuple[float, float, float, float, float]
"""(a, price of a cost, most that errors may cost: all, the positives, the negatives)."""

Rule = tuple[float, Array, float]
"""(cost, w, b)."""

Costs = tuple[Array, Array]
"""Of the positives and of the negatives."""


def improved(form: HardMarginForm, direction: Array, best: float, stop: Stop) -> Rule:
    """The rule that descends from a direction, with swaps when it comes near the incumbent's cost `best`.

    A limit on the errors that the direction does not keep is approached by swaps that lower their number.
    """
    costs = form.cloud_costs
    rule = _descent(form, direction, form.terms, costs)
    if rule[0] == np.inf:
        counted = (FEW_ERRORS * float(form.X.var(axis=0).mean()), 1.0, np.inf, np.inf, np.inf)
        first = _descent(form, direction, counted, form.counted_costs)
        fewer = _swapped(form, first, counted, form.counted_costs, stop)
        rule = _descent(form, fewer[1], form.terms, costs)
    if rule[0] > NEAR * best or not rule[1].any():
        return rule
    return _swapped(form, rule, form.terms, costs, stop)


def _descent(form: HardMarginForm, direction: Array, terms: Terms, costs: Costs) -> Rule:
    """The rule that descends from a direction."""
    from .kernels.local import descend

    rule: Rule = descend(form.P, form.N, costs, np.ascontiguousarray(direction), terms)
    return rule


def _swapped(form: HardMarginForm, rule: Rule, terms: Terms, costs: Costs, stop: Stop) -> Rule:
    """The rule after all swaps that help."""
    from .kernels.local import swap

    if not rule[1].any():
        return rule
    move, n = 0, len(form.P) + len(form.N)
    part = int(max(1, A_MOMENT // (5 * len(form.P) * len(form.N) + 3 * _hull_time(form))))
    while move < n and not stop():
        *found, move = swap(form.P, form.N, costs, rule, terms, (move, min(n, move + part)))
        rule = (found[0], found[1], found[2])
    return rule


def _hull_time(form: HardMarginForm) -> float:
    """Nanoseconds of one nearest-point problem, about: some 2 d steps, each with all margins and a dense system."""
    n, d = len(form.P) + len(form.N), form.X.shape[1]
    return 2 * d * (2 * n * d + d**3 / 10 + 5000)


def first_rule(form: HardMarginForm, run: Run, starts: int, kicks: int, warm: Array | None = None) -> Rule:
    """The best rule of so many descents, then of kicks until so many in a row had no success; within a part of the run's time."""
    rng = np.random.default_rng(run.seed)
    now, left = run.seconds(), run.seconds_left()
    best = descended(form, starts, rng, lambda: run.stop() or run.seconds() > now + DESCENT_SHARE * left, warm)

    def stop() -> bool:
        return bool(run.stop()) or run.seconds() > now + START_SHARE * left

    if best[1].any() or not kicks:
        return _kicked(form, best, form.terms, kicks, rng, stop)
    rule = best
    for part in SMALLER_A:
        terms = (part * form.terms[0], *form.terms[1:])
        rule = _descent(form, rule[1] if rule[1].any() else _of_means(form), terms, form.cloud_costs)
        rule = _kicked(form, _swapped(form, rule, terms, form.cloud_costs, stop), terms, kicks, rng, stop)
    return min(best, rule, key=lambda found: found[0])


def with_related(form: HardMarginForm, best: Rule, run: Run) -> Rule:
    """The best of the rule and those of related heuristics, each after a descent and swaps."""
    for w in run.related(errors_of(form, best)) if run.related is not None else ():
        rule = improved(form, form.between_clouds(w), best[0], run.stop)
        best = min(best, rule, key=lambda found: found[0])
    return best


def errors_of(form: HardMarginForm, rule: Rule) -> int:
    """How many points lie below their margins, but for rounding."""
    w, b = form.rule(rule[1], rule[2])
    return int((form.model.y_pm1 * (form.X @ w + b) < 1 - AT_MARGIN).sum())


def _of_means(form: HardMarginForm) -> Array:
    """The direction between the means of the clouds, in units of the features' spreads."""
    return (form.P.mean(axis=0) - form.N.mean(axis=0)) / _spread(form) ** 2


def _spread(form: HardMarginForm) -> Array:
    """The features' standard deviations, 1 for a constant one."""
    spread = form.X.std(axis=0)
    return np.where(spread == 0, 1.0, spread)


def descended(form: HardMarginForm, starts: int, rng: np.random.Generator, stop: Stop, warm: Array | None) -> Rule:
    """The best rule of so many descents."""
    spread = _spread(form)
    best = improved(form, _of_means(form), np.inf, stop)
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


def _kicked(
    form: HardMarginForm,
    rule: Rule,
    terms: Terms,
    kicks: int,
    rng: np.random.Generator,
    stop: Stop,
) -> Rule:
    """The best rule after kicks, until so many in a row did not lower the cost."""
    from .kernels.kicks import kick

    hulls = int(max(1, A_MOMENT // _hull_time(form)))
    best, level, failed = rule, rule[0], 0
    while best[1].any() and best[0] < np.inf and failed < kicks and not stop():
        drops = int(rng.integers(2) * (1 + rng.geometric(0.5)))
        draws = rng.random(DRAWS)
        found: Rule = kick(form.P, form.N, form.cloud_costs, rule, terms, drops, draws, hulls)
        failed += 1
        if found[0] < best[0] * (1 - BETTER):
            found = _swapped(form, found, terms, form.cloud_costs, stop)
            best, failed = found, 0
        level = min(level, found[0])
        if failed and failed % RETURN == 0:
            rule = best if failed % (2 * RETURN) == 0 else _elsewhere(form, best, terms, rng)
            level = rule[0]
        elif found[1].any() and found[0] <= level * (1 + WORSE):
            rule = found
    return best


def _elsewhere(form: HardMarginForm, best: Rule, terms: Terms, rng: np.random.Generator) -> Rule:
    """The rule that descends from a random direction, the best one if that is constant."""
    rule = _descent(form, rng.standard_normal(form.X.shape[1]) / _spread(form), terms, form.cloud_costs)
    return rule if rule[1].any() and rule[0] < np.inf else best


def start_for_solver(problem: Problem, run: Run) -> Values | None:
    """A good rule for a solver that starts from nothing, within a part of the run's time; None when this is no hard-margin problem."""
    form = match_hard_margin(problem)
    if isinstance(form, Refusal):
        return None
    best = first_rule(form, run, STARTS, KICKS)
    if len(form.X) >= MANY:
        best = with_related(form, best, run)
    w, b = best[1:]
    w, b, cost = form.feasible(*form.rule(w, b))
    run.report(objective=float(cost))
    return {"w": w, "b": np.asarray(b)} if form.intercept else {"w": w}
