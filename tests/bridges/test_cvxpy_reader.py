"""What CVXPY can state and a Program can hold is read as CVXPY means it; the rest is refused by the atom's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from cvxpy.transforms.indicator import indicator
from cvxpy.transforms.partial_optimize import partial_optimize

import mipclass
from mipclass.errors import InvalidInputError, UnsupportedProgramError
from mipclass.modelling.program import Program

TARGET = np.array([[1.0, 2.0], [4.0, 5.0]])


def listed() -> Any:
    """CVXPY's own test of index lists, whose answer is [[1, 0], [3, 4]]."""
    x = cp.Variable((2, 2), boolean=[(0, 0), (0, 1)], integer=[(1, 1), (0, 1)])
    return cp.Problem(cp.Minimize(cp.sum(x)), [x >= np.array([[0.5, -0.5], [2.3, 3.2]])])


def listed_integer() -> Any:
    x = cp.Variable((2, 2), integer=[(1, 1), (0, 1)])
    return cp.Problem(cp.Minimize(cp.sum(x)), [x >= np.array([[0.5, 0.5], [2.3, 3.2]])])


def listed_boolean() -> Any:
    x = cp.Variable(3, boolean=[(0, 2)])
    return cp.Problem(cp.Maximize(cp.sum(x)), [x <= 0.5])


def arrays_of_places() -> Any:
    x = cp.Variable((2, 3), integer=(np.array([0, 1]), np.array([2, 0])))
    return cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0.3])


def logic() -> Any:
    a, b, c = (cp.Variable(boolean=True) for _ in range(3))
    some = [cp.logic.Xor(a, b, c) >= 1, cp.logic.Or(a, b) == 1, cp.logic.implies(a, c) >= 1]
    return cp.Problem(cp.Minimize(a + 2 * b + c + cp.logic.And(a, c)), some)


def logic_of_arrays() -> Any:
    a, b = cp.Variable(4, boolean=True), cp.Variable(4, boolean=True)
    return cp.Problem(cp.Maximize(cp.sum(cp.logic.Xor(a, b)) - cp.sum(a)), [cp.max(cp.logic.And(a, ~b)) <= 0.5])


def parametric_bounds() -> Any:
    low, span = cp.Parameter(2, value=[1.0, -2.0]), cp.Parameter(nonneg=True, value=3.0)
    x = cp.Variable(2, bounds=[low, low + span])
    return cp.Problem(cp.Maximize(cp.sum(x) - 0.25 * cp.abs(x[0])))


def empty_variable() -> Any:
    e, x = cp.Variable((0, 3)), cp.Variable(2, nonneg=True)
    return cp.Problem(cp.Minimize(cp.sum(e) + cp.sum(x)), [x >= 1, e >= 7])


def nothing_but_empty() -> Any:
    return cp.Problem(cp.Minimize(cp.sum(cp.Variable(0)) + 4))


def variable_without_a_row() -> Any:
    x = cp.Variable(2, bounds=[3, 4])
    return cp.Problem(cp.Minimize(cp.sum(x[0:0])), [x[0:0] >= 1])


def log_det_of_a_parameter() -> Any:
    P, x = cp.Parameter((2, 2), PSD=True, value=2 * np.eye(2)), cp.Variable(2)
    return cp.Problem(cp.Minimize(cp.sum(x) + cp.log_det(P)), [x >= 1])


def real_part_of_a_parameter() -> Any:
    v = cp.Variable(2)
    return cp.Problem(cp.Minimize(cp.sum(v)), [v >= cp.real(cp.Parameter(complex=True, value=1 + 2j))])


def symmetric() -> Any:
    return cp.Problem(cp.Minimize(cp.sum_squares(cp.Variable((2, 2), symmetric=True) - TARGET)))


def symmetric_integer() -> Any:
    x = cp.Variable((2, 2), symmetric=True, integer=True)
    return cp.Problem(cp.Minimize(cp.sum(cp.abs(x - TARGET - 0.3))))


def diagonal() -> Any:
    return cp.Problem(cp.Minimize(cp.sum_squares(cp.Variable((2, 2), diag=True) - TARGET)))


def sparse() -> Any:
    return cp.Problem(cp.Minimize(cp.sum_squares(cp.Variable((2, 2), sparsity=[(0, 1), (1, 0)]) - TARGET)))


