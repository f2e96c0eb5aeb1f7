"""Constraints on errors: their number, their rate in one class, the precision, and the parity of rates across groups.

    sum_i c_i error_i <= at_most * sum_i c_i                        over the points of one class (or <= at_most over all points)
    p FP + (1 - p) FN <= (1 - p) P                                  a precision of at least p, P the weight of the positives
    |rate(group) - rate(other group)| <= at_most

The binaries `error` are those of the 0-1 loss (zero_one_loss.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import fsum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import is_number
from ..errors import InvalidInputError
from ..modelling.algebra import Constraint, ErrorLimit
from ..modelling.data import Data
from ..modelling.declaration import Declaration
from ..modelling.expression import Affine
from ..modelling.model import Model
from .zero_one_loss import declare_errors, is_error

RATE_ROUNDING = 1e-9
"""Slack for the rounding of rate * total weight and of recounted rates: a fraction of the limit, and absolute where weights are whole.
Three errors of weight 0.1 keep a limit of three errors, although 0.1 + 0.1 + 0.1 > 0.3 in float64."""

MOST_DECIMALS = 10**6
"""A precision with up to six decimals is turned into whole coefficients, so that its limit is exact for whole weights."""

READABLE = (1e-3, 1e6)
"""Rows whose largest coefficient is within this range are written as they are; others in a unit, see `_unit`."""

PARITY_TOLERANCE = 1e-6
"""A difference of rates exceeds its limit when it does so by more than this, the usual row tolerance of solvers."""


def _check_rate(owner: str, value: float) -> None:
    if not is_number(value) or not 0 <= value <= 1:
        raise InvalidInputError(
            f"{owner}(at_most=...) must be a number in [0, 1]; got {value!r}. Write 0.05 for five per cent."
        )


def _limit(rate: float, weights: Array) -> float:
    """rate * sum(weights), rounded down where errors have whole weights and so can only add up to whole numbers."""
    return _rounded(rate * float(weights.sum()), weights)


def _rounded(total: float, coefficients: Array) -> float:
    """A limit on a sum of coefficients: rounded down where they are whole, else with slack for rounding."""
    if (coefficients == np.round(coefficients)).all():
        return float(np.floor(total + RATE_ROUNDING))
    return total * (1 + RATE_ROUNDING)


def _parity_end(at_most: float, product: float, constant: float, coefficients: Array) -> float:
    """at_most * product - constant, rounded down where the coefficients are whole, else with slack for rounding."""
    end = at_most * product - constant
    if (coefficients == np.round(coefficients)).all():
        return float(np.floor(end + RATE_ROUNDING * product))
    return end + RATE_ROUNDING * product


def _unit(coefficients: Array) -> float:
    """A power of two that makes the largest coefficient 1 to 2: solvers keep rows to an absolute 1e-6, which weights of 1e-7 never exceed."""
    largest = float(np.abs(coefficients).max(initial=0.0))
    if largest == 0.0 or READABLE[0] <= largest <= READABLE[1]:
        return 1.0
    return 2.0 ** (int(np.frexp(largest)[1]) - 1)


class _ErrorSum(Constraint):
    """A limit on one weighted sum of errors."""

    _row_name = "errors"

    def error_limits(self, model: Model) -> list[ErrorLimit]:
        raise TypeError(f"{type(self).__name__} must define error_limits, its limit on a weighted sum of errors.")

    def declare(self, d: Declaration) -> None:
        error = declare_errors(d)
        [limit] = self.error_limits(d.model)
        coefficients = d.points.sums(limit.coefficients)
        unit = _unit(coefficients)
        d.builder.subject_to(
            d.fresh_row_name(self._row_name),
            (coefficients / unit) @ error <= limit.at_most / unit,
            note=self.formula(),
        )


class _Rate(_ErrorSum):
    """The weighted fraction of misclassified points among the points of one class is at most `at_most`."""

    at_most: float
    _row_name = "rate"

    def _weights(self, data: Data) -> Array:
        raise TypeError(f"{type(self).__name__} must define _weights, the weight with which each point counts.")

    def error_limits(self, model: Model) -> list[ErrorLimit]:
        weights = self._weights(model.data)
        return [ErrorLimit(weights, _limit(self.at_most, weights[weights > 0]))]

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        weights = self._weights(model.data)
        rate = float(weights @ is_error(model, values)) / float(weights.sum())
        return rate - self.at_most if rate > self.at_most * (1 + 2 * RATE_ROUNDING) else 0.0


@dataclass(frozen=True)
class FalsePositiveRate(_Rate):
    """At most this weighted fraction of the negatives may be classified as positive."""

    at_most: float
    _row_name = "false_positive_rate"

    def __post_init__(self) -> None:
        _check_rate("FalsePositiveRate", self.at_most)

    def _weights(self, data: Data) -> Array:
        return np.where(data.positive, 0.0, data.weights)

    def formula(self) -> str:
        return f"false-positive rate <= {self.at_most:g}"

    def latex(self) -> str:
        return rf"\mathrm{{FPR}} \le {self.at_most:g}"


@dataclass(frozen=True)
class FalseNegativeRate(_Rate):
    """At most this weighted fraction of the positives may be classified as negative."""

    at_most: float
    _row_name = "false_negative_rate"

    def __post_init__(self) -> None:
        _check_rate("FalseNegativeRate", self.at_most)

    def _weights(self, data: Data) -> Array:
        return np.where(data.positive, data.weights, 0.0)

    def formula(self) -> str:
        return f"false-negative rate <= {self.at_most:g}"

    def latex(self) -> str:
        return rf"\mathrm{{FNR}} \le {self.at_most:g}"


@dataclass(frozen=True)
class Errors(_ErrorSum):
    """The weight of all misclassified points is at most `at_most`: a number of errors, when points weigh one each."""

    at_most: float

    def __post_init__(self) -> None:
        if not is_number(self.at_most) or not 0 <= self.at_most < np.inf:
            raise InvalidInputError(
                f"Errors(at_most=...) must be a number >= 0, the weight of the misclassified points; got {self.at_most!r}."
            )

    def error_limits(self, model: Model) -> list[ErrorLimit]:
        weights = model.data.weights
        return [ErrorLimit(weights, _rounded(float(self.at_most), weights))]

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        excess = fsum(model.data.weights[is_error(model, values)].tolist()) - self.at_most
        return excess if excess > 2 * RATE_ROUNDING * self.at_most else 0.0

    def formula(self) -> str:
        return f"weight of errors <= {self.at_most:g}"


@dataclass(frozen=True)
class Precision(_ErrorSum):
    """Of the weight that is classified as positive, at least this fraction is positive:  TP >= p (TP + FP).

    With TP = P - FN this is a limit on errors, p FP + (1 - p) FN <= (1 - p) P. A rule that calls nothing positive keeps it.
    """

    at_least: float
    _row_name = "precision"

    def __post_init__(self) -> None:
        if not is_number(self.at_least) or not 0 <= self.at_least <= 1:
            raise InvalidInputError(
                f"Precision(at_least=...) must be a number in [0, 1]; got {self.at_least!r}. Write 0.9 for ninety per cent."
            )

    def error_limits(self, model: Model) -> list[ErrorLimit]:
        data = model.data
        p = Fraction(repr(float(self.at_least)))  # the decimal that was written: 0.9 stands for 9/10
        scale = p.denominator if p.denominator <= MOST_DECIMALS else 1
        if_wrong = np.where(data.positive, float((1 - p) * scale), float(p * scale))
        coefficients = if_wrong * data.weights
        return [ErrorLimit(coefficients, _rounded(fsum(coefficients[data.positive].tolist()), coefficients))]

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        [limit] = self.error_limits(model)
        wrong = is_error(model, values)
        if fsum(limit.coefficients[wrong].tolist()) <= limit.at_most * (1 + 2 * RATE_ROUNDING):
            return 0.0
        called = fsum(model.weights[model.data.positive != wrong].tolist())
        true = fsum(model.weights[model.data.positive & ~wrong].tolist())
        return self.at_least - true / called if called else 0.0

    def formula(self) -> str:
        return f"precision >= {self.at_least:g}"


@dataclass(frozen=True, eq=False)
class RateParity(Constraint):
    """The rates of any two groups differ by at most `at_most`.

    groups : one label per point.
    rate : "error" (the fraction of misclassified points), "positive" (of points classified as positive),
        "false_positive" (of negatives classified as positive) or "false_negative" (of positives classified as negative).

    A point on the boundary counts as an error, but no solver makes use of it: rules are left out that put a point there whose error would help.
    """

    groups_of_points: Sequence[Any]
    at_most: float
    rate: Literal["error", "positive", "false_positive", "false_negative"] = "error"
    two_sided = True

    def __init__(self, groups: Sequence[Any], at_most: float, rate: str = "error") -> None:
        _check_rate("RateParity", at_most)
        allowed = ("error", "positive", "false_positive", "false_negative")
        if rate not in allowed:
            raise InvalidInputError(f"RateParity(rate=...) must be one of {', '.join(allowed)}; got {rate!r}.")
        labels = np.asarray(groups)
        try:
            np.unique(labels)
        except TypeError:  # Labels of mixed types, such as None among strings, cannot be sorted.
            labels = labels.astype(str)
        for name, value in (("groups_of_points", labels), ("at_most", at_most), ("rate", rate)):
            object.__setattr__(self, name, value)

    def check(self, data: Data) -> None:
        if np.shape(self.groups_of_points) != (data.n,):
            raise InvalidInputError(
                f"RateParity: groups must hold one label for each of the {data.n} points; got shape {np.shape(self.groups_of_points)}."
            )
        for label, weights, _ in self._parts(data):
            if not weights.any():
                raise InvalidInputError(
                    f"RateParity(rate={self.rate!r}): group {np.asarray(label).item()!r} has no point of the class it counts."
                )

    def groups(self, data: Data) -> NDArray[Any]:
        return np.asarray(self.groups_of_points)

    def _parts(self, data: Data) -> list[tuple[Any, Array, Array]]:
        """(group, weights, signs) of each group; weights are zero for points that its rate does not count.

        rate = sum_i weights_i e_i / sum_i weights_i  with  e_i = error_i where signs_i > 0, else 1 - error_i.
        """
        counted = {
            "error": np.ones(data.n, bool),
            "positive": np.ones(data.n, bool),
            "false_positive": ~data.positive,
            "false_negative": data.positive,
        }[self.rate]
        sign = np.where(data.positive, -1.0, 1.0) if self.rate == "positive" else np.ones(data.n)
        labels = np.asarray(self.groups_of_points)
        return [(g, np.where((labels == g) & counted, data.weights, 0.0), sign) for g in np.unique(labels)]

    def declare(self, d: Declaration) -> None:
        d.builder.subject_to(d.fresh_row_name("parity_gap"), self.declare_gap(d) <= self.at_most)

    def declare_gap(self, d: Declaration) -> Affine:
        """high - low, for new variables with low <= rate <= high for the rate of every group."""
        error = declare_errors(d)
        name = d.fresh_row_name("parity")
        low = d.builder.variables(f"{name}_low", lower=0.0, upper=1.0)
        high = d.builder.variables(f"{name}_high", lower=0.0, upper=1.0)
        for group, weights, sign in self._parts(d.data):
            share = weights / weights.sum()
            rate = d.points.sums(share * sign) @ error + float(share[sign < 0].sum())
            d.builder.subject_to(f"{name}_{group}_low", rate - low >= 0)
            d.builder.subject_to(f"{name}_{group}_high", rate - high <= 0)
        return high - low

    def error_limits(self, model: Model) -> list[ErrorLimit]:
        """rate(g) - rate(h) <= at_most for all ordered pairs of groups, times the weights of both: whole numbers for whole weights."""
        parts = self._parts(model.data)
        found = []
        for (_, high, sign), (_, low, _) in permutations(parts, 2):
            W_g, W_h = fsum(high.tolist()), fsum(low.tolist())
            coefficients = sign * (W_h * high - W_g * low)
            # A positive prediction of a positive is 1 - error: its constant part goes to the right-hand side.
            constant = fsum((W_h * high - W_g * low)[sign < 0].tolist())
            found.append(ErrorLimit(coefficients, _parity_end(self.at_most, W_g * W_h, constant, coefficients)))
        return found

    def rates(self, model: Model, values: Mapping[str, Any]) -> dict[Any, float]:
        """The rate of each group at decoded values."""
        wrong = is_error(model, values).astype(np.float64)
        return {
            group: float(weights @ np.where(sign > 0, wrong, 1.0 - wrong)) / float(weights.sum())
            for group, weights, sign in self._parts(model.data)
        }

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        rates = list(self.rates(model, values).values())
        excess = max(rates) - min(rates) - self.at_most
        return excess if excess > PARITY_TOLERANCE else 0.0

    def formula(self) -> str:
        return f"{self.rate.replace('_', '-')} rates of groups differ by <= {self.at_most:g}"
