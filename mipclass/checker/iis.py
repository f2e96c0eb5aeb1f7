"""Checks a covering proof: infeasible subsystems, and a branch tree whose every leaf has multipliers that give the bound.

1. A support (points I and side rows) with u, v >= 0, sum u_i z_i + sum v_k a_k = 0 and the right ends is infeasible: if all points of I
   were right and the side rows held, the combination would be positive, yet it is zero. So every rule has an error in I. Within the
   scope of a relative margin (`scope`) a combination r with |r_j| <= delta s_j sum u does as well.
2. A node calls points wrong or right; its two children split on one point, so the leaves cover every rule.
3. At a leaf, multipliers V_I >= 0 and mu_k >= 0 with  sum_{I with i} V_I <= c_i + sum_k mu_k l_ki  at each point not called yet give
       cost >= sum_I V_I + sum_{i wrong} (c_i + sum_k mu_k l_ki - sum_{I with i} V_I) - sum_k mu_k at_most_k
   for every rule that keeps the limits. Costs are whole in the certificate's unit, so the bound rounds up, and further to the next sum
   of some of the costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from .arithmetic import Rejected, field, integer_rows, least_sum, unpack, unpack_hex, whole
from .cone import EVERY_RULE, Cone
from .patience import look
from .points.merged import ProofRows, check_rows
from .problem import ExactProblem, Row
from .scope import Scope


def check_iis(lower: Any, problem: ExactProblem, scope: Scope) -> tuple[Fraction, int]:
    """(proven bound, nodes); Rejected otherwise."""
    rows = check_rows(lower, problem)
    # One factor for all vectors (side rows included) keeps the sums to be checked proportional.
    sides = [a if problem.intercept else a[:-1] for a, _ in problem.rows]
    *vectors, room = integer_rows([*problem.signed_rows(rows.points, sides), scope.allowances])
    ends = [end for _, end in problem.rows]
    members = _check_supports(lower, vectors, ends, room, margin=bool(problem.margin), within="")
    bound, nodes = _check_tree(lower, rows.weights, members, merged_limits(problem, rows), within="")
    return rows.constant + rows.unit * least_sum(rows.weights, bound), nodes


def check_cover(
    proof: Any,
    rows: Sequence[Sequence[Fraction]],
    weights: Sequence[int],
    scope: Scope,
    place: str,
    limits: Sequence[Row] = (),
    cone: Cone = EVERY_RULE,
) -> tuple[int, int]:
    """(bound, nodes) of a proof that the rows alone cost so much, under limits on their errors if there are any, for rules of the cone;
    Rejected otherwise."""
    *vectors, room = integer_rows([*rows, *cone.rows, scope.allowances])
    ends = [Fraction(0)] * len(cone.rows)
    members = _check_supports(proof, vectors, ends, room, margin=False, within=f"{place}, ")
    proven, nodes = _check_tree(proof, weights, members, list(limits), within=f"{place}, ")
    bound = whole(field(proof, "bound", place), place)
    if bound > least_sum(weights, proven):
        raise Rejected(place, f"its proof gives {proven}, it claims {bound}")
    return bound, nodes


def _check_supports(
    proof: Any,
    vectors: Sequence[Sequence[int]],
    ends: list[Fraction],
    room: Sequence[int],
    *,
    margin: bool,
    within: str,
) -> list[list[int]]:
    """The points of each support, after checking that it is infeasible. The last vectors are side rows a.W >= end.

    A combination counts as zero when no coordinate exceeds `room` times the sum of the points' multipliers.
    """
    place = f"{within}supports"
    content = field(proof, "supports", place)
    sizes = unpack(field(content, "sizes", place), "i4", place).tolist()
    indices = unpack(field(content, "members", place), "i4", place).tolist()
    multipliers = unpack_hex(field(content, "multipliers", place), place)
    if any(size < 1 for size in sizes) or not sum(sizes) == len(indices) == len(multipliers):
        raise Rejected(place, "sizes, members and multipliers do not fit together")
    n = len(vectors) - len(ends)
    found, at = [], 0
    for number, size in enumerate(sizes):
        look()
        where = f"{within}support {number}"
        part, u = indices[at : at + size], multipliers[at : at + size]
        at += size
        if len(set(part)) != size or not all(0 <= i < len(vectors) for i in part):
            raise Rejected(where, "it repeats a member or names one that does not exist")
        if any(value < 0 for value in u):
            raise Rejected(where, "a multiplier is negative")
        chosen = [vectors[i] for i in part]
        soft = sum(value for i, value in zip(part, u, strict=True) if i < n)
        for k in range(len(vectors[0])):
            if abs(sum(value * vector[k] for value, vector in zip(u, chosen, strict=True))) > room[k] * soft:
                raise Rejected(where, f"its combination is not zero in coordinate {k}")
        hard = sum((value * ends[i - n] for i, value in zip(part, u, strict=True) if i >= n), Fraction(0))
        if not (soft + hard > 0 if margin else soft > 0 and hard >= 0):
            raise Rejected(where, "its combination contradicts nothing")
        found.append([i for i in part if i < n])
    return found


def merged_limits(problem: ExactProblem, rows: ProofRows) -> list[Row]:
    """Limits over the proof's rows: coefficients of equal points with equal labels add."""
    found = []
    for coefficients, at_most in problem.limits:
        total: dict[tuple[Any, ...], Fraction] = {}
        for i, c in enumerate(coefficients):
            look()
            key = (problem.y[i], *problem.X[i])
            total[key] = total.get(key, Fraction(0)) + c
        found.append(([total[(problem.y[i], *problem.X[i])] for i in rows.points], at_most))
    return found


