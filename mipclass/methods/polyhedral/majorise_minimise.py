"""Majorise-minimise over assignments of B to hyperplanes, and iterated local search around it.

With every b_l assigned to a hyperplane s(l) that attains min_j r_lj, the LP over all points majorises f and equals it at
the current (V, g), so its minimiser never has a larger f. No box and no step size are needed, and the descent is finite
because there are finitely many assignments. In a long descent the steps become short and point the same way; there each step is
doubled as long as f falls, which keeps the descent monotone. At the end Theorem 4.1 is tested: f is at a local minimum if and only if no
assignment of the tied points gives an LP value below f.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from ...arrays import Array, Positions
from ...models.point_sets import PointSets
from ...protocol.run import Run
from .assignment_lp import AssignmentLP
from .assignments import DISTURBANCES, combination_order

DECREASE = 1e-9
"""Decrease of f below which it is rounding; f is at most 2 when the weights of each class sum to one."""

_TIE = 1e-7
"""Difference of a point's errors, in units of the margin, up to which it is tied between hyperplanes."""

_STILL_TO_COME = 4.0
"""All further decreases of a descent, in units of the last one, that are hoped for: decreases shrink from step to step."""

LONG_DESCENT = 8
"""LPs of a descent after which its steps are prolonged: they have become short and point the same way. They are so from the start in a
descent that goes on from the answer on a sample."""

SMALLEST_PRICE = 1e-6
"""Price of |V|_1 in standardised units, relative to the smaller class's weight: it only breaks ties."""


class Iterate(NamedTuple):
    """Hyperplanes and f there; `local` when Theorem 4.1's condition was verified over every tied assignment."""

    planes: Array
    value: float
    local: bool = False


@dataclass
class AssignmentSearch:
    """One search: the LP it uses, its limits, and counters that the trace and the result report.

    `unit` turns f into the user's units for reports; `descents` holds the number of LPs of each descent.
    """

    sets: PointSets
    lp: AssignmentLP
    run: Run
    combinations: int = 64
    unit: float = 1.0
    lps: int = 0
    descents: list[int] = field(default_factory=list)

    def solve(self, assignment: Positions) -> tuple[Array, float] | None:
        """Solve one LP and count it."""
        self.lps += 1
        return self.lp.solve(assignment, self.run)

    def report(self, point: Iterate) -> None:
        """Report f at the best point so far, with the trivial lower bound 0."""
        self.run.report(objective=self.unit * point.value, bound=0.0, iterations=self.lps)

    def descend(
        self, assignment: Positions, beat: float = np.inf, least: float = DECREASE, short: int = LONG_DESCENT
    ) -> Iterate | None:
        """Majorise-minimise from an assignment until it repeats or f decreases by no more than `least`; None if no LP was solved in time.

        A descent that would stay above `beat` even if it decreased by _STILL_TO_COME times its last decrease is given up. After `short` LPs the steps
        are prolonged.
        """
        best: Iterate | None = None
        started = self.lps
        while True:
            answer = self.solve(assignment) if self.run.stop() is None else None
            if answer is None:
                break
            value = self.sets.value(answer[0])
            if best is not None and value >= best.value - least:
                break
            found = Iterate(answer[0], value)
            if best is not None and self.lps - started > short:
                found = self._further(best, found)
            hopeless = best is not None and value - _STILL_TO_COME * (best.value - value) > beat
            best = found
            if hopeless:
                break
            following = self.sets.nearest_plane(best.planes)
            if np.array_equal(following, assignment):
                break
            assignment = following
        self.descents.append(self.lps - started)
        return best

    def _further(self, before: Iterate, after: Iterate) -> Iterate:
        """The best of the points at 1, 2, 4, 8 ... times the step from `before` to `after`, up to the first that is no better."""
        step, times = after.planes - before.planes, 2.0
        while True:
            planes = before.planes + times * step
            value = self.sets.value(planes)
            if value >= after.value:
                break
            after, times = Iterate(planes, value), 2.0 * times
        if times > 2.0:
            self.lp.begin_near(after.planes, float(np.abs(step).max()))
        return after

    def smallest(self, point: Iterate) -> Iterate:
        """Of the hyperplanes that minimise the LP at `point`, those of least |V|_1: the widest margins for the same f.

        The optimal faces of these LPs are large, and a simplex vertex lies close to the data. A price on |V|_1 far below
        the weights selects a point of the face; if f increases by more than rounding, the old point is kept.
        """
        if self.sets.l1.any():
            return point
        price = SMALLEST_PRICE * min(self.sets.p.sum(), self.sets.q.sum())
        self.lp.set_l1(np.append(np.full(self.sets.A.shape[1] - 1, price), 0.0))
        answer = self.solve(self.sets.nearest_plane(point.planes))
        self.lp.set_l1(self.sets.l1)
        if answer is None or self.sets.value(answer[0]) > point.value + DECREASE:
            return point
        return Iterate(answer[0], self.sets.value(answer[0]))

    def settle(self, point: Iterate) -> Iterate:
        """Descend from `point` until Theorem 4.1 holds, or `combinations` tied assignments have been tried in vain."""
        while self.run.stop() is None:
            point = self.smallest(point)
            if point.value <= DECREASE:
                break
            errors = self.sets.errors_b(point.planes)
            choices = combination_order(errors, errors.min(axis=1) >= -_TIE, _TIE)
            for assignment in islice(choices, self.combinations):
                answer = self.solve(assignment)
                if answer is None:
                    return point
                if self.sets.value(answer[0]) < point.value - DECREASE:
                    better = self.descend(self.sets.nearest_plane(answer[0]))
                    point = better if better is not None else Iterate(answer[0], self.sets.value(answer[0]))
                    break
            else:
                return point._replace(local=next(choices, None) is None)
        return point

    def improve(self, point: Iterate, rounds: int, rng: np.random.Generator) -> Iterate:
        """Iterated local search: disturb the assignment, descend, keep what is better."""
        for index in range(rounds):
            if self.run.stop() is not None or point.value <= DECREASE:
                break
            found = self.descend(
                DISTURBANCES[index % len(DISTURBANCES)](self.sets, point.planes, rng), beat=point.value
            )
            if found is not None and found.value < point.value - DECREASE:
                point = found
            self.report(point)
        return point
