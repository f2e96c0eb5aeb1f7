"""The polyhedral LP over the points near a kink: the others are linear where the answer lies, and need not be carried along.

The error of a point is the largest of 0 and its errors against the hyperplanes that it sees: convex, piecewise linear, and never below any
one of its pieces. So the LP in which a point keeps only the piece that is active at known hyperplanes bounds the whole LP from below, and
where an answer leaves every such piece active the two agree: the answer is optimal for all points. Without the other points the LP may be
unbounded, so it gets a box around the known hyperplanes whose sides cost more than any point can gain; an answer inside the box
does not feel it, because the LP is convex.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Mask, Positions
from ...models.point_sets import PointSets
from ...protocol.run import Run
from .assignment_interior_point import AssignmentAnswer, RestOfPoints, solve_assignment

FEWEST_NEAR, MOST_AT_FIRST, MOST_NEAR = 0.04, 0.15, 0.5
"""Shares of the points, those nearest to a kink: the least and the most that an LP begins with, and that beyond which all are as cheap."""

MOST_ROUNDS = 6
"""LPs over a part of the points that are tried before one over all of them."""

REACH = 3.0
"""Radius of the box in units of the one within which no point beyond the nearest can leave its piece."""

LEAST_RADIUS = 1e-3
"""Least radius of the box, in standardised units. Where so many points lie on kinks that a part of them allows no such box, hyperplanes that coincide, say,
all points are taken at once."""

ROOM = 2.0
"""Radius of the box in units of the last step: steps of a descent shrink slowly."""

NEW_ASSIGNMENT = 0.1
"""Share of B's points that have changed their hyperplane from which on the last answer says little about the next."""

BOX_PRICE = 2.0
"""Price of leaving the box, in units of the most that the points can gain."""

TOUCHING = 0.1
"""Distance to a side of the box, relative to its radius, up to which an answer may feel it: the multiplier of a side is at most the duality gap
over the distance, so that beyond it the sides change the value by ten gaps at most."""


Number = TypeVar("Number", bound=np.generic)


class _ActivePieces(NamedTuple):
    """For each point the plane whose error is active, -1 for none (error 0), and its distance to the next kink, in units of (V, g); and
    the objective of the whole LP there."""

    active: Positions
    distance: Array
    value: float


