"""The parts of a Model: Rule, Term and their weighted sum, Constraint. The concrete ones are in mipclass.models.

A *Rule* declares the variables of the classifier and its scores, a *Term* adds to the objective, a *Constraint* adds rows
or bounds. Each can also be evaluated from decoded values and the data, so that every objective and every constraint of a
result is recounted instead of taken from the solver.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import is_number
from ..errors import InvalidInputError
from ..protocol.result import Values
from .data import Data, far_scales
from .expression import Affine, Rows

if TYPE_CHECKING:
    from .declaration import Declaration
    from .model import Model


ROW_TOLERANCE = 1e-6
"""A user's row counts as satisfied when its violation is at most this fraction of the sizes that it adds up; backends
satisfy rows to about 1e-6, their default feasibility tolerance."""

ROWS_SHOWN = 3
"""The formula of a user's constraint shows this many of its rows."""


class Rule(ABC):
    """The form of a classifier's score. `scores(values, X) > 0` predicts the positive class."""

    scores_are_costly: ClassVar[bool] = False
    """A model remembers its training points' last scores, which cost as much as a kernel matrix."""

    @abstractmethod
    def variables(self, data: Data) -> dict[str, Affine]:
        """The rule's variables by name, e.g. {"w": ..., "b": ...}, for use in a user's own constraints."""

    @abstractmethod
    def declare(self, d: Declaration) -> None:
        """Add the rule's variables to `d.builder` and, when scores are affine in them, set `d.scores`."""

    @abstractmethod
    def scores(self, values: Mapping[str, Any], X: Any) -> Array:
        """The scores of the points X at decoded values."""

    def value_names(self, data: Data) -> tuple[str, ...]:
        """Names of the values that `decode` gives and that a warm start may hold."""
        return tuple(self.variables(data))

    def decode(self, d: Declaration, values: Values) -> Values:
        """The values that users see, from the values of all variables of the program."""
        return {name: values[name] for name in self.variables(d.data) if name in values}

    @property
    def penalised(self) -> tuple[str, ...]:
        """Names of the variables that penalties charge for."""
        return ("w",)

    def squared_norm(self, model: Model, values: Mapping[str, Any]) -> float:
        """|w|^2 as the L2 penalty counts it, from decoded values."""
        return float(sum(np.sum(np.square(values[name])) for name in self.penalised))

    @abstractmethod
    def formula(self) -> str:
        """The score in plain text, e.g. 'w.x + b'."""

    def latex(self) -> str:
        """The score in LaTeX."""
        return _text(self.formula())

    def sentence(self, values: Mapping[str, Any], data: Data) -> str:
        """The fitted rule in words: what is predicted when, in the units of the data."""
        return f"{data.classes[1]} if {self.formula()} > 0, else {data.classes[0]}"


