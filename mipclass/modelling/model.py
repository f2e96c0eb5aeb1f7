"""Model: data + rule + terms + constraints, declared; it becomes a Program and reads a solution back.

    minimise    sum_k coefficient_k term_k(rule; X, y)
    subject to  constraints on the rule and on its errors

The parts are small classes (mipclass/modelling/algebra.py has their bases, mipclass.models the concrete ones).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..errors import InvalidInputError
from ..protocol.result import Values
from .algebra import Constraint, ErrorLimit, LinearConstraint, Objective, Rule, Term
from .builder import Builder
from .data import Data, check_data
from .expression import Affine, Rows, Variables
from .linear import Linear
from .points import Points, as_given, merged
from .program import Program

__all__ = [
    "Constraint",
    "Declaration",
    "ErrorLimit",
    "LinearConstraint",
    "Model",
    "Objective",
    "Points",
    "Rule",
    "Term",
]


class Declaration:
    """The state while a Model is being written into a Builder; parts share what they declare here."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.data = model.data
        self.builder = Builder(model.name)
        self.points = model.points
        self.scores: Affine | None = None
        self.notes: list[str] = []
        self.units: dict[str, Any] = {}
        self._row_names: set[str] = set()

    @property
    def margins(self) -> Affine:
        """y_i times the score of each point."""
        if self.scores is None:
            raise InvalidInputError(
                f"rule {type(self.model.rule).__name__} has no single affine score, which this term or constraint needs; "
                "use rule=Linear()."
            )
        return self.points.y_pm1 * self.scores

    def fresh_row_name(self, name: str) -> str:
        k, candidate = 1, name
        while candidate in self._row_names:
            k += 1
            candidate = f"{name}{k}"
        self._row_names.add(candidate)
        return candidate


