"""conv(A) against B: evidence checked by hand, answers against geometry in the plane."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipclass.errors import InvalidInputError
from mipclass.methods.polyhedral.hulls import hull_report, smallest_h

points = st.lists(st.tuples(st.integers(-6, 6), st.integers(-6, 6)), min_size=1, max_size=12)


def in_hull_of(A, point):
    """Brute force in exact integers: some segment or triangle with corners in A holds the point."""

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    def on_segment(a, b):
        between = min(a[0], b[0]) <= point[0] <= max(a[0], b[0]) and min(a[1], b[1]) <= point[1] <= max(a[1], b[1])
        return cross(a, b, point) == 0 and between

    def in_triangle(a, b, c):
        signs = [cross(a, b, point), cross(b, c, point), cross(c, a, point)]
        return cross(a, b, c) != 0 and (min(signs) >= 0 or max(signs) <= 0)

    A = [tuple(map(int, a)) for a in A]
    return any(on_segment(a, b) for a in A for b in A) or any(in_triangle(a, b, c) for a in A for b in A for c in A)


@given(points, points)
@settings(max_examples=60, deadline=None)
def test_agrees_with_geometry_in_the_plane(A, B):
    report = hull_report(np.array(A, float), np.array(B, float))
    expected = [index for index, b in enumerate(B) if in_hull_of(A, b)]
    assert sorted(report.inside) == expected
    assert report.separable == (not expected)


@given(points, points)
@settings(max_examples=40, deadline=None)
def test_evidence_holds_when_recomputed(A, B):
    A, B = np.array(A, float), np.array(B, float)
    report = hull_report(A, B)
    weights = report.combinations.toarray()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(weights @ A, B[report.inside], atol=1e-6)
    outside = np.setdiff1d(np.arange(len(B)), report.inside)
    assert len(report.planes) <= len(outside)  # Proposition 2.2
    if len(outside):
        V, g = report.planes[:, :-1], report.planes[:, -1]
        assert (g - A @ V.T >= 1 - 1e-6).all()
        assert (B[outside] @ V.T - g >= 1 - 1e-6).any(axis=1).all()


def test_asymmetry_of_figure_3():
    """A is polyhedrally separable from B around it, not the reverse."""
    A, B = circle(0.3, 8), circle(3.0, 8)
    assert hull_report(A, B).separable
    reverse = hull_report(B, A)
    assert not reverse.separable
    assert len(reverse.inside) == len(A)
    assert smallest_h(B, A).h is None


def circle(radius, count):
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize(
    ("B", "h"),
    [
        (np.array([[2.0, 0], [3, 1]]), 1),
        (np.array([[2.0, 0], [-2, 0]]), 2),
        # A line outside the unit circle cuts an arc of at most 2 arccos(1/1.5) = 96.4 degrees from the outer one: four
        # of the twelve points, 30 degrees apart. So three hyperplanes are needed, and three are enough.
        (circle(1.5, 12), 3),
    ],
)
def test_smallest_h_on_sets_whose_answer_is_known(B, h):
    A = circle(1.0, 90)
    found = smallest_h(A, B)
    assert found.h == h
    assert found.proven == (h <= 2)
    V, g = found.planes[:, :-1], found.planes[:, -1]
    assert (g - A @ V.T > 0).all()
    assert (B @ V.T - g > 0).any(axis=1).all()


@pytest.mark.parametrize(
    ("A", "B", "words"),
    [
        (np.zeros((0, 2)), np.ones((1, 2)), "at least one row"),
        (np.ones((1, 2)), np.ones((1, 3)), "one space"),
        (np.array([[np.nan, 1.0]]), np.ones((1, 2)), "NaN"),
    ],
)
def test_bad_sets_are_refused(A, B, words):
    with pytest.raises(InvalidInputError, match=words):
        hull_report(A, B)
