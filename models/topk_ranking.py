"""The top-k ranking loss of tau-FPL (Zhang et al. 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, Mask
from ..checks import is_number
from ..errors import InvalidInputError
from ..modelling.algebra import Term
from ..modelling.declaration import Declaration
from ..modelling.model import Model

WEIGHT_ROUNDING = 1e-12
"""Relative rounding error allowed in the sum of the negatives' weights when k is compared with it."""


@dataclass(frozen=True)
class TopKRanking(Term):
    """The squared hinge of each positive against the mean of the k highest negatives (Zhang et al. 2018, (6)):

        (1/m) sum_i c_i [1 - score_i + T]_+^2   over positives i,     T = mean of the k largest scores of negatives,

    with m = sum c_i and k measured in weight: T = max {g.score : 0 <= g_j <= c_j/k, sum g = 1}. A common offset cancels.
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
        if self.k > weights.sum() * (1 + WEIGHT_ROUNDING):
            raise InvalidInputError(
                f"TopKRanking(k={self.k:g}) asks for more than the {weights.sum():g} negatives there are (in weight)."
            )

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        self._check(model.weights[~model.data.positive])
        return ranking_loss(model.scores(values), model.data.positive, model.weights, self.k)

    def formula(self) -> str:
        return f"mean_i [1 - score_i + (mean of the {self.k:g} largest negative scores)]_+^2 over positives"


def ranking_loss(scores: Array, positive: Mask, weights: Array, k: float) -> float:
    """The loss of `TopKRanking` from scores: T averages the highest negatives up to a total weight of k."""
    negatives, mass = scores[~positive], weights[~positive]
    order = np.argsort(-negatives, kind="stable")
    used = np.diff(np.minimum(np.cumsum(mass[order]), k), prepend=0.0)
    top = float(used @ negatives[order]) / k
    short = np.maximum(0.0, 1.0 - scores[positive] + top)
    return float(weights[positive] @ short**2) / float(weights[positive].sum())
