"""A Pyomo ConcreteModel read as a Program: its active constraints and objective, and the variables that these may use.

Variables come from the active blocks; one on a deactivated block takes part when an active constraint or the objective uses it, as in
Pyomo's own writers. A Reference adds nothing that the model does not have already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, Mask
from ..errors import InvalidInputError, MipclassError, UnsupportedProgramError
from ..modelling.blocks import Block
from ..modelling.program import Program

HARMLESS = {
    "BooleanVar",  # by itself: only a LogicalConstraint or a Disjunction gives it a meaning
    "BuildAction",
    "BuildCheck",
    "ContinuousSet",  # of pyomo.dae, once its derivatives are discretised
    "Expression",
    "ExternalFunction",  # a constraint that calls one is not linear
    "Param",
    "Port",  # of pyomo.network, once its arcs are expanded
    "RangeSet",
    "Set",
    "Suffix",
}
"""Classes of components that state nothing by themselves."""
READ = {"Block", "Constraint", "Objective", "Var"}
"""Classes of components that a Program can hold."""
TRANSFORMATIONS = {
    "Arc": "'network.expand_arcs'",
    "Complementarity": "'mpec.simple_disjunction' and then 'gdp.bigm'",
    "DerivativeVar": "'dae.finite_difference' or 'dae.collocation'",
    "Disjunct": "'gdp.bigm' or 'gdp.hull'",
    "Disjunction": "'gdp.bigm' or 'gdp.hull'",
    "LogicalConstraint": "'core.logical_to_linear'",
}
"""Class of component -> the transformations of Pyomo that write it with variables and constraints."""
Found = TypeVar("Found")


def read(model: Any) -> tuple[Program, list[Any]]:
    """The Program, and Pyomo's variable behind each of its columns."""
    from pyomo.environ import Constraint, Var

    _check_model(model)
    _check_components(model)
    variables, entries = _components(model, Var)
    for variable in entries:
        if variable.fixed and variable.value is None:
            raise InvalidInputError(
                f"Pyomo variable {variable.name!r} is fixed without a value; fix it at one, or free it."
            )
    reader = _Expressions(model, entries)
    blocks, constraints = _components(model, Constraint)
    bounds = [_evaluated(constraint, partial(reader.row, constraint)) for constraint in constraints]
    objective, sign = active_objective(model)
    gradient = None if objective is None else _evaluated(objective, partial(reader.objective, objective, sign))
    A = reader.matrix()
    c, Q, constant = gradient or (np.zeros(len(entries)), None, 0.0)
    for j in range(sum(block.size for block in variables), len(entries)):  # found on deactivated blocks
        variables = (*variables, Block(entries[j].name, j, ()))
    lower, upper, integer = _columns(entries)
    program = Program(
        c=c,
        A=A,
        row_lower=np.array([low for low, _ in bounds]),
        row_upper=np.array([high for _, high in bounds]),
        lower=lower,
        upper=upper,
        integer=integer,
        Q=Q,
        constant=constant,
        variables=variables,
        rows=blocks,
        name=str(model.name),
    )
    return program, entries


def active_objective(model: Any) -> tuple[Any, float]:
    """The active objective, None without one, and the sign that makes it a minimisation."""
    from pyomo.environ import Objective, maximize

    active = list(model.component_data_objects(Objective, active=True, descend_into=True))
    if len(active) > 1:
        names = ", ".join(objective.name for objective in active)
        raise InvalidInputError(f"Pyomo model {model.name!r} has {len(active)} active objectives ({names}); keep one.")
    if not active:
        return None, 1.0
    return active[0], -1.0 if active[0].sense == maximize else 1.0


# -- what is on the model ---------------------------------------------------------------------------------------------------


def _check_model(model: Any) -> None:
    from pyomo.environ import Block

    if getattr(model, "ctype", None) is not Block or not hasattr(model, "component_objects"):
        raise InvalidInputError(
            f"a Pyomo ConcreteModel is needed; got a {type(model).__name__} of {type(model).__module__}. Models of pyomo.kernel have to "
            f"be stated with pyomo.environ."
        )
    if not model.is_constructed():
        raise InvalidInputError(
            f"Pyomo model {model.name!r} is abstract and holds no data yet; call its create_instance() and solve what that returns."
        )


def _check_components(model: Any) -> None:
    for block in model.block_data_objects(active=True, descend_into=True):
        for kind in block.collect_ctypes(active=True, descend_into=False):
            name = kind.__name__
            if name in HARMLESS or name in READ:
                continue
            transformation = TRANSFORMATIONS.get(name)
            if transformation is None:
                advice = "Rewrite it with linear constraints, or solve the model with Pyomo itself."
            else:
                advice = f"Apply Pyomo's transformation {transformation} to the model first."
            raise UnsupportedProgramError(
                f"Pyomo model {model.name!r} holds an active {name}, which a Program cannot hold. {advice}"
            )


def _components(model: Any, kind: Any) -> tuple[tuple[Block, ...], list[Any]]:
    """The active components of a kind as blocks, and their entries in order; each entry once, whatever refers to it."""
    from pyomo.environ import Var

    blocks: list[Block] = []
    entries: list[Any] = []
    seen: set[int] = set()
    found = list(model.component_objects(kind, active=True, descend_into=True))
    for component in sorted(found, key=lambda one: bool(one.is_reference())):  # stable: references come last
        items = [
            (key, entry) for key, entry in component.items() if id(entry) not in seen and (kind is Var or entry.active)
        ]
        if not items:
            continue
        seen.update(id(entry) for _, entry in items)
        shape, labels = _axes([key for key, _ in items]) if component.is_indexed() else ((), ())
        blocks.append(Block(component.name, len(entries), shape, labels))
        entries += [entry for _, entry in items]
    return tuple(blocks), entries


