"""Model: data, a rule, terms and constraints; it becomes a Program and reads a solution back.

    minimise    sum_k coefficient_k term_k(rule; X, y)
    subject to  constraints on the rule and on its errors

The bases of rules, terms and constraints are in algebra.py, the concrete ones in mipclass.models. declaration.py holds
the state while they write themselves into a Builder, model_text.py prints a Model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..errors import InvalidInputError
from ..protocol.result import Values
from . import model_text
from .algebra import Constraint, ErrorLimit, Objective, Rule, Term, as_constraints, as_objective
from .data import Data, check_data, check_scales
from .declaration import Declaration
from .expression import Affine, Rows, Variables
from .linear import Linear
from .points import Points, as_given, merged
from .program import Program
from .reading import RuleReading

if TYPE_CHECKING:
    from .problem import Problem

Kind = TypeVar("Kind", bound=Term)


class Model:
    """A classification problem as a mathematical program: minimise terms of a rule subject to constraints.

    Parameters
    ----------
    X : (n, d) numbers, dense or sparse, or a data frame.   y : n labels of two kinds.
    rule : the form of the classifier's score, `Linear()` by default.
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
        self._set(Linear() if rule is None else rule, as_objective(minimize), as_constraints(subject_to), name)

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
        """A Model of data that were checked already; they may have a single class (see `check_one_class`)."""
        model = cls.__new__(cls)
        model.data = data
        model._set(rule, as_objective(minimize), as_constraints(subject_to), name)
        return model

    def _set(self, rule: Rule, objective: Objective, constraints: tuple[Constraint, ...], name: str) -> None:
        if not isinstance(rule, Rule):
            raise InvalidInputError(f"rule takes a rule such as Linear(); got {rule!r}.")
        self.rule, self.objective, self.name = rule, objective, name
        self._take(constraints)

    def _take(self, constraints: tuple[Constraint, ...]) -> None:
        """Make these the constraints, or leave the model as it is and raise when one of them does not fit."""
        known = self.rule.variables(self.data)
        for constraint in constraints:
            missing = [variable for variable in constraint.speaks_of if variable not in known]
            if missing:
                raise InvalidInputError(
                    f"{constraint.formula()!r} speaks of {missing[0]!r}, which the rule {self.rule.formula()!r} does not "
                    "have; use rule=Linear() or drop the constraint."
                )
            constraint.check(self.data)
        self._check_scale(constraints)
        check_scales(self.data.X, self.data.feature_names, free_units=self._has_free_units(constraints))
        self.constraints = constraints
        self._points: Points | None = None
        self._declared: tuple[Declaration, Program] | None = None
        self._scored: tuple[Values, Array] | None = (
            None  # values of a rule with costly scores, and the training points' scores
        )

    def _check_scale(self, constraints: tuple[Constraint, ...]) -> None:
        """A scale-free loss fixes the rule only up to a factor, so no other part may depend on that factor."""
        free = [term for _, term in self.objective.terms if term.is_scale_free and term.is_loss]
        if not free:
            return
        bound = [term for coefficient, term in self.objective.terms if not term.is_scale_free and coefficient > 0]
        rows = [c for c in constraints if not c.is_homogeneous]
        if bound or rows:
            culprit = (bound or rows)[0]
            raise InvalidInputError(
                f"{free[0].formula()} does not change when the rule is scaled, so {culprit.formula()} cannot be combined "
                "with it: any value could be reached by scaling. Use ZeroOne(margin=1), which fixes the scale "
                "(a point is an error when y (w.x + b) < 1), or drop the term."
            )

    def _has_free_units(self, constraints: tuple[Constraint, ...]) -> bool:
        """Whether multiplying a column of X by a positive number and its weight by the inverse leaves the problem the same."""
        boxes = [box for box in (c.weight_box(self.data) for c in constraints) if box is not None]
        bounded = any((np.isfinite(side) & (side != 0)).any() for box in boxes for side in box)
        return isinstance(self.rule, Linear) and self._is_scale_free_under(constraints) and not bounded

    @property
    def is_scale_free(self) -> bool:
        """No term or constraint changes when the rule is multiplied by a positive number, so that its scale may be fixed.

        A loss of weight zero counts too: it defines what an error is, and margin=1 defines it at one scale.
        """
        return self._is_scale_free_under(self.constraints)

    def _is_scale_free_under(self, constraints: tuple[Constraint, ...]) -> bool:
        terms = [term for coefficient, term in self.terms if coefficient > 0 or term.is_loss]
        return all(term.is_scale_free for term in terms) and all(c.is_homogeneous for c in constraints)

    # -- data, as methods read it -------------------------------------------------------------------------------------

    @property
    def X(self) -> Any:
        """The points, one per row, dense or CSR."""
        return self.data.X

    @property
    def y_pm1(self) -> Array:
        """The labels as -1 and +1; +1 is the positive class `classes[1]`."""
        return self.data.y_pm1

    @property
    def weights(self) -> Array:
        """The weight of each point: sample weight times class weight."""
        return self.data.weights

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The name of each column of X."""
        return self.data.feature_names

    @property
    def classes(self) -> NDArray[Any]:
        """The two labels as the user wrote them: (negative, positive)."""
        return self.data.classes

    @property
    def terms(self) -> tuple[tuple[float, Term], ...]:
        """The objective as pairs (coefficient, term)."""
        return self.objective.terms

    @property
    def points(self) -> Points:
        """The points of the program: equal ones are merged when every term allows it; otherwise every data row is one."""
        if self._points is None:
            if all(term.merges_points for _, term in self.terms):
                groups = [constraint.groups(self.data) for constraint in self.constraints]
                self._points = merged(self.data, [labels for labels in groups if labels is not None])
            else:
                self._points = as_given(self.data)
        return self._points

    # -- composing ----------------------------------------------------------------------------------------------------

    def subject_to(self, *constraints: Constraint | Rows) -> Model:
        """Add constraints to this Model, which forgets the program it may have built; returns the Model itself.

        To keep the Model as it is, add them to a copy: `problem.copy().subject_to(...)`.

        Examples
        --------
        >>> from mipclass import models
        >>> problem = models.zero_one([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0, 1, 0])
        >>> tightened = problem.copy().subject_to(problem.w["x0"] >= 0)
        >>> len(problem.constraints), len(tightened.constraints)
        (0, 1)
        """
        self._take(self.constraints + as_constraints(constraints))
        return self

    def copy(self) -> Model:
        """A Model of the same data, rule, terms and constraints, which changes on its own."""
        return copy(self)

    def variable(self, name: str) -> Affine:
        """A variable of the rule by name, for use in constraints."""
        known = self.rule.variables(self.data)
        if name not in known:
            raise InvalidInputError(f"the rule has no variable {name!r}; it has {', '.join(known)}.")
        return known[name]

    @property
    def w(self) -> Variables:
        """The rule's weights, indexed by feature name or position."""
        return cast(Variables, self.variable("w"))

    @property
    def b(self) -> Affine:
        """The rule's offset."""
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

    def value_names(self) -> tuple[str, ...]:
        """Names of the values that a result of this Model may hold: those of its rule and of its terms."""
        return (*self.rule.value_names(self.data), *(name for _, term in self.terms for name in term.value_names))

    def decode(self, x: Array) -> Values:
        """The rule's values at a point x of `program()`; a free offset is moved so that no point is tied (see Linear)."""
        d, program = self._declaration()
        return self.rule.decode(d, program.split(x))

    def encode(self, values: Mapping[str, Any]) -> Array:
        """A start for `program()` from decoded values: the rule's variables and those that its terms can derive."""
        d, program = self._declaration()
        known = {block.name for block in program.variables}
        start = dict(values)
        for _, term in self.terms:
            start |= term.encode(d, start)
        return program.join({name: value for name, value in start.items() if name in known})

    def basis(self) -> sp.csr_array | None:
        """T with x = T x', in which the program is better conditioned; None when no part asked for one.

        T expresses the `units` of the declaration, w = diag(units.w) w' and b = b' - units.mean.w. Integer weights or
        offsets have to stay integers, so they are never rescaled.
        """
        d, program = self._declaration()
        if d.units is None or any(d.builder.has(name) and d.builder.is_integer(name) for name in ("w", "b")):
            return None
        w = program.block("w")
        diagonal = np.ones(program.n_columns)
        diagonal[w.slice] = d.units.w
        T = sp.diags_array(diagonal, format="csr")
        if d.builder.has("b"):
            b = program.block("b").start
            shift = -(d.units.mean * d.units.w)
            T = T + sp.csr_array((shift, (np.full(w.size, b), np.arange(w.start, w.stop))), shape=T.shape)
        return sp.csr_array(T)

    def scope(self) -> str:
        """The limits within which an optimum of `program()` is an optimum of the problem; empty when there are none."""
        return "; ".join(self._declaration()[0].notes)

    def recount(self, values: Mapping[str, Any]) -> float:
        """The objective at decoded values, computed from X and y."""
        return float(sum(coefficient * term.value(self, values) for coefficient, term in self.terms))

    def violations(self, values: Mapping[str, Any]) -> dict[str, float]:
        """The violation of each violated constraint at decoded values, computed from X and y, by its formula."""
        found = {c.formula(): c.violation(self, values) for c in self.constraints}
        return {name: amount for name, amount in found.items() if amount > 0}

    def scores(self, values: Mapping[str, Any], X: Any = None) -> Array:
        """The rule's scores of the points X, by default of the training points."""
        if X is not None:
            return self.rule.scores(values, X)
        others = {name: value for name, value in values.items() if value is not self.X}
        if not self.rule.scores_are_costly or any(sp.issparse(value) for value in others.values()):
            return self.rule.scores(values, self.X)
        given = {name: np.asarray(value) for name, value in others.items()}
        if self._scored is None or not _are_equal(self._scored[0], given):
            copies = {name: value.copy() for name, value in given.items()}
            self._scored = copies, self.rule.scores(values, self.X)
        return self._scored[1].copy()

    def margins(self, values: Mapping[str, Any]) -> Array:
        """y_i times the score of each training point."""
        return self.y_pm1 * self.scores(values)

    def predict(self, values: Mapping[str, Any], X: Any = None) -> NDArray[Any]:
        """The label of each point: `classes[1]` where the score is > 0, else `classes[0]`."""
        return self.classes[(self.scores(values, X) > 0).astype(np.intp)]

    def reading(self, values: Values) -> RuleReading:
        """The rule at decoded values, as an object that predicts and that says in words what it predicts."""
        return RuleReading(self.rule, values, self.data)

    def write(self, path: str | Path, *, indicators: str = "bigm") -> None:
        """Write the program as an .lp or .mps file, with indicators as big-M rows ("bigm") or as they are ("native")."""
        self.program().write(path, indicators=indicators)

    # -- what methods read of the problem -----------------------------------------------------------------------------

    def term(self, kind: type[Kind]) -> tuple[float, Kind] | None:
        """(coefficient, term) of the given class of terms, when the objective has exactly one; else None."""
        found = [(c, t) for c, t in self.terms if isinstance(t, kind)]
        return found[0] if len(found) == 1 else None

    def error_limits(self) -> list[ErrorLimit]:
        """All constraints that limit errors only, as linear limits."""
        return [limit for c in self.constraints for limit in c.error_limits(self) or []]

    def weight_rows(self) -> list[Rows]:
        """All constraints on the rule's variables only, as linear rows."""
        return [rows for c in self.constraints for rows in c.weight_rows(self) or []]

    def other_constraints(self) -> list[Constraint]:
        """The constraints that are neither limits on errors nor linear rows on the rule."""
        return [c for c in self.constraints if c.error_limits(self) is None and c.weight_rows(self) is None]

    # -- printing -----------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return model_text.plain_text(self)

    __repr__ = __str__

    def latex(self) -> str:
        """The problem as a LaTeX `aligned` block."""
        return model_text.latex(self)

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex()}\n$$"

    def _repr_html_(self) -> str:
        return model_text.html(self)


if TYPE_CHECKING:

    def _as_problem(model: Model) -> Problem:
        """Type checkers compare every signature of Model with the protocol here."""
        return model


def _are_equal(known: Values, given: Values) -> bool:
    """Whether two sets of values are the same."""
    return known.keys() == given.keys() and all(np.array_equal(known[name], given[name]) for name in known)
