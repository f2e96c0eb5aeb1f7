"""Checks a box proof under limits: every box is closed by one of several plain losses.

A loss (`priced`) is a plain 0-1 loss of the same points. Where it counts the objective, a cost of at least its target means that a rule
which keeps the limits costs at least so much; where it counts limits alone, a positive value means that the rule breaks one. A part is a
tree under one loss, whose leaves reach the part's target, are handed to a later part, or are closed by a joint lemma (`joint`). The first
part begins with the faces of the cube, each other part with exactly the boxes that were handed to it, so that all parts together cover
every rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .arithmetic import Rejected, field, unpack, whole
from .box import LARGEST, check_lemmas
from .cone import Cone, read_cone, row_weights
from .joint import read_joint
from .points.images import check_reach, rounded_images
from .points.merged import check_rows
from .points.vectors import Vectors
from .priced import counts_objective, plain_problem, shift
from .problem import ExactProblem
from .scope import Scope
from .tree.stream import REASONS, stream


@dataclass(frozen=True)
class _Loss:
    """A plain loss as the walk reads it; `value(cost)` is what a whole cost says about the problem."""

    cloud: Any
    lemmas: Any
    constant: Fraction
    unit: Fraction
    counts_objective: bool

    def value(self, cost: int) -> Fraction:
        return self.constant + self.unit * cost


def check_limited(lower: Any, problem: ExactProblem, scope: Scope) -> tuple[Fraction, int]:
    """(proven bound, nodes); Rejected otherwise."""
    from . import box_kernel as kernel

    cone = read_cone(lower, problem)
    every = np.hstack([problem.X.values, np.ones((problem.n, 1))])
    check_reach(lower, Vectors(every, cone.rows), scope, "lower")  # every rule has its coordinates V
    contents, parts = field(lower, "losses", "lower"), field(lower, "parts", "lower")
    if not isinstance(contents, list) or not isinstance(parts, list) or not contents or not parts:
        raise Rejected("lower", "losses and parts must be lists, and there must be a loss and a part")
    losses, nodes = [], 0
    for number, content in enumerate(contents):
        loss, more = _read_loss(content, lower, problem, scope, cone, f"loss {number}")
        losses.append(loss)
        nodes += more
    joint, more = read_joint(field(lower, "joint", "lower"), lower, problem, scope, cone)
    nodes += more
    ways: dict[int, Any] = {}  # of each loss, the room of its walks
    waiting: dict[int, list[Any]] = {0: [kernel.faces(losses[0].cloud.points.shape[1])]}
    bound: Fraction | None = None
    for number, part in enumerate(parts):
        place = f"part {number}"
        which = whole(field(part, "loss", place), place)
        if not 0 <= which < len(losses) or number not in waiting:
            raise Rejected(place, "its loss does not exist, or no box was handed to it")
        loss, target = losses[which], whole(field(part, "target", place), place)
        if abs(target) >= LARGEST:
            raise Rejected(place, "its target is too large")
        if loss.counts_objective:
            bound = loss.value(target) if bound is None else min(bound, loss.value(target))
        elif loss.value(target) <= 0:
            raise Rejected(place, "its target does not break a limit")
        handed_to = unpack(field(part, "handed_to", place), "i4", place)
        boxes = waiting.pop(number)
        roots = kernel.Boxes(np.concatenate([box.low for box in boxes]), np.concatenate([box.high for box in boxes]))
        if which not in ways:
            ways[which] = kernel.Way.first(loss.cloud.points)
        code, node, handed = kernel.walk_from(
            roots, loss.cloud, target, stream(part, place), loss.lemmas, len(handed_to), ways[which]
        )
        if code != kernel.OK:
            raise Rejected(f"{place}, node {node}", REASONS[code].format(bound=target))
        nodes += int(node)
        for k in np.flatnonzero(handed_to < 0).tolist():
            closed = joint.cost(-1 - int(handed_to[k]), handed.low[k], handed.high[k], place)
            bound = closed if bound is None or (closed is not None and closed < bound) else bound
        for other in np.unique(handed_to[handed_to >= 0]).tolist():
            if not number < other < len(parts):
                raise Rejected(place, "it hands boxes to a part that does not come later")
            here = handed_to == other
            waiting.setdefault(other, []).append(kernel.Boxes(handed.low[here], handed.high[here]))
    if waiting:
        raise Rejected("lower", "boxes are left that no part closes")
    # Without a part that counts the objective, no rule keeps the limits: every rule that does costs more than all points.
    return sum(problem.costs, Fraction(1)) if bound is None else bound, nodes


def _read_loss(
    content: Any, lower: Any, problem: ExactProblem, scope: Scope, cone: Cone, place: str
) -> tuple[_Loss, int]:
    """A loss with its lemmas checked, and the nodes of these."""
    from . import box_kernel as kernel

    plain = plain_problem(content, problem)
    rows = check_rows(content, plain, may_repeat=True)
    weights = [*rows.weights, *row_weights(content, cone)]
    if not rows.points or sum(weights) >= LARGEST:
        raise Rejected(place, "it has no points, or their weights are too large")
    vectors = plain.signed_rows(rows.points, cone.rows)
    shared = {"columns": field(lower, "columns", "lower"), "map": field(lower, "map", "lower")}
    points, half_errors = rounded_images(shared, vectors, kernel.POINT_BITS, place)
    lemmas, nodes = check_lemmas(content, vectors, weights, scope, place, cone.behind(len(rows.points)))
    cloud = kernel.Cloud(points, half_errors, np.array(weights, dtype=np.int64))
    constant = rows.constant - shift(content, problem)
    return _Loss(cloud, lemmas, constant, rows.unit, counts_objective(content)), nodes
