"""The binaries `error`: one for each distinct point, shared by the 0-1 loss and all constraints on rates.

    error_i = 0  implies  y_i (w.x_i + b) >= 1              (FREE_MARGIN when no 0-1 loss fixes the scale)
    error_i = 1  implies  y_i (w.x_i + b) <= -1             only where a constraint could gain from a fake error

Normalisation of the scale-free model: |w_j| <= K / max_i |x_ij - mean_j| and |b + w.mean| <= R + 1, where R is the
largest |w.(x_i - mean)| that the box allows. Every hyperplane has a multiple in this box; what is lost is a rule whose
smallest margin, scaled to the box with K = 1, is below eps = 1/K. K is about the largest number for which a binary
within the usual integrality tolerance 1e-6 of zero cannot fake a margin (20e-6 * R = 1). Scaling the box up, rather than
the margin down to eps, keeps the margin far above the absolute row tolerances of solvers: with a margin of 2.7e-5 HiGHS
called 22 errors optimal where 4 were feasible.

Whole-number weights have their own box; there the row itself is multiplied by K.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InvalidInputError
from ..modelling.expression import Rows, Variables
from ..modelling.model import Declaration, Model
from .rules import Linear

INTEGRALITY_TOLERANCE = 1e-6
MARGIN_TOLERANCE = 1e-6
"""With margin=1 a point counts as an error when y (w.x + b) < 1 - MARGIN_TOLERANCE, so that rounding does not decide."""
FREE_MARGIN = 1e-3
"""The margin of a correct point when neither a 0-1 loss nor a box fixes the scale (e.g. hinge loss with a rate limit)."""


@dataclass(frozen=True, eq=False)
class Box:
    """What |w_j| <= reach_j implies about scores.

    spread_i = sum_j |x_ij - mean_j| reach_j >= |w.(x_i - mean)|,   radius = max_i spread_i,
    factor * y_i (w.x_i + b) >= margin for a correct point,   |b + w.mean| <= offset,
    M_i = margin + factor (spread_i + offset) >= margin - factor y_i (w.x_i + b).
    unit_j = 1 / max_i |x_ij - mean_j|, in which weights have comparable size.
    mean is zero where there is no offset, or where a constraint speaks of it.
    """

    reach: Array
    unit: Array
    mean: Array
    offset: float
    factor: float
    margin: float
    M: Array
    scope: str


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
    labels = d.points.first
    error = d.builder.binaries("error", labels=labels)
    box = find_box(d)
    scores, margin, limit = d.margins, zero_one_margin(d.model) or FREE_MARGIN, np.array(np.inf)
    if box is not None:
        _declare_box(d, box)
        scores, margin, limit = d.margins * box.factor, box.margin, box.M
    else:
        d.notes.extend(_free_margin_note(d.model))
    override = [getattr(term, "big_m", None) for _, term in d.model.terms]
    given = [M for M in override if M is not None]
    if given:
        d.builder.subject_to("margin", scores + given[0] * error >= margin, labels=labels)
    else:
        d.builder.subject_to("margin", scores >= margin, when=(error, 0), big_m=limit, labels=labels)
    if any(constraint.two_sided for constraint in d.model.constraints):
        # No point may stay on the boundary, or it would be an error that predict does not make.
        wrong = 1.0 - 10 * MARGIN_TOLERANCE if zero_one_margin(d.model) else -margin
        d.builder.subject_to("wrong", scores <= wrong, when=(error, 1), big_m=limit, labels=labels)
    return error


def _declare_box(d: Declaration, box: Box) -> None:
    d.builder.tighten("w", lower=-box.reach, upper=box.reach)
    if d.builder.has("b") and np.isfinite(box.offset):
        centre = d.builder["b"] + box.mean @ d.builder["w"]
        d.builder.subject_to("centre_above", centre >= -box.offset)
        d.builder.subject_to("centre_below", centre <= box.offset)
    d.notes.append(box.scope)
    d.units = {"w": box.unit, "mean": box.mean}


def encode_errors(d: Declaration, values: Mapping[str, Any]) -> dict[str, Any]:
    """A start: the rule scaled into the box where scale is free, and which points miss the margin there."""
    scaled = {name: np.asarray(values[name], dtype=np.float64) for name in ("w", "b") if name in values}
    if "w" not in scaled:
        return {}
    box = find_box(d)
    required = zero_one_margin(d.model) or FREE_MARGIN
    if box is not None:
        required = box.margin / box.factor
        if d.model.is_scale_free and box.factor == 1.0:
            used = box.reach > 0
            shares = np.abs(scaled["w"][used]) / box.reach[used]
            centre = np.abs(scaled.get("b", 0.0) + box.mean @ scaled["w"]) / box.offset if box.offset else 0.0
            largest = float(max(np.max(shares, initial=0.0), centre))
            if largest > 0:
                scaled = {name: value / largest for name, value in scaled.items()}
    margins = d.points.y_pm1 * d.model.rule.scores(scaled, d.points.X)
    return {**scaled, "error": (margins < required).astype(np.float64)}


def find_box(d: Declaration) -> Box | None:
    """The box and what follows from it, or None when nothing bounds the weights."""
    rule = d.model.rule
    if not isinstance(rule, Linear):
        return None
    X = d.points.X.toarray() if hasattr(d.points.X, "toarray") else d.points.X
    tied = rule.intercept is not False and _offset_is_named(d.model)
    mean = np.zeros(d.data.d) if tied or rule.intercept is False else X.mean(axis=0)
    deviation = np.abs(X - mean)
    largest = deviation.max(axis=0)
    unit = np.divide(1.0, largest, out=np.ones_like(largest), where=largest > 0)
    reach = _user_reach(d)
    scale_free = d.model.is_scale_free
    is_cone = scale_free and not np.isfinite(reach).all()
    factor, scope = 1.0, ""
    if is_cone:
        K = _largest_scale(float((deviation @ unit).max()))
        reach = np.where(largest > 0, K * unit, 0.0)
        around = "" if tied or rule.intercept is False else " - mean_j"
        scope = f"among rules whose correct points have margin >= {1 / K:.3g} when scaled to |w_j| max_i |x_ij{around}| <= 1"
    elif not np.isfinite(reach).all():
        budget = _penalty_budget(d.model)
        if budget is None:
            return None
        reach = np.minimum(reach, budget)
    elif scale_free:
        factor = _largest_scale(float((deviation @ reach).max()))
        scope = f"among rules whose correct points have margin >= {1 / factor:.3g}"
    margin = 1.0 if scale_free or zero_one_margin(d.model) else FREE_MARGIN
    spread = deviation @ reach
    offset = float(spread.max()) + 1.0 if rule.intercept is not False else 0.0
    if tied and not is_cone:  # a cone holds a multiple of every rule that has |b| <= offset; otherwise the rows decide
        offset = max(offset, _largest_named_offset(d.model))
    scope = scope or "; ".join([f"within |w_j| <= {reach.max():.6g}", *_free_margin_note(d.model)])
    return Box(reach, unit, mean, offset, factor, margin, margin + factor * (spread + offset), scope)


def _free_margin_note(model: Model) -> list[str]:
    if model.is_scale_free or zero_one_margin(model):
        return []
    return [f"among rules whose correct points have margin >= {FREE_MARGIN:g}"]


def _rows_on_offset(model: Model) -> list[Rows]:
    return [rows for rows in model.weight_rows() if any(block.name == "b" for block in rows.expression.terms)]


def _offset_is_named(model: Model) -> bool:
    return bool(_rows_on_offset(model))


def _largest_named_offset(model: Model) -> float:
    """The largest finite limit on |b| by a user's rows: b has no reason to go beyond it and the data; inf when w decides."""
    largest = 0.0
    for rows in _rows_on_offset(model):
        if len(rows.expression.terms) > 1:
            return float("inf")
        [factors] = [
            np.asarray(M.toarray() if hasattr(M, "toarray") else M).ravel() for M in rows.expression.terms.values()
        ]
        for side in (rows.lower, rows.upper):
            limits = (np.ravel(side) - rows.expression.constant) / np.where(factors == 0, np.inf, factors)
            largest = max([largest, *np.abs(limits[np.isfinite(limits)])])
    return largest