class NearKinks:
    """The interior point over the points near a kink at the last answer; the first LP, and one that jumps too far, takes all points."""

    def __init__(self, sets: PointSets, h: int, tolerance: float) -> None:
        self.sets, self.h, self.tolerance = sets, h, tolerance
        self.centre: Array | None = None
        self.assignment: Positions | None = None
        self.step = 0.0
        self._norms = np.linalg.norm(sets.A, axis=1), np.linalg.norm(sets.B, axis=1)
        self._gain = sets.p @ np.abs(sets.A) + sets.q @ np.abs(sets.B)

    def begin_near(self, planes: Array, step: float = 0.0) -> None:
        """Expect the next answer near these hyperplanes, about so far away in the largest entry; 0 is unknown."""
        self.centre, self.assignment, self.step = planes, self.sets.nearest_plane(planes), step

    def set_l1(self, l1: Array) -> None:
        """Change the price of each column's |v_c|."""
        self.sets = self.sets._replace(l1=l1)

    def solve(self, assignment: Positions, run: Run) -> AssignmentAnswer:
        """The LP of the assignment, in which every plane has a point of B; unfinished if `run` stops."""
        known = self.assignment is not None and np.mean(assignment != self.assignment) < NEW_ASSIGNMENT
        answer = self._through_parts(assignment, run) if known else None
        if answer is None:
            answer = solve_assignment(self.sets, assignment, self.h, tolerance=self.tolerance, stop=run.stop)
            self.step = 0.0
        self.centre, self.assignment = answer.planes, assignment
        return answer

    def _through_parts(self, assignment: Positions, run: Run) -> AssignmentAnswer | None:
        """LPs over parts of the points, each around a better centre or with more points, until one answers for all; None if that does not pay."""
        assert self.centre is not None
        begin = centre = self.centre
        pieces = self._pieces(centre, assignment)
        near, radius = self._nearest(pieces, ROOM * self.step)
        for _ in range(MOST_ROUNDS):
            if radius < LEAST_RADIUS or np.mean(near) > MOST_NEAR or run.stop() is not None:
                return None
            answer = self._solve_part(assignment, run, centre, pieces, near, radius)
            there = self._pieces(answer.planes, assignment)
            left = ~near & (there.active != pieces.active)
            touches = bool(np.abs(answer.planes - centre).max() >= radius * (1.0 - TOUCHING))
            if not touches and not left.any():
                self.step = float(np.abs(answer.planes - begin).max())
                return answer
            if there.value < pieces.value:
                centre, pieces = answer.planes, there
                near, radius = self._nearest(pieces, ROOM * radius if touches else radius)
            else:
                near = near | left
        return None

    def _solve_part(
        self, assignment: Positions, run: Run, centre: Array, pieces: _ActivePieces, near: Mask, radius: float
    ) -> AssignmentAnswer:
        """The LP over the points of `near`, with the pieces of the others, within a box around `centre`."""
        sets, (a, b) = self.sets, self._of_both(near)
        slope, constant = np.zeros_like(centre), 0.0
        for rows, weight, active in (
            (sets.A, np.where(a, 0.0, sets.p), self._of_both(pieces.active)[0]),
            (-sets.B, np.where(b, 0.0, sets.q), self._of_both(pieces.active)[1]),
        ):
            for j in range(self.h):
                mine = np.where(active == j, weight, 0.0)
                slope[j] += mine @ rows
                constant += float(mine.sum())
        part = PointSets(sets.A[a], sets.B[b], sets.p[a], sets.q[b], sets.l1)
        around = RestOfPoints(slope, constant, centre, radius, BOX_PRICE * (self._gain + sets.l1))
        return solve_assignment(part, assignment[b], self.h, tolerance=self.tolerance, stop=run.stop, around=around)

    def _pieces(self, planes: Array, assignment: Positions) -> _ActivePieces:
        """The active piece of every point of A and B at `planes`, and how far it is from a kink."""
        a = self.sets.errors_a(planes)
        most = a.max(axis=1)
        # Two planes may move towards each other, each by half of the difference of their errors.
        second = np.sort(a, axis=1)[:, -2] if self.h > 1 else np.full(len(a), -np.inf)
        room_a = np.where(most > 0.0, np.minimum(most, 0.5 * (most - second)), -most)
        b = self.sets.errors_b(planes)[np.arange(len(assignment)), assignment]
        active = [np.where(most > 0.0, a.argmax(axis=1), -1), np.where(b > 0.0, assignment, -1)]
        distance = [room_a / self._norms[0], np.abs(b) / self._norms[1]]
        value = self.sets.p @ most.clip(min=0.0) + self.sets.q @ b.clip(min=0.0) + (np.abs(planes) @ self.sets.l1).sum()
        return _ActivePieces(np.concatenate(active), np.concatenate(distance), float(value))

    def _nearest(self, pieces: _ActivePieces, radius: float) -> tuple[Mask, float]:
        """The points near enough to a kink for a box of this radius, within the limits of their share, and the radius; 0 asks for one."""
        to_radius = REACH / np.sqrt(self.sets.A.shape[1])
        bounds = [int(share * len(pieces.distance)) for share in (FEWEST_NEAR, MOST_AT_FIRST)]
        least, most = np.partition(pieces.distance, bounds)[bounds]
        reach = np.clip(radius / to_radius, least, most) if radius > 0.0 else most
        return pieces.distance <= reach, max(radius, float(to_radius * reach))

    def _of_both(self, values: NDArray[Number]) -> tuple[NDArray[Number], NDArray[Number]]:
        """The parts of A and of B."""
        return values[: len(self.sets.A)], values[len(self.sets.A) :]
