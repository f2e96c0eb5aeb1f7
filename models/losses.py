"""Losses as functions of the margin m_i = y_i * score_i. Sums over points are weighted by sample and class weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..arrays import Array
from ..checks import is_number
from ..errors import InvalidInputError, UnsupportedProgramError
from ..modelling.data import Data
from ..modelling.model import Declaration, Model, Term
from .assignment import declare_polyhedral_slack, encode_polyhedral_slack
from .error_indicators import MARGIN_TOLERANCE, declare_errors, encode_errors
from .rules import Kernel, Polyhedron

On = Literal["all", "positives", "negatives"]


def _counted(on: On, data: Data) -> Array:
    """Weights of the points that count, zero elsewhere."""
    keep = {"all": np.ones(data.n, bool), "positives": data.positive, "negatives": ~data.positive}[on]
    return np.where(keep, data.weights, 0.0)


@dataclass(frozen=True)
class ZeroOne(Term):
    """The number (weighted) of misclassified points.

    margin=0 : scale-free; a point is an error when y (w.x + b) <= 0. Takes only homogeneous companions.
    margin=1 : a point is an error when y (w.x + b) < 1; goes with penalties and bounds on w.
    on : count errors of "all" points, of the "positives" or of the "negatives".
    big_m : overrides the constants that are derived from the data. Too large a value lets solvers cheat within their
        tolerances; the recount shows it.
    """

    on: On = "all"
    margin: Literal[0, 1] = 0
    big_m: float | None = None
    merges_points = True

    def __post_init__(self) -> None:
        if self.on not in ("all", "positives", "negatives"):
            raise InvalidInputError(f"ZeroOne(on=...) must be 'all', 'positives' or 'negatives'; got {self.on!r}.")
        if self.margin not in (0, 1):
            raise InvalidInputError(f"ZeroOne(margin=...) must be 0 (scale-free) or 1; got {self.margin!r}.")
        if self.big_m is not None and not self.big_m > 0:
            raise InvalidInputError(f"ZeroOne(big_m=...) must be positive; got {self.big_m!r}.")

    @property
    def is_scale_free(self) -> bool:  # type: ignore[override]
        return self.margin == 0

    def declare(self, d: Declaration, coefficient: float) -> None:
        error = declare_errors(d)
        weights = {
            "all": d.points.weights,
            "positives": np.where(d.points.y_pm1 > 0, d.points.weights, 0.0),
            "negatives": np.where(d.points.y_pm1 < 0, d.points.weights, 0.0),
        }[self.on]
        d.builder.minimize(coefficient * (weights @ error))

    def encode(self, d: Declaration, values: Mapping[str, Any]) -> dict[str, Any]:
        return encode_errors(d, values)

    def errors(self, margins: Array) -> Any:
        return margins < 1 - MARGIN_TOLERANCE if self.margin else margins <= 0

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return float(_counted(self.on, model.data) @ self.errors(model.margins(values)))

    def formula(self) -> str:
        wrong = "margin_i < 1" if self.margin else "margin_i <= 0"
        return f"sum_i weight_i [{wrong}]" + ("" if self.on == "all" else f" over {self.on}")

    def latex(self) -> str:
        wrong = "y_i f(x_i) < 1" if self.margin else r"y_i f(x_i) \le 0"
        over = {"all": "i", "positives": "i: y_i = 1", "negatives": "i: y_i = -1"}[self.on]
        return rf"\sum_{{{over}}} c_i\, [{wrong}]"


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
class Ramp(Term):
    """sum_i weight_i l(m_i), a hinge whose slope drops to theta below the cut-off s (Suzumura et al. 2014, (2) corrected):

        l(m) = [1 - m]_+  for m >= s,     1 - s + theta (s - m)  for m < s,        0 <= theta <= 1,  s <= 0.

    theta = 1 is the hinge; theta = 0 charges an outlier 1 - s however far it is. As a program, with a binary outlier_i:
    l = slack_i + (1 - s) outlier_i + theta beyond_i,  slack_i >= 1 - m_i where outlier_i = 0,  beyond_i >= s - m_i where it is 1.
    """

    theta: float = 0.0
    s: float = 0.0
    merges_points = True

    def __post_init__(self) -> None:
        check_ramp(self.theta, self.s)

    def of_margin(self, margins: Array) -> Array:
        beyond = (1.0 - self.s) + self.theta * (self.s - margins)
        return np.where(margins >= self.s, np.maximum(0.0, 1.0 - margins), beyond)

    def declare(self, d: Declaration, coefficient: float) -> None:
        weights, labels = coefficient * d.points.weights, d.points.first
        if self.theta == 1:
            d.builder.minimize(weights @ declare_slack(d))
            return
        margins, reach = d.margins, _margin_reach(d)
        outlier = d.builder.binaries("outlier", labels=labels)
        # Not the hinge's slack, which every point must keep: here an outlier's may be zero.
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
        if self.theta == 1 or not _has_rule(values):
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


def _has_rule(values: Mapping[str, Any]) -> bool:
    return "w" in values or "c" in values


def check_ramp(theta: Any, s: Any) -> None:
    numbers = is_number(theta) and is_number(s)
    if not numbers or not 0 <= theta <= 1:
        raise InvalidInputError(f"theta, the weight of an outlier, must be a number from 0 to 1; got {theta!r}.")
    if not -np.inf < s <= 0:
        raise InvalidInputError(f"s, the cut-off margin below which a point is an outlier, must be <= 0; got {s!r}.")


def _margin_reach(d: Declaration) -> Any:
    """|m_i| <= reach_i at an optimum, since w = 0 costs no more than sum_i weight_i; infinite when w or b is free."""
    from .penalties import L2

    found = d.model.term(L2)
    rule = d.model.rule
    if found is None or found[0] <= 0 or d.model.constraints or getattr(rule, "intercept", False) is True:
        return np.inf
    zero = sum(c * float(d.data.weights.sum()) for c, term in d.model.terms if isinstance(term, Ramp | Hinge))
    if any(term.is_loss and not isinstance(term, Ramp | Hinge) for _, term in d.model.terms):
        return np.inf
    radius = float(np.sqrt(zero / found[0]))
    if isinstance(rule, Kernel):
        norms = np.diagonal(rule.training_gram(d.data.X, d.points.first))
    else:
        X = d.points.X
        norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() if hasattr(X, "multiply") else (X**2).sum(axis=1)
        norms = norms + (1.0 if getattr(rule, "intercept", False) == "penalised" else 0.0)
    return radius * np.sqrt(norms)


@dataclass(frozen=True)
class SquaredHinge(Term):
    """sum_i weight_i [1 - m_i]_+^2."""

    merges_points = True

    def declare(self, d: Declaration, coefficient: float) -> None:
        d.builder.add_square(declare_slack(d), coefficient * d.points.weights)

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return float(model.weights @ np.maximum(0.0, 1.0 - model.margins(values)) ** 2)

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
        return float(model.weights @ (1.0 - model.margins(values)) ** 2)

    def formula(self) -> str:
        return "sum_i weight_i (1 - margin_i)^2"

    def latex(self) -> str:
        return r"\sum_i c_i\, (1 - y_i f(x_i))^2"


@dataclass(frozen=True)
class TopKRanking(Term):
    """How far positives fall short of the top of the negatives (Zhang et al. 2018, (6)):

        (1/m) sum_i c_i [1 - score_i + T]_+^2   over positives i,     T = mean of the k largest scores of negatives,

    with m = sum c_i and k counted in weight: T = max {g.score : 0 <= g_j <= c_j/k, sum g = 1}. A common offset cancels.
    As a program: T = level + (1/k) sum_j c_j excess_j with excess_j >= score_j - level, excess_j >= 0.
    """

    k: float
    merges_points = True

    def __post_init__(self) -> None:
        if not is_number(self.k) or not 0 < self.k < np.inf:
            raise InvalidInputError(f"TopKRanking(k) needs a positive number of negatives; got {self.k!r}.")

    def declare(self, d: Declaration, coefficient: float) -> None:
        points = d.points
        self._check(points.weights[points.y_pm1 < 0])
        if d.scores is None:
            raise InvalidInputError("TopKRanking needs a rule with one affine score, such as Linear(intercept=False).")
        pos, neg = np.flatnonzero(points.y_pm1 > 0), np.flatnonzero(points.y_pm1 < 0)
        level, top = d.builder.variables("level"), d.builder.variables("top")
        excess = d.builder.variables("excess", labels=points.first[neg], lower=0.0)
        short = d.builder.variables("short", labels=points.first[pos], lower=0.0)
        d.builder.subject_to("top_mean", top - level - (points.weights[neg] / self.k) @ excess >= 0)
        d.builder.subject_to("above_level", excess - d.scores[neg] + level >= 0, labels=points.first[neg])
        d.builder.subject_to("ranking", d.scores[pos] + short - top >= 1, labels=points.first[pos])
        d.builder.add_square(short, coefficient * points.weights[pos] / points.weights[pos].sum())

    def _check(self, weights: Array) -> None:
        if self.k > weights.sum() * (1 + 1e-12):
            raise InvalidInputError(
                f"TopKRanking(k={self.k:g}) asks for more than the {weights.sum():g} negatives there are (in weight)."
            )

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        self._check(model.weights[~model.data.positive])
        return ranking_loss(model.scores(values), model.data.positive, model.weights, self.k)

    def formula(self) -> str:
        return f"mean_i [1 - score_i + (mean of the {self.k:g} largest negative scores)]_+^2 over positives"


def ranking_loss(scores: Array, positive: Any, weights: Array, k: float) -> float:
    """The loss of `TopKRanking` from scores: sort the negatives, take k of their weight from the top."""
    negatives, mass = scores[~positive], weights[~positive]
    order = np.argsort(-negatives, kind="stable")
    used = np.diff(np.minimum(np.cumsum(mass[order]), k), prepend=0.0)
    top = float(used @ negatives[order]) / k
    short = np.maximum(0.0, 1.0 - scores[positive] + top)
    return float(weights[positive] @ short**2) / float(weights[positive].sum())


def declare_slack(d: Declaration) -> Any:
    """slack_i >= max(0, 1 - m_i), shared by the hinge losses."""
    if d.builder.has("slack"):
        return d.builder["slack"]
    if isinstance(d.model.rule, Polyhedron):
        return declare_polyhedral_slack(d, d.model.rule)
    slack = d.builder.variables("slack", labels=d.points.first, lower=0.0)
    d.builder.subject_to("hinge", d.margins + slack >= 1, labels=d.points.first)
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
        """Each point's part in the sum of the two class means."""
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