def scalar_with_a_sign() -> Any:
    return cp.Problem(cp.Minimize(cp.square(cp.Variable(pos=True) + 1)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:You are solving a parameterized problem")
@pytest.mark.parametrize(
    "make",
    [
        listed,
        listed_integer,
        listed_boolean,
        arrays_of_places,
        logic,
        logic_of_arrays,
        parametric_bounds,
        empty_variable,
        nothing_but_empty,
        variable_without_a_row,
        log_det_of_a_parameter,
        real_part_of_a_parameter,
        symmetric,
        symmetric_integer,
        diagonal,
        sparse,
        scalar_with_a_sign,
    ],
)
def test_the_optimum_is_cvxpy_s_own(make: Callable[[], Any]) -> None:
    problem = make()
    expected = problem.solve(solver=cp.HIGHS if problem.is_mixed_integer() else cp.CLARABEL)
    result = mipclass.solve(problem)
    assert (result.status, result.claim) == ("optimal", "proven"), result.extra
    assert abs(result.objective) == pytest.approx(abs(expected), abs=1e-5)
    assert problem.objective.value == pytest.approx(expected, abs=1e-5)


def test_a_finite_set_is_one_of_its_numbers() -> None:
    x = cp.Variable(2, nonneg=True, name="x")
    problem = cp.Problem(cp.Minimize(cp.abs(x[0] - 2.2) + x[1]), [cp.FiniteSet(x[0], [1, 2, 5])])
    result = mipclass.solve(problem)
    assert result.objective == pytest.approx(0.2)
    assert result.values["x"] == pytest.approx([2, 0])


def test_a_constraint_that_no_variable_is_in_can_fail() -> None:
    e = cp.Variable(0)
    result = mipclass.solve(cp.Problem(cp.Minimize(0), [cp.sum(e) >= 1]))
    assert (result.status, result.claim) == ("infeasible", "proven")


def test_values_that_break_a_constraint_of_cvxpy_are_told() -> None:
    from mipclass.bridges.cvxpy import CvxpyProblem

    x = cp.Variable(2, name="x")
    problem = CvxpyProblem(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]))
    assert problem.violations({"x": np.ones(2)}) == {}
    assert list(problem.violations({"x": np.zeros(2)}).values()) == [1.0]
    s = cp.Variable(name="s")
    scalar = CvxpyProblem(cp.Problem(cp.Minimize(s), [cp.Zero(s), cp.NonNeg(s), sp.eye_array(2) * s >= -1]))
    assert scalar.violations({"s": 0.0}) == {}
    assert sorted(scalar.violations({"s": -2.0}).values()) == [1.0, 2.0, 2.0]


x = cp.Variable(2, name="x")
S = cp.Variable((2, 2), symmetric=True, name="S")
T = cp.Problem(cp.Minimize(cp.sum(S)), [S >= 1])
REFUSED = {
    "PartialProblem": cp.Problem(cp.Minimize(partial_optimize(T, [S], []) + x[0]), [x >= 0]),
    "atom indicator": cp.Problem(cp.Minimize(x[0] + indicator([x >= 2, x <= 3]))),
    "atom perspective": cp.Problem(cp.Minimize(cp.perspective(cp.square(x[0]), cp.Variable(nonneg=True))), [x >= 1]),
    "because of exp": cp.Problem(cp.Maximize(cp.sum(x)), [cp.dotsort(cp.exp(x), [0.7, 0.8]) <= 2]),
    "share the id": cp.Problem(cp.Minimize(cp.sum(x)), [cp.Variable(2, var_id=x.id) >= 1]),
    "exp": cp.Problem(cp.Minimize(cp.exp(x[0]) + cp.sum_squares(x))),
    "SOC": cp.Problem(cp.Minimize(x[0]), [cp.SOC(x[0], x)]),
    "quad_over_lin": cp.Problem(cp.Minimize(x[0]), [cp.sum_squares(x) <= 1]),
    "lambda_max": cp.Problem(cp.Minimize(cp.lambda_max(S))),
    "PSD": cp.Problem(cp.Minimize(cp.sum(S)), [S >> 0]),
    "Maximize of quad_over_lin": cp.Problem(cp.Maximize(cp.sum_squares(x))),
    "multiply|MulExpression": cp.Problem(cp.Minimize(x[0] * x[1])),
    "complex expression": cp.Problem(cp.Minimize(cp.sum(cp.abs(x - 1j)))),
    "is complex": cp.Problem(cp.Minimize(cp.abs(cp.Variable(complex=True) - 1))),
    "symmetric and integer": cp.Problem(
        cp.Minimize(cp.sum(cp.Variable((2, 2), symmetric=True, integer=[(0,), (1,)]))), [x >= 0]
    ),
    "multi_index": cp.Problem(cp.Minimize(cp.sum(cp.Variable(3, nonneg=True, integer=[(0,), (2,)])))),
}


@pytest.mark.parametrize(("name", "problem"), REFUSED.items(), ids=list(REFUSED))
def test_what_needs_cones_is_refused_by_name(name: str, problem: Any) -> None:
    with pytest.raises(UnsupportedProgramError, match=name):
        Program.from_cvxpy(problem)


def test_infinite_sides_that_nothing_satisfies_are_invalid() -> None:
    free = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= -np.inf, cp.sum(x) <= np.inf])
    assert mipclass.solve(free).objective == pytest.approx(0.0, abs=1e-9)
    for constraint in (x <= -np.inf, cp.sum(x) >= np.inf):
        with pytest.raises(InvalidInputError, match="no number satisfies"):
            mipclass.solve(cp.Problem(cp.Minimize(cp.sum(x)), [constraint]))


def test_a_parametric_bound_without_a_value_is_invalid() -> None:
    bounded = cp.Variable(2, bounds=[cp.Parameter(2, name="low"), 3])
    with pytest.raises(InvalidInputError, match="'low' has no value"):
        mipclass.solve(cp.Problem(cp.Minimize(cp.sum(bounded))))


@pytest.mark.parametrize("part", [x, x >= 1, cp.Minimize(cp.sum(x))], ids=["variable", "constraint", "objective"])
def test_only_a_problem_can_be_solved(part: Any) -> None:
    with pytest.raises(InvalidInputError, match="cvxpy Problem is needed"):
        mipclass.solve(part)