def _axes(keys: list[Any]) -> tuple[tuple[int, ...], tuple[tuple[str, ...] | None, ...]]:
    """Shape and labels of an index set: two axes when it is a full table, else one with the index as its label."""
    if all(isinstance(key, tuple) and len(key) == 2 for key in keys):
        first, second = (list(dict.fromkeys(key[k] for key in keys)) for k in (0, 1))
        if keys == list(product(first, second)):
            return (len(first), len(second)), (_labels(first), _labels(second))
    return (len(keys),), (_labels(keys),)


def _labels(keys: Iterable[Any]) -> tuple[str, ...] | None:
    keys = list(keys)
    if keys == list(range(len(keys))):
        return None
    return tuple(",".join(map(str, key)) if isinstance(key, tuple) else str(key) for key in keys)


def _columns(entries: list[Any]) -> tuple[Array, Array, Mask]:
    lower, upper, integer = np.empty(len(entries)), np.empty(len(entries)), np.zeros(len(entries), dtype=np.bool_)
    for j, variable in enumerate(entries):
        if not (variable.is_continuous() or variable.is_integer() or variable.is_binary()):
            raise UnsupportedProgramError(
                f"Pyomo variable {variable.name!r} has the domain {variable.domain}; a Program knows reals, integers and binaries."
            )
        low, high = _evaluated(variable, partial(getattr, variable, "bounds"))
        if variable.fixed:
            low = high = variable.value
        lower[j] = -np.inf if low is None else low
        upper[j] = np.inf if high is None else high
        integer[j] = variable.is_integer() or variable.is_binary()
    return lower, upper, integer


# -- expressions ------------------------------------------------------------------------------------------------------------


def _evaluated(component: Any, evaluate: Callable[[], Found]) -> Found:
    """What Pyomo makes of a component; its errors (no value, division by zero ...) as ours, with the component's name."""
    try:
        return evaluate()
    except MipclassError:
        raise
    except Exception as err:  # a user's rule may raise anything
        raise InvalidInputError(
            f"Pyomo cannot evaluate {component.name!r}: {type(err).__name__}: {' '.join(str(err).split())} "
            f"Give every parameter and fixed variable a value, or rewrite the expression."
        ) from err


class _Expressions:
    """Collects rows of A; finds columns by identity, and adds to `entries` those of deactivated blocks that are used."""

    def __init__(self, model: Any, entries: list[Any]) -> None:
        self._model, self._entries = model, entries
        self._place = {id(entry): j for j, entry in enumerate(entries)}
        self._data: list[float] = []
        self._indices: list[int] = []
        self._starts = [0]

    def row(self, constraint: Any) -> tuple[float, float]:
        """Append the constraint's body; its sides, less the body's constant."""
        from pyomo.environ import value

        repn = self._standard(constraint.body, constraint.name, "not linear")
        if any(a != 0 for a in repn.quadratic_coefs):
            raise self._refusal(constraint.name, "not linear but quadratic")
        self._data += [float(a) for a in repn.linear_coefs]
        self._indices += [self._column(v, constraint.name) for v in repn.linear_vars]
        self._starts.append(len(self._data))
        low, high = value(constraint.lower), value(constraint.upper)
        constant = float(repn.constant)
        return (-np.inf if low is None else low - constant, np.inf if high is None else high - constant)

    def matrix(self) -> sp.csr_array:
        """The rows so far, over all columns found."""
        return sp.csr_array(
            (self._data, self._indices, self._starts), shape=(len(self._starts) - 1, len(self._entries))
        )

    def objective(self, objective: Any, sign: float) -> tuple[Array, sp.csc_array | None, float]:
        """(c, Q, constant) of the objective times sign."""
        repn = self._standard(objective.expr, objective.name, "neither linear nor quadratic")
        linear = [self._column(v, objective.name) for v in repn.linear_vars]
        pairs = [tuple(self._column(v, objective.name) for v in pair) for pair in repn.quadratic_vars]
        n = len(self._entries)
        c = np.zeros(n)
        np.add.at(c, np.array(linear, dtype=np.int64), np.array(repn.linear_coefs, dtype=float))
        Q = None
        if pairs:
            i, j = np.array(pairs, dtype=np.int64).T
            half = sp.coo_array((np.array(repn.quadratic_coefs, dtype=float), (i, j)), shape=(n, n))
            Q = sp.csc_array(sign * (half + half.T))  # 1/2 x'Qx = sum of q_ij x_i x_j
        return sign * c, Q, sign * float(repn.constant)

    def _column(self, variable: Any, user: str) -> int:
        place = self._place.get(id(variable))
        if place is None:
            if variable.model() is not self._model.model():
                raise InvalidInputError(
                    f"{user!r} uses the variable {variable.name!r}, which is not on the model {self._model.name!r}."
                )
            place = self._place[id(variable)] = len(self._entries)
            self._entries.append(variable)
        return place

    def _standard(self, expression: Any, name: str, otherwise: str) -> Any:
        from pyomo.repn import generate_standard_repn

        repn = generate_standard_repn(expression, compute_values=True, quadratic=True)
        if repn.nonlinear_expr is not None:
            raise self._refusal(name, otherwise)
        return repn

    def _refusal(self, name: str, what: str) -> UnsupportedProgramError:
        return UnsupportedProgramError(
            f"{name!r} of Pyomo model {self._model.name!r} is {what}; solve the model with Pyomo itself, or rewrite it."
        )
