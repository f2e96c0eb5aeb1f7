"""To Pyomo and back: a Program as a ConcreteModel with the blocks as named components, and any linear or quadratic
ConcreteModel as a Program.

    m = problem.program().to_pyomo()
    m.young = pyo.Constraint(expr=m.w["age"] <= 0)          # go on composing in Pyomo
    result = mipclass.solve(m)                              # and come back; m.w["age"].value is set as well
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..errors import InvalidInputError, UnsupportedProgramError
from ..modelling.blocks import Block
from ..modelling.problem import AsStated
from ..modelling.program import Feature, Program
from ..protocol.result import Values
from ..reductions.chain import NO_INDICATORS, road_to

INDICATORS = {"bigm": NO_INDICATORS, "gdp": frozenset(Feature)}
"""How indicator rows are handed over -> what the Pyomo model then holds."""

# -- to Pyomo ---------------------------------------------------------------------------------------------------------------


def to_pyomo(program: Program, *, indicators: str = "bigm") -> Any:
    """A ConcreteModel with one Var for each block of variables and one Constraint for each block of rows.

    Labels are the index sets: `m.w["age"]`, `m.margin[17]`, `m.b`. Indicator rows are written in big-M form, or with
    `indicators="gdp"` as disjunctions of `pyomo.gdp` (transform them there, e.g. with gdp.bigm or gdp.hull).
    """
    import pyomo.environ as pyo

    if indicators not in INDICATORS:
        raise InvalidInputError(f"indicators must be 'bigm' or 'gdp'; got {indicators!r}.")
    program, _ = road_to(INDICATORS[indicators]).apply(program)
    model = pyo.ConcreteModel(name=program.name)
    model.objective = pyo.Objective(expr=0.0, sense=pyo.minimize)  # first, so that nothing else takes its name
    columns: list[Any] = []
    for block in program.variables:
        columns += _add_variables(model, program, block)
    model.objective.set_value(_objective(program, columns))
    rows = _RowExpressions(program, columns)
    switched = {int(row): k for k, row in enumerate(program.indicators.row)}
    for block in program.rows:
        entries = list(zip(_index(block), range(block.start, block.stop), strict=True))
        _add_rows(model, block, [entry for entry in entries if entry[1] not in switched], rows)
        _add_disjunctions(model, block, [entry for entry in entries if entry[1] in switched], rows, switched, program)
    return model


def _index(block: Block) -> list[Any]:
    """Pyomo's index of each entry: labels where they are there and different, else positions; pairs for two axes."""
    axes: list[Sequence[Any]] = []
    for length, labels in zip(block.shape, block.labels or (None,) * len(block.shape), strict=True):
        axes.append(labels if labels is not None and len(set(labels)) == length else range(length))
    if not axes:
        return [None]
    return list(axes[0]) if len(axes) == 1 else list(product(*axes))


def _free_name(model: Any, wanted: str) -> str:
    """`wanted`, or with a suffix when the model has such a component or attribute already."""
    name, k = wanted or "unnamed", 1
    while hasattr(model, name):
        k += 1
        name = f"{wanted or 'unnamed'}_{k}"
    return name


def _add_variables(model: Any, program: Program, block: Block) -> list[Any]:
    import pyomo.environ as pyo

    index = _index(block)
    variable = pyo.Var() if not block.shape else pyo.Var(index)
    model.add_component(_free_name(model, block.name), variable)
    entries = [variable] if not block.shape else [variable[key] for key in index]
    binary = program.binary & (program.lower == 0) & (program.upper == 1)
    for j, entry in enumerate(entries, start=block.start):
        entry.domain = pyo.Binary if binary[j] else pyo.Integers if program.integer[j] else pyo.Reals
        if not binary[j]:
            entry.setlb(_finite(program.lower[j]))
            entry.setub(_finite(program.upper[j]))
    return entries


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _objective(program: Program, columns: list[Any]) -> Any:
    from pyomo.core.expr import LinearExpression
    from pyomo.environ import quicksum

    used = np.flatnonzero(program.c)
    linear = LinearExpression(
        constant=program.constant,
        linear_coefs=program.c[used].tolist(),
        linear_vars=[columns[j] for j in used],
    )
    if program.Q is None:
        return linear
    half = sp.coo_array(sp.tril(program.Q))
    weights = np.where(half.coords[0] == half.coords[1], 0.5, 1.0) * half.data
    return linear + quicksum(
        weight * columns[i] * columns[j] for weight, i, j in zip(weights.tolist(), *half.coords, strict=True)
    )


