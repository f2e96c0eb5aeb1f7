"""The checker's own reading of a Model: which problem a certificate about it must state.

Nothing here is shared with the provers, which read a Model by code of their own. A misreading on either side shows as a certificate
that states another problem than the model. Numbers are fractions; a row lower <= a.(w, b) + constant <= upper becomes one row
a.(w, b) >= end for each finite side.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..modelling.expression import Rows
from ..modelling.model import Model
from ..models.coefficient_constraints import IntegerCoefficients, MaxFeatures
from ..models.outlier_svm import HardMargin, limit_tolerance
from ..models.penalties import L0, L2
from ..models.ramp import Ramp
from ..models.rules import Linear
from ..models.zero_one_loss import ZeroOne
from .arithmetic import NUMBERS_A_LOOK, Rejected, exact, field, rational, rationals
from .patience import look
from .problem import Row, StatedProblem, read_statement
from .wording import differences

OTHER = "the certificate states another problem than the model"


def check_states_zero_one(content: Any, model: Model) -> None:
    """Rejected unless the certificate states the 0-1 problem of the model."""
    stated, asked = read_statement(content, model.data.n, model.data.d), zero_one_problem(model)
    if not stated.is_same_as(asked):
        raise Rejected("problem", f"{OTHER}: {'; '.join(differences(stated, asked))}")


def zero_one_problem(model: Model) -> StatedProblem:
    """The 0-1 problem of a Model; Rejected when no certificate can be about it."""
    intercept = _intercept(model)
    losses = [(factor, term) for factor, term in model.terms if isinstance(term, ZeroOne)]
    of_features = [factor for factor, term in model.terms if isinstance(term, L0)]
    if len(of_features) > 1 or not 1 <= len(model.terms) == len(losses) + len(of_features):
        raise Rejected("problem", "the model does not minimise 0-1 losses, one L0(), or both")
    # Without a loss, limits count the errors of the scale-free one.
    margins = {loss.margin for _, loss in losses} or {ZeroOne().margin}
    if len(margins) > 1:
        raise Rejected("problem", "the model mixes 0-1 losses with and without a margin")
    most: int | None = None
    wholes: list[tuple[int, int, bool]] = []
    limits: list[Row] = []
    rows: list[Row] = []
    for constraint in model.constraints:
        if isinstance(constraint, MaxFeatures):
            most = int(constraint.at_most) if most is None else min(most, int(constraint.at_most))
            continue
        if isinstance(constraint, IntegerCoefficients):
            wholes.append((int(constraint.lower), int(constraint.upper), bool(constraint.intercept)))
            continue
        on_errors, on_rule = constraint.error_limits(model), constraint.weight_rows(model)
        if on_errors is None and on_rule is None:
            raise Rejected("problem", f"certificates do not cover the constraint {constraint.formula()!r}")
        limits += [(_exact(limit.coefficients), Fraction(float(limit.at_most))) for limit in on_errors or []]
        rows += [row for block in on_rule or [] for row in _one_sided(block, model.data.d)]
    is_positive = np.asarray(model.y_pm1) > 0
    counted = {"all": is_positive | ~is_positive, "positives": is_positive, "negatives": ~is_positive}
    # Certificates are about float64 costs: each product is rounded once, and so is each sum over the losses.
    costs = [0.0] * model.data.n
    for factor, loss in losses:
        of_loss = (
            factor * weight if counts else 0.0 for weight, counts in zip(model.weights, counted[loss.on], strict=True)
        )
        costs = [cost + more for cost, more in zip(costs, of_loss, strict=True)]
    feature_cost = Fraction(float(of_features[0])) if of_features else Fraction(0)
    whole = None
    if wholes:
        lowers, uppers, offsets = zip(*wholes, strict=True)
        whole = max(lowers), min(uppers), any(offsets)
    return StatedProblem(
        _exact(costs), margins.pop(), intercept, limits, rows, max_features=most, feature_cost=feature_cost, whole=whole
    )


def check_states_margin(content: Any, model: Model) -> None:
    """Rejected unless the certificate is about  coefficient |w|^2  subject to every point at its margin, as the model is."""
    intercept = _intercept(model)
    objective = [(factor, term) for factor, term in model.terms if factor > 0]
    if len(objective) != 1 or not isinstance(objective[0][1], L2):
        raise Rejected("problem", "the model does not minimise a multiple of L2()")
    if len(model.constraints) != 1 or not isinstance(model.constraints[0], HardMargin):
        raise Rejected("problem", "the model's only constraint must be HardMargin()")
    limits = model.constraints[0].limits(model.data)
    left_out = max(limits.total or 0.0, limits.positives, limits.negatives)
    if left_out >= float(np.min(model.weights)) - limit_tolerance(model.weights):
        raise Rejected("problem", "the model lets points be left out; certificates of margins are about all points")
    statement = field(content, "problem", "problem")
    coefficient = rational(field(statement, "coefficient", "problem"), "problem, coefficient")
    if coefficient != Fraction(float(objective[0][0])) or field(statement, "intercept", "problem") is not intercept:
        raise Rejected("problem", OTHER)


def check_states_hard_margin(content: Any, model: Model) -> None:
    """Rejected unless the certificate is about  coefficient |w|^2 + the costs of the points with y (w.x + b) < 1, as the model is.

    A model with HardMargin(outliers=...) asks for a limit on the number of these points instead.
    """
    penalty = [factor for factor, term in model.terms if isinstance(term, L2)]
    losses = [(factor, term) for factor, term in model.terms if isinstance(term, ZeroOne)]
    limited = [type(constraint) for constraint in model.constraints] == [HardMargin]
    if len(penalty) != 1 or len(model.terms) != 1 + len(losses) or (model.constraints and not limited):
        raise Rejected("problem", "the model does not minimise L2() and a 0-1 loss alone")
    if limited == bool(losses) or len(losses) > 1 or any(loss.margin != 1 or loss.on != "all" for _, loss in losses):
        raise Rejected("problem", "the model needs one 0-1 loss with margin 1, of all points, or a limit on outliers")
    statement = field(content, "problem", "problem")
    coefficient = rational(field(statement, "coefficient", "problem"), "problem, coefficient")
    costs = rationals(field(statement, "costs", "problem"), model.data.n, "problem, costs")
    factor = losses[0][0] if losses else 1.0
    asked = [Fraction(float(factor * weight)) if losses else Fraction(1) for weight in model.weights]
    offset, limit = field(statement, "intercept", "problem"), _limit(model) if limited else None
    if coefficient != Fraction(float(penalty[0])) or costs != asked or offset is not _intercept(model):
        raise Rejected("problem", OTHER)
    if statement.get("limit") != limit:
        raise Rejected("problem", OTHER)


def check_states_ramp(content: Any, model: Model) -> None:
    """Rejected unless the certificate is about  coefficient |w|^2 + sum_i costs_i ramp(y_i (w.x_i + b)), as the model is."""
    penalty = [factor for factor, term in model.terms if isinstance(term, L2)]
    losses = [(factor, term) for factor, term in model.terms if isinstance(term, Ramp)]
    if len(penalty) != 1 or len(losses) != 1 or len(model.terms) != 2 or model.constraints:
        raise Rejected("problem", "the model does not minimise L2() and one ramp loss alone")
    if not isinstance(model.rule, Linear):
        raise Rejected("problem", "the model's rule is not linear")
    statement = field(content, "problem", "problem")
    [(factor, loss)] = losses
    stated = [rational(field(statement, name, "problem"), f"problem, {name}") for name in ("coefficient", "theta", "s")]
    costs = rationals(field(statement, "costs", "problem"), model.data.n, "problem, costs")
    asked = [Fraction(float(value)) for value in (penalty[0], loss.theta, loss.s)]
    if stated != asked or costs != [Fraction(float(factor * weight)) for weight in model.weights]:
        raise Rejected("problem", OTHER)
    if field(statement, "intercept", "problem") != model.rule.intercept:
        raise Rejected("problem", OTHER)


def _limit(model: Model) -> int | list[int]:
    """How many points a model with HardMargin(outliers=...) lets be wrong, of all or of positives and negatives."""
    [constraint] = model.constraints
    assert isinstance(constraint, HardMargin)
    limits, weights = constraint.limits(model.data), [Fraction(float(weight)) for weight in model.weights]
    if len(set(weights)) != 1 or weights[0] <= 0:
        raise Rejected("problem", "certificates cover limits on the number of points of equal weight")

    def whole(amount: float) -> int:
        return int((Fraction(amount) / weights[0] + Fraction(1, 10**9)) // 1)

    if limits.total is None and (model.y_pm1 > 0).all():
        return whole(limits.positives)
    return [whole(limits.positives), whole(limits.negatives)] if limits.total is None else whole(limits.total)


def _intercept(model: Model) -> bool:
    if not isinstance(model.rule, Linear) or model.rule.intercept not in (True, False):
        raise Rejected("problem", "the model's rule is not linear, or its offset is penalised")
    return bool(model.rule.intercept)


def _exact(values: Any) -> list[Fraction]:
    found = []
    for number, value in enumerate(np.ravel(values).tolist()):
        if number % NUMBERS_A_LOOK == 0:
            look()
        found.append(exact(float(value)))
    return found


def _one_sided(block: Rows, d: int) -> Iterator[Row]:
    """Each finite side of each row, as (coefficients of w and b, end): coefficients.(w, b) >= end."""
    expression = block.expression
    parts: dict[str, Any] = {"w": np.zeros((expression.size, d)), "b": np.zeros((expression.size, 1))}
    for variables, matrix in expression.terms.items():
        if variables.name not in parts:
            raise Rejected("problem", f"a row speaks of {variables.name!r}, which certificates do not know")
        parts[variables.name] = parts[variables.name] + (matrix.toarray() if sp.issparse(matrix) else matrix)
    constants = np.broadcast_to(expression.constant, expression.size)
    for sign, ends in ((1, block.lower), (-1, block.upper)):
        for k, end in enumerate(np.broadcast_to(ends, expression.shape).ravel()):
            if np.isfinite(end):
                coefficients = _exact([*parts["w"][k], *parts["b"][k]])
                # A certificate holds the end as one float64: the difference is rounded once.
                yield [sign * value for value in coefficients], sign * Fraction(float(end) - float(constants[k]))
