"""The best offset of given whole weights: a threshold on the whole-number scores, or the least loss of all offsets in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

import numpy as np

from ....arrays import Array, Index, Mask
from ....certificates.certificate import Statement
from ..form import ProofForm
from .kernels.boxes import FREE, NONE
from .problem import WholeProblem


def best_offset(problem: WholeProblem, w: Index) -> float | None:
    """The offset of least cost that keeps the limits; None if none does. A free one lies in the middle between two scores."""
    rows = problem.rows
    if rows.offset == NONE:
        return 0.0
    positive = rows.positive > 0
    scores = problem.Q @ w  # of all points, so that no threshold ties one
    moved = int(problem.centre.astype(object) @ w.astype(object))
    P, N = _last_and_first(problem, scores[problem.points])
    loose = rows.offset == FREE and not rows.margin  # thresholds lie strictly between two scores
    far = 2 * max(1, int(problem.scale)) if rows.offset == FREE else 1  # away from all scores, which are decided there
    first = min(int(ends.min()) for ends in _last_and_first(problem, scores)) - far
    starts = np.unique(np.append(scores if loose else N[~positive], first))
    order_p, order_n = np.argsort(P[positive]), np.argsort(N[~positive])
    below = np.searchsorted(P[positive][order_p], starts, side="left")
    above = np.searchsorted(N[~positive][order_n], starts, side="right")

    def totals(values: Index) -> Index:
        """Of the points that each threshold gets wrong."""
        lost = np.concatenate([[0], np.cumsum(values[positive][order_p])])
        called = np.concatenate([[0], np.cumsum(values[~positive][order_n])])
        return np.asarray(lost[below] + called[-1] - called[above])

    allowed = np.ones(len(starts), dtype=bool)
    for coefficients, end in zip(rows.limits, rows.at_most, strict=True):
        allowed &= totals(coefficients) <= end
    if not allowed.any():
        return None
    candidates = np.flatnonzero(allowed)
    at = int(candidates[np.argmin(totals(rows.weights)[candidates])])
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


def is_allowed(form: ProofForm, w: Array, b: float) -> bool:
    """Whether the rule keeps every limit on errors and every row between weights, and ties no point whose error would help; exactly."""
    unfolded = form.unfolded
    copies = len(unfolded.y) - len(form.y)
    wrong = unfolded.exact_errors(w, b)
    # Of such a point and its copy with the other label one is wrong, and both where the rule ties them.
    if copies and wrong[: len(form.y)][welcome_errors(form.statement)].sum() + wrong[len(form.y) :].sum() > copies:
        return False
    return keeps_rows(form.statement, w) and keeps_limits(form.statement, wrong[: len(form.y)])


def welcome_errors(statement: Statement) -> Mask:
    """The points with a negative coefficient in some limit."""
    coefficients = np.array([c for c, _ in statement.limits]).reshape(len(statement.limits), len(statement.costs))
    return np.asarray((coefficients < 0).any(axis=0))


def keeps_limits(statement: Statement, wrong: Mask) -> bool:
    """Whether these errors keep every limit, exactly."""
    return all(
        sum((Fraction(value) for value in np.asarray(c, dtype=np.float64)[wrong].tolist()), Fraction(0))
        <= Fraction(end)
        for c, end in statement.limits
    )


def keeps_rows(statement: Statement, w: Array | Index) -> bool:
    """Whether these weights keep every row, exactly; no row is about the offset."""
    return all(
        sum((Fraction(a[j]) * int(w[j]) for j in np.flatnonzero(a[:-1])), Fraction(0)) >= Fraction(float(end))
        for a, end in statement.rows
    )


def least_loss(form: ProofForm, w: Index) -> Fraction | None:
    """The least loss of all offsets that keep the limits, in fractions; None if there is none, or if the weights break a row. For the rare
    rules that rounding hides."""
    statement = form.statement
    assert statement.whole is not None
    if not keeps_rows(statement, w):
        return None
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
    welcome = welcome_errors(statement)
    paid = Fraction(statement.feature_cost) * len(used)
    best: Fraction | None = None
    for t in thresholds:
        gains = [(s - t) * int(y) for s, y in zip(scores, form.y, strict=True)]
        wrong = np.array([gain < margin if margin else gain <= 0 for gain in gains])
        loss = form.costs.sum(wrong) + paid
        if best is not None and loss >= best:
            continue
        ties = any(gain == 0 and helps for gain, helps in zip(gains, welcome, strict=True))
        if not ties and keeps_limits(statement, wrong):
            best = loss
    return best
