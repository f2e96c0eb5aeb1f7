"""Branch and bound over the assignment of B to hyperplanes: a proof of the optimum without big-M and without a box.

A node assigns some points of B. Its LP leaves the others out, so its value is a lower bound on f for every completion;
where no left-out point has an error, the LP's hyperplanes attain it. Otherwise the left-out point with the largest
weighted error is branched on, one child for each hyperplane (of the unused ones only the first: their order is free).
Depth first, nearest hyperplane first: a child changes a few bounds of the dual LP and starts from the last basis. The
hyperplanes of every node are tried as an incumbent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..models.point_sets import Integers, PointSets
from ..result import Status
from ..run import Run
from .assignment_lp import WarmDual
from .majorise import DECREASE, Point

UNASSIGNED = -1
_REPORT_EVERY = 50


class Proof(NamedTuple):
    """The best point, a lower bound on f over all hyperplanes, the nodes, and why the search stopped (None: it ended)."""

    point: Point
    bound: float
    nodes: int
    stopped: Status | None


class _Node(NamedTuple):
    assignment: Integers
    bound: float
    used: int


def prove(sets: PointSets, h: int, incumbent: Point, run: Run, node_limit: int) -> Proof:
    """Search until no node's bound is below the incumbent, `node_limit` nodes are used up, or `run` stops."""
    lp = WarmDual(sets, h)
    best, nodes, stopped = incumbent, 0, None
    stack = [_Node(np.full(len(sets.B), UNASSIGNED, dtype=np.intp), 0.0, 0)]
    while stack:
        if stack[-1].bound >= best.value - DECREASE:
            stack.pop()
            continue
        stopped = run.stop() or (Status.NODE_LIMIT if nodes >= node_limit else None)
        if stopped is not None:
            break
        node = stack.pop()
        answer = lp.solve(node.assignment, run)
        if answer is None:
            stack.append(node)
            stopped = run.stop() or Status.NUMERICAL_ERROR
            break
        nodes += 1
        planes, value = answer
        if sets.value(planes) < best.value:
            best = Point(planes, sets.value(planes))
        if value < best.value - DECREASE:
            stack += _children(sets, node, planes, max(value, node.bound), h)
        if nodes % _REPORT_EVERY == 0:
            run.report(objective=best.value, bound=_open_bound(stack, best), nodes=nodes)
    return Proof(best, _open_bound(stack, best), nodes, stopped)


def _children(sets: PointSets, node: _Node, planes: np.ndarray, value: float, h: int) -> list[_Node]:
    errors = sets.errors_b(planes)
    free = node.assignment == UNASSIGNED
    cost = np.where(free, errors.min(axis=1), 0.0) * sets.q
    point = int(cost.argmax())
    if cost[point] <= 0.0:
        return []
    made = []
    for j in sorted(range(min(h, node.used + 1)), key=lambda j: -errors[point, j]):
        assignment = node.assignment.copy()
        assignment[point] = j
        made.append(_Node(assignment, value, max(node.used, j + 1)))
    return made


def _open_bound(stack: list[_Node], best: Point) -> float:
    return min([best.value, *(node.bound for node in stack)])