class _RowExpressions:
    """(lower, expression, upper) of a row as Pyomo takes it."""

    def __init__(self, program: Program, columns: list[Any]) -> None:
        self.columns = columns
        A = program.A
        self._data, self._indices, self._starts = A.data.tolist(), A.indices.tolist(), A.indptr.tolist()
        self._lower, self._upper = program.row_lower.tolist(), program.row_upper.tolist()

    def __call__(self, i: int) -> Any:
        from pyomo.core.expr import LinearExpression
        from pyomo.environ import Constraint

        lower, upper = _finite(self._lower[i]), _finite(self._upper[i])
        if lower is None and upper is None:
            return Constraint.Skip
        span = slice(self._starts[i], self._starts[i + 1])
        if span.start == span.stop:
            holds = (lower is None or lower <= 0) and (upper is None or upper >= 0)
            return Constraint.Skip if holds else Constraint.Infeasible
        variables = [self.columns[j] for j in self._indices[span]]
        expression = LinearExpression(constant=0.0, linear_coefs=self._data[span], linear_vars=variables)
        return (lower, expression, upper)


def _add_rows(model: Any, block: Block, entries: list[tuple[Any, int]], rows: _RowExpressions) -> None:
    import pyomo.environ as pyo

    if not entries:
        return
    if not block.shape:
        constraint = pyo.Constraint(rule=lambda _: rows(entries[0][1]))
    else:
        place = dict(entries)
        constraint = pyo.Constraint(list(place), rule=lambda _, *key: rows(place[_key(key)]))
    model.add_component(_free_name(model, block.name), constraint)


def _add_disjunctions(
    model: Any,
    block: Block,
    entries: list[tuple[Any, int]],
    rows: _RowExpressions,
    switched: dict[int, int],
    program: Program,
) -> None:
    """For each row: the row holds and z has its value, or z has the other value."""
    import pyomo.environ as pyo
    from pyomo.gdp import Disjunct, Disjunction

    if not entries:
        return
    place = {0 if key is None else key: i for key, i in entries}
    on, off = Disjunct(list(place)), Disjunct(list(place))
    model.add_component(_free_name(model, f"{block.name}_on"), on)
    model.add_component(_free_name(model, f"{block.name}_off"), off)
    for key, i in place.items():
        z = rows.columns[program.indicators.column[switched[i]]]
        value = int(program.indicators.value[switched[i]])
        on[key].row = pyo.Constraint(expr=rows(i))
        on[key].switch = pyo.Constraint(expr=z == value)
        off[key].switch = pyo.Constraint(expr=z == 1 - value)
    choice = Disjunction(list(place), rule=lambda _, *key: [on[_key(key)], off[_key(key)]])
    model.add_component(_free_name(model, block.name), choice)


def _key(key: tuple[Any, ...]) -> Any:
    """Pyomo hands an index over as separate arguments."""
    return key if len(key) > 1 else key[0]


# -- from Pyomo -------------------------------------------------------------------------------------------------------------


def from_pyomo(model: Any) -> Program:
    """The active part of a ConcreteModel as a Program, one block for each Var and Constraint component.

    Linear constraints, a linear or quadratic objective, real, integer and binary variables. A fixed variable keeps its column
    with equal bounds. A model that maximises is negated. Anything else is refused with what to do instead.
    """
    return PyomoProblem(model).program()


