"""Branch and bound for the robust SVM: each node knows an interval for every margin, and each bound confines the rules to a ball.

Minimise    1/2 |w|^2 + sum_i C_i loss(z_i.w),   loss(m) = [1 - m]_+ for m >= s,  1 - s + theta (s - m) below
Bound       Multipliers alpha of the loss's convex envelopes give D and v with  cost(w) >= D + 1/2 |w - v|^2  for every rule of the node.
            Rules that cost less than the incumbent lie in a ball around v; the intervals shrink to its margins, the envelopes rise, and
            another round gives a larger D.
Conflicts   Disjoint groups of points that cannot all be inliers within the ball are left out of the envelopes, and what they cost at least is
            added to D, where that is larger (`kernels/packing`).
Branch      at s on the point whose envelope lies furthest below its loss: an outlier (margin <= s) or not (margin >= s). A point is
            branched on at most once, and when no interval has s inside, the node is convex and D is its minimum.
Bound at any time   the least D of the open nodes, which are taken in this order.
Claim       proven up to TOLERANCE; rounded multipliers of every round and the tree are the certificate, checked in exact arithmetic.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ..kernels.envelope_bound import envelopes, widest_gap
from .problem import TOLERANCE, RampProblem, Rounded, RuleBall, Stop

COARSE, FINE = 2.0**-20, 2.0**-52
"""Multipliers are whole multiples of these parts of the largest C; the finer ones where the coarser ones would not close a node."""

MOST_COARSE, MOST_FINE = 2.0**31 - 1, 2.0**62
"""Largest such multiples."""

MOST_DOUBLINGS = 400
"""Doublings or halvings of either unit, at most: far beyond any multipliers, and far from overflow."""

AGAIN_GAIN = 0.05
"""A node gets another round of bounds while the last one gained this part of what is missing. Rounds and nodes cost the same, and
fewer nodes mean fewer branches (values from 0 to 0.1 took about equally long on 60 points with 2 to 10 features)."""

CLOSE_ENOUGH = 1e-3
"""Coordinate ascent ends when ten sweeps gain less than this part of what is missing; at 0 in convex nodes."""

AT_MARGIN = 1e-6
"""A margin this far below 1 may be that of a point which should reach it."""

MOST_ROUNDS = 50
"""Rounds in a convex node; it is left open, as decided by rounding alone, if they do not close it."""

MOST_BYTES = 1 << 30
"""Memory of open nodes, at most about; beyond it the search goes on depth first."""

WAIT = 4
"""Rounds without a packing of conflicts after one that gave the smaller bound."""

CLOSED, AGAIN = -1, -2
"""What a record says that branches on no point: nothing is left of its node, or the next record goes on with it."""


@dataclass(frozen=True, eq=False)
class Record:
    """One round of bounds: what follows it, and its multipliers as whole multiples of COARSE (int32) or FINE (int64) times 2^shift times the largest C.

    groups : the group of conflicting points to which each point belongs, or 0; None when there is no group.
    """

    op: int
    numbers: NDArray[Any]
    shift: int = 0
    groups: NDArray[np.uint8] | None = None
    following: tuple[int, ...] = ()


class _Found(NamedTuple):
    """A bound, and what a record keeps of it."""

    bound: Rounded
    numbers: NDArray[Any]
    shift: int = 0
    groups: NDArray[np.uint8] | None = None


_NOTHING = _Found(Rounded(-np.inf, np.zeros(0), 0.0, np.zeros(0)), np.zeros(0))


@dataclass(eq=False)
class _Node:
    """An open node: its bound, the intervals, multipliers and ball of its last round, and the record of that round.

    beside : multipliers for rounds in which some points are packed.   waits : rounds before the next packing.
    """

    bound: float
    low: Array
    high: Array
    alpha: Array
    beside: Array
    ball: RuleBall
    waits: int
    record: int = -1
    point: int = -1


def _shift(alpha: Array, unit: float, most: float, wanted: float) -> int:
    """Doublings of a unit, negative for halvings: no multiplier exceeds `most` units, and the largest has the wanted number unless it is larger at once."""
    largest = float(np.abs(alpha).max()) / unit
    if not 0.0 < largest < np.inf:
        return 0
    finer, coarser = np.ceil(np.log2(largest / wanted)), np.ceil(np.log2(largest / most))
    return int(np.clip(max(coarser, min(0.0, finer)), -MOST_DOUBLINGS, MOST_DOUBLINGS))


class BallSearch:
    """A search for a proof that no rule costs less than the best one known, `best`."""

    def __init__(self, problem: RampProblem, best: tuple[float, Array], stop: Stop) -> None:
        self.problem, self.best, self._stop = problem, best, stop
        self.nodes = 0
        self.unit = float(problem.costs.max())
        self.records: list[Record] = []
        self._open: list[tuple[float, int, _Node]] = []
        self._stuck: list[float] = []
        self._depth_first = False
        start = problem.ball(Rounded(0.0, np.zeros(problem.Z.shape[1]), 0.0, problem.start()), best[0])
        self._grow()
        self._evaluate(_Node(0.0, *problem.reach(best[0]), problem.start(), problem.start(), start, 0))

    @property
    def target(self) -> float:
        """What has to be proven."""
        return self.best[0] * (1 - TOLERANCE)

    @property
    def finished(self) -> bool:
        """Whether every node is closed."""
        return not self._open and not self._stuck

    @property
    def exhausted(self) -> bool:
        """Whether no node is left to branch on."""
        return not self._open

    @property
    def bound(self) -> float:
        """No rule costs less than this."""
        bounds = [entry[0] for entry in (self._open if self._depth_first else self._open[:1])]
        return max(0.0, min([self.target, *bounds, *self._stuck]))

    def advance(self, node_limit: int | None) -> None:
        """Branch until everything is closed, or until stopped."""
        while self._open and not self._stop() and (node_limit is None or self.nodes < node_limit):
            bound, _, node = self._open.pop() if self._depth_first else heapq.heappop(self._open)
            if bound >= self.target:
                continue
            self._branch(node)
            if not self._depth_first and len(self._open) * 24 * len(node.low) > MOST_BYTES:
                self._open.sort(key=lambda entry: -entry[0])
                self._depth_first = True

    def _branch(self, node: _Node) -> None:
        """Evaluate the two children of a node, and keep those that stay open."""
        s, firsts = self.problem.s, []
        for side in (0, 1):
            low, high = node.low.copy(), node.high.copy()
            (high if side == 0 else low)[node.point] = s
            alphas = node.alpha.copy(), node.beside.copy()
            firsts.append(self._evaluate(_Node(node.bound, low, high, *alphas, node.ball, node.waits)))
        self.records[node.record] = replace(self.records[node.record], op=node.point, following=tuple(firsts))

    def _evaluate(self, node: _Node) -> int:
        """Rounds of bounds on a new node, which is closed or kept as open; the number of its first record."""
        self.nodes += 1
        first = len(self.records)
        for number in range(MOST_ROUNDS):
            before, is_convex = node.bound, self._round(node)
            if self.records[-1].op == CLOSED:
                return first
            is_gaining = node.bound - before > AGAIN_GAIN * (self.target - node.bound)
            if not (is_convex or is_gaining) or number == MOST_ROUNDS - 1 or self._stop():
                break
            self.records[-1] = replace(self.records[-1], op=AGAIN, following=(len(self.records),))
        if is_convex:
            self._stuck.append(node.bound)
            return first
        node.record = len(self.records) - 1
        entry = (node.bound, node.record, node)
        if self._depth_first:
            self._open.append(entry)
        else:
            heapq.heappush(self._open, entry)
        return first

    def _round(self, node: _Node) -> bool:
        """One round: a new record, the node's bound and narrower intervals. True when no interval has s inside, before or after."""
        problem = self.problem
        loss, low, high = problem.loss, node.low, node.high
        corners = envelopes(loss, low, high)
        is_convex = widest_gap(loss, corners, low, high) < 0
        found = self._by_envelopes(node, corners, is_convex)
        node.waits = max(0, node.waits - 1)
        # Packing looks at no clock and takes more than a second from some 300 points on: it does not begin once there is a reason to stop.
        if found.bound.value < self.target and not is_convex and node.waits == 0 and not self._stop():
            packed = self._by_conflicts(node, corners)
            if packed.bound.value > found.bound.value:
                found = packed
            else:
                node.waits = WAIT
        node.bound = max(node.bound, found.bound.value)
        is_empty = found.bound.value >= self.target or problem.narrow(low, high, found.bound, self.target)
        self.records.append(Record(CLOSED if is_empty else AGAIN, found.numbers, found.shift, found.groups))
        if is_empty:
            return is_convex
        node.ball = problem.ball(found.bound, self.target)
        node.point = int(widest_gap(loss, envelopes(loss, low, high), low, high))
        return node.point < 0

    def _blocks(self) -> int:
        return 1 if self._stop() else self.problem.blocks

    def _by_envelopes(self, node: _Node, corners: Any, is_convex: bool) -> _Found:
        """The bound of the envelopes of all points."""
        problem, low, high, alpha = self.problem, node.low, node.high, node.alpha
        gain = 0.0 if is_convex else CLOSE_ENOUGH
        value, rule = problem.maximise(corners, low, high, alpha, self.target, gain, self._blocks())
        self._offer(rule)
        shift = _shift(alpha[: len(corners[0])], COARSE * self.unit, MOST_COARSE, 1 / COARSE)
        found = problem.rounded(corners, low, high, alpha, 2.0**shift * COARSE * self.unit, MOST_COARSE)
        if found.value >= self.target or not (is_convex or value >= self.target):
            return _Found(found, found.numbers.astype(np.int32), shift)
        shift = _shift(alpha[: len(corners[0])], FINE * self.unit, MOST_FINE, 1 / FINE)
        found = problem.rounded(corners, low, high, alpha, 2.0**shift * FINE * self.unit, MOST_FINE)
        return _Found(found, found.numbers.astype(np.int64), shift)

    def _by_conflicts(self, node: _Node, corners: Any) -> _Found:
        """The bound of packed conflicts and of the envelopes of the points beside them; that of nothing when no points conflict."""
        low, high, unit = node.low, node.high, COARSE * self.unit
        packed = self.problem.packed(low, high, node.ball, unit)
        if packed.total == 0.0:
            return _NOTHING
        rest = packed.groups == 0
        if not rest.any():
            bound = Rounded(packed.total, np.zeros(self.problem.Z.shape[1]), 0.0, packed.numbers)
            return _Found(bound, packed.numbers.astype(np.int32), 0, packed.groups)
        kept = np.append(rest, np.ones(len(node.alpha) - len(rest), dtype=bool))
        beside, left, alpha = self.problem.only(rest), tuple(part[rest] for part in corners), node.beside[kept]
        _, rule = beside.maximise(left, low, high, alpha, self.target - packed.total, CLOSE_ENOUGH, self._blocks())
        self._offer(rule)
        found = beside.rounded(left, low, high, alpha, unit, MOST_COARSE)
        node.beside[kept] = alpha
        numbers = packed.numbers.astype(np.int32)
        numbers[rest] = found.numbers
        return _Found(found._replace(value=found.value + packed.total), numbers, 0, packed.groups)

    def _offer(self, w: Array) -> None:
        """Take a rule as the incumbent if it is better, after the concave-convex procedure."""
        if self.problem.cost(w) < self.best[0]:
            descent = self.problem.descend(self.problem.margins(w) < self.problem.s, self._stop)
            self.best = min((self.problem.cost(w), w), descent, key=lambda rule: rule[0])
            self._grow()

    def _grow(self) -> None:
        """Enlarge the incumbent until the points that miss their margins by rounding reach them: a large C would charge for that."""
        w = self.best[1]
        margins = self.problem.margins(w)
        short = margins[(margins < 1) & (margins > 1 - AT_MARGIN)]
        if len(short):
            larger = w / short.min()
            self.best = min(self.best, (self.problem.cost(larger), larger), key=lambda rule: rule[0])
