"""Algorithm 4.1 of Astorino & Gaudioso (2002), with the step sizes corrected, and its escape from local minima.

At (V, g) the points whose error is at least -eps are near; each near b_l may be measured against any hyperplane that is
active for it, and a choice for all of them is a combination. LP (14) gives a step for a combination; when it predicts a
decrease of more than sigma, the longest step is taken that turns no other well-classified point into a borderline one:

    alpha_1 = min over a_i not near, j with d_ij > 0, of -e_ij / d_ij,                 d_ij = Delta_j.a_i - delta_j
    alpha_2 = min over b_l not near of max over {j : r_lj < 0} of (-r_lj / d_lj if d_lj > 0, else infinity),
                                                                       d_lj = -Delta_j.b_l + delta_j
    alpha   = min(alpha_1, alpha_2, 1)           (the print has both minima over the near points, where they are void)

Combinations come in a fixed order: first every point on its smallest active index, then in the order of a counter whose
fastest digit is the point with the largest error; at most `combinations` of them. When none gives a decrease, the active
sets are widened to r_lj - min_j r_lj <= eps (the escape). There the LP's value may exceed f at the current point, so a
step is kept only if f itself decreases.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

import numpy as np

from ...arrays import Array, Mask
from ...modelling.program import Program
from ...models.point_sets import PointSets, descent_lp
from ...protocol.result import Status
from ...protocol.run import Run
from .assignments import combination_order

_TIE = 1e-9
"""Difference of a point's errors, in units of the margin, up to which a hyperplane counts as active for it: rounding."""

SolveLP = Callable[[Program], Array | None]
"""The minimiser of an LP, or None when it was not solved."""


class PaperDescent(NamedTuple):
    """Where a descent ended: hyperplanes, f, LPs solved, f after each accepted step, and what stopped it.

    `stopped` is None when no combination promised a decrease; `complete` says whether all combinations were tried.
    """

    planes: Array
    value: float
    lps: int
    values: tuple[float, ...]
    stopped: Status | None
    complete: bool


def paper_descent(
    sets: PointSets,
    planes: Array,
    solve_lp: SolveLP,
    run: Run,
    *,
    eps: float = 1e-3,
    sigma: float = 1e-3,
    combinations: int = 64,
    escape: bool = True,
    max_steps: int = 1000,
) -> PaperDescent:
    """Run Algorithm 4.1 from `planes` until no combination promises a decrease of more than sigma."""
    value = sets.value(planes)
    values, lps, complete = [value], 0, True
    while (stopped := run.stop()) is None:
        if len(values) > max_steps:
            stopped = Status.ITERATION_LIMIT
            break
        found, used, complete = _improve(sets, planes, value, solve_lp, eps, sigma, combinations, 0.0)
        lps += used
        if found is None and escape and value > 0.0:
            found, used, _ = _improve(sets, planes, value, solve_lp, eps, sigma, combinations, eps)
            lps += used
        if found is None:
            stopped = run.stop()
            break
        planes, value = found
        values.append(value)
        run.report(objective=value, iterations=lps)
    return PaperDescent(planes, value, lps, tuple(values), stopped, complete)


def _improve(
    sets: PointSets,
    planes: Array,
    value: float,
    solve_lp: SolveLP,
    eps: float,
    sigma: float,
    combinations: int,
    slack: float,
) -> tuple[tuple[Array, float] | None, int, bool]:
    """The first combination whose step decreases f; the LPs used; whether every combination was tried."""
    near_a = sets.errors_a(planes).max(axis=1) >= -eps
    near_b = sets.errors_b(planes).min(axis=1) >= -eps
    lps = 0
    choices = combination_order(sets.errors_b(planes), near_b, slack + _TIE)
    for assignment in islice(choices, combinations):
        lps += 1
        program = descent_lp(sets, planes, assignment, near_a, near_b, box=1.0)
        x = solve_lp(program)
        if x is None:
            return None, lps, False
        if program.objective(x) - value >= -sigma:
            continue
        step = program.split(x)["step"]
        new = planes + step_size(sets, planes, step, near_a, near_b) * step
        new_value = sets.value(new)
        if new_value < value:
            return (new, new_value), lps, True
    return None, lps, next(choices, None) is None


def step_size(sets: PointSets, planes: Array, step: Array, near_a: Mask, near_b: Mask) -> float:
    """The corrected alpha of the module's docstring."""
    e, d = sets.errors_a(planes)[~near_a], (sets.A @ step.T)[~near_a]
    r, c = sets.errors_b(planes)[~near_b], -(sets.B @ step.T)[~near_b]
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha_1 = np.where(d > 0, -e / d, np.inf).min(initial=np.inf)
        reach = np.where(r < 0, np.where(c > 0, -r / c, np.inf), -np.inf)
    alpha_2 = reach.max(axis=1).min(initial=np.inf)
    return float(min(alpha_1, alpha_2, 1.0))
