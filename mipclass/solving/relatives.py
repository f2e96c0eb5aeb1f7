"""Rules of heuristics for related problems, as first rules of proofs of the hard-margin loss.

The ends of both outlier paths and the concave-convex procedure lower the ramp loss, which is the hard-margin loss made continuous; an RGD-tree looks
for the widest margin with a given number of outliers. Families of methods know nothing of each other, so that the driver brings them together.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..errors import MipclassWarning
from ..methods.base import Method, Refusal
from ..modelling.model import Model
from ..modelling.problem import Problem
from ..protocol.options import resolve_options
from ..protocol.run import Run
from . import registry

if TYPE_CHECKING:
    from ..methods.hard_margin.form import HardMarginForm

SHARE = 0.01
"""Largest part of the time left for each heuristic."""


def related_rules(problem: Problem, run: Run, errors: int) -> Iterator[Array]:
    """The weights w of the heuristics' rules, each when it is asked for; none of one that finds nothing or whose time is used up.

    errors : the number of errors of a good rule, which is what the RGD-tree may leave out. A problem that is not of this form has no relatives.
    """
    from ..methods.hard_margin.form import match_any

    form = match_any(problem)
    if isinstance(form, Refusal):
        return
    for related, solver, options in _relatives(form, errors):
        if run.stop():
            return
        method = registry.find(solver)
        assert isinstance(method, Method)
        matched = method.match(related)
        if isinstance(matched, Refusal):
            continue
        how = resolve_options(solver, method.options, options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MipclassWarning)  # of large features, which the proof has means against
            outcome = method.solve(matched, run.inner(time_limit=SHARE * run.seconds_left(), **how))
        if outcome.values and np.isfinite(outcome.values["w"]).all():
            yield np.asarray(outcome.values["w"], dtype=np.float64)


def _relatives(form: HardMarginForm, errors: int) -> Iterator[tuple[Model, str, dict[str, Any]]]:
    """(problem, solver, options) of the heuristics that take the points, their weights and the offset as they are."""
    from ..models.outlier_svm import outlier_svm
    from ..models.robust_svm import robust_svm

    X, y = form.X, form.model.y_pm1
    if form.most == np.inf:
        largest = float(form.costs.max())
        ramp = robust_svm(
            X,
            y,
            largest / (2 * form.a),
            intercept="penalised" if form.intercept else False,
            sample_weight=form.costs / largest,
        )
        yield ramp, "outlier-path", {"path": "theta"}
        yield ramp, "outlier-path", {"path": "s"}
        yield ramp, "cccp", {}
    if form.intercept and form.equal_cost is not None and 0 <= errors < min(len(form.P), len(form.N)):
        yield outlier_svm(X, y, errors), "rgd-tree", {"warn_of_overlap": False}
