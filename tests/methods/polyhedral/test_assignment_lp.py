"""The LP with a fixed assignment: its dual, the interior point, and the interior point's kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from mipclass.backends.highs import HighsBackend
from mipclass.methods.polyhedral.assignment_interior_point import solve_assignment
from mipclass.methods.polyhedral.assignment_lp import ColdPrimal, InteriorPoint, WarmDual
from mipclass.methods.polyhedral.kernels import newton as kernel
from mipclass.methods.polyhedral.standardised import Standardised
from mipclass.models.point_sets import PointSets, assignment_bounds, assignment_dual, descent_lp
from mipclass.protocol.run import Run


def random_sets(seed, m=15, k=12, n=3, l1=0.0, weighted=False):
    rng = np.random.default_rng(seed)
    A = np.hstack([rng.normal(size=(m, n)), -np.ones((m, 1))])
    B = np.hstack([rng.normal(0.3, 1.5, size=(k, n)), -np.ones((k, 1))])
    p, q = (rng.uniform(0.1, 1, m), rng.uniform(0.1, 1, k)) if weighted else (np.ones(m), np.ones(k))
    return PointSets(A, B, p / p.sum(), q / q.sum(), np.append(np.full(n, l1), 0.0))


def lp_value_written_out(sets, assignment, h):
    """The LP row by row, solved by scipy: the obvious twin of every solver below."""
    m, k, width = len(sets.A), len(sets.B), sets.A.shape[1]
    size = h * width
    columns = size + m + k + size
    rows, right = [], []
    for i in range(m):
        for j in range(h):
            row = np.zeros(columns)
            row[j * width : (j + 1) * width], row[size + i] = sets.A[i], -1.0
            rows.append(row)
            right.append(-1.0)
    for point, j in enumerate(assignment):
        row = np.zeros(columns)
        row[j * width : (j + 1) * width], row[size + m + point] = -sets.B[point], -1.0
        rows.append(row)
        right.append(-1.0)
    for c in range(size):
        for sign in (1.0, -1.0):
            row = np.zeros(columns)
            row[c], row[size + m + k + c] = sign, -1.0
            rows.append(row)
            right.append(0.0)
    cost = np.concatenate([np.zeros(size), sets.p, sets.q, np.tile(sets.l1, h)])
    bounds = [(None, None)] * size + [(0, None)] * (m + k + size)
    return linprog(cost, A_ub=np.array(rows), b_ub=right, bounds=bounds).fun


def assigned_value(sets, planes, assignment):
    """The LP's objective at `planes`, from the definition."""
    r = sets.errors_b(planes)[np.arange(len(assignment)), assignment]
    return (
        sets.p @ sets.errors_a(planes).max(axis=1).clip(min=0)
        + sets.q @ r.clip(min=0)
        + (np.abs(planes) @ sets.l1).sum()
    )


@pytest.mark.parametrize("h", [1, 2, 3])
@pytest.mark.parametrize("l1", [0.0, 0.02])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_lp_solver_reaches_the_written_out_value(h, l1, weighted):
    sets = random_sets(h + 10, l1=l1, weighted=weighted)
    rng = np.random.default_rng(h)
    lps = [WarmDual(sets, h), InteriorPoint(sets, h), ColdPrimal(sets, h, HighsBackend())]
    for _ in range(4):  # one after the other: the warm solver must not remember the last assignment
        assignment = rng.integers(0, h, len(sets.B))
        truth = lp_value_written_out(sets, assignment, h)
        for lp in lps:
            planes, bound = lp.solve(assignment, Run.quiet())
            assert assigned_value(sets, planes, assignment) == pytest.approx(truth, abs=1e-7)
            assert bound == pytest.approx(truth, abs=1e-7)


def test_a_hyperplane_without_points_costs_nothing():
    sets = random_sets(0)
    everything_on_one = np.full(len(sets.B), 1)
    for lp in (WarmDual(sets, 3), InteriorPoint(sets, 3)):
        planes, _ = lp.solve(everything_on_one, Run.quiet())
        assert assigned_value(sets, planes, everything_on_one) == pytest.approx(
            lp_value_written_out(sets, everything_on_one, 3), abs=1e-7
        )


def test_interior_point_stops_when_asked():
    sets = random_sets(1, m=40, k=40)
    answer = solve_assignment(sets, np.zeros(40, dtype=np.intp), 1, stop=lambda: "now")
    assert answer.iterations == 0
    assert np.isfinite(answer.planes).all()


def test_interior_point_with_collinear_and_constant_columns():
    sets = random_sets(2, n=2)
    double = np.column_stack([np.arange(3) == 0, np.arange(3) == 1, np.arange(3) == 0, np.arange(3) == 2]).astype(float)
    wide = PointSets(sets.A @ double, sets.B @ double, sets.p, sets.q, np.zeros(4))
    assignment = np.arange(len(sets.B)) % 2
    planes = solve_assignment(wide, assignment, 2).planes
    truth = lp_value_written_out(sets, assignment, 2)
    assert assigned_value(wide, planes, assignment) == pytest.approx(truth, abs=1e-6)


