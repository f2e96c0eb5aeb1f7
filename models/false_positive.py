"""Few false positives: the tau-FPL ranking problem (Zhang et al. 2018), its dual, and the exact Neyman-Pearson problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import is_number
from ..errors import InvalidInputError, UnsupportedProgramError
from ..modelling.builder import Builder
from ..modelling.model import Model
from ..modelling.problem import AsStated
from ..modelling.program import Program
from ..modelling.row_blocks import row_blocks
from ..protocol.result import Values
from .penalties import L2
from .rate_constraints import FalsePositiveRate
from .rules import Linear
from .topk_ranking import TopKRanking, ranking_loss
from .zero_one_loss import ZeroOne

_ASYMMETRY, _ASYMMETRY_AT_ZERO = 1e-8, 1e-10
"""Differences between K and its transpose, relative to an entry and to the largest entry, that are rounding."""


def number_of_top(tau: float, negatives: float) -> float:
    """k = max(1, ceil(tau n)), in exact arithmetic for a whole number n: 0.07 of 100 is 7, although 0.07 * 100 > 7.

    A weight sum that is not whole is not rounded: k = tau n.
    """
    if not is_number(tau) or not 0.0 < tau < 1.0:
        raise InvalidInputError(
            f"tau must be a number in (0, 1), the tolerated false-positive rate; got {tau!r}. Write 0.05 for five per cent."
        )
    if negatives == round(negatives):
        return float(max(1, ceil(Fraction(repr(float(tau))) * int(negatives))))
    return float(tau) * negatives


def tau_fpl(X: Any, y: Any, tau: float = 0.05, R: float = 1e-3, **data: Any) -> Model:
    """Rank every positive above the mean of the worst tau-share of the negatives.

    Data        positives x_i (m of them), negatives x_j (n), weights c; k = max(1, ceil(tau n))
    Variables   w in R^d, short_i >= 0, excess_j >= 0, level, top
    Minimise    R/2 w'w + (1/m) sum_i c_i short_i^2
    Subject to  w.x_i + short_i - top >= 1,   top >= level + (1/k) sum_j c_j excess_j,   excess_j >= w.x_j - level
    Size        d + m + n + 2 columns, m + n + 1 rows
    Reference   A. Zhang et al.: tau-FPL: Tolerance-Constrained Learning in Linear Time. AAAI 2018, problem (6).

    The score has no offset: a threshold is chosen afterwards (see TauFPLClassifier). `data` takes Model's sample_weight,
    class_weight, feature_names and pos_label.
    """
    _check_R(R)
    bare = Model(X, y, rule=Linear(intercept=False), minimize=L2(), **data)
    negatives = float(bare.weights[~bare.data.positive].sum())
    loss = TopKRanking(number_of_top(tau, negatives))
    return Model.from_data(bare.data, rule=bare.rule, minimize=0.5 * R * L2() + loss, name="tau_fpl")


@dataclass(frozen=True, eq=False)
class BlockedRanking(AsStated):
    """`tau_fpl` for rows that are read block by block: a Dask array, a memory map, float32 that is not to be copied.

    Solvers `lbfgs` and `fista` read the rows where they are. There is no program: that would hold all of them.
    """

    X: Any
    y_pm1: Array
    weights: Array
    k: float
    R: float
    name: str = "tau_fpl"

    @classmethod
    def build(cls, X: Any, y_pm1: Array, weights: Array, tau: float, R: float) -> BlockedRanking:
        """The problem of rows X with signs y and weights, k from tau and the negatives' weight."""
        _check_R(R)
        return cls(X, y_pm1, weights, number_of_top(tau, float(weights[y_pm1 < 0].sum())), float(R))

    def program(self) -> Program:
        """An error: there is no program of rows that are not in memory."""
        raise UnsupportedProgramError(
            "rows that are read block by block have no program in memory; use solver='lbfgs' or 'fista', or load the rows "
            "and declare models.tau_fpl(X, y)."
        )

    def value_names(self) -> tuple[str, ...]:
        """The values "w" and "b"."""
        return ("w", "b")

    def decode(self, x: Array) -> Values:
        """The values "w" and "b" = 0."""
        return {"w": x[: self.X.shape[1]], "b": np.zeros(())}

    def encode(self, values: Mapping[str, Any]) -> Array:
        """The weights as they are."""
        return np.asarray(values["w"], dtype=np.float64)

    def recount(self, values: Mapping[str, Any]) -> float:
        """The ranking objective at "w", read block by block."""
        w = np.asarray(values["w"])
        scores = np.concatenate([block @ w for _, block in row_blocks(self.X)])
        weights, positive = self.weights, self.y_pm1 > 0
        loss = ranking_loss(scores, positive, weights, self.k)
        return loss + 0.5 * self.R * float(w @ w)


