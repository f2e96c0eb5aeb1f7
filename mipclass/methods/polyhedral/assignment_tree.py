"""Branch and bound over the assignment of B to hyperplanes: a proof of the optimum without big-M and without a box.

A node assigns some points of B. Its LP leaves the others out, so its value is a lower bound on f for every completion;
where no left-out point has an error, the LP's hyperplanes attain it. Otherwise the left-out point with the largest
weighted error is branched on, one child for each hyperplane (of the unused ones only the first: their order is free).
From the open node with the least bound the search dives, nearest hyperplane first, until it is cut off: a child changes
a few bounds of the dual LP and starts from the last basis. The hyperplanes of every node are tried as an incumbent.
The search keeps a loop of its own because `mipclass.tree` branches on binary decisions, while a node here has h children.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from ...arrays import Array, Positions
from ...models.point_sets import PointSets
from ...protocol.result import Status
from ...protocol.run import Run
from .assignment_lp import WarmDual
from .majorise_minimise import DECREASE, Iterate

UNASSIGNED = -1
"""The hyperplane of a point of B that the node leaves out."""

_REPORT_EVERY = 50
"""Nodes between two reports."""


class Proof(NamedTuple):
    """The best point, a lower bound on f over all hyperplanes, the nodes, and why the search stopped (None: it ended)."""

    point: Iterate
    bound: float
    nodes: int
    stopped: Status | None


class AssignmentNode(NamedTuple):
    """A partial assignment, a lower bound on f over its completions, and the number of hyperplanes that it uses."""

    assignment: Positions
    bound: float
    used: int


def prove(sets: PointSets, h: int, incumbent: Iterate, run: Run, node_limit: int, unit: float) -> Proof:
    """Search until no node's bound is below the incumbent by more than the gap, or `node_limit` or `run` stops it.

    `unit` turns f into the user's units for reports.
    """
    lp = WarmDual(sets, h)
    best, nodes, made, stopped = incumbent, 0, 0, None
    current: AssignmentNode | None = AssignmentNode(np.full(len(sets.B), UNASSIGNED, dtype=np.intp), 0.0, 0)
    waiting: list[tuple[float, int, AssignmentNode]] = []  # a heap by bound; of equal bounds the latest comes first
    while current is not None:
        stopped = run.stop() or (Status.NODE_LIMIT if nodes >= node_limit else None)
        answer = lp.solve(current.assignment, run) if stopped is None else None
        if answer is None:
            stopped = stopped or run.stop() or Status.NUMERICAL_ERROR
            break
        nodes += 1
        planes, value = answer
        if sets.value(planes) < best.value:
            best = Iterate(planes, sets.value(planes))
        children = []
        if value < best.value - tolerance(best.value, run):
            children = _children(sets, current, planes, max(value, current.bound), h)
        for child in children[:-1]:
            made += 1
            heappush(waiting, (child.bound, -made, child))
        if children:
            current = children[-1]
        elif waiting and waiting[0][0] < best.value - tolerance(best.value, run):
            current = heappop(waiting)[2]
        else:
            current = None
        if nodes % _REPORT_EVERY == 0:
            run.report(objective=unit * best.value, bound=unit * _bound(waiting, current, best), nodes=nodes)
    cut_off = best.value - (tolerance(best.value, run) if run.gap > 0 else 0.0)
    return Proof(best, min(cut_off, _bound(waiting, current, best)), nodes, stopped)


def tolerance(value: float, run: Run) -> float:
    """The absolute gap at which a node is cut off: the relative gap asked for, and at least rounding."""
    return max(DECREASE, run.gap * max(1.0, abs(value)))


def _children(sets: PointSets, node: AssignmentNode, planes: Array, value: float, h: int) -> list[AssignmentNode]:
    """One node for each hyperplane that the costliest left-out point may go to, the nearest one last."""
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
        made.append(AssignmentNode(assignment, value, max(node.used, j + 1)))
    return made


def _bound(waiting: list[tuple[float, int, AssignmentNode]], current: AssignmentNode | None, best: Iterate) -> float:
    """The least bound of an open node, or the incumbent's value when none is below it."""
    open_bounds = [waiting[0][0]] if waiting else []
    open_bounds += [current.bound] if current is not None else []
    return min([best.value, *open_bounds])
