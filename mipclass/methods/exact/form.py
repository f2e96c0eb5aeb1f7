"""The normal form of the proving methods: a 0-1 loss, perhaps with limits on errors, rows on (w, b), a margin or no offset."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import ClassVar

import numpy as np

from ...arrays import Array, Mask
from ...certificates.certificate import Statement
from ...modelling.model import Model
from ...modelling.problem import Problem
from ...protocol.run import Run
from ..base import Refusal
from ..zero_one.form import ZeroOneForm
from ..zero_one.offsets import best_offset
from ..zero_one.prepared import ZeroOneData, prepare
from ..zero_one.widest import recentre
from .box.cone import Cone, cone_of
from .iis.cover import CoverData, constrained_cover, plain_cover, scaling
from .rational import exactly_at_least, rounded_up
from .statement import statement_of

OTHERWISE = (
    "Use solver='auto' for other models: beside ZeroOne(margin=1) a penalty L2() is proven by 'directions' or 'subsystems', others go to a "
    "MIP solver such as 'highs', whose bound has no certificate."
)
"""Where a model goes that no proving method of this family takes."""


@dataclass(frozen=True, eq=False)
class ProofForm(ZeroOneForm):
    """A 0-1 problem with its statement; `weights` are the statement's costs and `scale` is 1."""

    statement: Statement

    copies: ClassVar[bool] = False
    """Whether a box search has a row of weight one per unit of a point's weight (`box.copies`)."""

    @cached_property
    def data(self) -> ZeroOneData:
        """The rows that are left to decide: merged, and opposite labels on equal points cancelled."""
        return prepare(self.X, self.y, self.weights, keep_columns=bool(self.statement.rows))

    @cached_property
    def unfolded(self) -> ProofForm:
        """The same problem with limits that no error helps to keep; itself when its limits are so already.

        Where l_i < 0 the term l_i e_i = l_i + |l_i| (1 - e_i) counts the point with the other label, which is wrong where the point
        itself is right. (Rules that tie such a point are not allowed, see `Statement`.) These copies come behind all points.
        """
        statement = self.statement
        if not statement.limits or not (np.array([c for c, _ in statement.limits]) < 0).any():
            return self
        welcome = np.flatnonzero((np.array([c for c, _ in statement.limits]) < 0).any(axis=0))
        limits = tuple(
            (
                np.concatenate([np.maximum(c, 0.0), np.maximum(-c[welcome], 0.0)]),
                rounded_up(Fraction(at_most) + sum((Fraction(-v) for v in c[c < 0].tolist()), Fraction(0))),
            )
            for c, at_most in statement.limits
        )
        costs = np.concatenate([statement.costs, np.zeros(len(welcome))])
        return OtherPointsForm(
            self.problem,
            costs,
            1.0,
            replace(statement, costs=costs, limits=limits),
            np.concatenate([self.X, self.X[welcome]]),
            np.concatenate([self.y, -self.y[welcome]]),
        )

    @cached_property
    def cone(self) -> Cone | None:
        """The cone of the rows on (w, b); None when there are none, or when they have no interior or are not homogeneous."""
        return cone_of(self.statement)

    @property
    def is_plain_in_a_cone(self) -> bool:
        """Apart from limits on errors the problem is plain, perhaps with homogeneous rows: boxes can prove it."""
        statement = self.statement
        return replace(statement, limits=(), rows=()).is_plain and (not statement.rows or self.cone is not None)

    @property
    def is_plain_but_for_features(self) -> bool:
        """A limit on the number of features, or their cost, is all that makes the problem not plain."""
        return replace(self.statement, max_features=None, feature_cost=0.0).is_plain

    def on_features(self, features: tuple[int, ...]) -> ProofForm:
        """The same problem over these features alone, all of which cost nothing. Rows on other weights alone hold for weights of zero."""
        statement = self.statement
        kept = [*features, self.X.shape[1]]
        rows = tuple((a[kept], end) for a, end in statement.rows if a[kept].any())
        alone = replace(statement, rows=rows, max_features=None, feature_cost=0.0)
        return OtherPointsForm(self.problem, self.weights, 1.0, alone, self.X[:, list(features)], self.y)

    def cover(self, data: ZeroOneData | None = None, at_most: Fraction | None = None) -> CoverData:
        """The problem as a covering problem: of the prepared rows `data` when these are given or it is plain, else with no cost
        counted above `at_most`."""
        if self.statement.is_plain or data is not None:
            cover = plain_cover(self.X, self.y, self.data if data is None else data)
            rows = self.statement.rows
            return replace(cover, sides=rows, map=scaling(cover.Z)) if rows else cover
        return constrained_cover(self.X, self.y, self.statement, at_most)

    def errors_at_average_cost(self, cost: Fraction) -> float:
        """A cost in the user's units as a number of errors that cost as much as the average point."""
        count = int((self.weights > 0).sum())
        return float(cost * count / self.costs.total) if count else 0.0

    def exact_loss(self, w: Array, b: float) -> Fraction:
        """Cost of the rule's errors and of its features."""
        features = Fraction(self.statement.feature_cost) * int(np.count_nonzero(w))
        return self.costs.sum(self.exact_errors(w, b)) + features

    def exact_errors(self, w: Array, b: float) -> Mask:
        """The points that the rule gets wrong, decided in rationals wherever float64 could be wrong."""
        Z, W = self.y[:, None] * np.column_stack([self.X, np.ones(len(self.X))]), np.append(w, b)
        if self.statement.margin:
            return np.asarray(~exactly_at_least(Z, W, np.ones(len(Z))))
        return np.asarray(exactly_at_least(-Z, W, np.zeros(len(Z))))

    def finished_rule(self, data: ZeroOneData, W: Array, run: Run) -> tuple[Array, float]:
        """A rule (w, b) of the plain problem without ties; in the middle of its cell, if the run's time is not up and the rows on (w, b)
        allow for it."""
        w, b = data.rule(recentre(data, data.restricted(W), run))
        b = best_offset(np.asarray(self.X @ w), self.y, self.costs, b)
        if self.cone is not None and not self.cone.has(np.append(w, b)):
            return self._without_ties(data, W)
        return w, b

    def _without_ties(self, data: ZeroOneData, W: Array) -> tuple[Array, float]:
        """W, or a rule of the cone near it, where W ties equal points of opposite labels: these cancel in the data."""
        assert self.cone is not None
        wanted = data.constant + data.masses.sum(data.Z @ data.restricted(W) <= 0)
        for candidate in chain([W], self.cone.near(W)):
            if self.exact_loss(candidate[:-1], float(candidate[-1])) <= wanted:
                return candidate[:-1], float(candidate[-1])
        return W[:-1], float(W[-1])


