"""The best offset of given whole weights: a threshold on the whole-number scores, or the least loss of all offsets in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

import numpy as np

from ....arrays import Array, Index
from ..form import ProofForm
from .kernels.boxes import FREE, NONE
from .problem import WholeProblem

LIMIT_ROUNDING = 1e-9
"""Fraction by which a limit may be exceeded in float64 before the exact count decides."""


def best_offset(form: ProofForm, problem: WholeProblem, w: Index) -> float | None:
    """The offset of least cost that keeps the limits; None if none does. A free one lies in the middle between two scores."""
    rows = problem.rows
    if rows.offset == NONE:
        return 0.0
    positive = form.y > 0
    scores = problem.Q @ w
    moved = int(problem.centre.astype(object) @ w.astype(object))
    P, N = _last_and_first(problem, scores)
    loose = rows.offset == FREE and not rows.margin  # thresholds lie strictly between two scores
    far = 2 * max(1, int(problem.scale)) if rows.offset == FREE else 1  # away from all scores, which are decided there
    starts = np.unique(np.append(scores if loose else N[~positive], min(P.min(), N.min()) - far))
    order_p, order_n = np.argsort(P[positive]), np.argsort(N[~positive])
    below = np.searchsorted(P[positive][order_p], starts, side="left")
    above = np.searchsorted(N[~positive][order_n], starts, side="right")

    def totals(values: Array) -> Array:
        """Of the points that each threshold gets wrong."""
        lost = np.concatenate([[0.0], np.cumsum(values[positive][order_p])])
        called = np.concatenate([[0.0], np.cumsum(values[~positive][order_n])])
        return np.asarray(lost[below] + called[-1] - called[above])

    cost = totals(form.weights)
    for coefficients, end in form.statement.limits:
        spent = totals(np.asarray(coefficients, dtype=np.float64))
        cost = np.where(spent <= end + LIMIT_ROUNDING * abs(end), cost, np.inf)
    at = int(np.argmin(cost))
    if cost[at] == np.inf:
        return None
    low = int(starts[at])
    if rows.offset != FREE:
        return -float(low + Fraction(moved) / problem.scale)
    ends = scores[scores > low] if loose else P[positive & (low <= P)]
    high = int(ends.min()) if len(ends) else low + far
    return -float((Fraction(low + high, 2) + moved) / problem.scale)


def _last_and_first(problem: WholeProblem, scores: Index) -> tuple[Index, Index]:
    """P_i and N_i of each point, see `kernels.boxes`; without the blur, for the rule has to keep its margin."""
    rows = problem.rows
    one = rows.one
    if rows.offset == FREE:
        return (scores - 1, scores) if not rows.margin else (scores - one, scores + one)
    if not rows.margin:
        return -((-scores) // one) - 1, scores // one + 1
    return scores // one - 1, -((-scores) // one) + 1


def keeps_limits(form: ProofForm, w: Array, b: float) -> bool:
    """Whether the rule keeps every limit on errors, exactly."""
    wrong = form.exact_errors(w, b)
    return all(
        sum((Fraction(value) for value in np.asarray(c, dtype=np.float64)[wrong].tolist()), Fraction(0))
        <= Fraction(end)
        for c, end in form.statement.limits
    )


def least_loss(form: ProofForm, w: Index) -> Fraction | None:
    """The least loss of all offsets that keep the limits, in fractions; None if there is none. For the rare rules that rounding hides."""
    statement = form.statement
    assert statement.whole is not None
    whole, margin = statement.whole.intercept, Fraction(statement.margin)
    used = np.flatnonzero(w)
    terms = [(int(w[j]), form.X[:, j].tolist()) for j in used.tolist()]
    scores = [sum((a * Fraction(column[i]) for a, column in terms), Fraction(0)) for i in range(len(form.y))]
    if not statement.intercept:
        thresholds = {Fraction(0)}
    elif whole:
        thresholds = {Fraction(f(s) + k) for s in scores for f in (floor, ceil) for k in (-1, 0, 1)}
    elif margin:
        thresholds = {s + k for s in scores for k in (-1, 1)}
    else:
        ordered = sorted(set(scores))
        thresholds = {(a + b) / 2 for a, b in pairwise(ordered)}
        thresholds |= {ordered[0] - 1, ordered[-1] + 1}
    limits = [(np.asarray(c, dtype=np.float64).tolist(), Fraction(end)) for c, end in statement.limits]
    paid = Fraction(statement.feature_cost) * len(used)
    best: Fraction | None = None
    for t in thresholds:
        gains = [(s - t) * int(y) for s, y in zip(scores, form.y, strict=True)]
        wrong = np.array([gain < margin if margin else gain <= 0 for gain in gains])
        loss = form.costs.sum(wrong) + paid
        if best is not None and loss >= best:
            continue
        if all(sum((Fraction(v) for v, bad in zip(c, wrong, strict=True) if bad), Fraction(0)) <= k for c, k in limits):
            best = loss
    return best
