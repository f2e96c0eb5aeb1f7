"""Projection onto the top-k simplex as a quadratic program, for any QP solver and for the method made for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import finite_vector, positive_integer
from ..errors import InvalidInputError
from ..modelling.builder import Builder
from ..modelling.problem import AsStated
from ..modelling.program import Program
from ..protocol.result import Values

_FEASIBLE = 1e-6
"""Violation, relative to the data's scale, that is not reported: the feasibility tolerance of QP solvers."""

_LARGEST = 1e150
"""Largest absolute value of a point to project: squared distances are finite."""


def _point(name: str, value: Any) -> Array:
    """A finite vector whose squared distances are finite too."""
    vector: Array = finite_vector(name, value).astype(np.float64, copy=False)
    largest = float(np.abs(vector).max())
    if largest > _LARGEST:
        raise InvalidInputError(
            f"{name} has {largest:.3g} as its largest absolute value; up to {_LARGEST:.0e} is allowed, since the objective squares it. Divide the "
            "point by a number first and multiply the projection by it, or use mipclass.project_topk_simplex."
        )
    return vector


@dataclass(frozen=True, eq=False)
class TopKProjection(AsStated):
    """See `topk_projection`."""

    alpha: Array
    beta: Array
    k: int
    name: str = "topk_projection"

    def program(self) -> Program:
        """The QP of `topk_projection`."""
        build = Builder(self.name)
        alpha = build.variables("alpha", len(self.alpha), lower=0.0)
        beta = build.variables("beta", len(self.beta), lower=0.0)
        total = build.variables("total")
        build.subject_to("sum_alpha", alpha.sum() - total == 0)
        build.subject_to("sum_beta", beta.sum() - total == 0)
        build.subject_to("cap", beta - total / self.k * np.ones(len(self.beta)) <= 0)
        build.add_square(alpha - self.alpha, 0.5)
        build.add_square(beta - self.beta, 0.5)
        return build.build()

    def decode(self, x: Array) -> Values:
        """The values "alpha" and "beta"."""
        m, n = len(self.alpha), len(self.beta)
        return {"alpha": x[:m], "beta": x[m : m + n]}

    def encode(self, values: Mapping[str, Any]) -> Array:
        """The full point of given "alpha" and "beta"; of less, what is known."""
        start = dict(values)
        if "alpha" in start:
            start["total"] = np.sum(start["alpha"])
        return self.program().join(start)

    def recount(self, values: Mapping[str, Any]) -> float:
        """Half the squared distance to the point."""
        return 0.5 * float(np.sum((values["alpha"] - self.alpha) ** 2) + np.sum((values["beta"] - self.beta) ** 2))

    def violations(self, values: Mapping[str, Any]) -> dict[str, float]:
        """How far values leave the set, beyond rounding at the scale of the data."""
        alpha, beta = np.asarray(values["alpha"]), np.asarray(values["beta"])
        scale = max(1.0, float(np.abs(self.alpha).max()), float(np.abs(self.beta).max()), float(alpha.sum()))
        found = {
            "alpha, beta >= 0": -min(float(alpha.min()), float(beta.min())),
            "sum alpha = sum beta": abs(float(alpha.sum() - beta.sum())),
            "beta <= sum(alpha)/k": float(beta.max() - alpha.sum() / self.k),
        }
        return {name: amount for name, amount in found.items() if amount > _FEASIBLE * scale}


def topk_projection(alpha: Any, beta: Any, k: int) -> TopKProjection:
    """The nearest point of the top-k simplex (Zhang et al. 2018, (9)).

    Data        alpha0 in R^m, beta0 in R^n, an integer k >= 1
    Variables   alpha in R^m, beta in R^n, total
    Minimise    1/2 |alpha - alpha0|^2 + 1/2 |beta - beta0|^2
    Subject to  sum alpha = total,  sum beta = total,  beta_j <= total/k,  alpha >= 0,  beta >= 0
    Size        m + n + 1 columns, n + 2 rows
    Reference   A. Zhang et al.: tau-FPL: Tolerance-Constrained Learning in Linear Time. AAAI 2018, problem (9).

    `mipclass.project_topk_simplex` answers the same question without a model around it.
    """
    a, b = _point("alpha", alpha), _point("beta", beta)
    return TopKProjection(a, b, positive_integer("k", k))


@dataclass(frozen=True, eq=False)
class VectorProjection(AsStated):
    """The nearest point p to v with 0 <= p_j <= cap (or sum(p)/k) and a fixed or limited sum. See its makers below."""

    v: Array
    k: int | None = None
    cap: float = np.inf
    total: float | None = None
    at_most: float = np.inf
    name: str = "projection"

    def program(self) -> Program:
        """The QP: p, its sum `total`, and the limits on both."""
        build = Builder(self.name)
        p = build.variables("p", len(self.v), lower=0.0, upper=self.cap)
        total = build.variables("total", upper=self.at_most)
        build.subject_to("sum", p.sum() - total == 0)
        if self.total is not None:
            build.tighten("total", lower=self.total, upper=self.total)
        if self.k is not None:
            build.subject_to("share", p - total / self.k * np.ones(len(self.v)) <= 0)
        build.add_square(p - self.v, 0.5)
        return build.build()

    def decode(self, x: Array) -> Values:
        """The values "p"."""
        return {"p": x[: len(self.v)]}

    def encode(self, values: Mapping[str, Any]) -> Array:
        """The full point of a given "p"; of less, what is known."""
        return self.program().join({**values, "total": np.sum(values["p"])} if "p" in values else dict(values))

    def recount(self, values: Mapping[str, Any]) -> float:
        """Half the squared distance to the point."""
        return 0.5 * float(np.sum((np.asarray(values["p"]) - self.v) ** 2))


def capped_simplex_projection(v: Any, total: float = 1.0, cap: float = np.inf) -> VectorProjection:
    """Minimise 1/2 |p - v|^2 over {p : sum p = total, 0 <= p_j <= cap}: the simplex, or with a cap the quadratic knapsack.

    Size        n + 1 columns, 1 row
    """
    return VectorProjection(_point("v", v), cap=cap, total=total, name="capped_simplex")


def topk_cone_projection(v: Any, k: int, radius: float = np.inf) -> VectorProjection:
    """Minimise 1/2 |p - v|^2 over {p : 0 <= p_j <= sum(p)/k, sum p <= radius}: the top-k cone, or the top-k simplex of Lapin et al.

    Size        n + 1 columns, n + 1 rows
    """
    point = _point("v", v)
    return VectorProjection(point, k=positive_integer("k", k), at_most=radius, name="topk_cone")