@dataclass
class PyomoProblem(AsStated):
    """A ConcreteModel as a Problem: solved as a Program, with the values put back into the model's variables."""

    model: Any
    _entries: list[Any] = field(default_factory=list, init=False, repr=False)
    _program: Program | None = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the Pyomo model."""
        return str(self.model.name)

    def program(self) -> Program:
        """The Program, read when it is first asked for."""
        if self._program is None:
            self._program = self._read()
        return self._program

    def decode(self, x: Array) -> Values:
        """The values by component; the model's own variables take them too."""
        self._load(x)
        return self.program().split(x)

    def encode(self, values: Mapping[str, Any]) -> Array:
        """A start from values by component."""
        return self.program().join(dict(values))

    def recount(self, values: Mapping[str, Any]) -> float:
        """The objective as Pyomo itself evaluates it at these values (negated when it maximises)."""
        from pyomo.environ import value

        self._load(self.encode(values))
        objective, sign = self._objective()
        return 0.0 if objective is None else sign * float(value(objective.expr))

    def _load(self, x: Array) -> None:
        self.program()
        for variable, number in zip(self._entries, x.tolist(), strict=True):
            if not variable.fixed:
                variable.set_value(number, skip_validation=True)

    def _objective(self) -> tuple[Any, float]:
        from pyomo.environ import Objective, maximize

        active = list(self.model.component_data_objects(Objective, active=True, descend_into=True))
        if len(active) > 1:
            names = ", ".join(objective.name for objective in active)
            raise InvalidInputError(
                f"Pyomo model {self.name!r} has {len(active)} active objectives ({names}); keep one."
            )
        if not active:
            return None, 1.0
        return active[0], -1.0 if active[0].sense == maximize else 1.0

    def _read(self) -> Program:
        from pyomo.environ import Constraint, Var

        _check_components(self.model)
        variables, self._entries = _components(self.model, Var)
        place = {id(entry): j for j, entry in enumerate(self._entries)}
        reader = _Expressions(place, self.name)
        blocks, constraints = _components(self.model, Constraint)
        bounds = [reader.row(constraint) for constraint in constraints]
        objective, sign = self._objective()
        c, Q, constant = reader.objective(objective, sign)
        lower, upper, integer = _columns(self._entries)
        return Program(
            c=c,
            A=reader.matrix(),
            row_lower=np.array([low for low, _ in bounds]),
            row_upper=np.array([high for _, high in bounds]),
            lower=lower,
            upper=upper,
            integer=integer,
            Q=Q,
            constant=constant,
            variables=variables,
            rows=blocks,
            name=self.name,
        )


def _check_components(model: Any) -> None:
    import pyomo.environ as pyo

    harmless = {pyo.BuildAction, pyo.BuildCheck, pyo.Expression, pyo.Param, pyo.RangeSet, pyo.Set, pyo.Suffix}
    known = harmless | {pyo.Block, pyo.Constraint, pyo.Objective, pyo.Var}
    for block in model.block_data_objects(active=True, descend_into=True):
        for kind in block.collect_ctypes(active=True, descend_into=False):
            if kind in known or (kind is pyo.BooleanVar and _are_binaries(block)):
                continue
            if kind.__module__.startswith("pyomo.gdp"):
                advice = "Apply TransformationFactory('gdp.bigm') or ('gdp.hull') to the model first."
            else:
                advice = "Rewrite it with linear constraints, or solve the model with Pyomo itself."
            raise UnsupportedProgramError(
                f"Pyomo model {model.name!r} holds an active {kind.__name__}, which a Program cannot hold. {advice}"
            )


def _are_binaries(block: Any) -> bool:
    """Whether a transformation has tied every Boolean variable to a binary one, so that nothing of it is left to read."""
    from pyomo.environ import BooleanVar

    entries = block.component_data_objects(BooleanVar, descend_into=False)
    return all(entry.get_associated_binary() is not None for entry in entries)


