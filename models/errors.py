"""The binaries `error`: one for each distinct point, shared by the 0-1 loss and all constraints on rates.

    error_i = 0  implies  y_i (w.x_i + b) >= margin         margin = 1, or the small eps of the scale-free model
    error_i = 1  implies  y_i (w.x_i + b) <= 0 (or < 1)     only where a constraint could gain from a fake error

Normalisation of the scale-free model: |w_j| <= 1 / max_i |x_ij - mean_j| and |b + w.mean| <= R, where R is the largest
|w.(x_i - mean)| that the box allows. Every hyperplane has a multiple in this box, so no rule is lost; what is lost is a
rule whose smallest margin, so normalised, is below eps. eps = 10 * 1e-6 * max_i M_i: the smallest margin that a binary
within the usual integrality tolerance 1e-6 of zero cannot fake. M_i follows from the box (see `BigM`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Array
from ..errors import InvalidInputError
from ..expression import Variables
from ..model import Declaration, Model
from .rules import Linear

INTEGRALITY_TOLERANCE = 1e-6
MARGIN_TOLERANCE = 1e-6
"""With margin=1 a point counts as an error when y (w.x + b) < 1 - MARGIN_TOLERANCE, so that rounding does not decide."""


@dataclass(frozen=True, eq=False)
class BigM:
    """What the box |w_j| <= reach_j around the mean point implies.

    spread_i = sum_j |x_ij - mean_j| reach_j >= |w.(x_i - mean)|,   radius = max_i spread_i,
    M_i = margin + spread_i + radius (+ 1 with margin 1) >= margin - y_i (w.x_i + b).
    """

    reach: Array
    mean: Array
    radius: float
    margin: float
    M: Array


def zero_one_margin(model: Model) -> float:
    """0 when errors are scale-free, 1 when the 0-1 loss has margin=1."""
    margins = {term.margin for _, term in model.terms if hasattr(term, "margin")}
    if len(margins) > 1:
        raise InvalidInputError("an objective cannot mix ZeroOne(margin=0) and ZeroOne(margin=1); choose one.")
    return float(margins.pop()) if margins else 0.0


def declare_errors(d: Declaration) -> Variables:
    """The shared binaries `error`, declared on first use."""
    if d.builder.has("error"):
        return d.builder["error"]
    model, points = d.model, d.points
    error = d.builder.binaries("error", labels=points.first)
    box = big_m(d)
    margin = zero_one_margin(model) or (box.margin if box is not None else FREE_MARGIN)
    limit: Array | float = np.inf
    if box is not None:
        limit = box.M
        d.builder.tighten("w", lower=-box.reach, upper=box.reach)
        if isinstance(model.rule, Linear) and model.rule.intercept is True:
            centre = d.builder["b"] + box.mean @ d.builder["w"]
            span = box.radius + zero_one_margin(model)
            d.builder.subject_to("centre_above", centre >= -span)
            d.builder.subject_to("centre_below", centre <= span)
    override = [term.big_m for _, term in model.terms if getattr(term, "big_m", None) is not None]
    if override:
        limit = float(override[0])
        d.builder.subject_to("margin", d.margins + limit * error >= margin, labels=points.first)
    else:
        d.builder.subject_to("margin", d.margins >= margin, when=(error, 0), big_m=limit, labels=points.first)
    if any(constraint.two_sided for constraint in model.constraints):
        d.builder.subject_to(
            "wrong", d.margins <= zero_one_margin(model), when=(error, 1), big_m=limit, labels=points.first
        )
    return error


FREE_MARGIN = 1e-4
"""The margin of a correct point when neither a 0-1 loss nor a box fixes the scale (e.g. hinge loss with a rate limit)."""


def big_m(d: Declaration) -> BigM | None:
    """The box and what follows from it, or None when nothing bounds the weights."""
    if not isinstance(d.model.rule, Linear):
        return None
    X = d.points.X
    mean = np.asarray(X.mean(axis=0)).ravel() if d.model.rule.intercept is True else np.zeros(d.data.d)
    deviation = np.abs((X.toarray() if hasattr(X, "toarray") else X) - mean)
    reach = _reach(d, deviation)
    if reach is None:
        return None
    spread = deviation @ reach
    radius = float(spread.max())
    asked = zero_one_margin(d.model)
    offset = radius + asked if d.model.rule.intercept is True else 0.0
    if d.model.rule.intercept == "penalised":
        lower, upper = d.builder.bounds("b")
        offset = float(max(abs(lower[0]), abs(upper[0])))
        if not np.isfinite(offset):
            if asked:
                return None
            offset = radius
            d.builder.tighten("b", lower=-radius, upper=radius)
    margin = asked or 10 * INTEGRALITY_TOLERANCE * (radius + offset)
    return BigM(reach, mean, radius, margin, margin + spread + offset)


def _reach(d: Declaration, deviation: Array) -> Array | None:
    """How large |w_j| may be: by the user's bounds, by normalisation, or by a penalty's budget."""
    lower, upper = np.full(d.data.d, -np.inf), np.full(d.data.d, np.inf)
    for constraint in d.model.constraints:
        box = getattr(constraint, "weight_box", None)
        if box is not None:
            low, high = box(d.data)
            lower, upper = np.maximum(lower, low), np.minimum(upper, high)
    reach = np.maximum(np.abs(lower), np.abs(upper))
    if np.isfinite(reach).all():
        return reach
    scale_free = any(term.is_scale_free and term.is_loss for _, term in d.model.terms)
    if scale_free:
        largest = deviation.max(axis=0)
        return np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > 0)
    budget = _penalty_budget(d.model)
    return None if budget is None else np.minimum(reach, budget)


def _penalty_budget(model: Model) -> float | None:
    """|w_j| <= budget at an optimum, because the trivial rule that calls every point negative costs no more.

    That needs the trivial rule (w = 0, b = -1) to be feasible: no constraint on w away from zero, no limit that the
    errors of the positives could break.
    """
    from .penalties import L1, L2

    trivial = {"w": np.zeros(model.data.d), "b": np.asarray(-1.0)}
    if not isinstance(model.rule, Linear) or model.rule.intercept is not True or model.violations(trivial):
        return None
    cost = model.recount(trivial)
    limits = [cost / c for c, term in model.terms if isinstance(term, L1) and c > 0]
    limits += [float(np.sqrt(cost / c)) for c, term in model.terms if isinstance(term, L2) and c > 0]
    return min(limits) if limits else None