class Term(ABC):
    """A loss or a penalty. Terms add and scale: `0.5 * L2() + C * Hinge()`."""

    is_loss: ClassVar[bool] = True
    """The term measures the fit to the data (a penalty does not)."""
    is_scale_free: bool = False
    """The value does not change when the rule is multiplied by a positive number."""
    merges_points: ClassVar[bool] = False
    """The term is a weighted sum over points, so that equal points with equal labels may become one of summed weight."""
    is_relaxed_by_program: ClassVar[bool] = False
    """What `declare` writes is a lower bound on the term only, such as tangents of a smooth loss."""

    @property
    def value_names(self) -> tuple[str, ...]:
        """Names of values beside the rule's that a result holds for the term, and a warm start may hold."""
        return ()

    @abstractmethod
    def declare(self, d: Declaration, coefficient: float) -> None:
        """Add `coefficient` times this term to the objective of `d.builder`, with the variables and rows that it needs."""

    @abstractmethod
    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        """The term at decoded values, computed from the data."""

    @abstractmethod
    def formula(self) -> str:
        """The term in plain text, e.g. '|w|_1'."""

    def latex(self) -> str:
        """The term in LaTeX."""
        return _text(self.formula())

    def encode(self, d: Declaration, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of the term's own variables, and rescaled values of the rule's, for a warm start."""
        return {}

    def __add__(self, other: Any) -> Objective:
        return Objective(((1.0, self),)).__add__(other)

    def __radd__(self, other: Any) -> Objective:
        return Objective(((1.0, self),)).__add__(other)

    def __mul__(self, factor: Any) -> Objective:
        return Objective(((1.0, self),)).__mul__(factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Objective:
        return Objective(((1.0, self),)).__truediv__(divisor)

    def __sub__(self, other: Any) -> NoReturn:
        raise _no_difference(other)

    def __rsub__(self, other: Any) -> NoReturn:
        raise _no_difference(self)

    def __neg__(self) -> NoReturn:
        raise _no_difference(self)


@dataclass(frozen=True)
class Objective:
    """sum_k coefficient_k term_k, with coefficients >= 0."""

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

    def __truediv__(self, divisor: Any) -> Objective:
        if not is_number(divisor) or divisor == 0:
            raise InvalidInputError(f"a term can be divided by a number other than 0; got {divisor!r}.")
        return self.__mul__(1.0 / float(divisor))

    def __sub__(self, other: Any) -> NoReturn:
        raise _no_difference(other)

    def __rsub__(self, other: Any) -> NoReturn:
        raise _no_difference(self)

    def __neg__(self) -> NoReturn:
        raise _no_difference(self)

    def formula(self) -> str:
        """The sum in plain text."""
        parts = [term.formula() if c == 1 else f"{c:g} {term.formula()}" for c, term in self.terms]
        return " + ".join(parts)

    def latex(self) -> str:
        """The sum in LaTeX."""
        return " + ".join(term.latex() if c == 1 else rf"{c:g}\, {term.latex()}" for c, term in self.terms)


@dataclass(frozen=True, eq=False)
class ErrorLimit:
    """sum_i coefficients_i error_i <= at_most, where error_i is 1 when point i is misclassified, else 0."""

    coefficients: Array
    at_most: float


class Constraint(ABC):
    """A side constraint. Methods read `error_limits` and `weight_rows`; the program is written by `declare`."""

    is_homogeneous: bool = True
    """The constraint holds for c (w, b), c > 0, whenever it holds for (w, b); a scale-free loss needs this."""
    two_sided: bool = False
    """Setting error_i = 1 for a correct point could help to satisfy the constraint, so that the program must forbid it."""

    @abstractmethod
    def declare(self, d: Declaration) -> None:
        """Add the rows and bounds of the constraint to `d.builder`."""

    @abstractmethod
    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        """The violation at decoded values, computed from the data; 0 when the constraint holds."""

    @abstractmethod
    def formula(self) -> str:
        """The constraint in plain text, e.g. 'false-positive rate <= 0.05'."""

    def latex(self) -> str:
        """The constraint in LaTeX."""
        return _text(self.formula())

    def error_limits(self, model: Model) -> list[ErrorLimit] | None:
        """The constraint as limits on errors only, or None when it is not of that kind."""
        return None

    def weight_rows(self, model: Model) -> list[Rows] | None:
        """The constraint as linear rows on the rule's variables only, or None when it is not of that kind."""
        return None

    def weight_box(self, data: Data) -> tuple[Array, Array] | None:
        """(lower, upper) bounds that the constraint puts on w, one per feature, or None when it gives no bounds."""
        return None

    @property
    def speaks_of(self) -> tuple[str, ...]:
        """Names of the rule's variables that the constraint uses; a rule without them is refused."""
        return ()

    def check(self, data: Data) -> None:
        """Raise InvalidInputError when the constraint does not fit the data: unknown features, wrong number of labels."""

    def groups(self, data: Data) -> NDArray[Any] | None:
        """One label per point; equal points with different labels are not merged. None when there are no labels."""
        return None


@dataclass(frozen=True, eq=False)
class LinearConstraint(Constraint):
    """Rows on the rule's variables that a user wrote, such as `problem.w["age"] >= 0`."""

    rows: Rows

    @property
    def is_homogeneous(self) -> bool:  # type: ignore[override]  # a constant of other constraints
        """All right-hand sides are zero or infinite."""
        sides = np.concatenate([np.ravel(self.rows.lower), np.ravel(self.rows.upper)])
        return not self.rows.expression.constant.any() and bool(np.isin(sides, (0.0, np.inf, -np.inf)).all())

    @property
    def speaks_of(self) -> tuple[str, ...]:
        return tuple(block.name for block in self.rows.expression.terms)

    def declare(self, d: Declaration) -> None:
        d.builder.subject_to(d.fresh_row_name("user"), self.rows, note="rows added by the user")

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        worst = self.rows.violation(values)
        return worst if worst > ROW_TOLERANCE * self._scale(model.data, values) else 0.0

    def _scale(self, data: Data, values: Mapping[str, Any]) -> float:
        """The largest sum_j |a_j| max |v| over rows; at least 1 for rows with a constant, which has a scale of its own.

        Weights are compared in units in which the columns of X lie near one.
        """
        sizes = [0.0 if self.is_homogeneous else 1.0]
        for block, M in self.rows.expression.terms.items():
            units = 1.0 / far_scales(data.X) if block.name == "w" and block.shape == (data.d,) else 1.0
            largest = np.max(np.abs(values[block.name]) / units, initial=0.0)
            entries = float((np.abs(M) @ np.broadcast_to(units, block.size)).max())
            sizes.append(entries * float(largest))
        if np.isfinite(sizes).all():
            return max(sizes)
        # Weights of features in very far units meet in one row: the largest of its own terms is the scale.
        terms = self.rows.expression.terms.items()
        return max(float((np.abs(M) @ np.abs(np.ravel(values[block.name]))).max()) for block, M in terms)

    def weight_rows(self, model: Model) -> list[Rows]:
        return [self.rows]

    def formula(self) -> str:
        size = self.rows.expression.size
        texts = [self.rows.text(k) for k in range(min(ROWS_SHOWN, size))]
        more = size - ROWS_SHOWN
        return "; ".join(texts) + (f"; and {more} more rows" if more > 0 else "")

    def latex(self) -> str:
        size = self.rows.expression.size
        rows = r",\quad ".join(self.rows.latex(k) for k in range(min(ROWS_SHOWN, size)))
        more = size - ROWS_SHOWN
        return rows + (rf"\quad \text{{and {more} more rows}}" if more > 0 else "")


def _no_difference(subtracted: Any) -> InvalidInputError:
    """The error for a term with a minus sign."""
    what = subtracted.formula() if isinstance(subtracted, Term | Objective) else repr(subtracted)
    return InvalidInputError(
        f"{what} cannot be subtracted: an objective is minimised, and a loss or penalty with a minus sign would be made as large as "
        "possible. Write + for a penalty, e.g. ZeroOne(margin=1) + 0.1 * L1(); to limit a quantity instead, add a constraint to subject_to."
    )


def as_objective(minimize: Any) -> Objective:
    """A term or a weighted sum of terms, as a weighted sum."""
    if isinstance(minimize, Term):
        return Objective(((1.0, minimize),))
    if isinstance(minimize, Objective):
        return minimize
    raise InvalidInputError(f"minimize takes a loss, a penalty or a sum of them; got {type(minimize).__name__}.")


def as_constraints(given: Any) -> tuple[Constraint, ...]:
    """One constraint or comparison, or several, as a tuple of constraints."""
    items: Iterable[Any] = [given] if isinstance(given, Constraint | Rows) or not isinstance(given, Iterable) else given
    made: list[Constraint] = []
    for item in items:
        if isinstance(item, Rows):
            made.append(LinearConstraint(item))
        elif isinstance(item, Constraint):
            made.append(item)
        else:
            raise InvalidInputError(
                f"subject_to takes constraints or comparisons such as problem.w['age'] >= 0; got {type(item).__name__}."
            )
    return tuple(made)


def _text(words: str) -> str:
    """Plain text for use inside a LaTeX formula."""
    plain = words.replace("\\", " ").replace("^", " ")
    return r"\text{" + re.sub(r"([{}_%#&$])", r"\\\1", plain) + "}"