@dataclass(frozen=True, eq=False)
class OtherPointsForm(ProofForm):
    """A problem about other points than the user's: with copies (`ProofForm.unfolded`) or with fewer features (`on_features`)."""

    other_X: Array
    other_y: Array

    @property
    def X(self) -> Array:
        """The points."""
        return self.other_X

    @property
    def y(self) -> Array:
        """Their labels."""
        return self.other_y


def match_proof(problem: Problem, *, plain: bool, discrete: bool = False) -> ProofForm | Refusal:
    """The form of a problem that can be proven, or the reason why it cannot.

    plain : allow no side constraints, no margin and no fixed offset.
    discrete : allow whole weights, a limit on the number of features, and costs of them.
    """
    if not isinstance(problem, Model):
        return Refusal("it takes a Model that minimises ZeroOne(); use solver='highs' for a Program.")
    statement = statement_of(problem)
    if isinstance(statement, Refusal):
        return Refusal(f"{statement.reason} {OTHERWISE}")
    if statement.chooses_features and statement.whole is None and statement.margin:
        return Refusal(
            "no proving method takes MaxFeatures or L0() beside a margin and real weights; use ZeroOne(margin=0), which solver='exact' proves, or "
            "solver='scip' or 'highs', whose bounds have no certificate."
        )
    if (statement.chooses_features or statement.whole is not None) and not discrete:
        return Refusal(
            "it takes no whole weights, no limit on the number of features and no L0(); use solver='exact' for these."
        )
    if plain and not statement.is_plain:
        return Refusal(
            "it proves the plain scale-free 0-1 loss with a free offset; use solver='iis' for side constraints and margins."
        )
    if statement.margin and any((coefficients < 0).any() for coefficients, _ in statement.limits):
        return Refusal(
            "with a margin it takes no limit that errors help to keep (RateParity); use ZeroOne(margin=0), which solver='exact' proves, or "
            "solver='scip' (or 'highs' with Bounds on the weights), whose bounds have no certificate."
        )
    return ProofForm(problem, statement.costs, 1.0, statement)
