"""First rules for proofs of the robust SVM: both outlier paths, the concave-convex procedure, and swaps of single outliers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....arrays import Array
from ....modelling.problem import Problem
from ....models.rules import Kernel
from ....protocol.result import Values
from ....protocol.run import Run
from ...base import Refusal
from ..form import RobustForm, match_robust
from ..outlier_path import follow_path
from ..solution_path import Parameter
from .problem import OffsetProblem, RampProblem, Stop
from .reading import points_of, values_of, without_free_offset

SPREAD = (0.05, 1.0)
"""Length of a random step from the best rule, relative to its own, drawn between these."""

PATH_SHARE = 0.05
"""Largest part of the time left for each of the two outlier paths."""

SWAPPED = 1.1
"""Swaps are tried on rules that cost at most this multiple of the best one."""

BETTER = 1e-10
"""Relative improvement that counts as one."""

STARTS, START_SHARE = 10, 0.1
"""Random starts, and the largest part of the time that is left, for the first rule of a general solver."""

Rule = tuple[float, Array]
"""(cost, w)."""


def first_rule(problem: RampProblem, form: RobustForm, run: Run, starts: int, warm: Array | None) -> Rule:
    """The best rule of the paths and of so many random starts, after swaps."""
    rng = np.random.default_rng(run.seed)
    best: Rule = (problem.cost(problem.origin), problem.origin)
    tried = [] if warm is None else [warm]
    for w in (*tried, problem.origin, *_path_rules(problem, form, run)):
        best = min(
            best,
            (problem.cost(w), w),
            problem.descend(problem.margins(w) < problem.s, run.stop),
            key=lambda rule: rule[0],
        )
    best = swapped(problem, best, run.stop)
    for _ in range(starts):
        if run.stop():
            break
        length = (np.linalg.norm(best[1]) or 1.0) * rng.uniform(*SPREAD)
        w = best[1] + length * rng.standard_normal(len(best[1])) / np.sqrt(len(best[1]))
        rule = problem.descend(problem.margins(w) < problem.s, run.stop)
        if rule[0] < SWAPPED * best[0]:
            rule = swapped(problem, rule, run.stop)
        best = min(best, rule, key=lambda found: found[0])
    return best


def start_for_solver(problem: Problem, run: Run) -> Values | None:
    """A good rule for a solver that starts from nothing, within a part of the run's time; None when this is no robust SVM with a linear rule."""
    form = match_robust(problem, free_offset=True)
    if isinstance(form, Refusal) or isinstance(form.model.rule, Kernel) or form.theta == 1:
        return None
    points = points_of(form)
    cost, w = first_rule(points, form, run.inner(time_limit=START_SHARE * run.seconds_left()), STARTS, None)
    run.report(objective=form.scale * cost)
    return values_of(form, points, w)


def _path_rules(problem: RampProblem, form: RobustForm, run: Run) -> Iterator[Array]:
    """The ends of the outlier paths in theta and in s; with a free offset, of those in which it is penalised."""
    traced = without_free_offset(form, problem) if isinstance(problem, OffsetProblem) else form
    names: tuple[Parameter, ...] = ("theta", "s")
    for name in names if form.theta < 1 else ():
        if run.stop():
            return
        path, _ = follow_path(traced, run.inner(time_limit=PATH_SHARE * run.seconds_left()), name, "auto")
        if isinstance(problem, OffsetProblem):
            w = traced.points.rows.matrix.T @ path.alpha(-1)
            yield np.append(w[:-1], problem.spread * w[-1])
        else:
            yield problem.Z.T @ path.alpha(-1)


def swapped(problem: RampProblem, rule: Rule, stop: Stop) -> Rule:
    """The rule after all changes of a single point, from outlier to inlier or back, that help; points near s first."""
    cost, w = rule
    improved = True
    while improved:
        improved = False
        margins = problem.margins(w)
        outliers = margins < problem.s
        for i in np.argsort(np.abs(margins - problem.s)):
            if stop():
                return cost, w
            if margins[i] >= 1:
                continue
            changed = outliers.copy()
            changed[i] = not changed[i]
            found, v = problem.descend(changed, stop)
            if found < cost * (1 - BETTER):
                cost, w, improved = found, v, True
                break
    return cost, w
