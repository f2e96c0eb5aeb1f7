"""fista: tau-FPL by the paper's dual projected gradient with acceleration (`projected_gradient`), as a method of the driver."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...modelling.problem import Problem
from ...models.false_positive import KernelRanking
from ...protocol.options import Option, Options, number, one_of
from ...protocol.result import Outcome, Values
from ...protocol.run import Run
from ..base import Method, Refusal
from .form import PROMISE, TOLERANCE, WARN_OF_COLLAPSE, RankingForm, match_ranking
from .ranking import RankingData


class Fista(Method[RankingForm]):
    """Algorithm 1 of Zhang et al. (2018) with acceleration, backtracking and restart, for points of weight one.

    It takes rows or a kernel matrix (`models.tau_fpl_kernel`).
    """

    name: ClassVar[str] = "fista"
    promise: ClassVar[str] = PROMISE
    options: ClassVar[Options] = {
        "tolerance": TOLERANCE,
        "max_iterations": Option(20_000, "iterations at most", number(at_least=1, integer=True)),
        "variant": Option(
            "gap",
            "'gap' stops on the duality gap; 'paper' stops when g changes by at most epsilon",
            one_of("gap", "paper"),
        ),
        "epsilon": Option(1e-3, "the paper's stopping threshold, for variant='paper'", number(at_least=0)),
        "warn_of_collapse": WARN_OF_COLLAPSE,
    }

    def match(self, problem: Problem) -> RankingForm | Refusal:
        """The problem as a ranking problem of points of weight one, by their rows or by their kernel matrix."""
        if isinstance(problem, KernelRanking):
            data = RankingData.build(problem.K, problem.y_pm1, None, problem.k, problem.R)
            return RankingForm(data, 1.0, gram=problem.K)
        form = match_ranking(problem)
        if isinstance(form, RankingForm) and not (form.data.is_unweighted and form.data.k.is_integer()):
            return Refusal(
                "its projection takes points of weight one and a whole k; use solver='lbfgs' for weighted points."
            )
        return form

    def solve(self, form: RankingForm, run: Run) -> Outcome:
        """Minimise the dual to the relative duality gap asked for, or by the paper's own stopping rule."""
        from .projected_gradient import dual_start, train_dual

        data, options = form.data if form.gram is not None else form.data.near_one(), run.options
        given = form.start(run)
        found = train_dual(
            data,
            run,
            run.gap or options["tolerance"],
            options["max_iterations"],
            gram=form.gram,
            start=None if given is None else dual_start(data, data.rows.scores(given / data.rows.unit)),
            paper_epsilon=options["epsilon"] if options["variant"] == "paper" else None,
        )
        values: Values = {"c": found.z / (data.total * data.R)}
        if found.w is not None:
            values = {"w": found.w * data.rows.unit, "b": np.zeros(())}
        extra = {"relative_gap": found.gap, "alpha": found.z[data.pos], "beta": -found.z[data.neg]}
        return form.outcome(found, values, extra, run)