def test_dual_and_primal_sizes_are_as_documented():
    sets, h = random_sets(3, m=7, k=5, n=2, l1=0.1), 2
    dual = assignment_dual(sets, h)
    assert (dual.n_columns, dual.n_rows) == ((7 + 5) * h, h * 3 + 7)
    near_a, near_b = np.arange(7) < 4, np.arange(5) < 3
    primal = descent_lp(sets, np.ones((h, 3)), np.zeros(5, dtype=np.intp), near_a, near_b, box=1.0)
    assert primal.n_columns == h * 3 + 4 + 3 + h * 2
    assert primal.n_rows == h * 4 + 3 + 2 * h * 2


def test_no_assigned_point_leaves_the_dual_at_zero():
    """As built pi = 0, so lambda must balance to zero and with it the objective."""
    sets = random_sets(4)
    solution = HighsBackend().solve(assignment_dual(sets, 2), Run.quiet())
    assert solution.objective == pytest.approx(0.0, abs=1e-9)
    assert assignment_bounds(sets, np.zeros(len(sets.B), dtype=np.intp), 2).sum() == pytest.approx(1.0)


@given(st.integers(0, 10**6), st.integers(1, 3), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
@settings(max_examples=25, deadline=None)
def test_standardising_changes_no_value(seed, h, scale, shift):
    sets = random_sets(seed, l1=0.01)
    A, B = sets.A.copy(), sets.B.copy()
    A[:, 0], B[:, 0] = scale * A[:, 0] + shift, scale * B[:, 0] + shift
    user = PointSets(A, B, sets.p, sets.q, sets.l1)
    standard = Standardised.of(user)
    planes = np.random.default_rng(seed).normal(size=(h, 4))
    inside = standard.forward(planes)
    assert standard.unit * standard.sets.value(inside) == pytest.approx(user.value(planes), rel=1e-9)
    assert standard.sets.value(np.zeros((h, 4))) == pytest.approx(2.0)
    np.testing.assert_allclose(standard.back(inside), planes, rtol=1e-9, atol=1e-9 * (1 + abs(shift)))


# -- kernels against a slow and obvious twin ---------------------------------------------------------------------------


def random_state(seed, points, width):
    rng = np.random.default_rng(seed)
    return (
        rng.uniform(0.01, 3, (points, width)),
        rng.uniform(0.01, 3, points),
        rng.uniform(0.01, 3, (points, width)),
        rng.uniform(0.01, 3, points),
    )


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_condense_equals_the_schur_complement(seed, points, width):
    slack, height, mult, mult0 = random_state(seed, points, width)
    out = np.empty((width * (width + 1) // 2, points))
    kernel.condense(kernel.PointState(slack, height, mult, mult0), out)
    upper = np.triu_indices(width)
    for i in range(points):
        w = mult[i] / slack[i]
        expected = np.diag(w) - np.outer(w, w) / (mult0[i] / height[i] + w.sum())
        np.testing.assert_allclose(out[:, i], expected[upper], rtol=1e-9, atol=1e-9 * w.max())


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 4), st.booleans())
@settings(max_examples=25, deadline=None)
def test_direction_satisfies_newtons_equations(seed, points, width, correct):
    """s dx + x ds = target - s x (- ds dx of the predictor), multipliers keep their sum, slack = height - error."""
    state = kernel.PointState(*random_state(seed, points, width))
    slack, height, mult, mult0 = state
    rng = np.random.default_rng(seed + 1)
    predictor = kernel.PointState(*(rng.normal(size=array.shape) for array in state))
    target, derror = 0.1, rng.normal(size=(points, width))
    eta, rho_sum = np.empty((points, width)), np.empty(points)
    kernel.right_hand_side(state, target, correct, predictor, eta, rho_sum)
    second = [predictor[0] * predictor[2], predictor[1] * predictor[3]] if correct else [0.0, 0.0]
    change = kernel.PointState(*(np.empty_like(array) for array in state))
    longest = kernel.direction(state, derror, eta, rho_sum, change)
    dslack, dheight, dmult, dmult0 = change
    np.testing.assert_allclose(dmult.sum(axis=1) + dmult0, 0.0, atol=1e-7 * np.abs(dmult).max())
    np.testing.assert_allclose(dslack, dheight[:, None] - derror, rtol=1e-12, atol=1e-12)
    scale = 1e-7 * (1 + np.abs(dmult).max())
    np.testing.assert_allclose(slack * dmult + mult * dslack, target - slack * mult - second[0], atol=scale)
    np.testing.assert_allclose(height * dmult0 + mult0 * dheight, target - height * mult0 - second[1], atol=scale)
    # The longest steps bring one slack (one multiplier) to zero and none below.
    for step, now, then in ((longest[0], (slack, height), change[:2]), (longest[1], (mult, mult0), change[2:])):
        lowest = min(float((a + min(step, 1e6) * d).min()) for a, d in zip(now, then, strict=True))
        assert lowest >= -1e-6 * (1 + min(step, 1e6))
    ahead = kernel.complementarity(state, 0.3, 0.4, change)
    expected = ((slack + 0.3 * dslack) * (mult + 0.4 * dmult)).sum() + (height + 0.3 * dheight) @ (mult0 + 0.4 * dmult0)
    assert ahead == pytest.approx(expected, rel=1e-9)
    kernel.move(state, 0.3, 0.4, change)
    assert (slack * mult).sum() + height @ mult0 == pytest.approx(expected, rel=1e-9)
