"""Losses that are functions of the margin m_i = y_i score_i: hinge, squares, class means; the sigmoid for evaluation.

Sums over points are weighted by sample and class weights. The 0-1 loss is in zero_one_loss.py, the ramp in ramp.py, the
top-k ranking loss in topk_ranking.py, the logistic loss in logistic.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import UnsupportedProgramError
from ..modelling.algebra import Term
from ..modelling.declaration import Declaration
from ..modelling.expression import Variables
from ..modelling.model import Model
from .assignment import declare_polyhedral_slack, encode_polyhedral_slack
from .rules import Polyhedron


@dataclass(frozen=True)
class Hinge(Term):
    """sum_i weight_i [1 - m_i]_+, by slack_i >= 1 - m_i, slack_i >= 0."""

    merges_points = True

    def declare(self, d: Declaration, coefficient: float) -> None:
        d.builder.minimize(coefficient * (d.points.weights @ declare_slack(d)))

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return float(model.weights @ np.maximum(0.0, 1.0 - model.margins(values)))

    def formula(self) -> str:
        return "sum_i weight_i [1 - margin_i]_+"

    def latex(self) -> str:
        return r"\sum_i c_i\, [1 - y_i f(x_i)]_+"


@dataclass(frozen=True)
class SquaredHinge(Term):
    """sum_i weight_i [1 - m_i]_+^2."""

    merges_points = True

    def declare(self, d: Declaration, coefficient: float) -> None:
        d.builder.add_square(declare_slack(d), coefficient * d.points.weights)

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return float(model.weights @ self.of_margin(model.margins(values)))

    def of_margin(self, margins: Array) -> Array:
        """[1 - m]_+^2 for each margin."""
        return np.asarray(np.maximum(0.0, 1.0 - margins) ** 2)

    def slope(self, margins: Array) -> Array:
        """-2 [1 - m]_+ for each margin."""
        return np.asarray(-2.0 * np.maximum(0.0, 1.0 - margins))

    def formula(self) -> str:
        return "sum_i weight_i [1 - margin_i]_+^2"

    def latex(self) -> str:
        return r"\sum_i c_i\, [1 - y_i f(x_i)]_+^2"


@dataclass(frozen=True)
class Squared(Term):
    """sum_i weight_i (1 - m_i)^2 (without the factor 1/2 that some texts have)."""

    merges_points = True

    def declare(self, d: Declaration, coefficient: float) -> None:
        d.builder.add_square(1.0 - d.margins, coefficient * d.points.weights)

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return float(model.weights @ self.of_margin(model.margins(values)))

    def of_margin(self, margins: Array) -> Array:
        """(1 - m)^2 for each margin."""
        return np.asarray((1.0 - margins) ** 2)

    def slope(self, margins: Array) -> Array:
        """-2 (1 - m) for each margin."""
        return np.asarray(-2.0 * (1.0 - margins))

    def formula(self) -> str:
        return "sum_i weight_i (1 - margin_i)^2"

    def latex(self) -> str:
        return r"\sum_i c_i\, (1 - y_i f(x_i))^2"


def declare_slack(d: Declaration) -> Variables:
    """The variables slack_i >= max(0, 1 - m_i), declared on first use and shared by the hinge losses."""
    if d.builder.has("slack"):
        return d.builder["slack"]
    if isinstance(d.model.rule, Polyhedron):
        return declare_polyhedral_slack(d, d.model.rule)
    slack = d.builder.variables("slack", labels=d.points.first, lower=0.0, note="how far a point misses the margin 1")
    d.builder.subject_to(
        "hinge", d.margins + slack >= 1, labels=d.points.first, note="y (w.x + b) >= 1 - slack, one row per point"
    )
    return slack


@dataclass(frozen=True)
class AverageViolation(Term):
    """mean over positives of [1 - m_i]_+  plus  mean over negatives of [1 - m_i]_+ (Bennett & Mangasarian 1992).

    Sample weights weight the means; class weights multiply them. With rule Linear() this is the robust LP, with rule
    Polyhedron(h) the error function (8) of Astorino & Gaudioso (2002), a mixed-integer program for h > 1.
    """

    merges_points = True

    @staticmethod
    def shares(y_pm1: Array, weights: Array, class_weights: tuple[float, float]) -> Array:
        """The coefficient of each point in the sum of the two class means."""
        positive = y_pm1 > 0
        totals = np.where(positive, weights[positive].sum(), weights[~positive].sum())
        return np.asarray(weights / totals * np.where(positive, class_weights[1], class_weights[0]))

    def declare(self, d: Declaration, coefficient: float) -> None:
        shares = self.shares(d.points.y_pm1, d.points.weights, d.data.class_weights)
        d.builder.minimize(coefficient * (shares @ declare_slack(d)))

    def encode(self, d: Declaration, values: Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(d.model.rule, Polyhedron):
            return encode_polyhedral_slack(d, d.model.rule, values)
        return {}

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        shares = self.shares(model.y_pm1, model.weights, model.data.class_weights)
        return float(shares @ np.maximum(0.0, 1.0 - model.margins(values)))

    def formula(self) -> str:
        return "sum over classes of mean_i [1 - margin_i]_+"

    def latex(self) -> str:
        return r"\sum_{\text{classes}} \text{mean}_i\, [1 - y_i f(x_i)]_+"


@dataclass(frozen=True)
class Sigmoid(Term):
    """The smooth 0-1 loss sum_i weight_i / (1 + exp(K m_i)) of Nguyen & Sanner (2013); not convex, for evaluation only."""

    K: float = 20.0
    merges_points = True

    def declare(self, d: Declaration, coefficient: float) -> None:
        raise UnsupportedProgramError(
            "Sigmoid is not convex, so it has no program and serves for evaluation and plots only. Use Logistic(), Hinge(), "
            "SquaredHinge() or Squared() as a convex loss, or ZeroOne() itself."
        )

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return float(model.weights @ self.of_margin(model.margins(values)))

    def of_margin(self, margins: Array) -> Array:
        """The loss of a point of weight 1, for each margin."""
        return 0.5 * (1.0 - np.tanh(0.5 * self.K * margins))

    def formula(self) -> str:
        return f"sum_i weight_i / (1 + exp({self.K:g} margin_i))"