class Model:
    """A classification problem as a mathematical program. See the module's docstring.

    Parameters
    ----------
    X : (n, d) numbers, dense or sparse, or a data frame.   y : n labels of two kinds.
    rule : the classifier's shape, `Linear()` by default.
    minimize : a term or a weighted sum of terms.
    subject_to : constraints, or comparisons such as `problem.w["age"] >= 0`.
    sample_weight, class_weight, feature_names, pos_label : as in scikit-learn.

    Examples
    --------
    >>> from mipclass import models, solve
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> problem = models.Model(X, y, minimize=models.ZeroOne())
    >>> solve(problem, solver="highs").objective
    1.0
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        rule: Rule | None = None,
        minimize: Term | Objective,
        subject_to: Constraint | Rows | Sequence[Constraint | Rows] = (),
        sample_weight: ArrayLike | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        feature_names: Sequence[str] | None = None,
        pos_label: Any = None,
        name: str = "model",
    ) -> None:
        self.data = check_data(
            X,
            y,
            sample_weight=sample_weight,
            class_weight=class_weight,
            feature_names=feature_names,
            pos_label=pos_label,
        )
        self._set(Linear() if rule is None else rule, _objective(minimize), _constraints(subject_to), name)

    @classmethod
    def from_data(
        cls,
        data: Data,
        *,
        rule: Rule,
        minimize: Term | Objective,
        subject_to: Constraint | Rows | Sequence[Constraint | Rows] = (),
        name: str = "model",
    ) -> Model:
        """A Model of data that were checked already, e.g. of a single class."""
        return cls._from_parts(data, rule, _objective(minimize), _constraints(subject_to), name)

    @classmethod
    def _from_parts(
        cls, data: Data, rule: Rule, objective: Objective, constraints: tuple[Constraint, ...], name: str
    ) -> Model:
        model = cls.__new__(cls)
        model.data = data
        model._set(rule, objective, constraints, name)
        return model

    def _set(self, rule: Rule, objective: Objective, constraints: tuple[Constraint, ...], name: str) -> None:
        self.rule, self.objective, self.constraints, self.name = rule, objective, constraints, name
        if not isinstance(rule, Rule):
            raise InvalidInputError(f"rule takes a rule such as Linear(); got {rule!r}.")
        known = rule.variables(self.data)
        for constraint in constraints:
            missing = [variable for variable in constraint.speaks_of if variable not in known]
            if missing:
                raise InvalidInputError(
                    f"{constraint.formula()!r} speaks of {missing[0]!r}, which the rule {rule.formula()!r} does not have; "
                    "use rule=Linear() or drop the constraint."
                )
            constraint.check(self.data)
        self._check_scale()
        self._points: Points | None = None
        self._declared: tuple[Declaration, Program] | None = None

    def _check_scale(self) -> None:
        """A scale-free loss fixes the rule only up to a factor, so every companion must be indifferent to it too."""
        free = [term for _, term in self.objective.terms if term.is_scale_free and term.is_loss]
        if not free:
            return
        bound = [term for coefficient, term in self.objective.terms if not term.is_scale_free and coefficient > 0]
        rows = [c for c in self.constraints if not c.is_homogeneous]
        if bound or rows:
            culprit = (bound or rows)[0]
            raise InvalidInputError(
                f"{free[0].formula()} does not change when the rule is scaled, so {culprit.formula()} cannot be combined "
                "with it: any value could be reached by scaling. Use ZeroOne(margin=1), which fixes the scale "
                "(a point is an error when y (w.x + b) < 1), or drop the term."
            )

    @property
    def is_scale_free(self) -> bool:
        """Nothing in it changes when the rule is multiplied by a positive number, so the scale may be normalised.

        A loss of weight zero still says what an error is, and with it the scale.
        """
        terms = [term for coefficient, term in self.terms if coefficient > 0 or term.is_loss]
        return all(term.is_scale_free for term in terms) and all(c.is_homogeneous for c in self.constraints)

    # -- data, as methods read it -------------------------------------------------------------------------------------

    @property
    def X(self) -> Any:
        return self.data.X

    @property
    def y_pm1(self) -> Array:
        return self.data.y_pm1

    @property
    def weights(self) -> Array:
        return self.data.weights

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.data.feature_names

    @property
    def classes(self) -> NDArray[Any]:
        return self.data.classes

    @property
    def terms(self) -> tuple[tuple[float, Term], ...]:
        return self.objective.terms

    @property
    def points(self) -> Points:
        """The points that the program speaks of: merged when every loss allows it, else the data as they are."""
        if self._points is None:
            if all(term.merges_points for _, term in self.terms):
                groups = [constraint.groups(self.data) for constraint in self.constraints]
                self._points = merged(self.data, [labels for labels in groups if labels is not None])
            else:
                self._points = as_given(self.data)
        return self._points

    # -- composing ----------------------------------------------------------------------------------------------------

    def subject_to(self, *constraints: Constraint | Rows) -> Model:
        """A new Model with further constraints."""
        return self._from_parts(
            self.data, self.rule, self.objective, self.constraints + _constraints(constraints), self.name
        )

    def variable(self, name: str) -> Affine:
        """A variable of the rule by name, for use in constraints."""
        known = self.rule.variables(self.data)
        if name not in known:
            raise InvalidInputError(f"the rule has no variable {name!r}; it has {', '.join(known)}.")
        return known[name]

    @property
    def w(self) -> Variables:
        return cast(Variables, self.variable("w"))

    @property
    def b(self) -> Affine:
        return self.variable("b")

    # -- the way to a solver and back ---------------------------------------------------------------------------------

    def program(self) -> Program:
        """The canonical form; built once."""
        return self._declaration()[1]

    def _declaration(self) -> tuple[Declaration, Program]:
        if self._declared is None:
            d = Declaration(self)
            self.rule.declare(d)
            for coefficient, term in self.terms:
                if coefficient > 0:
                    term.declare(d, coefficient)
            for constraint in self.constraints:
                constraint.declare(d)
            self._declared = d, d.builder.build()
        return self._declared

    def decode(self, x: Array) -> Values:
        """The rule's values from a point of `program()`; ties are removed where the offset is free (see Linear)."""
        d, program = self._declaration()
        return self.rule.decode(d, program.split(x))

    def encode(self, values: Mapping[str, Any]) -> Array:
        """A start from decoded values: the rule's variables, and what each term can say of its own."""
        d, program = self._declaration()
        known = {block.name for block in program.variables}
        start = dict(values)
        for _, term in self.terms:
            start |= term.encode(d, start)
        return program.join({name: value for name, value in start.items() if name in known})

    def basis(self) -> sp.csr_array | None:
        """T with x = T x', in which the program is better conditioned; None when no part asked for it.

        `units` of the declaration hold w's units s and the point m around which scores are measured:
        w = diag(s) w',  b = b' - m.w.
        """
        d, program = self._declaration()
        if not d.units or any(d.builder.has(name) and d.builder.is_integer(name) for name in ("w", "b")):
            return None
        w = program.block("w")
        diagonal = np.ones(program.n_columns)
        diagonal[w.slice] = d.units["w"]
        T = sp.diags_array(diagonal, format="csr")
        if d.builder.has("b"):
            b = program.block("b").start
            shift = -(d.units["mean"] * d.units["w"])
            T = T + sp.csr_array((shift, (np.full(w.size, b), np.arange(w.start, w.stop))), shape=T.shape)
        return sp.csr_array(T)

    def scope(self) -> str:
        """Within which limits an optimum of `program()` is an optimum of the problem; empty when there are none."""
        return "; ".join(self._declaration()[0].notes)

    def recount(self, values: Mapping[str, Any]) -> float:
        """The objective of decoded values, from X and y."""
        return float(sum(coefficient * term.value(self, values) for coefficient, term in self.terms))

    def violations(self, values: Mapping[str, Any]) -> dict[str, float]:
        """By how much decoded values break each constraint, recounted from X and y; empty when none is broken."""
        found = {c.formula(): c.violation(self, values) for c in self.constraints}
        return {name: amount for name, amount in found.items() if amount > 0}

    def scores(self, values: Mapping[str, Any], X: Any = None) -> Array:
        return self.rule.scores(values, self.X if X is None else X)

    def margins(self, values: Mapping[str, Any]) -> Array:
        return self.y_pm1 * self.scores(values)

    def predict(self, values: Mapping[str, Any], X: Any = None) -> NDArray[Any]:
        """Labels: positive iff the score is > 0."""
        return self.classes[(self.scores(values, X) > 0).astype(np.intp)]

    def write(self, path: str | Path, *, indicators: str = "bigm") -> None:
        """Write the program as an .lp or .mps file, indicators as big-M rows or natively."""
        self.program().write(path, indicators=indicators)

    # -- normal form for methods --------------------------------------------------------------------------------------

    def term(self, kind: type) -> tuple[float, Any] | None:
        """The coefficient and term of a kind, when there is exactly one of it."""
        found = [(c, t) for c, t in self.terms if isinstance(t, kind)]
        return found[0] if len(found) == 1 else None

    def error_limits(self) -> list[ErrorLimit]:
        """All constraints that speak of errors alone."""
        return [limit for c in self.constraints for limit in c.error_limits(self) or []]

    def weight_rows(self) -> list[Rows]:
        """All constraints that speak of the rule's variables alone, as linear rows."""
        return [rows for c in self.constraints for rows in c.weight_rows(self) or []]

    def other_constraints(self) -> list[Constraint]:
        """Constraints that are neither limits on errors nor linear rows on the rule."""
        return [c for c in self.constraints if c.error_limits(self) is None and c.weight_rows(self) is None]

    # -- printing -----------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        n_positive = int(self.data.positive.sum())
        lines = [
            f"minimise    {self.objective.formula()}",
            f"with        score = {self.rule.formula()}, positive class {self.classes[1]} when score > 0",
        ]
        lines += [f"{'subject to' if k == 0 else '':<12}{c.formula()}" for k, c in enumerate(self.constraints)]
        lines.append(f"data        {self.data.n} points ({n_positive} positive) x {self.data.d} features")
        return "\n".join(lines)

    __repr__ = __str__

    def latex(self) -> str:
        """The problem as a LaTeX `aligned` block."""
        lines = [rf"\min\quad & {self.objective.latex()}", rf"\text{{with}}\quad & f(x) = {self.rule.latex()}"]
        for k, constraint in enumerate(self.constraints):
            lead = r"\text{s.t.}" if k == 0 else ""
            lines.append(rf"{lead}\quad & {constraint.latex()}")
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex()}\n$$"

    def _repr_html_(self) -> str:
        lines = str(self).splitlines()
        cells = (f"<tr><td>{escape(line[:12].strip())}</td><td>{escape(line[12:])}</td></tr>" for line in lines)
        return f"<table>{''.join(cells)}</table>"


def _objective(minimize: Any) -> Objective:
    if isinstance(minimize, Term):
        return Objective(((1.0, minimize),))
    if isinstance(minimize, Objective):
        return minimize
    raise InvalidInputError(f"minimize takes a loss, a penalty or a sum of them; got {type(minimize).__name__}.")


def _constraints(given: Any) -> tuple[Constraint, ...]:
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
