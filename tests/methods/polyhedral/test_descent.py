"""Descent on the polyhedral error function: the printed algorithm, majorise-minimise, and what the paper proves."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass import solve
from mipclass.backends.highs import HighsBackend
from mipclass.methods.polyhedral import search
from mipclass.methods.polyhedral.assignment_lp import WarmDual
from mipclass.methods.polyhedral.assignments import (
    combination_order,
    flip_near_ties,
    k_means,
    scatter_misclassified,
    seize_neighbourhood,
)
from mipclass.methods.polyhedral.majorise_minimise import AssignmentSearch
from mipclass.methods.polyhedral.paper_descent import paper_descent, step_size
from mipclass.methods.polyhedral.search import separate, separate_as_printed
from mipclass.models.point_sets import PointSets, descent_lp
from mipclass.models.polyhedral import polyhedral
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run
from tests.methods.polyhedral.test_assignment_lp import lp_value_written_out, random_sets


def error_function(sets, planes):
    """(8) of the paper, point by point."""
    total = 0.0
    for weight, a in zip(sets.p, sets.A, strict=True):
        total += weight * max(0.0, *(plane @ a + 1 for plane in planes))
    for weight, b in zip(sets.q, sets.B, strict=True):
        total += weight * max(0.0, min(1 - plane @ b for plane in planes))
    return total + sum(np.abs(plane) @ sets.l1 for plane in planes)


def highs_lp(program):
    return HighsBackend().solve(program, Run.quiet()).x


@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
@settings(max_examples=30, deadline=None)
def test_value_is_the_error_function(seed, h, weighted):
    sets = random_sets(seed, l1=0.03, weighted=weighted)
    planes = np.random.default_rng(seed).normal(size=(h, 4))
    assert sets.value(planes) == pytest.approx(error_function(sets, planes), rel=1e-12)


# -- the printed algorithm ---------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_descent_lemma_with_the_corrected_step(seed, h):
    """f(V + alpha D) <= f(V) + alpha sigma for the combination of active hyperplanes (the print's guarantee)."""
    sets = random_sets(seed)
    planes = 2 * np.random.default_rng(seed).normal(size=(h, 4))
    value = error_function(sets, planes)
    near_a = sets.errors_a(planes).max(axis=1) >= -1e-3
    near_b = sets.errors_b(planes).min(axis=1) >= -1e-3
    program = descent_lp(sets, planes, sets.nearest_plane(planes), near_a, near_b, box=1.0)
    x = highs_lp(program)
    step, sigma = program.split(x)["step"], program.objective(x) - value
    alpha = step_size(sets, planes, step, near_a, near_b)
    assert sigma <= 1e-9
    assert 0 < alpha <= 1
    new = planes + alpha * step
    assert error_function(sets, new) <= value + alpha * sigma + 1e-9
    # No far point turned wrong: it may reach the border, not cross it.
    assert sets.errors_a(new)[~near_a].max(initial=-np.inf) <= 1e-9
    assert sets.errors_b(new)[~near_b].min(axis=1).max(initial=-np.inf) <= 1e-9


@pytest.mark.parametrize("h", [1, 2, 3])
@pytest.mark.parametrize("l1", [0.0, 0.05])
def test_printed_algorithm_strictly_decreases_f(h, l1):
    sets = random_sets(h, m=30, k=25, l1=l1)
    seen = []
    run = Run.quiet()
    run.callback = lambda event: seen.append(event.objective)
    ended = paper_descent(sets, np.random.default_rng(1).normal(size=(h, 4)), highs_lp, run)
    assert ended.stopped is None
    assert len(ended.values) > 2
    assert (np.diff(ended.values) < 0).all()
    assert seen == list(ended.values[1:])
    assert ended.value == pytest.approx(error_function(sets, ended.planes), rel=1e-12)


def test_combinations_come_in_the_documented_order():
    errors = np.array([[1.0, 1.0, 5.0], [2.0, 2.0, 2.0], [3.0, 4.0, 5.0], [-9.0, -9.0, 0.0]])
    near = np.array([True, True, True, False])
    got = [tuple(s) for s in combination_order(errors, near, 1e-9)]
    assert got == [(0, 0, 0, 0), (0, 1, 0, 0), (0, 2, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0), (1, 2, 0, 0)]


@pytest.mark.parametrize(("second_offset", "needs"), [(0.0, "combinations"), (5e-4, "escape")])
def test_combinations_and_escape_leave_a_point_where_the_plain_rule_stays(second_offset, needs):
    """Equal means: with all of B on the first hyperplane V = 0 is optimal (f = 2), with B split in two f can be 0.

    With equal offsets the second hyperplane is active; slightly higher, it is only almost active.
    """
    B = np.array([[-2.0, -1], [-2.2, -1], [2.0, -1], [2.2, -1]])
    sets = PointSets(np.array([[0.0, -1]]), B, np.ones(1), np.full(4, 0.25), np.zeros(2))
    start = np.array([[0.0, 0.0], [0.0, second_offset]])
    plain = {"combinations": 1} if needs == "combinations" else {"combinations": 16, "escape": False}
    stuck = paper_descent(sets, start, highs_lp, Run.quiet(), **plain)
    free = paper_descent(sets, start, highs_lp, Run.quiet(), combinations=16)
    assert stuck.value == pytest.approx(2.0, abs=1e-3)
    assert free.value == pytest.approx(0.0, abs=1e-9)


# -- majorise-minimise -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("l1", [0.0, 0.02])
def test_each_majorise_minimise_step_decreases_f(seed, l1):
    """The minimiser of the touching majoriser has a smaller f, recomputed from the data, until the end."""
    h = 2 + seed % 2
    sets = random_sets(seed, m=30, k=30, l1=l1)
    lp = WarmDual(sets, h)
    assignment = k_means(sets.B[:, :-1], h, np.random.default_rng(seed))
    values = []
    for _ in range(50):
        planes, lp_value = lp.solve(assignment, Run.quiet())
        values.append(error_function(sets, planes))
        assert values[-1] <= lp_value + 1e-9  # the LP lies above f
        following = sets.nearest_plane(planes)
        if np.array_equal(following, assignment):
            break
        assignment = following
    assert np.array_equal(following, assignment)  # it ended by itself
    assert (np.diff(values) <= 1e-9).all()
    search = AssignmentSearch(sets, WarmDual(sets, h), Run.quiet())
    descended = search.descend(k_means(sets.B[:, :-1], h, np.random.default_rng(seed)))
    assert descended.value == pytest.approx(min(values), abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_theorem_4_1_holds_at_a_point_called_local(seed):
    """No combination of tied hyperplanes has an LP below f: each LP written out and solved by another route."""
    sets = random_sets(seed, m=20, k=14, n=2)
    found = separate(sets, 2, Run.quiet(seed=seed), rounds=8)
    assert found.claim in ("local", "proven")
    errors = sets.errors_b(found.planes)
    lowest = errors.min(axis=1, keepdims=True)
    scale = 1e-6 * (1 + np.abs(errors).max())
    active = (errors - lowest <= scale) & (lowest >= -scale)
    options = [np.flatnonzero(row) if row.any() else [int(e.argmin())] for row, e in zip(active, errors, strict=True)]
    assert np.prod([len(o) for o in options]) <= 64
    lowest_lp = min(lp_value_written_out(sets, np.array(s), 2) for s in product(*options))
    assert lowest_lp >= found.value - 1e-6


@pytest.mark.parametrize("move", [flip_near_ties, scatter_misclassified, seize_neighbourhood])
def test_moves_give_assignments_and_are_seeded(move):
    sets = random_sets(5, k=40)
    planes = np.random.default_rng(0).normal(size=(3, 4))
    first, again = (move(sets, planes, np.random.default_rng(9)) for _ in range(2))
    assert np.array_equal(first, again)
    assert first.shape == (40,)
    assert set(first) <= {0, 1, 2}
    assert not np.array_equal(first, sets.nearest_plane(planes))


def test_search_is_reproducible_and_improves_with_rounds():
    sets = random_sets(11, m=60, k=60)
    none, some = (separate(sets, 3, Run.quiet(), rounds=rounds) for rounds in (0, 16))
    assert some.value < none.value - 1e-3
    assert np.array_equal(separate(sets, 3, Run.quiet(), rounds=16).planes, some.planes)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sample", [20, 4000])
def test_more_hyperplanes_are_never_worse_than_the_robust_lp(seed, sample, monkeypatch):
    monkeypatch.setattr(search, "SAMPLE", sample)
    monkeypatch.setattr(search, "LEAST_OF_A_CLASS", 5)
    sets = random_sets(seed, m=70, k=60, n=6)
    robust = lp_value_written_out(sets, np.zeros(60, dtype=int), 1)
    for h in (2, 3):
        assert separate(sets, h, Run.quiet(), rounds=0).value <= robust + 1e-8


@pytest.mark.parametrize("lp", ["highs", "interior-point", "backend"])
def test_every_lp_route_gives_a_reported_value_that_is_true(lp):
    sets = random_sets(12, m=25, k=25, l1=0.01, weighted=True)
    found = separate(sets, 2, Run.quiet(), rounds=4, lp=lp, backend=HighsBackend())
    assert found.value == pytest.approx(error_function(sets, found.planes), rel=1e-12)


# -- what the paper proves ---------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_proposition_3_1_trivial_hyperplanes_cost_two(seed, h):
    """min f over V = 0 is 2, attained exactly where -1 <= min_j g_j <= 1."""
    sets = random_sets(seed)
    g = np.random.default_rng(seed).uniform(-3, 3, h)
    planes = np.hstack([np.zeros((h, 3)), g[:, None]])
    assert sets.value(planes) >= 2 - 1e-12
    assert (sets.value(planes) == pytest.approx(2.0)) == (abs(g.min()) <= 1)


def test_proposition_3_1_a_zero_row_of_a_perfect_separation_can_be_dropped():
    sets = PointSets(
        np.array([[0.0, -1.0]]), np.array([[5.0, -1.0], [-5.0, -1.0]]), np.ones(1), np.full(2, 0.5), np.zeros(2)
    )
    with_zero_row = np.array([[1.0, 2.0], [-1.0, 2.0], [0.0, 1.0]])
    assert sets.value(with_zero_row) == sets.value(with_zero_row[:2]) == 0.0


def test_robust_lp_with_coinciding_means_is_trivial_and_says_so():
    """Figure 7's situation: equal barycentres make v = 0, z = 2 optimal for h = 1; four hyperplanes separate."""
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle), -np.ones(12)])
    inner = ring * [0.3, 0.3, 1.0]
    sets = PointSets(inner, ring, np.full(12, 1 / 12), np.full(12, 1 / 12), np.zeros(3))
    one = separate(sets, 1, Run.quiet())
    assert (one.value, one.bound) == (pytest.approx(2.0), pytest.approx(2.0))
    assert (one.claim, one.extra["trivial"]) == ("proven", True)
    assert not one.planes[:, :-1].any()
    four = separate(sets, 4, Run.quiet())
    assert four.value <= 1e-9
    assert (four.claim, four.status) == ("proven", Status.OPTIMAL)


