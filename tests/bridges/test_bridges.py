"""Pyomo and CVXPY: out, onwards and back, with the same optimum as CVXPY's and Pyomo's own way to a solver."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest

import mipclass
from mipclass.errors import InvalidInputError, UnsupportedProgramError
from mipclass.modelling.builder import Builder
from mipclass.modelling.expression import ranged
from mipclass.modelling.program import Program
from mipclass.reductions.indicator_to_bigm import IndicatorToBigM


def mixed(*, integer: bool = True, quadratic: bool = False) -> Program:
    rng = np.random.default_rng(4)
    build = Builder("mixed")
    x = build.variables("x", labels=["age", "dose (mg)", "größe"], lower=-3, upper=3)
    V = build.variables("V", (2, 3), labels=(["p", "q"], None), lower=-1, upper=[[1, 2, 3], [4, 5, 6]])
    f = build.variables("f")
    low = build.variables("low", lower=-7)
    k = build.variables("k", 2, lower=-2, upper=5, integer=integer)
    A = rng.normal(size=(5, 3))
    build.subject_to("row", A @ x + f >= rng.normal(size=5), labels=list("abcde"))
    build.subject_to("range", ranged(A[0] @ x - k.sum(), -1.25, 4))
    build.subject_to("equal", f + low - V["q", 1] == 3)
    build.subject_to("most", k[0] - 0.3 * k[1] + 0.1 * f <= 2)
    build.minimize(f + 0.37 * low + V.sum() + rng.normal(size=3) @ x + 0.21 * k[0] - 0.4 * k[1] - 12.5)
    if quadratic:
        build.add_square(A @ x + 0.5 * f)
    return build.build()


def zero_one(n: int = 20) -> Program:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(n, 2)), rng.choice([-1.0, 1.0], size=n)
    build = Builder("zero_one")
    w = build.variables("w", labels=["age", "dose"], lower=-1, upper=1)
    b = build.variables("b", lower=-3, upper=3)
    z = build.binaries("error", n)
    build.subject_to("margin", y * (X @ w + b) >= 0.1, when=(z, 0))
    build.minimize(z.sum())
    return build.build()


PROGRAMS = {
    "LP": mixed(integer=False),
    "MIP": mixed(),
    "QP": mixed(integer=False, quadratic=True),
    "MIQP": mixed(quadratic=True),
}
each_program = pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))


def solver_for(program: Program) -> str:
    if program.kind == "MIQP":
        pytest.importorskip("pyscipopt")
        return "scip"
    return "highs"


# -- Pyomo ----------------------------------------------------------------------------------------------------------------


@each_program
def test_pyomo_round_trip_is_exact(program: Program) -> None:
    model = program.to_pyomo()
    again = Program.from_pyomo(model)
    assert again == program
    assert again.name == "mixed"
    assert model.x["dose (mg)"].bounds == (-3, 3)
    assert model.V["q", 2].bounds == (-1, 6)
    assert model.row["c"].active


def test_pyomo_indicators_leave_in_big_m_form() -> None:
    program = zero_one()
    assert Program.from_pyomo(program.to_pyomo()) == IndicatorToBigM().apply(program)[0]


@each_program
def test_solve_takes_a_pyomo_model_and_fills_its_variables(program: Program) -> None:
    model, solver = program.to_pyomo(), solver_for(program)
    result = mipclass.solve(model, solver)
    assert result.objective == pytest.approx(mipclass.solve(program, solver).objective, rel=1e-6)
    assert result.recounted
    assert pyo.value(model.objective) == pytest.approx(result.objective, rel=1e-6)
    assert model.x["age"].value == pytest.approx(result.values["x"][0])
    assert model.V["q", 1].value == pytest.approx(result.values["V"][1, 1])


def test_pyomo_own_solver_agrees() -> None:
    model = PROGRAMS["MIP"].to_pyomo()
    pyo.SolverFactory("appsi_highs").solve(model)
    expected = pyo.value(model.objective)
    assert mipclass.solve(PROGRAMS["MIP"], "highs").objective == pytest.approx(expected, rel=1e-6)


def test_going_on_in_pyomo_and_coming_back() -> None:
    program = zero_one()
    before = mipclass.solve(program, "highs").objective
    model = program.to_pyomo()
    model.sign = pyo.Constraint(expr=model.w["age"] + model.w["dose"] <= -0.5)
    model.extra = pyo.Var(within=pyo.NonNegativeIntegers, bounds=(None, 9))
    model.count = pyo.Constraint(expr=model.extra >= pyo.quicksum(model.error.values()) - 7)
    model.objective.set_value(model.objective.expr + 0.25 * model.extra)
    result = mipclass.solve(model, "highs")
    build_again = Program.from_pyomo(model)
    assert [block.name for block in build_again.variables] == ["w", "b", "error", "extra"]
    assert build_again.block("w").labels == (("age", "dose"),)
    assert result.values["w"].sum() <= -0.5 + 1e-6
    errors = result.values["error"].sum()
    assert result.objective == pytest.approx(errors + 0.25 * max(0.0, errors - 7))
    assert errors >= before


def own_pyomo_model() -> Any:
    """max 3x + 2y - z^2 with a fixed variable, a deactivated row, a block, and an index of pairs."""
    m = pyo.ConcreteModel(name="own")
    m.x = pyo.Var(within=pyo.NonNegativeReals)
    m.y = pyo.Var(within=pyo.Integers, bounds=(0, 10))
    m.z = pyo.Var(bounds=(-4, 4))
    m.t = pyo.Var([("a", 1), ("b", 2)], within=pyo.Binary)
    m.fixed = pyo.Var(initialize=2.0)
    m.fixed.fix()
    m.inner = pyo.Block()
    m.inner.cap = pyo.Constraint(expr=m.x + 2 * m.y + m.fixed <= 14)
    m.off = pyo.Constraint(expr=m.x <= 0)
    m.off.deactivate()
    m.pair = pyo.Constraint(expr=(-1, 3 * m.x - m.y - 1 + 0 * m.z, None))
    m.box = pyo.Constraint(expr=pyo.inequality(-2, m.x - m.y, 2))
    m.gain = pyo.Objective(
        expr=3 * m.x + 2 * m.y - m.z**2 + m.z * 2 + m.t["a", 1] - m.t["b", 2] + 5, sense=pyo.maximize
    )
    return m


def test_a_model_of_pyomo_s_own() -> None:
    program = Program.from_pyomo(own_pyomo_model())
    assert [block.name for block in program.variables] == ["x", "y", "z", "t", "fixed"]
    assert program.block("t").labels == (("a,1", "b,2"),)
    assert [block.name for block in program.rows] == ["pair", "box", "inner.cap"]
    assert program.kind == "MIQP"
    assert program.constant == -5
    model = own_pyomo_model()
    pytest.importorskip("pyscipopt")
    result = mipclass.solve(model, "scip")
    # x + 2y <= 12 and |x - y| <= 2: the corner (16/3, 10/3) for real y, x = y + 2 = 5, y = 3 or x = 4, y = 4 for integer y;
    # (6, 3) breaks the box, (5, 3) gives 21, (4, 4) gives 20. z = 1 adds 1, t adds 1, 5 is constant.
    assert result.objective == pytest.approx(-28.0, abs=1e-6)
    assert pyo.value(model.gain) == pytest.approx(28.0, abs=1e-6)
    assert model.fixed.value == 2.0


def test_gdp_export_transforms_and_comes_back() -> None:
    program = zero_one(8)
    model = program.to_pyomo()
    disjunctive = program.to_pyomo(indicators="gdp")
    assert len(disjunctive.margin) == 8
    with pytest.raises(UnsupportedProgramError, match=r"gdp\.bigm"):
        Program.from_pyomo(disjunctive)
    pyo.TransformationFactory("gdp.bigm").apply_to(disjunctive)
    came_back = mipclass.solve(disjunctive, "highs")
    assert came_back.objective == pytest.approx(mipclass.solve(model, "highs").objective)


def two_objectives() -> Any:
    m = own_pyomo_model()
    m.second = pyo.Objective(expr=m.x)
    return m


def nonlinear_row() -> Any:
    m = own_pyomo_model()
    m.bad = pyo.Constraint(expr=m.x * m.y <= 3)
    return m


def nonlinear_objective() -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.o = pyo.Objective(expr=pyo.exp(m.x))
    return m


def special_ordered_set() -> Any:
    m = own_pyomo_model()
    m.v = pyo.Var([1, 2, 3])
    m.s = pyo.SOSConstraint(var=m.v, sos=1)
    return m


def foreign_variable() -> Any:
    m, other = own_pyomo_model(), own_pyomo_model()
    m.bad = pyo.Constraint(expr=other.x <= 3)
    return m


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (two_objectives, "2 active objectives"),
        (nonlinear_row, "'bad' of Pyomo model 'own' is not linear"),
        (nonlinear_objective, "neither linear nor quadratic"),
        (special_ordered_set, "SOSConstraint"),
        (foreign_variable, "not on the model"),
    ],
)
def test_what_a_program_cannot_hold_is_refused(make: Any, complaint: str) -> None:
    with pytest.raises((InvalidInputError, UnsupportedProgramError), match=complaint):
        Program.from_pyomo(make())


def test_pyomo_without_an_objective_is_a_question_of_feasibility() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.r = pyo.Constraint(expr=m.x >= 0.5)
    assert mipclass.solve(m, "highs").objective == 0.0
    m.never = pyo.Constraint(expr=m.x >= 2)
    assert mipclass.solve(m, "highs").status == "infeasible"


def test_names_that_pyomo_has_taken() -> None:
    build = Builder()
    name = build.variables("name", lower=0)
    objective = build.variables("objective", 2, labels=["a", "a"], lower=1)
    build.subject_to("name", name + objective.sum() >= 3)
    build.minimize(name + objective.sum())
    model = build.build().to_pyomo()
    assert mipclass.solve(model, "highs").objective == pytest.approx(3.0)
    with pytest.raises(InvalidInputError, match="'bigm' or 'gdp'"):
        build.build().to_pyomo(indicators="native")


# -- CVXPY ----------------------------------------------------------------------------------------------------------------


@each_program
def test_cvxpy_there_and_back(program: Program) -> None:
    problem = program.to_cvxpy()
    again = Program.from_cvxpy(problem)
    assert {block.name for block in program.variables} <= {block.name for block in again.variables}
    for block in program.variables:
        other = again.block(block.name)
        assert other.shape == block.shape
        for vector in ("lower", "upper", "integer", "c"):
            if vector != "c" or program.Q is None:
                expected, got = getattr(program, vector)[block.slice], getattr(again, vector)[other.slice]
                assert np.array_equal(got, expected), (block.name, vector)
    solver = solver_for(program)
    expected = mipclass.solve(program, solver).objective
    result = mipclass.solve(problem, solver)
    assert result.objective == pytest.approx(expected, rel=1e-6)
    assert result.recounted
    assert problem.var_dict["V"].value.shape == (2, 3)
    assert np.array_equal(problem.var_dict["x"].value, result.values["x"])
    assert problem.objective.value == pytest.approx(expected, rel=1e-6)
    assert program.violation(program.join(result.values)) < 1e-5


def test_cvxpy_own_solver_agrees() -> None:
    problem = PROGRAMS["QP"].to_cvxpy()
    problem.solve(solver=cp.CLARABEL)
    assert mipclass.solve(PROGRAMS["QP"], "highs").objective == pytest.approx(problem.value, rel=1e-5)


def test_cvxpy_indicators_leave_in_big_m_form() -> None:
    problem = zero_one().to_cvxpy()
    assert problem.var_dict["error"].attributes["boolean"]
    assert mipclass.solve(problem, "highs").objective == mipclass.solve(zero_one(), "highs").objective


def test_going_on_in_cvxpy_and_coming_back() -> None:
    build = Builder("svm")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.choice([-1.0, 1.0], size=30)
    w, b = build.variables("w", 3), build.variables("b")
    slack = build.variables("slack", 30, lower=0)
    build.subject_to("margin", y * (X @ w + b) + slack >= 1)
    build.add_square(w, 0.5)
    build.minimize(slack.sum())
    problem = build.build().to_cvxpy()
    w_cvxpy = problem.var_dict["w"]
    onwards = cp.Problem(
        problem.objective + cp.Minimize(0.7 * cp.norm1(w_cvxpy)),
        [*problem.constraints, cp.abs(w_cvxpy[0]) <= 0.1],
    )
    result = mipclass.solve(onwards, "highs")
    onwards.solve(solver=cp.CLARABEL)
    assert result.objective == pytest.approx(onwards.value, rel=1e-5)
    assert set(result.values) == {"w", "b", "slack"}
    assert result.recounted


def test_a_problem_of_cvxpy_s_own_with_parameters_and_signs() -> None:
    x, n = cp.Variable(3, nonneg=True, name="x"), cp.Variable(name="n", integer=True)
    z, u = cp.Variable((2, 2), boolean=True, name="z"), cp.Variable(2, bounds=[-1, np.array([0.5, 2])], name="u")
    weight = cp.Parameter(nonneg=True, name="weight")
    gain = cp.sum(x) - weight * cp.sum_squares(x + 1) - cp.max(u) - cp.abs(n - 2.4) + cp.sum(z) + 3
    # square(nonnegative + pos) is convex only because cvxpy knows the sign of x.
    problem = cp.Problem(cp.Maximize(gain - cp.sum(cp.square(x + cp.pos(x)))), [cp.sum(z[0, :]) <= 1, x[0] + n <= 3])
    with pytest.raises(InvalidInputError, match="'weight' has no value"):
        mipclass.solve(problem, "highs")
    weight.value = 0.2
    pytest.importorskip("pyscipopt")
    result = mipclass.solve(problem, "scip")
    assert -result.objective == pytest.approx(float(problem.objective.value), rel=1e-6)
    # by hand: z gives 3, n = 2 costs 0.4, max(u) = -1, and x_i maximises x - 0.2 (x + 1)^2 - (2 x)^2 at x = 0.6 / 8.4.
    best = 0.6 / 8.4
    by_hand = 3 * (best - 0.2 * (best + 1) ** 2 - (2 * best) ** 2) + 1 - 0.4 + 3 + 3
    assert -result.objective == pytest.approx(by_hand, rel=1e-5)
    assert np.asarray(result.values["z"]).sum() == pytest.approx(3.0)
    assert result.values["n"] == pytest.approx(2.0)


def test_partly_integer_variables_survive() -> None:
    build = Builder()
    x = build.variables("x", 3, lower=0, upper=4.5)
    build.subject_to("cap", x.sum() <= 7.3)
    build.minimize(-1.0 * x[0] - 1.1 * x[1] - 0.9 * x[2])
    program = build.build().replace_with(integer=np.array([True, False, True]))
    again = Program.from_cvxpy(program.to_cvxpy())
    assert again.integer.sum() == 2
    expected = mipclass.solve(program, "highs").objective
    assert mipclass.solve(program.to_cvxpy(), "highs").objective == pytest.approx(expected)


def cvxpy_cases() -> list[Any]:
    x, S = cp.Variable(2, name="x"), cp.Variable((2, 2), PSD=True, name="S")
    return [
        (cp.Problem(cp.Minimize(cp.exp(x[0]))), "is_qp"),
        (cp.Problem(cp.Minimize(x[0]), [cp.norm2(x) <= 1]), "is_qp"),
        (cp.Problem(cp.Maximize(cp.sum_squares(x))), "is_dcp"),
        (cp.Problem(cp.Minimize(cp.trace(S))), "'S' is PSD"),
    ]


@pytest.mark.parametrize(("problem", "complaint"), cvxpy_cases())
def test_what_cvxpy_can_say_and_a_program_cannot(problem: Any, complaint: str) -> None:
    with pytest.raises(UnsupportedProgramError, match=complaint):
        mipclass.solve(problem, "highs")


def test_corners_of_cvxpy() -> None:
    x, y = cp.Variable((2, 3), name="x"), cp.Variable(name="y")
    target = np.arange(6.0).reshape(2, 3)
    result = mipclass.solve(cp.Problem(cp.Minimize(cp.sum_squares(x - target) + 0 * y)), "highs")
    assert np.allclose(result.values["x"], target, atol=1e-6)
    assert set(result.values) == {"x", "y"}
    with pytest.raises(InvalidInputError, match="no variables"):
        mipclass.solve(cp.Problem(cp.Minimize(3)), "highs")


def test_twins_among_cvxpy_names() -> None:
    a, b = cp.Variable(name="v"), cp.Variable(name="v")
    problem = cp.Problem(cp.Minimize(a + 2 * b), [a >= 1, b >= 2])
    result = mipclass.solve(problem, "highs")
    assert result.objective == pytest.approx(5.0)
    assert (float(a.value), float(b.value)) == pytest.approx((1.0, 2.0))
    assert set(result.values) == {"v", "v_2"}