def _components(model: Any, kind: Any) -> tuple[tuple[Block, ...], list[Any]]:
    """The active components of a kind as blocks, and their entries in order."""
    from pyomo.environ import Var

    blocks: list[Block] = []
    entries: list[Any] = []
    for component in model.component_objects(kind, active=True, descend_into=True):
        keys = [key for key, entry in component.items() if kind is Var or entry.active]
        if not keys:
            continue
        shape, labels = _axes(keys) if component.is_indexed() else ((), ())
        blocks.append(Block(component.name, len(entries), shape, labels))
        entries += [component[key] for key in keys]
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


def _columns(entries: list[Any]) -> tuple[Array, Array, Any]:
    lower, upper, integer = np.empty(len(entries)), np.empty(len(entries)), np.zeros(len(entries), dtype=np.bool_)
    for j, variable in enumerate(entries):
        if not (variable.is_continuous() or variable.is_integer() or variable.is_binary()):
            raise UnsupportedProgramError(
                f"Pyomo variable {variable.name!r} has the domain {variable.domain}; a Program knows reals, integers and binaries."
            )
        low, high = variable.bounds
        if variable.fixed:
            low = high = variable.value
        lower[j] = -np.inf if low is None else low
        upper[j] = np.inf if high is None else high
        integer[j] = variable.is_integer() or variable.is_binary()
    return lower, upper, integer


class _Expressions:
    """Collects rows of A; finds columns by identity."""

    def __init__(self, place: dict[int, int], name: str) -> None:
        self._place, self._name = place, name
        self._data: list[float] = []
        self._indices: list[int] = []
        self._starts = [0]

    def row(self, constraint: Any) -> tuple[float, float]:
        from pyomo.environ import value

        repn = self._standard(constraint.body, constraint.name, quadratic=False)
        self._data += [float(a) for a in repn.linear_coefs]
        self._indices += [self._place[id(v)] for v in repn.linear_vars]
        self._starts.append(len(self._data))
        low, high = value(constraint.lower), value(constraint.upper)
        constant = float(repn.constant)
        return (-np.inf if low is None else low - constant, np.inf if high is None else high - constant)

    def matrix(self) -> sp.csr_array:
        return sp.csr_array((self._data, self._indices, self._starts), shape=(len(self._starts) - 1, len(self._place)))

    def objective(self, objective: Any, sign: float) -> tuple[Array, Any, float]:
        n = len(self._place)
        c = np.zeros(n)
        if objective is None:
            return c, None, 0.0
        repn = self._standard(objective.expr, objective.name, quadratic=True)
        np.add.at(c, [self._place[id(v)] for v in repn.linear_vars], np.array(repn.linear_coefs, dtype=float))
        Q = None
        if repn.quadratic_vars:
            i = [self._place[id(v)] for v, _ in repn.quadratic_vars]
            j = [self._place[id(v)] for _, v in repn.quadratic_vars]
            half = sp.coo_array((np.array(repn.quadratic_coefs, dtype=float), (i, j)), shape=(n, n))
            Q = sp.csc_array(sign * (half + half.T))  # 1/2 x'Qx = sum of q_ij x_i x_j
        return sign * c, Q, sign * float(repn.constant)

    def _standard(self, expression: Any, name: str, *, quadratic: bool) -> Any:
        from pyomo.repn import generate_standard_repn

        repn = generate_standard_repn(expression, compute_values=True, quadratic=quadratic)
        if repn.nonlinear_expr is not None:
            what = "neither linear nor quadratic" if quadratic else "not linear"
            raise UnsupportedProgramError(
                f"{name!r} of Pyomo model {self._name!r} is {what}; solve the model with Pyomo itself, or rewrite it."
            )
        for variable in repn.linear_vars:
            if id(variable) not in self._place:
                raise InvalidInputError(
                    f"{name!r} uses the variable {variable.name!r}, which is not on the model {self._name!r} or not active."
                )
        return repn
