"""The logistic loss, and outer approximations of smooth convex losses by tangents.

A smooth convex loss of the margins m is no part of a linear or quadratic program. Its tangents are:

    loss >= L(m^k) + L'(m^k).(m - m^k)    for any rules k with margins m^k,

so a program with one epigraph variable and a row per tangent is a relaxation, whose optimum is a lower bound. The method
"cutting-plane" adds tangents where the relaxation is too low until the two meet (Kelley 1960; Duran and Grossmann 1986).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from ..arrays import Array
from ..checks import is_number
from ..errors import InvalidInputError, UnsupportedProgramError
from ..modelling.algebra import Term
from ..modelling.declaration import Declaration
from ..modelling.model import Model
from ..protocol.result import Values

MULTIPLIERS = (0.1, 10_000.0)
"""The range of a multiplier that is to be chosen: a point may be worth from 10 down to 0.0001 units of log-odds. Points of value
10 already give probabilities within 0.00005 of 0 and 1."""


@runtime_checkable
class SmoothLoss(Protocol):
    """A weighted sum over points of a differentiable convex function of the margin, which is never negative."""

    def of_margin(self, margins: Array) -> Array:
        """The loss of a point of weight 1, for each margin."""
        ...

    def slope(self, margins: Array) -> Array:
        """The derivative of the loss of a point of weight 1, for each margin."""
        ...


@dataclass(frozen=True)
class Logistic(Term):
    """sum_i weight_i log(1 + exp(-m_i / multiplier)), m_i = y_i (w.x_i + b).

    multiplier : how many points (units of the score) make one unit of log-odds. A number is fixed. A pair (lowest, highest)
        is a range from which the solver chooses, for whole weights only: of real weights the multiplier is a part already.
        FREE is the widest range. A chosen one is in `result.values["multiplier"]`.

    The probability of the positive class is 1 / (1 + exp(-(w.x + b) / multiplier)).
    """

    multiplier: float | tuple[float, float] = 1.0
    merges_points = True
    is_relaxed_by_program = True
    FREE: ClassVar[tuple[float, float]] = MULTIPLIERS

    def __post_init__(self) -> None:
        pair = self.multiplier if isinstance(self.multiplier, tuple) else (self.multiplier, self.multiplier)
        if len(pair) != 2 or not all(is_number(side) for side in pair) or not 0 < pair[0] <= pair[1] < np.inf:
            raise InvalidInputError(
                "Logistic(multiplier=...) must be a positive number, or a pair (lowest, highest) of them to choose from; "
                f"got {self.multiplier!r}."
            )

    @property
    def is_free(self) -> bool:
        """The multiplier is to be chosen by the solver."""
        return isinstance(self.multiplier, tuple)

    @property
    def value_names(self) -> tuple[str, ...]:
        return ("multiplier",) if self.is_free else ()

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest multiplier."""
        return self.multiplier if isinstance(self.multiplier, tuple) else (self.multiplier, self.multiplier)

    def multiplier_of(self, values: Mapping[str, Any]) -> float:
        """The multiplier at decoded values."""
        if not self.is_free:
            return float(self.range[0])
        if "multiplier" not in values:
            raise InvalidInputError("the multiplier is free, so values must hold 'multiplier' beside 'w' and 'b'.")
        return float(values["multiplier"])

    def declare(self, d: Declaration, coefficient: float) -> None:
        OuterApproximation(self).declare(d, coefficient)

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return float(model.weights @ np.logaddexp(0.0, -model.margins(values) / self.multiplier_of(values)))

    def of_margin(self, margins: Array) -> Array:
        """log(1 + exp(-m / multiplier)) for a fixed multiplier."""
        return np.logaddexp(0.0, -margins / self._fixed())

    def slope(self, margins: Array) -> Array:
        """-1 / (1 + exp(m / multiplier)) / multiplier for a fixed multiplier."""
        multiplier = self._fixed()
        return 0.5 * (np.tanh(0.5 * margins / multiplier) - 1.0) / multiplier

    def _fixed(self) -> float:
        if self.is_free:
            raise UnsupportedProgramError(
                f"the logistic loss with a multiplier to be chosen from {self.range} is not convex, and has no tangents. Solver "
                "'lattice' takes it, with whole weights in a box; other solvers need a number, such as Logistic(multiplier=1)."
            )
        return float(self.range[0])

    def formula(self) -> str:
        low, high = self.range
        scaled = "margin_i" if low == high == 1 else f"margin_i / {low:g}" if low == high else "margin_i / multiplier"
        return f"sum_i weight_i log(1 + exp(-{scaled}))" + (
            "" if low == high else f", multiplier in [{low:g}, {high:g}]"
        )

    def latex(self) -> str:
        low, high = self.range
        divisor = "" if low == high == 1 else f" / {low:g}" if low == high else r" / \mu"
        return rf"\sum_i c_i\, \log(1 + \exp(-y_i f(x_i){divisor}))"


@dataclass(frozen=True, eq=False)
class OuterApproximation(Term):
    """A smooth convex loss of which the program holds only the tangents at given rules: a relaxation.

    of : the loss. at : decoded values ("w", "b") of the rules; without any, the rule w = 0, b = 0.
    """

    of: Term
    at: tuple[Values, ...] = ()
    merges_points = True
    is_relaxed_by_program = True

    def declare(self, d: Declaration, coefficient: float) -> None:
        loss = self.of
        if not isinstance(loss, SmoothLoss):
            raise UnsupportedProgramError(f"{type(loss).__name__} has no tangents: it is not a smooth convex loss.")
        rules = self.at or ({"w": np.zeros(d.data.d), "b": np.zeros(())},)
        margins = np.array([d.points.y_pm1 * d.model.rule.scores(rule, d.points.X) for rule in rules])
        slopes = d.points.weights * loss.slope(margins)
        values = loss.of_margin(margins) @ d.points.weights
        epigraph = d.builder.variables(d.fresh_row_name("loss"), lower=0.0)
        for k in range(len(rules)):
            rows = epigraph - slopes[k] @ d.margins >= float(values[k] - slopes[k] @ margins[k])
            d.builder.subject_to(d.fresh_row_name("tangent"), rows)
        d.builder.minimize(coefficient * epigraph)
        d.builder.name = f"{d.model.name}_outer_approximation"  # files carry the name
        d.notes.append(
            f"outer approximation: the program holds {len(rules)} tangent(s) of the smooth loss, so its optimum is a lower bound"
        )

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return self.of.value(model, values)

    def formula(self) -> str:
        return self.of.formula()

    def latex(self) -> str:
        return self.of.latex()