def neyman_pearson(X: Any, y: Any, tau: float = 0.05, **data: Any) -> Model:
    """Fewest missed positives among the rules with a false-positive rate of at most tau on the data, exactly.

    The ideal that tau-FPL approximates, problem (2) of Zhang et al. (2018) with ties counted as errors: a mixed-integer
    program for small data (up to a few hundred points).
    """
    return Model(
        X, y, minimize=ZeroOne(on="positives"), subject_to=FalsePositiveRate(tau), name="neyman_pearson", **data
    )


@dataclass(frozen=True, eq=False)
class TauFPLDual(AsStated):
    """See `tau_fpl_dual`."""

    positives: Array
    negatives: Array
    k: int
    R: float
    name: str = "tau_fpl_dual"

    def program(self) -> Program:
        """The QP of `tau_fpl_dual`."""
        (m, d), n = self.positives.shape, len(self.negatives)
        build = Builder(self.name)
        alpha = build.variables("alpha", m, lower=0.0)
        beta = build.variables("beta", n, lower=0.0)
        v, total = build.variables("v", d), build.variables("total")
        build.subject_to("direction", self.positives.T @ alpha - self.negatives.T @ beta - v == 0)
        build.subject_to("sum_alpha", alpha.sum() - total == 0)
        build.subject_to("sum_beta", beta.sum() - total == 0)
        build.subject_to("cap", beta - total / self.k * np.ones(n) <= 0)
        build.add_square(v, 1.0 / (2.0 * m * self.R))
        build.add_square(alpha, 0.25)
        build.minimize(-1.0 * alpha.sum())
        return build.build()

    def value_names(self) -> tuple[str, ...]:
        """The primal "w", beside the blocks of the program."""
        return ("w",)

    def decode(self, x: Array) -> Values:
        """The values "alpha" and "beta" and the primal "w" that belongs to them."""
        m, n = len(self.positives), len(self.negatives)
        alpha, beta = x[:m], x[m : m + n]
        return {"alpha": alpha, "beta": beta, "w": self.direction(alpha, beta) / (m * self.R)}

    def encode(self, values: Mapping[str, Any]) -> Array:
        """The full point of given "alpha" and "beta"; of less, what is known, where "w" gives the direction."""
        start = dict(values)
        if "w" in start:
            start["v"] = np.asarray(start["w"], dtype=np.float64) * (len(self.positives) * self.R)
        x = self.program().join(start)
        m, n = len(self.positives), len(self.negatives)
        alpha, beta = x[:m], x[m : m + n]
        if "alpha" in start and "beta" in start:
            x[m + n :] = [*self.direction(alpha, beta), alpha.sum()]
        return x

    def direction(self, alpha: Array, beta: Array) -> Array:
        """X+'alpha - X-'beta."""
        return np.asarray(alpha @ self.positives - beta @ self.negatives)

    def recount(self, values: Mapping[str, Any]) -> float:
        """The dual objective at "alpha" and "beta"."""
        alpha, beta = np.asarray(values["alpha"]), np.asarray(values["beta"])
        v = self.direction(alpha, beta)
        return float(v @ v / (2.0 * len(alpha) * self.R) + np.sum(0.25 * alpha**2 - alpha))


def tau_fpl_dual(X: Any, y: Any, tau: float = 0.05, R: float = 1e-3, *, pos_label: Any = None) -> TauFPLDual:
    """The dual of `tau_fpl` for unweighted data.

    Data        X+ (m x d), X- (n x d), k = max(1, ceil(tau n))
    Variables   alpha in R^m, beta in R^n, v in R^d, total
    Minimise    |v|^2/(2mR) + sum_i (alpha_i^2/4 - alpha_i)
    Subject to  v = X+'alpha - X-'beta,   sum alpha = sum beta = total,   beta_j <= total/k,   alpha, beta >= 0
    Size        m + n + d + 1 columns, n + d + 2 rows
    Reference   Zhang et al. (2018), Theorem 1. w = v/(mR), and the optimum is -m times that of `tau_fpl`.
    """
    _check_R(R)
    model = Model(X, y, minimize=L2(), pos_label=pos_label)
    dense = model.X.toarray() if hasattr(model.X, "toarray") else model.X
    positive = model.data.positive
    k = int(number_of_top(tau, float((~positive).sum())))
    return TauFPLDual(dense[positive], dense[~positive], k, float(R))