@dataclass(frozen=True)
class CoverTree:
    """A tree in preorder (the point each node splits on, -1 for a leaf) and, leaf by leaf, its multipliers over `scale`."""

    scale: int
    points: list[int]
    leaves: list[tuple[list[int], list[int], list[int]]]
    """Numbers of the supports used, their multipliers V, and the multipliers mu of the limits."""


def _read_tree(proof: Any, n_limits: int, within: str) -> CoverTree:
    place = f"{within}tree"
    scale = whole(field(proof, "scale", place), f"{within}scale")
    if scale < 1:
        raise Rejected(f"{within}scale", "it must be at least 1")
    tree = field(proof, "tree", place)
    points = unpack(field(tree, "points", place), "i4", place).tolist()
    counts = unpack(field(tree, "counts", place), "i4", place).tolist()
    ids = unpack(field(tree, "supports", place), "i4", place).tolist()
    V = unpack(field(tree, "v", place), "i8", place).tolist()
    is_large = isinstance(tree, dict) and "large_mu" in tree  # beyond 64 bits
    mus = unpack_hex(tree["large_mu"], place) if is_large else unpack(field(tree, "mu", place), "i8", place).tolist()
    count = sum(1 for point in points if point < 0)
    if len(counts) != count or any(c < 0 for c in counts) or not len(ids) == len(V) == sum(counts):
        raise Rejected(place, "its arrays do not fit together")
    if len(mus) != count * n_limits:
        raise Rejected(place, "there must be one multiplier for each limit at each leaf")
    leaves, at = [], 0
    for leaf, size in enumerate(counts):
        leaves.append((ids[at : at + size], V[at : at + size], mus[leaf * n_limits : (leaf + 1) * n_limits]))
        at += size
    return CoverTree(scale, points, leaves)


def _check_tree(
    proof: Any,
    weights: Sequence[int],
    members: list[list[int]],
    limits: list[Row],
    *,
    within: str,
) -> tuple[int, int]:
    """(least bound of the leaves, nodes); Rejected when the tree leaves out a rule or a leaf's multipliers prove nothing."""
    tree = _read_tree(proof, len(limits), within)
    points = tree.points
    n = len(weights)
    called = np.zeros(n, dtype=np.int8)  # +1 wrong, -1 right on the way to the present node
    pending: list[tuple[int, int, bool]] = [(-1, 0, False)]  # (point to call, how, is it to be taken back)
    node = leaf = 0
    bound: int | None = None
    while pending:
        look()
        point, how, take_back = pending.pop()
        if take_back:
            called[point] = 0
            continue
        if point >= 0:
            called[point] = how
            pending.append((point, how, True))
        if node >= len(points):
            raise Rejected(f"{within}node {node}", "the tree ends too early")
        branch = points[node]
        node += 1
        if branch >= 0:
            if branch >= n or called[branch] != 0:
                raise Rejected(
                    f"{within}node {node - 1}", "it splits on a point that does not exist or is called already"
                )
            pending += [(branch, -1, False), (branch, 1, False)]
            continue
        value = _leaf_value(weights, members, limits, tree.scale, called, tree.leaves[leaf], f"{within}node {node - 1}")
        leaf += 1
        rounded = ceil(value / tree.scale)
        bound = rounded if bound is None else min(bound, rounded)
    if node != len(points) or bound is None:
        raise Rejected(f"{within}node {node}", "the tree ends too late")
    return bound, node


def _leaf_value(
    weights: Sequence[int],
    members: list[list[int]],
    limits: list[Row],
    scale: int,
    called: Any,
    leaf: tuple[list[int], list[int], list[int]],
    where: str,
) -> Fraction:
    """The bound that the multipliers of a leaf give, times `scale`."""
    ids, V, mu = leaf
    if any(value < 0 for value in V) or any(value < 0 for value in mu):
        raise Rejected(where, "a multiplier is negative")
    if not all(0 <= number < len(members) for number in ids):
        raise Rejected(where, "it names a support that does not exist")
    load = [0] * len(weights)
    for number, value in zip(ids, V, strict=True):
        look()
        for i in members[number]:
            load[i] += value
    total = Fraction(sum(V))
    for i, (weight, used) in enumerate(zip(weights, load, strict=True)):
        if called[i] < 0 or (called[i] == 0 and used <= weight * scale):
            continue
        room = weight * scale + sum((m * l[i] for m, (l, _) in zip(mu, limits, strict=True)), Fraction(0))
        if called[i] > 0:
            total += room - used
        elif used > room:
            raise Rejected(where, f"the multipliers at point {i} exceed its cost")
    return total - sum((m * at_most for m, (_, at_most) in zip(mu, limits, strict=True)), Fraction(0))
