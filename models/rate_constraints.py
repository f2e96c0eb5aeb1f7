"""Constraints on error rates: of one class (false positives, false negatives), and their parity across groups.

    sum_i c_i error_i <= at_most * sum_i c_i     over the points of one class
    |rate(group) - rate(other group)| <= at_most

The binaries `error` are those of the 0-1 loss (zero_one_loss.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

PARITY_TOLERANCE = 1e-6
"""A difference of rates exceeds its limit when it does so by more than this, the usual row tolerance of solvers."""


def _check_rate(owner: str, value: float) -> None:
    if not is_number(value) or not 0 <= value <= 1:
        raise InvalidInputError(
            f"{owner}(at_most=...) must be a number in [0, 1]; got {value!r}. Write 0.05 for five per cent."
        )


def _limit(rate: float, weights: Array) -> float:
    """rate * sum(weights), rounded down where errors have whole weights and so can only add up to whole numbers."""
    total = rate * float(weights.sum())
    if (weights == np.round(weights)).all():
        return float(np.floor(total + RATE_ROUNDING))
    return total * (1 + RATE_ROUNDING)


class _Rate(Constraint):
    """The weighted fraction of misclassified points among the points of one class is at most `at_most`."""

    at_most: float

    def _weights(self, data: Data) -> Array:
        raise TypeError(f"{type(self).__name__} must define _weights, the weight with which each point counts.")

    def error_limits(self, model: Model) -> list[ErrorLimit]:
        weights = self._weights(model.data)
        return [ErrorLimit(weights, _limit(self.at_most, weights[weights > 0]))]

    def declare(self, d: Declaration) -> None:
        error = declare_errors(d)
        [limit] = self.error_limits(d.model)
        coefficients = d.points.sums(limit.coefficients)
        d.builder.subject_to(d.fresh_row_name(self._row_name), coefficients @ error <= limit.at_most)

    _row_name = "rate"

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


@dataclass(frozen=True, eq=False)
class RateParity(Constraint):
    """The rates of any two groups differ by at most `at_most`.

    groups : one label per point.
    rate : "error" (the fraction of misclassified points), "positive" (of points classified as positive),
        "false_positive" (of negatives classified as positive) or "false_negative" (of positives classified as negative).
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
                    f"RateParity(rate={self.rate!r}): group {label!r} has no point of the class it counts."
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