@dataclass(frozen=True, eq=False)
class KernelRanking(AsStated):
    """See `tau_fpl_kernel`."""

    K: Array
    y_pm1: Array
    k: int
    R: float
    name: str = "tau_fpl_kernel"

    def program(self) -> Program:
        """The QP of `tau_fpl_kernel`."""
        pos, neg = np.flatnonzero(self.y_pm1 > 0), np.flatnonzero(self.y_pm1 < 0)
        build = Builder(self.name)
        c = build.variables("c", len(self.K))
        level, top = build.variables("level"), build.variables("top")
        excess = build.variables("excess", labels=neg, lower=0.0)
        short = build.variables("short", labels=pos, lower=0.0)
        build.subject_to("top_mean", top - level - np.full(len(neg), 1.0 / self.k) @ excess >= 0)
        build.subject_to("above_level", excess - self.K[neg] @ c + level >= 0, labels=neg)
        build.subject_to("ranking", self.K[pos] @ c + short - top >= 1, labels=pos)
        build.add_quadratic(c, self.R * self.K)
        build.add_square(short, 1.0 / len(pos))
        return build.build()

    def decode(self, x: Array) -> Values:
        """The values "c", the weights of the kernel's columns."""
        return {"c": x[: len(self.K)]}

    def encode(self, values: Mapping[str, Any]) -> Array:
        """A start with the given columns known and the others unknown."""
        return self.program().join(dict(values))

    def recount(self, values: Mapping[str, Any]) -> float:
        """The ranking objective at "c"."""
        c = np.asarray(values["c"])
        scores = self.K @ c
        top = float(np.sort(scores[self.y_pm1 < 0])[::-1][: self.k].mean())
        short = np.maximum(0.0, 1.0 - scores[self.y_pm1 > 0] + top)
        return float(np.mean(short**2) + 0.5 * self.R * c @ scores)


def tau_fpl_kernel(K: Any, y: Any, tau: float = 0.05, R: float = 1e-3, *, pos_label: Any = None) -> KernelRanking:
    """`tau_fpl` in the feature space of a kernel, for unweighted data.

    Data        K (N x N) symmetric positive semidefinite, m positives, n negatives, k = max(1, ceil(tau n))
    Variables   c in R^N (score(x) = sum_i c_i K(x_i, x)), short_i >= 0, excess_j >= 0, level, top
    Minimise    R/2 c'Kc + (1/m) sum_i short_i^2
    Subject to  (Kc)_i + short_i - top >= 1,   top >= level + (1/k) sum_j excess_j,   excess_j >= (Kc)_j - level
    Size        2N + 2 columns, N + 1 rows
    Reference   Zhang et al. (2018), after (5): "kernel methods can be used for nonlinear ranking functions".
    """
    _check_R(R)
    model = Model(K, y, minimize=L2(), pos_label=pos_label)
    gram = model.X.toarray() if hasattr(model.X, "toarray") else model.X
    if gram.shape[0] != gram.shape[1] or not _is_symmetric(gram):
        raise InvalidInputError(
            f"K must be a symmetric kernel matrix; got shape {gram.shape}{'' if gram.shape[0] != gram.shape[1] else ', not symmetric'}."
        )
    k = int(number_of_top(tau, float((~model.data.positive).sum())))
    return KernelRanking(gram, model.y_pm1, k, float(R))


def _is_symmetric(gram: Array) -> bool:
    return np.allclose(gram, gram.T, rtol=_ASYMMETRY, atol=_ASYMMETRY_AT_ZERO * np.abs(gram).max())


def _check_R(R: Any) -> None:
    if not is_number(R) or not 0.0 < R < np.inf:
        raise InvalidInputError(
            f"R must be a positive number, the weight of the penalty R/2 |w|^2; got {R!r}. Try powers of ten from 1e-6 to 1."
        )
