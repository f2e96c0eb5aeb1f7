"""To Pyomo and back: a Program as a ConcreteModel with the blocks as named components, and any linear or quadratic
ConcreteModel as a Program.

    m = problem.program().to_pyomo()
    m.young = pyo.Constraint(expr=m.w["age"] <= 0)          # go on composing in Pyomo
    result = mipclass.solve(m)                              # and come back; m.w["age"].value is set as well
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..errors import InvalidInputError
from ..modelling.blocks import Block
from ..modelling.problem import AsStated
from ..modelling.program import Feature, Program
from ..protocol.result import Values
from ..reductions.chain import NO_INDICATORS, road_to
from .pyomo_reader import active_objective, read

INDICATORS = {"bigm": NO_INDICATORS, "gdp": frozenset(Feature)}
"""How indicator rows are handed over -> what the Pyomo model then holds."""
FEASIBLE = 1e-5
"""Largest violation of a constraint as Pyomo evaluates it, relative to the largest value (at least one), at a point that counts
as feasible: ten times the tolerance that MIP solvers have by default."""

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
            self._program, self._entries = read(self.model)
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
        objective, sign = active_objective(self.model)
        return 0.0 if objective is None else sign * float(value(objective.expr))

    def violations(self, values: Mapping[str, Any]) -> dict[str, float]:
        """The constraints that Pyomo itself finds violated at these values by more than FEASIBLE."""
        from pyomo.environ import Constraint, value

        x = self.encode(values)
        self._load(x)
        allowed = FEASIBLE * max(1.0, float(np.max(np.abs(x), initial=0.0)))
        found: dict[str, float] = {}
        for constraint in self.model.component_data_objects(Constraint, active=True, descend_into=True):
            body, low, high = value(constraint.body), value(constraint.lower), value(constraint.upper)
            worst = max(-np.inf if low is None else low - body, -np.inf if high is None else body - high)
            if worst > allowed:
                found[constraint.name] = worst
        return found

    def _load(self, x: Array) -> None:
        self.program()
        for variable, number in zip(self._entries, x.tolist(), strict=True):
            if not variable.fixed:
                variable.set_value(number, skip_validation=True)
