"""Checks a proof about whole weights: no box of them has a rule that costs less than the target.

1. Values become whole numbers q_ij = round(scale x_ij) - centre_j. With a free offset the centre is of no account; with a whole one it
   is a multiple of the scale, so that w.centre / scale is whole; without an offset it is zero.
2. Rounding by up to error_j: a right positive and a right negative point of a rule in the scope of the relative margin delta differ in
   score by more than 2 delta sum_j s_j |w_j|, and each is as far from the threshold as delta times that sum. With error_j <= scale delta s_j
   their rounded scores are on the same sides. With a margin of 1 the entry `blur` bounds sum_j |w_j| error_j and widens both sides instead.
3. Limits with negative coefficients become ones without (`problem.unfolded`): errors of copies with the other label. Rules that tie such
   a point are not allowed, and in every other one exactly one of the point and its copy is wrong, which is one more limit.
4. A row a.w >= c is rounded down to whole units a_j = unit (k_j + f_j), 0 <= f_j < 1: it implies k.w >= c / unit - sum_j f_j max(0, high_j).
5. The boxes of the tree cover all weights in their ranges (`lattice_kernel`). Each leaf reaches the target, or is a single rule whose
   least cost over all offsets is counted in fractions. A leaf may also have no weights that keep the rows.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any

import numpy as np

from .arithmetic import Rejected, field, rational, unpack, whole
from .patience import look
from .points.merged import ProofRows, check_rows
from .problem import ExactProblem, Row, unfolded
from .scope import Scope

LARGEST = 2**61
"""Scores, weights and limits below this add up in 64 bits."""

MOST_BITS = 20
"""Binary digits of the largest weight, at most."""

NODES_A_LOOK = 2_000_000
"""Points looked at between two looks at the clock: about 0.1 s."""

REASONS = {
    1: "the tree ends too early or too late",
    2: "a weight is split that does not exist, is settled, or does not change its sign",
    3: "the bound of this leaf is below {target}",
}


def check_lattice(lower: Any, problem: ExactProblem, scope: Scope) -> tuple[Fraction, int]:
    """(proven bound, nodes); Rejected otherwise."""
    from . import lattice_kernel as kernel

    if problem.whole is None:
        raise Rejected("lower", "a proof over whole weights is about a problem that asks for them")
    low, high = _ranges(problem)
    target = whole(field(lower, "target", "lower"), "lower, target")
    offset = (kernel.WHOLE if problem.whole[2] else kernel.FREE) if problem.intercept else kernel.NONE
    spread = _without_ties(problem) if offset != kernel.FREE else unfolded(problem)
    rows = check_rows(lower, spread)
    if target <= 0 or any(a > b for a, b in zip(low, high, strict=True)):
        return (rows.constant + rows.unit * target), 0  # costs are not negative; or there are no weights at all
    if target >= LARGEST:
        raise Rejected("lower, target", "it is too large")
    lattice = _read(lower, spread, scope, rows, (low, high), offset)
    ops = unpack(field(lower, "tree", "lower"), "u1", "lower, tree")
    d = len(low)
    room = 3 * d * (2 + MOST_BITS) + 8
    boxes = kernel.Walk(np.zeros((room, d), np.int64), np.zeros((room, d), np.int64), np.array([1, 0], np.int64))
    boxes.low[0], boxes.high[0] = low, high
    budget = max(1, NODES_A_LOOK // max(1, lattice.values.size))
    while True:
        look()
        code = kernel.walk(lattice, ops, target, boxes, budget)
        node = int(boxes.position[1])
        if code == kernel.OK:
            return rows.constant + rows.unit * target, node
        if code == kernel.ASKING:
            top = int(boxes.position[0]) - 1
            w = _single(boxes.low[top].tolist(), boxes.high[top].tolist(), lattice.most, node)
            least = _least_cost(w, problem)
            if least is not None and least < rows.constant + rows.unit * target:
                raise Rejected(f"lower, node {node}", f"the rule {w} costs {least}")
            boxes.position[0] = top
        elif code != kernel.PAUSED:
            raise Rejected(f"lower, node {node}", REASONS[int(code)].format(target=target))


def _ranges(problem: ExactProblem) -> tuple[list[int], list[int]]:
    """The range of each weight, from the range of all and from rows about it alone."""
    assert problem.whole is not None
    d = problem.X.width
    low, high = [problem.whole[0]] * d, [problem.whole[1]] * d
    if max(abs(problem.whole[0]), abs(problem.whole[1])).bit_length() > MOST_BITS:
        raise Rejected("problem, whole", f"weights have at most {MOST_BITS} binary digits here")
    for coefficients, end in _rows_on_weights(problem):
        at = [j for j, value in enumerate(coefficients) if value]
        if len(at) == 1:
            j = at[0]
            if coefficients[j] > 0:
                low[j] = max(low[j], ceil(end / coefficients[j]))
            else:
                high[j] = min(high[j], floor(end / coefficients[j]))
    return low, high


def _rows_on_weights(problem: ExactProblem) -> list[Row]:
    """The rows on weights alone. Those on an offset that is there are left out, which can only weaken a bound."""
    d = problem.X.width
    return [(a[:d], end) for a, end in problem.rows if not problem.intercept or not a[d]]


def _without_ties(problem: ExactProblem) -> ExactProblem:
    """The problem with copies of the points whose errors help to keep a limit, and the limit that says that no rule ties one of these."""
    welcome = problem.welcome
    if not welcome:
        return problem
    spread = unfolded(problem)
    counted = [Fraction(i in welcome or i >= problem.n) for i in range(spread.n)]
    return replace(spread, limits=[*spread.limits, (counted, Fraction(len(welcome)))])


def _read(
    lower: Any, problem: ExactProblem, scope: Scope, rows: ProofRows, ranges: tuple[list[int], list[int]], offset: int
) -> Any:
    """The points, limits and rows in whole numbers, as the kernel reads them."""
    from . import lattice_kernel as kernel

    reach = [max(abs(a), abs(b)) for a, b in zip(*ranges, strict=True)]
    scale = rational(field(lower, "scale", "lower"), "lower, scale")
    blur = whole(field(lower, "blur", "lower"), "lower, blur")
    d = len(reach)
    entries = field(lower, "centre", "lower")
    if not isinstance(entries, list) or len(entries) != d:
        raise Rejected("lower, centre", f"expected {d} whole numbers")
    centre = [rational(entry, "lower, centre") for entry in entries]
    if scale <= 0 or blur < 0 or any(value.denominator > 1 for value in centre):
        raise Rejected("lower, scale", "scale must be positive, blur not negative, and centre whole")
    if (offset != kernel.FREE or problem.margin) and scale.denominator > 1:
        raise Rejected("lower, scale", "it must be whole where the offset is whole or zero, or the margin is 1")
    if offset != kernel.FREE and any(value % scale if offset == kernel.WHOLE else value for value in centre):
        raise Rejected("lower, centre", "it must be a multiple of the scale for a whole offset, and zero without one")
    values, errors = [], [Fraction(0)] * d
    for i in rows.points:
        look()
        row = []
        for j, x in enumerate(problem.X[i]):
            nearest = floor(scale * x + Fraction(1, 2))
            errors[j] = max(errors[j], abs(scale * x - nearest))
            row.append(problem.y[i] * (nearest - int(centre[j])))
        values.append(row)
    if problem.margin:
        if sum((r * e for r, e in zip(reach, errors, strict=True)), Fraction(0)) > blur:
            raise Rejected("lower, blur", "rounding changes scores by more")
    elif any(error > scale * room for error, room in zip(errors, scope.allowances, strict=False)):
        raise Rejected("lower, scale", "rounding changes values by more than the relative margin allows")
    largest = max((sum(r * abs(q) for r, q in zip(reach, row, strict=True)) for row in values), default=0)
    feature_cost = floor(problem.feature_cost / rows.unit)
    if largest + abs(blur) + scale >= LARGEST or sum(rows.weights) + feature_cost * d >= LARGEST:
        raise Rejected("lower", "its numbers are too large")
    limits, ends = _limits(lower, problem, rows)
    most = d if problem.max_features is None else min(d, problem.max_features)
    return kernel.Lattice(
        np.array(values, dtype=np.int64).reshape(len(values), d),
        np.array([problem.y[i] for i in rows.points], dtype=np.int64),
        np.array(rows.weights, dtype=np.int64),
        limits,
        ends,
        scale.numerator if scale.denominator == 1 else 1,
        blur if problem.margin else 0,
        offset,
        problem.margin,
        most,
        feature_cost,
        *_rows_between(lower, problem, *ranges),
    )


def _limits(lower: Any, problem: ExactProblem, rows: ProofRows) -> tuple[Any, Any]:
    """The coefficients of each limit over the rows, summed over equal points, and its end; both rounded down to whole units."""
    units = field(lower, "limit_units", "lower")
    if not isinstance(units, list) or len(units) != len(problem.limits):
        raise Rejected("lower, limit_units", f"expected {len(problem.limits)}")
    table, ends = [], []
    for entry, (coefficients, at_most) in zip(units, problem.limits, strict=True):
        unit = rational(entry, "lower, limit_units")
        if unit <= 0 or any(value < 0 for value in coefficients):
            raise Rejected("lower, limit_units", "units are positive, and coefficients of limits not negative here")
        mass: dict[tuple[Any, ...], Fraction] = {}
        for i, value in enumerate(coefficients):
            key = (problem.y[i], *problem.X[i])
            mass[key] = mass.get(key, Fraction(0)) + value
        counts = [floor(mass[(problem.y[i], *problem.X[i])] / unit) for i in rows.points]
        end = floor(at_most / unit)
        if sum(counts) >= LARGEST or abs(end) >= LARGEST:
            raise Rejected("lower, limit_units", "the numbers of a limit are too large")
        table.append(counts)
        ends.append(end)
    return np.array(table, dtype=np.int64).reshape(len(table), len(rows.points)), np.array(ends, dtype=np.int64)


def _rows_between(lower: Any, problem: ExactProblem, low: list[int], high: list[int]) -> tuple[Any, Any]:
    """The rows on several weights, or on none, in whole units: coefficients and ends."""
    between = [(a, end) for a, end in _rows_on_weights(problem) if sum(map(bool, a)) != 1]
    units = field(lower, "row_units", "lower") if between else []
    if not isinstance(units, list) or len(units) != len(between):
        raise Rejected("lower, row_units", f"expected {len(between)}")
    table, ends = [], []
    for entry, (coefficients, at_least) in zip(units, between, strict=True):
        unit = rational(entry, "lower, row_units")
        if unit <= 0:
            raise Rejected("lower, row_units", "units are positive")
        counts = [floor(value / unit) for value in coefficients]
        lost = [(value / unit - k) * max(0, top) for value, k, top in zip(coefficients, counts, high, strict=True)]
        end = ceil(at_least / unit - sum(lost, Fraction(0)))
        if sum(abs(k) * max(abs(a), abs(b)) for k, a, b in zip(counts, low, high, strict=True)) >= LARGEST:
            raise Rejected("lower, row_units", "the numbers of a row are too large")
        table.append(counts)
        ends.append(max(-LARGEST, min(LARGEST, end)))
    return np.array(table, dtype=np.int64).reshape(len(table), len(low)), np.array(ends, dtype=np.int64)


def _single(low: list[int], high: list[int], most: int, node: int) -> list[int]:
    """The only rule of a box, in which weights that may be zero are zero once as many as allowed are used."""
    used = sum(a > 0 or b < 0 for a, b in zip(low, high, strict=True))
    w = []
    for a, b in zip(low, high, strict=True):
        if a < b and not (used == most and a <= 0 <= b):
            raise Rejected(f"lower, node {node}", "it is said to hold a single rule, and holds several")
        w.append(0 if a <= 0 <= b else a)
    return w


def _least_cost(w: list[int], problem: ExactProblem) -> Fraction | None:
    """The least cost of these weights over all offsets that keep the limits; None when none does, or when the weights break a row."""
    assert problem.whole is not None
    for coefficients, end in _rows_on_weights(problem):
        if sum((c * a for c, a in zip(coefficients, w, strict=True) if a), Fraction(0)) < end:
            return None
    welcome = problem.welcome
    scores = []
    for point in problem.X:
        look()
        scores.append(sum((a * x for a, x in zip(w, point, strict=True) if a), Fraction(0)))
    if not problem.intercept:
        thresholds = {Fraction(0)}
    elif problem.whole[2]:
        thresholds = {Fraction(floor(s) + k) for s in scores for k in (-1, 0, 1, 2)}
    else:
        ends = sorted(s + k for s in set(scores) for k in ((-1, 1) if problem.margin else (0,)))
        thresholds = {ends[0] - 1, ends[-1] + 1, *ends, *((a + b) / 2 for a, b in pairwise(ends))}
    best: Fraction | None = None
    for t in thresholds:
        look()
        gains = [label * (score - t) for label, score in zip(problem.y, scores, strict=True)]
        wrong = [gain < 1 if problem.margin else gain <= 0 for gain in gains]
        if any(gain == 0 and i in welcome for i, gain in enumerate(gains)) or any(
            sum((c for c, bad in zip(coefficients, wrong, strict=True) if bad), Fraction(0)) > at_most
            for coefficients, at_most in problem.limits
        ):
            continue
        cost = sum((c for c, bad in zip(problem.costs, wrong, strict=True) if bad), Fraction(0))
        best = cost if best is None else min(best, cost)
    return None if best is None else best + problem.feature_cost * sum(a != 0 for a in w)
