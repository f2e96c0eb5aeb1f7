"""The way back through a chain: multipliers and rays, checked against the original program's own data.

The truth is independent of any reduction: the optimality conditions of the original program, its own objective, and the
definition of a Farkas proof.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.backends.highs import HighsBackend
from mipclass.backends.kkt import residuals
from mipclass.backends.rays import proves_infeasible
from mipclass.backends.registry import find_backend
from mipclass.modelling.indicators import Indicators
from mipclass.modelling.problem import AsStated
from mipclass.modelling.program import Feature, Program
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run
from mipclass.reductions.base import Answer
from mipclass.reductions.chain import NO_INDICATORS, Chain, road_to
from mipclass.reductions.change_of_basis import ChangeOfBasis
from mipclass.reductions.constant_to_column import ConstantToColumn
from mipclass.reductions.indicator_to_bigm import IndicatorToBigM
from mipclass.reductions.ranged_to_pairs import RangedToPairs

ACCURACY = 1e-6
N = 5
COMPOSITE = 2
"""The column of `basis` that depends on others."""


def basis(rng: np.random.Generator) -> sp.csr_array:
    """Units of either sign and of several sizes; column COMPOSITE is a combination of others, as an offset is of weights."""
    T = np.diag(rng.choice([-1.0, 1.0], N) * 10.0 ** rng.integers(-2, 3, N))
    T[COMPOSITE, [0, 1, 3]] = rng.integers(1, 4, 3) * np.diag(T)[[0, 1, 3]]
    T[COMPOSITE, COMPOSITE] = abs(T[COMPOSITE, COMPOSITE])
    return sp.csr_array(T)


def random_convex(seed: int, *, quadratic: bool) -> Program:
    """A bounded LP or QP with a feasible point: ranged rows, one-sided rows, an equality, a constant, a narrow composite."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-3, 4, (4, N)).astype(float)
    inside = rng.uniform(-1, 1, N)
    at = A @ inside
    half = rng.normal(size=(N, 2))
    lower, upper = np.full(N, -2.0), np.full(N, 2.0)
    lower[COMPOSITE], upper[COMPOSITE] = inside[COMPOSITE] - 0.1, inside[COMPOSITE] + 0.1
    return Program(
        c=rng.normal(size=N),
        A=sp.csr_array(A),
        row_lower=np.array([at[0] - 0.5, -np.inf, at[2] - 0.2, at[3]]),
        row_upper=np.array([at[0] + 0.5, at[1] + 0.3, np.inf, at[3]]),
        lower=lower,
        upper=upper,
        integer=np.zeros(N, dtype=bool),
        Q=sp.csc_array(half @ half.T) if quadratic else None,
        constant=float(rng.integers(-2, 3)),
    )


def chains(seed: int) -> dict[str, Chain]:
    T = basis(np.random.default_rng(seed))
    return {
        "pairs": Chain([RangedToPairs()]),
        "constant": Chain([ConstantToColumn()]),
        "basis": Chain([ChangeOfBasis(T)]),
        "driver": road_to(NO_INDICATORS, T),
        "basis, pairs, constant": Chain([ChangeOfBasis(T), RangedToPairs(), ConstantToColumn()]),
        "pairs, basis, pairs, constant": Chain(
            [RangedToPairs(), ChangeOfBasis(T), RangedToPairs(), ConstantToColumn()]
        ),
        "nested": Chain([Chain([RangedToPairs(), ChangeOfBasis(T)]), Chain([RangedToPairs(), ConstantToColumn()])]),
    }


def solved(chain: Chain, program: Program) -> tuple[Answer, float, Status]:
    """A solver's answer about the relaxation of the reduced program, brought back; with its objective and status."""
    reduced, receipt = chain.apply(program)
    relaxed = reduced.replace_with(integer=np.zeros(reduced.n_columns, bool))
    if program.Q is None:
        got = HighsBackend().solve(relaxed, Run.quiet(presolve="off"))
    else:
        got = find_backend("cvxpy:CLARABEL").solve(relaxed, Run.quiet())
    answer = receipt.back(Answer(got.x, got.row_duals, got.column_duals, got.ray))
    return answer, np.inf if got.objective is None else got.objective, got.status


def require_optimal(program: Program, answer: Answer) -> None:
    assert answer.x is not None
    assert answer.row_duals is not None
    assert answer.column_duals is not None
    assert residuals(program, answer.x, answer.row_duals, answer.column_duals).worst <= ACCURACY


