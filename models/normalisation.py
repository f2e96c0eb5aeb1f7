"""The box on the weights that gives the scale-free 0-1 loss a scale, and the big-M constants that follow from it.

    |w_j| <= K / max_i |x_ij - mean_j|   and   |b + w.mean| <= R + 1,

where R is the largest |w.(x_i - mean)| that the box allows. Every hyperplane has a multiple in this box; what is lost is
a rule whose smallest margin, scaled to the box with K = 1, is below eps = 1/K. K is about the largest number for which a
binary within the integrality tolerance 1e-6 of zero cannot switch off a margin row: SAFETY * 1e-6 * R = 1. Scaling
the box up, rather than the margin down to eps, keeps the margin far above the absolute row tolerances of solvers: with a
margin of 2.7e-5 HiGHS called 22 errors optimal where 4 were feasible.

A constant column is part of the offset: around its mean it is zero, so that the box says nothing about its weight. That weight is zero
unless a row on the weights speaks of it; then it is as large as the row needs (`_reach_of_constants`).

Whole-number weights have their own box; there the row itself is multiplied by K. Bounds and penalties on w also give a
box. zero_one_loss.py declares the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Mask
from ..errors import InvalidInputError
from ..modelling.declaration import Declaration
from ..modelling.expression import Rows
from ..modelling.model import Model
from .coefficient_constraints import IntegerCoefficients
from .penalties import L1, L2
from .rules import Linear

INTEGRALITY_TOLERANCE = 1e-6
"""Distance from an integer within which solvers accept a binary; the usual default."""

SAFETY = 20
"""M_i is about 2 R, so that a binary at the integrality tolerance relaxes a margin row by 2 R tolerances; with this factor
that is a tenth of the margin 1."""

FREE_MARGIN = 1e-3
"""The margin of a correct point when neither a 0-1 loss nor a box fixes the scale (e.g. hinge loss with a rate limit)."""

LARGEST_EXPONENT = 900
"""Weights times means stay below two to this power: sums of them are finite (float64 ends at 2^1024)."""


@dataclass(frozen=True, eq=False)
class WeightBox:
    """A box |w_j| <= reach_j on the weights and what it implies about scores.

    spread_i = sum_j |x_ij - mean_j| reach_j >= |w.(x_i - mean)|,   radius = max_i spread_i,
    factor * y_i (w.x_i + b) >= margin for a correct point,   |b + w.mean| <= offset,
    M_i = margin + factor (spread_i + offset) >= margin - factor y_i (w.x_i + b).
    unit_j = 1 / max_i |x_ij - mean_j|, in units of which all weights are of comparable size.
    mean is zero when the rule has no offset, and when a constraint restricts the offset.
    """

    reach: Array
    unit: Array
    mean: Array
    offset: float
    factor: float
    margin: float
    M: Array
    scope: str


def find_box(d: Declaration, margin: float) -> WeightBox | None:
    """The box on the weights and what it implies, or None when nothing bounds the weights.

    `margin` is that of the 0-1 loss: 1, or 0 when errors are scale-free or no 0-1 loss is present.
    """
    rule = d.model.rule
    if not isinstance(rule, Linear):
        return None
    X = d.points.dense()
    tied = rule.intercept is not False and _offset_is_named(d.model)
    mean = np.zeros(d.data.d) if tied or rule.intercept is False else _means(X)
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
        constant = largest == 0
        reach[constant] = _reach_of_constants(d.model, constant, reach, float((deviation @ reach).max()) + 1.0)
        _check_products(d, mean, reach)
        unit[constant] = np.where((reach > 0) & np.isfinite(reach), reach / K, 1.0)[constant]
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
    required = 1.0 if scale_free or margin else FREE_MARGIN
    spread = deviation @ np.where(largest > 0, reach, 0.0)
    # Twelve digits: what comes after them is rounding (50000.00000000001), and the 1 leaves room for it.
    offset = float(f"{spread.max():.12g}") + 1.0 if rule.intercept is not False else 0.0
    if tied and not is_cone:  # In a cone every rule has a multiple with |b| <= offset; elsewhere the rows on b decide.
        offset = max(offset, _largest_named_offset(d.model))
    scope = scope or "; ".join([f"within |w_j| <= {reach.max():.6g}", *free_margin_note(d.model, margin)])
    return WeightBox(reach, unit, mean, offset, factor, required, required + factor * (spread + offset), scope)


def _means(X: Array) -> Array:
    """The mean of each column; of a constant column exactly its value, which a sum of many copies of 0.1 would miss."""
    means: Array = np.where((X[0] == X).all(axis=0), X[0], X.mean(axis=0))
    return means


def _reach_of_constants(model: Model, constant: Mask, reach: Array, offset: float) -> Array:
    """Limits on |w_c| of columns c without influence on centred scores, in a cone; 0 where no row ties w_c to another weight.

    A homogeneous row a_c w_c + rest(w, b) >= 0 is a limit -rest / a_c on w_c, whose size is at most |rest| / |a_c| within the box. When some
    w_c satisfies all such limits, then 0 or one of the limits does, so the largest of these sizes loses no rule. Where a row ties two
    constant columns to each other the argument fails, and both are without a limit.
    """
    limits = np.zeros(len(reach))
    sizes = np.append(np.where(constant, 0.0, reach), offset)
    for A in (_coefficients(rows, len(reach)) for rows in model.weight_rows()):
        among = np.abs(A[:, :-1]) * constant
        rest = np.abs(A) @ sizes
        several = np.count_nonzero(among, axis=1) > 1
        needed = np.where(several, np.inf, rest)[:, None]
        ratios = np.divide(needed, among, out=np.zeros_like(among), where=among > 0)
        limits = np.maximum(limits, ratios.max(axis=0, initial=0.0))
    return limits[constant]


def _check_products(d: Declaration, mean: Array, reach: Array) -> None:
    """Refuse rows that tie the weight of a constant column to one in so far a unit that its part of the offset is no float."""
    exponents = np.frexp(mean)[1] + np.frexp(np.where(np.isfinite(reach), reach, 0.0))[1]
    outside = np.flatnonzero((exponents > LARGEST_EXPONENT) & (mean != 0) & (reach > 0))
    if len(outside):
        name = d.data.feature_names[int(outside[0])]
        raise InvalidInputError(
            f"a constraint ties the weight of the constant feature {name!r} to the weight of a feature in a far unit: with weights up to "
            f"{reach[outside[0]]:.3g} its part of the score exceeds 2^{LARGEST_EXPONENT}. Express the features in units of similar size."
        )


def _coefficients(rows: Rows, d: int) -> Array:
    """The matrix of the rows over (w, b)."""
    A = np.zeros((rows.expression.size, d + 1))
    for block, matrix in rows.expression.terms.items():
        part = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
        A[:, slice(0, d) if block.name == "w" else slice(d, d + 1)] += part.reshape(len(A), -1)
    return A


def free_margin_note(model: Model, margin: float) -> list[str]:
    """What FREE_MARGIN means for the scope of an optimum; nothing where the scale or a 0-1 loss fixes the margin."""
    if model.is_scale_free or margin:
        return []
    return [f"among rules whose correct points have margin >= {FREE_MARGIN:g}"]


def check_scale_is_fixed(model: Model) -> None:
    """Raise InvalidInputError where a penalty on the size of the weights meets limits on errors that no part of the model gives a scale.

    Errors stay the same when the rule is multiplied by c > 0, and L1 and L2 shrink with c. A loss, whole weights, a hard margin, or a row
    that (w, b) = 0 breaks keeps c away from zero.
    """
    penalty = next((term for c, term in model.terms if c > 0 and isinstance(term, L1 | L2)), None)
    if penalty is None or any(term.is_loss for _, term in model.terms):
        return
    if any(not c.is_homogeneous or isinstance(c, IntegerCoefficients) for c in model.other_constraints()):
        return
    zero = {"w": np.zeros(model.data.d), "b": np.zeros(())}
    if any(rows.violation(zero) > 0 for rows in model.weight_rows()):
        return
    limits = ", ".join(repr(c.formula()) for c in model.constraints if c.error_limits(model) is not None)
    raise InvalidInputError(
        f"{penalty.formula()} has no least value here: no limit on errors ({limits}) changes when the rule is scaled, so that any value "
        f"above 0 could be reached by scaling. Fix the scale with a loss that has a margin, minimize=0 * ZeroOne(margin=1) + {type(penalty).__name__}() "
        "(a point is then an error when y (w.x + b) < 1), ask for whole weights with IntegerCoefficients, or minimise L0(), the number of "
        "features, which does not depend on the scale."
    )


def _rows_on_offset(model: Model) -> list[Rows]:
    return [rows for rows in model.weight_rows() if any(block.name == "b" for block in rows.expression.terms)]


def _offset_is_named(model: Model) -> bool:
    return bool(_rows_on_offset(model))


def _largest_named_offset(model: Model) -> float:
    """The largest finite limit that rows on b alone put on |b|; inf when a row ties b to w.

    An optimal |b| never has to exceed both this limit and the range of the data's scores.
    """
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
    """K such that a binary within the integrality tolerance of zero cannot switch off a margin row (see the module)."""
    return 1.0 / (SAFETY * INTEGRALITY_TOLERANCE * max(1.0, radius))


def _user_reach(d: Declaration) -> Array:
    """The largest |w_j| that the constraints' own bounds allow; inf without bounds."""
    lower, upper = np.full(d.data.d, -np.inf), np.full(d.data.d, np.inf)
    for constraint in d.model.constraints:
        box = constraint.weight_box(d.data)
        if box is not None:
            lower, upper = np.maximum(lower, box[0]), np.minimum(upper, box[1])
    reach: Array = np.maximum(np.abs(lower), np.abs(upper))
    return reach


def _penalty_budget(model: Model) -> float | None:
    """budget with |w_j| <= budget at every optimum, from the cost of a constant rule (w = 0, b = -1 or 1).

    The penalty at an optimum is at most the objective of a feasible constant rule. None when both constant rules violate
    a constraint, or when no penalty charges for w.
    """
    if not isinstance(model.rule, Linear) or model.rule.intercept is False:
        return None
    constant = [{"w": np.zeros(model.data.d), "b": np.asarray(side)} for side in (-1.0, 1.0)]
    cost = min((model.recount(values) for values in constant if not model.violations(values)), default=None)
    if cost is None:
        return None
    limits = [cost / c for c, term in model.terms if isinstance(term, L1) and c > 0]
    limits += [float(np.sqrt(cost / c)) for c, term in model.terms if isinstance(term, L2) and c > 0]
    return min(limits) if limits else None