class _EvaluateOnly(Term):
    """A smooth loss that no linear or quadratic program can hold; it can be evaluated and plotted."""

    merges_points = True

    def declare(self, d: Declaration, coefficient: float) -> None:
        raise UnsupportedProgramError(
            f"{type(self).__name__} is neither piecewise linear nor quadratic, so it has no program; it is here for evaluation "
            "and plots. Use Hinge(), SquaredHinge() or Squared() as a convex loss, or ZeroOne() itself."
        )

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return float(model.weights @ self.of_margin(model.margins(values)))

    def of_margin(self, margins: Array) -> Array:
        raise TypeError(f"{type(self).__name__} must define of_margin.")


@dataclass(frozen=True)
class Logistic(_EvaluateOnly):
    """sum_i weight_i log(1 + exp(-m_i)); evaluation only."""

    def of_margin(self, margins: Array) -> Array:
        return np.logaddexp(0.0, -margins)

    def formula(self) -> str:
        return "sum_i weight_i log(1 + exp(-margin_i))"


@dataclass(frozen=True)
class Sigmoid(_EvaluateOnly):
    """The smooth 0-1 loss sum_i weight_i / (1 + exp(K m_i)) of Nguyen & Sanner (2013); evaluation only."""

    K: float = 20.0

    def of_margin(self, margins: Array) -> Array:
        return 0.5 * (1.0 - np.tanh(0.5 * self.K * margins))

    def formula(self) -> str:
        return f"sum_i weight_i / (1 + exp({self.K:g} margin_i))"