@pytest.mark.parametrize("name", chains(0))
@pytest.mark.parametrize("quadratic", [False, True])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_multipliers_prove_optimality_of_the_original(name: str, quadratic: bool, seed: int) -> None:
    program = random_convex(seed, quadratic=quadratic)
    answer, objective, status = solved(chains(seed)[name], program)
    assert status is Status.OPTIMAL
    require_optimal(program, answer)
    assert answer.x is not None
    assert objective == pytest.approx(program.objective(answer.x), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", chains(0))
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_a_ray_proves_infeasibility_of_the_original(name: str, seed: int) -> None:
    """A row that the bounds rule out: of the composite column too, whose bounds became a row."""
    program = random_convex(seed, quadratic=False)
    row = np.zeros((1, N))
    row[0, COMPOSITE] = 1.0
    row[0, 4] = 0.01
    beyond = program.upper[COMPOSITE] + 0.1
    impossible = program.replace_with(
        A=sp.csr_array(sp.vstack([program.A, row])),
        row_lower=np.append(program.row_lower, beyond),
        row_upper=np.append(program.row_upper, beyond + 1.0),
        rows=(),
    )
    answer, _, status = solved(chains(seed)[name], impossible)
    assume(status is not Status.NUMERICAL_ERROR)  # without presolve, HiGHS rarely ends in "Unknown"
    assert status is Status.INFEASIBLE
    assert answer.ray is not None
    assert answer.ray.shape == (impossible.n_rows,)
    assert proves_infeasible(impossible, answer.ray)


def switched(seed: int, *, fixed_on: bool) -> Program:
    """`random_convex` with its ranged row and its one-sided rows switched by a binary each, fixed or free."""
    program = random_convex(seed, quadratic=False)
    k = 3
    return Program(
        c=np.append(program.c, [0.1, -0.1, 0.1]),  # switching a row off has its price
        A=sp.csr_array(sp.hstack([program.A, sp.csr_array((program.n_rows, k))])),
        row_lower=program.row_lower,
        row_upper=program.row_upper,
        lower=np.append(program.lower, [0.0, 1.0, 0.0] if fixed_on else np.zeros(k)),
        upper=np.append(program.upper, [0.0, 1.0, 0.0] if fixed_on else np.ones(k)),
        integer=np.arange(N + k) >= N,
        constant=program.constant,
        indicators=Indicators(np.arange(k), np.arange(N, N + k), np.array([0, 1, 0], np.int8)),
    )


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_rows_that_are_switched_on_for_good_keep_their_multipliers(seed: int) -> None:
    program = switched(seed, fixed_on=True)
    T = sp.block_diag([basis(np.random.default_rng(seed)), sp.eye_array(3)])
    answer, _, status = solved(
        Chain([*road_to(NO_INDICATORS, T).reductions, RangedToPairs(), ConstantToColumn()]), program
    )
    assert status is Status.OPTIMAL
    require_optimal(program, answer)


def test_multipliers_of_a_relaxed_switch_are_not_handed_out() -> None:
    """A free switch leaves only the relaxation's multipliers, which say nothing about the row itself."""
    dropped = 0
    for seed in range(20):
        program = switched(seed, fixed_on=False)
        reduced, receipt = IndicatorToBigM().apply(program)
        got = HighsBackend().solve(reduced.replace_with(integer=np.zeros(reduced.n_columns, bool)), Run.quiet())
        assert got.row_duals is not None
        answer = receipt.back(Answer(got.x, got.row_duals, got.column_duals))
        np.testing.assert_array_equal(answer.x, got.x)
        big_m_rows = receipt.row_origin < 3
        if got.row_duals[big_m_rows].any():
            assert answer.row_duals is None
            assert answer.column_duals is None
            dropped += 1
        else:
            off = np.round(got.x[N:]) != program.indicators.value
            lifted = np.where(np.append(off, False), np.inf, 0.0)
            in_force = program.replace_with(row_lower=program.row_lower - lifted, row_upper=program.row_upper + lifted)
            require_optimal(in_force, answer)
    assert dropped > 0


@given(seed=st.integers(0, 10_000), unknown=st.sets(st.integers(0, N - 1)))
@settings(max_examples=40, deadline=None)
def test_starts_go_forward_and_come_back(seed: int, unknown: set[int]) -> None:
    """Through every chain; what a start leaves open stays open, and with it a composite column that depends on it."""
    program = random_convex(seed, quadratic=False)
    x = np.random.default_rng(seed).uniform(-1, 1, N)
    x[list(unknown)] = np.nan
    for name, chain in chains(seed).items():
        reduced, receipt = chain.apply(program)
        start = receipt.forward(x)
        assert start.shape == (reduced.n_columns,)
        back = receipt.back(Answer(start)).x
        assert back is not None
        open_too = {COMPOSITE} if name not in ("pairs", "constant") and unknown & {0, 1, 3} else set()
        known = sorted(set(range(N)) - unknown - open_too)
        np.testing.assert_allclose(back[known], x[known], rtol=1e-9, atol=1e-9)
        assert np.isnan(back[sorted(unknown)]).all()


def test_row_origin_composes() -> None:
    """Rows of the last program point at rows of the first, by the names that they bear on the way."""
    program = random_convex(1, quadratic=False)
    reduced, receipt = chains(1)["pairs, basis, pairs, constant"].apply(program)
    assert [block.name for block in reduced.rows] == ["row", "upper_side", "bounds_of", "upper_side"]
    # The upper side of row 0, then the bounds of the composite column, both new rows.
    assert receipt.row_origin.tolist() == [0, 1, 2, 3, 0, -1, -1]


class Rescaled(AsStated):
    """A program solved in another basis, by the driver."""

    name = "rescaled"

    def __init__(self, program: Program, T: sp.csr_array) -> None:
        self._program, self._T = program, T

    def program(self) -> Program:
        return self._program

    def decode(self, x):  # type: ignore[no-untyped-def]
        return {"x": x}

    def encode(self, values):  # type: ignore[no-untyped-def]
        return np.asarray(values["x"], dtype=np.float64)

    def recount(self, values):  # type: ignore[no-untyped-def]
        return self._program.objective(values["x"])

    def basis(self) -> sp.csr_array:
        return self._T


@pytest.mark.parametrize("solver", ["highs", "piqp", "osqp", "cvxpy:CLARABEL"])
def test_the_driver_hands_out_multipliers_of_the_declared_program(solver: str) -> None:
    if solver == "piqp":
        pytest.importorskip("piqp")
    for seed in range(4):
        program = random_convex(seed, quadratic=True)
        result = mipclass.solve(Rescaled(program, basis(np.random.default_rng(seed))), solver)
        assert result.status == "optimal"
        require_optimal(program, Answer(result.values["x"], result.extra["row_duals"], result.extra["column_duals"]))


def test_the_driver_hands_out_a_ray_of_the_declared_program() -> None:
    program = random_convex(0, quadratic=False)
    row = sp.csr_array(([1.0], ([0], [COMPOSITE])), shape=(1, N))
    impossible = program.replace_with(
        A=sp.csr_array(sp.vstack([program.A, row])),
        row_lower=np.append(program.row_lower, program.upper[COMPOSITE] + 1.0),
        row_upper=np.append(program.row_upper, np.inf),
        rows=(),
    )
    problem = Rescaled(impossible, basis(np.random.default_rng(0)))
    result = mipclass.solve(problem, "highs", options={"presolve": "off"})
    assert result.status == "infeasible"
    ray = result.extra["ray"]
    assert proves_infeasible(impossible, ray)


def test_a_start_by_name_stays_a_start_by_name() -> None:
    """The driver gives the backend its own start, in the reduced program's columns, and leaves run.warm_start alone."""
    seen = []

    class Watching(HighsBackend):
        def solve(self, program: Program, run: Run, start=None):  # type: ignore[no-untyped-def]
            seen.append((run.warm_start, start))
            return super().solve(program, run, start)

    from mipclass.solving.through_backend import through_backend

    T = basis(np.random.default_rng(3))
    problem = Rescaled(random_convex(3, quadratic=False), T)
    x = np.linspace(0.1, 0.5, N)
    given_by_name = {"x": x}
    through_backend(problem, Watching(), Run(warm_start=given_by_name))
    assert seen[0][0] is given_by_name
    np.testing.assert_allclose(T @ seen[0][1], x, atol=1e-12)


def test_a_model_in_awkward_units_is_solved_in_its_basis() -> None:
    """The 0-1 loss of data in awkward units: its model asks for a basis, and bounds of its offset become rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2)) * [1e-3, 1e3] + [1.0, 2000.0]
    problem = models.zero_one(X, rng.integers(0, 2, 12))
    T = problem.basis()
    assert T is not None
    reduced, receipt = road_to(frozenset({Feature.MIP}), T).apply(problem.program())
    assert not len(reduced.indicators)
    assert len(receipt.row_origin) == reduced.n_rows
    highs = mipclass.solve(problem, "highs")
    assert highs.recounted
    assert highs.objective == mipclass.solve(problem, "exact").objective
