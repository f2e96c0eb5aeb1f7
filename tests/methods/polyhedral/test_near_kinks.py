"""The LP over the points near a kink has the answer of the LP over all points, wherever it begins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.methods.polyhedral import near_kinks
from mipclass.methods.polyhedral.assignment_interior_point import solve_assignment
from mipclass.methods.polyhedral.near_kinks import NearKinks
from mipclass.protocol.run import Run

from .test_assignment_lp import assigned_value, lp_value_written_out, random_sets


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.sampled_from([0.0, 0.02]), st.booleans(), st.floats(0.0, 3.0))
def test_it_reaches_the_written_out_value_from_any_beginning(seed, h, l1, weighted, away):
    sets = random_sets(seed, m=60, k=50, l1=l1, weighted=weighted)
    rng = np.random.default_rng(seed)
    lp = NearKinks(sets, h, 1e-9)
    lp.begin_near(away * rng.normal(size=(h, sets.A.shape[1])))
    assignment = np.arange(len(sets.B)) % h
    lp.assignment = assignment  # as if the last one had been the same, so that parts are tried
    for _ in range(3):
        answer = lp.solve(assignment, Run.quiet())
        truth = lp_value_written_out(sets, assignment, h)
        assert assigned_value(sets, answer.planes, assignment) == pytest.approx(truth, abs=1e-7)
        assert answer.bound == pytest.approx(truth, abs=1e-7)
        assignment = assignment.copy()
        assignment[rng.integers(0, len(sets.B), 2)] = rng.integers(0, h, 2)
        if len(np.unique(assignment)) < h:
            break


@pytest.fixture
def sizes(monkeypatch):
    """The numbers of points of the LPs that are solved."""
    found = []

    def counted(sets, *arguments, **named):
        found.append(len(sets.A) + len(sets.B))
        return solve_assignment(sets, *arguments, **named)

    monkeypatch.setattr(near_kinks, "solve_assignment", counted)
    return found


def test_a_descent_carries_few_points_along(sizes):
    sets = random_sets(3, m=2500, k=2500, n=5)
    lp, assignment = NearKinks(sets, 2, 1e-9), np.arange(2500) % 2
    for _ in range(6):
        planes = lp.solve(assignment, Run.quiet()).planes
        whole = solve_assignment(sets, assignment, 2)
        assert assigned_value(sets, planes, assignment) == pytest.approx(whole.value, abs=1e-8)
        assignment = sets.nearest_plane(planes)
    assert min(sizes) < 0.25 * max(sizes)
    assert np.median(sizes) < max(sizes)


def test_hyperplanes_far_away_are_left_for_all_points():
    sets = random_sets(4, m=200, k=200)
    lp = NearKinks(sets, 2, 1e-9)
    lp.begin_near(1e4 * np.ones((2, sets.A.shape[1])))
    assignment = np.arange(200) % 2
    lp.assignment = assignment
    answer = lp.solve(assignment, Run.quiet())
    assert answer.value == pytest.approx(lp_value_written_out(sets, assignment, 2), abs=1e-7)


def test_hyperplanes_that_coincide_leave_no_part_to_try(sizes):
    sets = random_sets(5, m=300, k=300)
    lp, assignment = NearKinks(sets, 2, 1e-9), np.arange(300) % 2
    lp.begin_near(np.tile(solve_assignment(sets, np.zeros(300, dtype=int), 1).planes, (2, 1)))
    lp.assignment = assignment
    answer = lp.solve(assignment, Run.quiet())
    assert sizes == [600]
    assert answer.value == pytest.approx(lp_value_written_out(sets, assignment, 2), abs=1e-7)
