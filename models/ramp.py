"""The ramp loss of the robust support vector machine (Suzumura et al. 2014).

l(m) = [1 - m]_+  for m >= s,     1 - s + theta (s - m)  for m < s,        0 <= theta <= 1,  s <= 0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..checks import is_number
from ..errors import InvalidInputError
from ..modelling.algebra import Rule, Term
from ..modelling.declaration import Declaration
from ..modelling.model import Model
from .losses import Hinge, declare_slack
from .penalties import L2
from .rules import Kernel, Linear


@dataclass(frozen=True)
class Ramp(Term):
    """sum_i weight_i l(m_i), a hinge whose slope is theta below the cut-off s (Suzumura et al. 2014, (2) corrected):

        l(m) = [1 - m]_+  for m >= s,     1 - s + theta (s - m)  for m < s,        0 <= theta <= 1,  s <= 0.

    theta = 1 is the hinge; theta = 0 charges every outlier 1 - s. As a program, with a binary outlier_i:
    l = slack_i + (1 - s) outlier_i + theta beyond_i,  slack_i >= 1 - m_i where outlier_i = 0,  beyond_i >= s - m_i where it is 1.
    """

    theta: float = 0.0
    s: float = 0.0
    merges_points = True

    def __post_init__(self) -> None:
        check_ramp(self.theta, self.s)

    def of_margin(self, margins: Array) -> Array:
        """l(m) for each margin m."""
        beyond = (1.0 - self.s) + self.theta * (self.s - margins)
        return np.where(margins >= self.s, np.maximum(0.0, 1.0 - margins), beyond)

    def declare(self, d: Declaration, coefficient: float) -> None:
        weights, labels = coefficient * d.points.weights, d.points.first
        if self.theta == 1:
            d.builder.minimize(weights @ declare_slack(d))
            return
        margins, reach = d.margins, _margin_reach(d)
        outlier = d.builder.binaries("outlier", labels=labels)
        # The hinge's slack is at least 1 - m_i for every point; here the slack of an outlier may be zero.
        slack = d.builder.variables("ramp_slack", labels=labels, lower=0.0)
        d.builder.subject_to("inlier", margins + slack >= 1, when=(outlier, 0), big_m=1.0 + reach, labels=labels)
        d.builder.minimize(weights @ slack + (1.0 - self.s) * weights @ outlier)
        if self.theta > 0:
            beyond = d.builder.variables("beyond", labels=labels, lower=0.0)
            d.builder.subject_to(
                "beyond", margins + beyond >= self.s, when=(outlier, 1), big_m=self.s + reach, labels=labels
            )
            d.builder.minimize(self.theta * weights @ beyond)

    def encode(self, d: Declaration, values: Mapping[str, Any]) -> dict[str, Any]:
        if self.theta == 1 or not _has_rule(d.model.rule, values):
            return {}
        margins = d.model.margins(values)[d.points.first]
        outlier = margins < self.s
        start = {
            "outlier": outlier.astype(np.float64),
            "ramp_slack": np.where(outlier, 0.0, np.maximum(0.0, 1.0 - margins)),
        }
        return start | {"beyond": np.where(outlier, self.s - margins, 0.0)}

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return float(model.weights @ self.of_margin(model.margins(values)))

    def formula(self) -> str:
        return f"sum_i weight_i ramp(margin_i; theta={self.theta:g}, s={self.s:g})"

    def latex(self) -> str:
        return rf"\sum_i c_i\, \ell(y_i f(x_i);\, \theta={self.theta:g}, s={self.s:g})"


def _has_rule(rule: Rule, values: Mapping[str, Any]) -> bool:
    """The values determine the scores of the rule, which are then a start for the slacks as well."""
    if isinstance(rule, Kernel):
        return "c" in values and (rule.kernel == "precomputed" or "points" in values)
    return "w" in values


def check_ramp(theta: Any, s: Any) -> None:
    """Raise InvalidInputError unless 0 <= theta <= 1 and s <= 0 are numbers."""
    if not is_number(theta) or not is_number(s) or not 0 <= theta <= 1:
        raise InvalidInputError(f"theta, the weight of an outlier, must be a number from 0 to 1; got {theta!r}.")
    if not -np.inf < s <= 0:
        raise InvalidInputError(f"s, the cut-off margin below which a point is an outlier, must be <= 0; got {s!r}.")


def _margin_reach(d: Declaration) -> Array | float:
    """reach_i with |m_i| <= reach_i at every optimum, because w = 0 costs sum_i weight_i; inf when w or b is free."""
    found = d.model.term(L2)
    rule = d.model.rule
    if found is None or found[0] <= 0 or d.model.constraints or (isinstance(rule, Linear) and rule.intercept is True):
        return np.inf
    zero = sum(c * float(d.data.weights.sum()) for c, term in d.model.terms if isinstance(term, Ramp | Hinge))
    if any(term.is_loss and not isinstance(term, Ramp | Hinge) for _, term in d.model.terms):
        return np.inf
    radius = float(np.sqrt(zero / found[0]))
    if isinstance(rule, Kernel):
        norms = np.diagonal(rule.training_gram(d.data.X, d.points.first))
    else:
        penalised = isinstance(rule, Linear) and rule.intercept == "penalised"
        X = d.points.X
        norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else (X**2).sum(axis=1)
        norms = norms + (1.0 if penalised else 0.0)
    return radius * np.sqrt(norms)
