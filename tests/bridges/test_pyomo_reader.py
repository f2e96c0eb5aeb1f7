"""Models of Pyomo's many kinds of components: read as Pyomo means them, or refused with the component's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo
import pytest
from pyomo.dae import ContinuousSet, DerivativeVar
from pyomo.gdp import Disjunction
from pyomo.mpec import Complementarity, complements
from pyomo.network import Arc, Port

import mipclass
from mipclass.errors import InvalidInputError, UnsupportedProgramError
from mipclass.modelling.program import Program


def base(domain: Any = pyo.NonNegativeReals) -> Any:
    """Minimise x0 + 2 x1 + 3 x2 with x0 + x1 + x2 >= 3.5 in [0, 10]."""
    m = pyo.ConcreteModel(name="m")
    m.x = pyo.Var(range(3), domain=domain, bounds=(0, 10))
    m.o = pyo.Objective(expr=m.x[0] + 2 * m.x[1] + 3 * m.x[2])
    m.c = pyo.Constraint(expr=m.x[0] + m.x[1] + m.x[2] >= 3.5)
    return m


def reference() -> Any:
    m = base()
    m.also = pyo.Reference(m.x)
    m.again = pyo.Reference(m.c)
    m.r = pyo.Constraint(expr=m.also[1] >= 2)
    return m


def reference_into_blocks() -> Any:
    m = base()
    m.b = pyo.Block([0, 1])
    for i in (0, 1):
        m.b[i].y = pyo.Var(bounds=(0, i + 1))
        m.b[i].row = pyo.Constraint(expr=m.b[i].y <= m.x[i])
    m.y = pyo.Reference(m.b[:].y)
    m.r = pyo.Constraint(expr=m.y[0] + m.y[1] >= 2.5)
    return m


def variable_of_a_deactivated_block() -> Any:
    m = base()
    m.b = pyo.Block()
    m.b.y = pyo.Var(bounds=(0, 1))
    m.b.never = pyo.Constraint(expr=m.b.y >= 2)
    m.b.deactivate()
    m.r = pyo.Constraint(expr=m.b.y + m.x[0] >= 5)
    return m


def square_that_cancels() -> Any:
    m = base()
    m.r = pyo.Constraint(expr=m.x[0] ** 2 - m.x[0] ** 2 + m.x[1] >= 1)
    return m


def product_with_a_fixed_variable() -> Any:
    m = base()
    m.x[0].fix(2)
    m.r = pyo.Constraint(expr=m.x[0] * m.x[1] + pyo.exp(m.x[0]) >= 10)
    return m


def piecewise() -> Any:
    m = base()
    m.z = pyo.Var()
    points, values = [0.0, 2.0, 5.0, 8.0, 10.0], [0.0, 4.0, 5.0, 3.0, 9.0]
    m.curve = pyo.Piecewise(m.z, m.x[0], pw_pts=points, f_rule=values, pw_constr_type="EQ", pw_repn="INC")
    m.o.set_value(m.o.expr - 2 * m.z)
    return m


def disjunction() -> Any:
    m = base()
    m.d = Disjunction(expr=[[m.x[0] >= 5], [m.x[1] >= 4]])
    return m


def transformed_disjunction() -> Any:
    m = disjunction()
    pyo.TransformationFactory("gdp.hull").apply_to(m)
    return m


def differential() -> Any:
    m = pyo.ConcreteModel(name="m")
    m.t = ContinuousSet(bounds=(0, 1))
    m.x = pyo.Var(m.t)
    m.dx = DerivativeVar(m.x, wrt=m.t)
    m.o = pyo.Objective(expr=m.x[1])
    m.slope = pyo.Constraint(m.t, rule=lambda m, t: m.dx[t] == 1)
    m.start = pyo.Constraint(expr=m.x[0] == 0)
    return m


def discretised() -> Any:
    m = differential()
    pyo.TransformationFactory("dae.finite_difference").apply_to(m, nfe=3)
    return m


def network() -> Any:
    m = base()
    m.p, m.q = Port(), Port()
    m.p.add(m.x[0], "a")
    m.q.add(m.x[1], "a")
    m.arc = Arc(source=m.p, destination=m.q)
    return m


def expanded_network() -> Any:
    m = network()
    pyo.TransformationFactory("network.expand_arcs").apply_to(m)
    return m


def idle_components() -> Any:
    m = base(pyo.Integers)
    m.f = pyo.ExternalFunction(lambda a: a + 1)
    m.Y = pyo.BooleanVar([0, 1])
    m.empty = pyo.Var([])
    m.none = pyo.Constraint([])
    return m


@pytest.mark.parametrize(
    "make",
    [
        reference,
        reference_into_blocks,
        variable_of_a_deactivated_block,
        product_with_a_fixed_variable,
        piecewise,
        transformed_disjunction,
        discretised,
        expanded_network,
        idle_components,
    ],
)
def test_the_optimum_is_pyomo_s_own(make: Callable[[], Any]) -> None:
    own = make()
    pyo.SolverFactory("highs").solve(own)
    model = make()
    result = mipclass.solve(model)
    assert (result.status, result.claim) == ("optimal", "proven"), result.extra
    [objective] = model.component_data_objects(pyo.Objective, active=True)
    [expected] = own.component_data_objects(pyo.Objective, active=True)
    assert pyo.value(objective) == pytest.approx(pyo.value(expected), abs=1e-6)
    assert result.objective == pytest.approx(pyo.value(expected), abs=1e-6)


def with_row(make_row: Callable[[Any], Any]) -> Any:
    m = base()
    m.p = pyo.Param(mutable=True)
    m.zero = pyo.Param(mutable=True, initialize=0)
    m.f = pyo.ExternalFunction(lambda a: a + 1)
    m.r = pyo.Constraint(expr=make_row(m))
    return m


def fixed_without_a_value() -> Any:
    m = base()
    m.x[0].fixed = True
    return m


def abstract() -> Any:
    m = pyo.AbstractModel(name="abstract")
    m.x = pyo.Var()
    m.o = pyo.Objective(rule=lambda m: m.x)
    return m


def kernel() -> Any:
    import pyomo.kernel as pmo

    m = pmo.block()
    m.x = pmo.variable(lb=1, ub=2)
    m.o = pmo.objective(m.x)
    return m


def complementarity() -> Any:
    m = base()
    m.k = Complementarity(expr=complements(m.x[0] >= 0, m.x[1] >= 0))
    return m


def logical() -> Any:
    m = base()
    m.Y = pyo.BooleanVar([0, 1])
    m.either = pyo.LogicalConstraint(expr=pyo.lor(m.Y[0], m.Y[1]))
    return m


REFUSED: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "'r': .*variable lower bound": (
        InvalidInputError,
        lambda: with_row(lambda m: pyo.inequality(m.x[2], m.x[0], m.x[1])),
    ),
    r"'r': .*Param value \(p\)": (InvalidInputError, lambda: with_row(lambda m: m.x[0] >= m.p)),
    "'r': ZeroDivisionError": (InvalidInputError, lambda: with_row(lambda m: m.x[0] / m.zero >= 1)),
    "'r' of .* is not linear;": (UnsupportedProgramError, lambda: with_row(lambda m: m.f(m.x[0]) >= 1)),
    "'r' of .* but quadratic": (UnsupportedProgramError, lambda: with_row(lambda m: m.x[0] ** 2 <= 4)),
    "no number satisfies": (InvalidInputError, lambda: with_row(lambda m: m.x[0] >= float("inf"))),
    "fixed without a value": (InvalidInputError, fixed_without_a_value),
    "create_instance": (InvalidInputError, abstract),
    r"pyomo\.kernel": (InvalidInputError, kernel),
    r"Complementarity.*mpec\.simple_disjunction": (UnsupportedProgramError, complementarity),
    r"LogicalConstraint.*core\.logical_to_linear": (UnsupportedProgramError, logical),
    r"Disjunct.*gdp\.bigm": (UnsupportedProgramError, disjunction),
    r"DerivativeVar.*dae\.finite_difference": (UnsupportedProgramError, differential),
    r"Arc.*network\.expand_arcs": (UnsupportedProgramError, network),
}


@pytest.mark.parametrize(("words", "case"), REFUSED.items(), ids=list(REFUSED))
def test_what_cannot_be_read_is_refused_by_name(words: str, case: tuple[type[Exception], Any]) -> None:
    error, make = case
    with pytest.raises(error, match=words):
        mipclass.solve(make())


def test_values_that_break_a_constraint_of_pyomo_are_told() -> None:
    from mipclass.bridges.pyomo import PyomoProblem

    problem = PyomoProblem(base())
    assert problem.violations({"x": [3.5, 0, 0]}) == {}
    assert problem.violations({"x": [1.5, 0, 0]}) == {"c": 2.0}


def test_a_square_that_cancels_leaves_a_linear_row() -> None:
    assert mipclass.solve(square_that_cancels(), "highs").objective == pytest.approx(4.5)


def test_a_reference_adds_no_columns_and_no_rows() -> None:
    program = Program.from_pyomo(reference())
    assert (program.n_columns, program.n_rows) == (3, 2)
