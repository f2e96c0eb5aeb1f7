"""The parts a Model is made of: Rule, Term and their weighted sum, Constraint. Concrete ones live in mipclass.models.

A *Rule* declares the variables of the classifier and its scores, a *Term* adds something to the objective, a *Constraint*
adds rows. Each can also be evaluated from the decoded values alone, so that every claimed objective is recounted from the
data and not taken from the solver.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import is_number
from ..errors import InvalidInputError
from ..protocol.result import Values
from .data import Data
from .expression import Affine, Rows

if TYPE_CHECKING:
    from .model import Declaration, Model


ROW_TOLERANCE = 1e-6
"""A row of a user's holds when it is missed by no more than this part of what it adds up, as solvers see it."""


class Rule(ABC):
    """A classifier's shape. `scores(values, X) > 0` predicts the positive class."""

    @abstractmethod
    def variables(self, data: Data) -> dict[str, Affine]:
        """The rule's variables by name, e.g. {"w": ..., "b": ...}, for use in a user's own constraints."""

    @abstractmethod
    def declare(self, d: Declaration) -> None:
        """Add the rule's variables to `d.builder` and, when scores are affine in them, set `d.scores`."""

    @abstractmethod
    def scores(self, values: Mapping[str, Any], X: Any) -> Array:
        """Decision scores of points X."""

    def decode(self, d: Declaration, values: Values) -> Values:
        """What users see, from all variables of the program."""
        return {name: values[name] for name in self.variables(d.data) if name in values}

    @property
    def penalised(self) -> tuple[str, ...]:
        """Names of the variables that penalties speak of."""
        return ("w",)

    def squared_norm(self, model: Model, values: Mapping[str, Any]) -> float:
        """|w|^2 as the L2 penalty counts it, from decoded values."""
        return float(sum(np.sum(np.square(values[name])) for name in self.penalised))

    @abstractmethod
    def formula(self) -> str:
        """The score in plain text, e.g. 'w.x + b'."""

    def latex(self) -> str:
        return _text(self.formula())