def test_separable_sets_reach_zero_at_the_printed_algorithm_too():
    angle = np.linspace(0, 2 * np.pi, 9, endpoint=False)
    ring = np.column_stack([3 * np.cos(angle), 3 * np.sin(angle), -np.ones(9)])
    sets = PointSets(ring * [0.1, 0.1, 1], ring, np.full(9, 1 / 9), np.full(9, 1 / 9), np.zeros(3))
    found = separate_as_printed(sets, 3, Run.quiet(), HighsBackend())
    assert found.value == pytest.approx(0.0, abs=1e-9)
    assert found.claim == "proven"


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [1, 2])
def test_a_time_limit_returns_an_incumbent(h):
    sets = random_sets(0, m=200, k=200)
    found = separate(sets, h, Run.quiet(time_limit=0.0), rounds=10)
    assert found.status is Status.TIME_LIMIT
    assert found.value == pytest.approx(error_function(sets, found.planes))


def test_interruption_returns_the_best_so_far():
    sets = random_sets(3, m=60, k=60)
    run = Run.quiet()
    values = []

    def stop_after_three(event):
        values.append(event.objective)
        return len(values) < 3

    run.callback = stop_after_three
    found = separate(sets, 3, run, rounds=1000)
    assert found.status is Status.INTERRUPTED
    assert found.value <= min(values) + 1e-9