def _largest_scale(radius: float) -> float:
    return 1.0 / (20 * INTEGRALITY_TOLERANCE * max(1.0, radius))


def _user_reach(d: Declaration) -> Array:
    """How large |w_j| may be by the user's own bounds."""
    lower, upper = np.full(d.data.d, -np.inf), np.full(d.data.d, np.inf)
    for constraint in d.model.constraints:
        box = getattr(constraint, "weight_box", None)
        if box is not None:
            low, high = box(d.data)
            lower, upper = np.maximum(lower, low), np.minimum(upper, high)
    reach: Array = np.maximum(np.abs(lower), np.abs(upper))
    return reach


def _penalty_budget(model: Model) -> float | None:
    """|w_j| <= budget at an optimum, because a rule that calls every point alike (w = 0, b = -1 or 1) costs no more.

    None when both such rules break a constraint, or when no penalty charges for w.
    """
    from .penalties import L1, L2

    if not isinstance(model.rule, Linear) or model.rule.intercept is False:
        return None
    alike = [{"w": np.zeros(model.data.d), "b": np.asarray(side)} for side in (-1.0, 1.0)]
    cost = min((model.recount(values) for values in alike if not model.violations(values)), default=None)
    if cost is None:
        return None
    limits = [cost / c for c, term in model.terms if isinstance(term, L1) and c > 0]
    limits += [float(np.sqrt(cost / c)) for c, term in model.terms if isinstance(term, L2) and c > 0]
    return min(limits) if limits else None