class Term(ABC):
    """A loss or a penalty. Terms add and scale: `0.5 * L2() + C * Hinge()`."""

    is_loss: ClassVar[bool] = True
    """It measures the fit to the data (a penalty does not)."""
    is_scale_free: bool = False
    """Its value does not change when the rule is multiplied by a positive number."""
    merges_points: ClassVar[bool] = False
    """A weighted sum over points, so that equal points with equal labels may become one of summed weight."""

    @abstractmethod
    def declare(self, d: Declaration, coefficient: float) -> None:
        """Add `coefficient` times this term to `d.builder`'s objective, with what variables and rows it needs."""

    @abstractmethod
    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        """The term at decoded values, from the data."""

    @abstractmethod
    def formula(self) -> str: ...

    def latex(self) -> str:
        return _text(self.formula())

    def encode(self, d: Declaration, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of the term's own variables (and rescaled ones of the rule) for a warm start."""
        return {}

    def __add__(self, other: Any) -> Objective:
        return Objective(((1.0, self),)).__add__(other)

    def __radd__(self, other: Any) -> Objective:
        return Objective(((1.0, self),)).__add__(other)

    def __mul__(self, factor: Any) -> Objective:
        return Objective(((1.0, self),)).__mul__(factor)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Objective:
    """A weighted sum of terms."""

    terms: tuple[tuple[float, Term], ...]

    def __add__(self, other: Any) -> Objective:
        if isinstance(other, int | float) and other == 0:  # so that sum([...]) works
            return self
        if isinstance(other, Term):
            other = Objective(((1.0, other),))
        if not isinstance(other, Objective):
            raise InvalidInputError(f"an objective adds losses and penalties; got {type(other).__name__}.")
        return Objective(self.terms + other.terms)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Objective:
        if not is_number(factor):
            raise InvalidInputError(f"a term can be multiplied by a number; got {type(factor).__name__}.")
        if not np.isfinite(factor) or factor < 0:
            raise InvalidInputError(
                f"the multiple of a loss or penalty must be finite and >= 0; got {factor}. "
                "A negative multiple would reward errors and make the problem unbounded or non-convex."
            )
        return Objective(tuple((float(factor) * coefficient, term) for coefficient, term in self.terms))

    __rmul__ = __mul__

    def formula(self) -> str:
        parts = [term.formula() if c == 1 else f"{c:g} {term.formula()}" for c, term in self.terms]
        return " + ".join(parts)

    def latex(self) -> str:
        return " + ".join(term.latex() if c == 1 else rf"{c:g}\, {term.latex()}" for c, term in self.terms)


@dataclass(frozen=True, eq=False)
class ErrorLimit:
    """sum_i coefficients_i error_i <= at_most, where error_i is 1 when point i is wrong."""

    coefficients: Array
    at_most: float


class Constraint(ABC):
    """A side constraint. Methods read `error_limits` and `weight_rows`; backends get `declare`."""

    is_homogeneous: bool = True
    """It holds for c * (w, b) whenever it holds for (w, b), c > 0; only such constraints fit a scale-free loss."""
    two_sided: bool = False
    """It could gain from a correct point that is called wrong, so an error must imply a wrong point too."""

    @abstractmethod
    def declare(self, d: Declaration) -> None: ...

    @abstractmethod
    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        """By how much decoded values break it, recounted from the data; 0 when they do not."""

    @abstractmethod
    def formula(self) -> str: ...

    def latex(self) -> str:
        return _text(self.formula())

    def error_limits(self, model: Model) -> list[ErrorLimit] | None:
        """The constraint as limits on errors alone, or None when it is not of that kind."""
        return None

    def weight_rows(self, model: Model) -> list[Rows] | None:
        """The constraint as linear rows over the rule's variables alone, or None when it is not of that kind."""
        return None

    @property
    def speaks_of(self) -> tuple[str, ...]:
        """Names of the rule's variables without which it makes no sense."""
        return ()

    def check(self, data: Data) -> None:
        """Refuse what does not fit the data (unknown feature names, groups of wrong length)."""

    def groups(self, data: Data) -> NDArray[Any] | None:
        """A label for each point that keeps equal points of different labels apart, or None."""
        return None


@dataclass(frozen=True, eq=False)
class LinearConstraint(Constraint):
    """Rows over the rule's variables that a user wrote, such as `problem.w["age"] >= 0`."""

    rows: Rows

    @property
    def is_homogeneous(self) -> bool:  # type: ignore[override]
        sides = np.concatenate([np.ravel(self.rows.lower), np.ravel(self.rows.upper)])
        return not self.rows.expression.constant.any() and bool(np.isin(sides, (0.0, np.inf, -np.inf)).all())

    @property
    def speaks_of(self) -> tuple[str, ...]:
        return tuple(block.name for block in self.rows.expression.terms)

    def declare(self, d: Declaration) -> None:
        d.builder.subject_to(d.fresh_row_name("user"), self.rows)

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        worst = self.rows.violation(values)
        return worst if worst > ROW_TOLERANCE * self._scale(values) else 0.0

    def _scale(self, values: Mapping[str, Any]) -> float:
        """The size of what is added up in a row; rows with a number in them are measured in units of at least one."""
        terms = self.rows.expression.terms.items()
        sizes = [np.abs(M).sum(axis=1).max() * np.abs(values[block.name]).max(initial=0.0) for block, M in terms]
        return float(max([0.0 if self.is_homogeneous else 1.0, *sizes]))

    def weight_rows(self, model: Model) -> list[Rows]:
        return [self.rows]

    def formula(self) -> str:
        shown = 3
        texts = [self.rows.text(k) for k in range(min(shown, self.rows.expression.size))]
        more = self.rows.expression.size - shown
        return "; ".join(texts) + (f"; and {more} more rows" if more > 0 else "")


def _text(words: str) -> str:
    """Plain words inside a formula."""
    plain = words.replace("\\", " ").replace("^", " ")
    return r"\text{" + re.sub(r"([{}_%#&$])", r"\\\1", plain) + "}"
