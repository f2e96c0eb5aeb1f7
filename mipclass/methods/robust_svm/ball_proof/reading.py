"""From the normal form of a robust SVM to the points of its proof, and from their rules back to the model's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....arrays import Array
from ....modelling.model import Model
from ....models.rules import Kernel, Linear
from ....protocol.result import Values
from ..form import RobustForm, SignedPoints
from .problem import OffsetProblem, RampProblem


def points_of(form: RobustForm) -> RampProblem:
    """The points z_i of a form. For a kernel, points whose products are the kernel matrix times the labels."""
    if isinstance(form.model.rule, Kernel):
        sizes, vectors = np.linalg.eigh(form.points.operator.matrix)
        rows = np.ascontiguousarray(vectors * np.sqrt(np.maximum(sizes, 0.0)))
        return RampProblem(rows, form.C, form.theta, form.s)
    rows = np.ascontiguousarray(form.points.rows.matrix)
    if not _is_free(form):
        return RampProblem(rows, form.C, form.theta, form.s)
    X = form.y[:, None] * rows
    centre = 0.5 * X.min(axis=0) + 0.5 * X.max(axis=0)
    rows = np.ascontiguousarray(form.y[:, None] * (X - centre))
    return OffsetProblem(rows, form.C, form.theta, form.s, form.y, centre)


def values_of(form: RobustForm, problem: RampProblem, w: Array) -> Values:
    """The model's values of a rule."""
    if isinstance(form.model.rule, Kernel):
        return form.values(np.asarray(np.linalg.lstsq(problem.Z.T, w, rcond=None)[0], dtype=np.float64))
    if isinstance(problem, OffsetProblem):
        return {"w": w[:-1].copy(), "b": np.asarray(w[-1] - w[:-1] @ problem.centre)}
    if isinstance(form.model.rule, Linear) and form.model.rule.intercept == "penalised":
        return {"w": w[:-1].copy(), "b": np.asarray(w[-1])}
    return {"w": w, "b": np.zeros(())}


def rule_of(form: RobustForm, problem: RampProblem, values: Mapping[str, Any] | None) -> Array | None:
    """The rule of the caller's values, if they are those of a linear rule."""
    if values is None or "w" not in values or isinstance(form.model.rule, Kernel):
        return None
    w, b = np.asarray(values["w"], dtype=np.float64), float(values.get("b", np.zeros(())))
    if isinstance(problem, OffsetProblem):
        return np.append(w, b + w @ problem.centre)
    if isinstance(form.model.rule, Linear) and form.model.rule.intercept == "penalised":
        return np.append(w, b)
    return w


def without_free_offset(form: RobustForm, problem: OffsetProblem) -> RobustForm:
    """The form with the offset as the weight of a constant feature, which is as large as the points are: what the outlier path takes."""
    model = form.model
    dense = model.X.toarray() if hasattr(model.X, "toarray") else model.X
    X = np.column_stack([dense - problem.centre, np.full(len(dense), problem.spread)])
    same = Model(
        X, model.y_pm1, rule=Linear(intercept=False), minimize=model.objective, sample_weight=model.weights, pos_label=1
    )
    return RobustForm(SignedPoints(same), form.weight, form.theta, form.s, form.scale)


def _is_free(form: RobustForm) -> bool:
    return isinstance(form.model.rule, Linear) and form.model.rule.intercept is True
