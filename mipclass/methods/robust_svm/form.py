"""The normal form of a robust SVM: 1/2 |w|^2 + C Ramp with rule Linear (no free offset) or Kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Array, Index, Mask
from ...errors import InvalidInputError
from ...modelling.algebra import Rule
from ...modelling.model import Model
from ...modelling.problem import Problem
from ...models.penalties import L2
from ...models.ramp import Ramp
from ...models.rules import Kernel, Linear
from ...protocol.result import Values
from ..base import Refusal
from .kernel_rows import KernelRows
from .kernels.operators import RIDGE, Operator, SignedGram, SignedRows

KERNEL_BYTES = 8 << 30  # largest kernel matrix that is formed; it is held once, in full
EVALUATED = (
    "rbf",
    "poly",
    "linear",
)  # kernels of which single rows can be computed; others give the whole matrix, which is checked
CACHED = 0.5  # share of the memory allowed for a kernel that its cache of rows takes; the rest is for the matrix of a working set
DIAGONAL_BLOCK = 500  # points whose part of the kernel matrix is formed to read its diagonal


@dataclass(frozen=True, eq=False)
class SignedPoints:
    """The distinct points of a model and the matrix Q of their dual, computed when it is first asked for."""

    model: Model

    @property
    def y(self) -> Array:
        """(n,) labels -1/+1."""
        return self.model.points.y_pm1

    @cached_property
    def operator(self) -> Operator:
        """Q as it is: for coordinate descent."""
        return SignedGram.of(self._gram()) if isinstance(self.model.rule, Kernel) else self.rows

    @cached_property
    def factorable(self) -> Operator:
        """Q with a ridge where every part of it has to be factored: for the homotopy. A kernel matrix is formed anew."""
        return SignedGram.of(self._gram(), RIDGE) if isinstance(self.model.rule, Kernel) else self.rows

    def within(self, memory: int) -> Operator | KernelRows:
        """Q for the homotopy: a kernel whose matrix would take more than `memory` bytes is evaluated as needed, with a cache of its rows."""
        rule = self.model.rule
        if not isinstance(rule, Kernel) or rule.kernel not in EVALUATED or 8 * self.model.points.n**2 <= memory:
            return self.factorable
        return self._kernel_rows(rule, memory)

    def _kernel_rows(self, rule: Kernel, memory: int) -> KernelRows:
        """Q as rows that are computed when they are needed."""
        X, y, first = self.model.X, self.y, self.model.points.first
        points = X[first]

        def rows_of(index: Index) -> Array:
            K = rule.gram(points[index], points)
            K *= y[index, None]
            K *= y
            return K

        def part_of(index: Index) -> Array:
            if 8 * len(index) ** 2 > KERNEL_BYTES:
                raise _too_large(len(index))
            Q = rule.training_gram(X, first[index])
            Q *= y[index, None]
            Q *= y[index]
            return Q

        blocks = np.array_split(np.arange(len(y)), max(1, len(y) // DIAGONAL_BLOCK))
        diagonal = np.concatenate([np.diagonal(rule.gram(points[block], points[block])) for block in blocks])
        return KernelRows.of(rows_of, part_of, diagonal, int(CACHED * memory))

    @cached_property
    def rows(self) -> SignedRows:
        """The rows y_i x_i of a linear rule, with a constant column for a penalised offset."""
        X = self.model.points.X
        X = X.toarray() if hasattr(X, "toarray") else X
        if _has_constant(self.model.rule):
            X = np.hstack([X, np.ones((len(X), 1))])
        return SignedRows.of(np.ascontiguousarray(self.y[:, None] * X))

    def _gram(self) -> Array:
        """(y y') * K."""
        model, n = self.model, self.model.points.n
        assert isinstance(model.rule, Kernel)
        if 8 * n**2 > KERNEL_BYTES:
            raise _too_large(n)
        Q = model.rule.training_gram(model.X, model.points.first)
        Q *= self.y[:, None]
        Q *= self.y
        return Q


def _too_large(n: int) -> InvalidInputError:
    """The error for a kernel matrix beyond the limit."""
    return InvalidInputError(
        f"the kernel matrix of {n} points takes {8e-9 * n**2:.0f} GB; the limit is {KERNEL_BYTES >> 30} GB. "
        "Use a linear rule on explicit features (e.g. sklearn's Nystroem), a smaller C or fewer points."
    )


@dataclass(frozen=True, eq=False)
class RobustForm:
    """A robust SVM in the form of the paper, and the way back to the model's values.

    points : the distinct points; forms of the same points that differ in their parameters may share them.
    weight : multiple of the loss once the penalty is 1/2 |w|^2.    scale : model objective = scale * this one.
    """

    points: SignedPoints
    weight: float
    theta: float
    s: float
    scale: float

    @property
    def model(self) -> Model:
        """The model that states the problem."""
        return self.points.model

    @property
    def y(self) -> Array:
        """(n,) labels -1/+1."""
        return self.points.y

    @cached_property
    def C(self) -> Array:
        """(n,) weight of each point's loss."""
        return self.model.points.weights * self.weight

    def values(self, alpha: Array) -> Values:
        """The model's values from multipliers of the distinct points."""
        model = self.model
        if isinstance(model.rule, Kernel):
            c = np.zeros(model.data.n)
            c[model.points.first] = self.y * alpha
            return model.rule.values(c, model.data.X)
        w = self.points.rows.matrix.T @ alpha
        if _has_constant(model.rule):
            return {"w": w[:-1], "b": np.asarray(w[-1])}
        return {"w": w, "b": np.zeros(())}

    def of_all_points(self, mask: Mask) -> Mask:
        """A mask of the distinct points as one of the model's points; points of weight 0 are not in it."""
        point_of = self.model.points.point_of
        kept = point_of >= 0
        out = np.zeros(self.model.data.n, dtype=bool)
        out[kept] = mask[point_of[kept]]
        return out


def _has_constant(rule: Rule) -> bool:
    """Whether the offset is a penalised weight, that of a constant column."""
    return isinstance(rule, Linear) and rule.intercept == "penalised"


def match_robust(problem: Problem, *, free_offset: bool = False) -> RobustForm | Refusal:
    """The robust SVM that `problem` states, or why it states none. A free offset is refused unless the caller takes one."""
    if not isinstance(problem, Model):
        return Refusal("it takes a declared Model; build one with models.robust_svm(X, y, C, theta, s).")
    penalty, loss = problem.term(L2), problem.term(Ramp)
    if penalty is None or loss is None or len(problem.terms) != 2:
        formula = problem.objective.formula()
        return Refusal(f"it takes 0.5 * L2() + C * Ramp(theta, s); this model minimises {formula}.")
    if penalty[0] <= 0 or loss[0] <= 0:
        return Refusal("the penalty and the loss both need a positive multiple.")
    if problem.constraints:
        constraint = problem.constraints[0].formula()
        return Refusal(f"it takes no side constraint such as {constraint}; use solver='scip' or 'highs'.")
    rule = problem.rule
    if isinstance(rule, Linear) and rule.intercept is True and not free_offset:
        return Refusal(
            "a free offset is outside its theory; use solver='balls', or Linear(intercept='penalised') or intercept=False."
        )
    if not isinstance(rule, Linear | Kernel):
        return Refusal(f"it takes rule Linear or Kernel, not {type(rule).__name__}.")
    scale = 2.0 * penalty[0]
    ramp: Ramp = loss[1]
    return RobustForm(SignedPoints(problem), loss[0] / scale, float(ramp.theta), float(ramp.s), scale)