def test_a_large_set_is_searched_on_a_sample_and_finished_on_all_points():
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(9000, 3)), -np.ones((9000, 1))])
    inside = np.abs(X[:, 0]) < 0.7
    A, B = X[inside], X[~inside]
    sets = PointSets(A, B, np.full(len(A), 1 / len(A)), np.full(len(B), 1 / len(B)), np.zeros(4))
    found = separate(sets, 2, Run.quiet(), rounds=2)
    assert found.value == pytest.approx(error_function(sets, found.planes), rel=1e-9)
    assert found.value < 0.05  # a slab: two hyperplanes separate it almost or entirely
    interrupted = Run.quiet()
    interrupted.interrupted = True  # as Ctrl-C leaves it
    stopped = separate(sets, 2, interrupted, rounds=50)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.lps <= 1


def test_a_second_sample_spares_lps_over_all_points(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 4))
    y = (np.abs(X @ rng.normal(size=4)) + 0.5 * rng.normal(size=3000) < 1.0).astype(int)
    monkeypatch.setattr(search, "SAMPLE", 100)
    lps, values = {}, {}
    for second in (800, 10**6):
        monkeypatch.setattr(search, "SECOND_SAMPLE", second)
        result = solve(polyhedral(X, y, 2), solver="slp", options={"rounds": 3})
        assert result.claim == "local"
        lps[second], values[second] = result.extra["lps_a_descent"][0], result.objective
    assert lps[800] < lps[10**6]
    assert values[800] == pytest.approx(values[10**6], rel=1e-6)
