"""Checks a proof of the robust SVM: a |w|^2 + sum_i c_i loss(m_i) is nowhere below the bound B, where m_i = z_i.w + y_i b, z_i = y_i x_i and

    loss(m) = [1 - m]_+  for m >= s,     1 - s + theta (s - m)  below,      0 <= theta <= 1,  s <= 0.

1. The offset b is 0, or penalised (the weight of one more feature, 1), or free; then x_i stands for the point minus the certificate's centre,
   which only moves b. Equal points count as one with the sum of their costs.
2. A node knows an interval [low_i, high_i] of every margin, and one of b. Rules that cost less than B have a |w|^2 < B. Given w, positive
   points have no loss from b = 1 + max |z_i| |w| (over them) on, and no other loss falls as b grows: some best b is not larger, and by
   the same argument not smaller than -1 - max |z_i| |w| over the negative points. These are the root's intervals.
3. A round of multipliers alpha: c_i loss(m) + alpha_i m is piecewise linear in m, so its least value e_i on the interval is at an end, at s or
   at 1. With v = sum_i alpha_i z_i and beta = sum_i alpha_i y_i every rule of the node costs at least
   a |w|^2 + sum_i e_i - v.w - beta b = D_0 - beta b + a |w - v / (2 a)|^2, where D_0 = sum_i e_i - |v|^2 / (4 a). D is the least D_0 - beta b.
4. Points may be taken out of the sums of step 3 in disjoint groups; D then grows by the charge of each group. The rules of the node that cost less
   than B lie in the ball of the round before, around q with radius r (at the root around 0, with a r^2 = B). A group U has multipliers
   0 <= alpha_i <= c_i; g = sum_U alpha_i z_i and beta = sum_U alpha_i y_i. If all its margins are >= s, it costs sum_U c_i [1 - m_i]_+ and so at least
   sum_U alpha_i (1 - m_i) >= sum_U alpha_i - g.q - r |g| - max(beta b). Else some point with low_i < s costs c_i (1 - s) or more, and each other
   one at least c_i loss(high_i), as the loss does not rise with m. The charge is the least of these.
5. When D >= B the node is closed. Else rules that cost less than B lie in the ball around v / (2 a) of radius sqrt((B - D) / a) and have
   D_0 - beta b < B. The intervals are cut: that of b to what is left of m_i - z_i.w, those of the margins to z_i.w + y_i b.
   A node is closed too when an interval becomes empty.
6. A record closes its node, or is followed by another round with the new intervals, or by two children: margin p <= s and margin p >= s.

The steps are taken in float64 with bounds of all rounding errors (`quick`) and, where these leave a node open, in whole numbers (`whole`).
A certificate may hold for a larger bound than it claims: the tree then goes on below nodes that are closed already, which is passed over.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any

from ..arithmetic import Rejected, field, rational, rationals, whole_list
from ..patience import look
from ..problem import read_data
from .quick import QuickRounds
from .tree import BallProblem, Doubt, Records, loss_of, walk
from .whole import WholeRounds


def check_ramp(content: Any, X: Any, y: Any) -> tuple[Fraction, Fraction, int]:
    """(bound, cost of the rule, rounds) of a certificate that holds; Rejected otherwise."""
    matrix, signs = read_data(content, X, y)
    statement = field(content, "problem", "problem")
    a, theta, s = (
        rational(field(statement, name, "problem"), f"problem, {name}") for name in ("coefficient", "theta", "s")
    )
    costs = rationals(field(statement, "costs", "problem"), len(matrix), "problem, costs")
    intercept = field(statement, "intercept", "problem")
    if a <= 0 or min(costs) < 0 or not 0 <= theta <= 1 or s > 0:
        raise Rejected(
            "problem",
            "the coefficient must be positive, no cost negative, theta from 0 to 1, and s <= 0",
        )
    if not isinstance(intercept, bool) and intercept != "penalised":
        raise Rejected("problem", "the intercept must be true, false or 'penalised'")
    rows = [[Fraction(value) for value in row] for row in matrix.tolist()]
    cost = _cost(field(content, "upper", "upper"), rows, signs, costs, (a, theta, s), intercept)
    lower = field(content, "lower", "lower")
    bound = rational(field(lower, "bound", "lower"), "lower, bound")
    if bound > cost:
        raise Rejected("lower", "the bound exceeds the cost of the certificate's own rule")
    if field(lower, "kind", "lower") != "balls":
        raise Rejected("lower", "a ramp loss is proven by balls")
    if bound <= 0:
        return bound, cost, 0
    if intercept == "penalised":
        rows = [[*row, Fraction(1)] for row in rows]
    elif intercept:
        centre = rationals(field(lower, "centre", "lower"), len(rows[0]), "lower, centre")
        rows = [[x - middle for x, middle in zip(row, centre, strict=True)] for row in rows]
    signed = [[int(sign) * value for value in row] for row, sign in zip(rows, signs, strict=True)]
    chosen, merged = _distinct(lower, signed, [int(sign) for sign in signs], costs)
    points = [signed[row] for row in chosen]
    labels = [int(signs[row]) if intercept is True else 0 for row in chosen]
    common = lcm(*(value.denominator for row in points for value in row))
    if common & (common - 1):
        raise Rejected("lower, centre", "its values must be binary fractions, as float64 numbers are")
    digits = common.bit_length() - 1
    whole = [[int(value * 2**digits) for value in row] for row in points]
    problem = BallProblem(a, bound, theta, s, whole, digits, merged, labels)
    return bound, cost, _check_tree(problem, Records.read(lower, len(points)))


def _check_tree(problem: BallProblem, records: Records) -> int:
    """The number of records; Rejected unless they prove the bound."""
    try:
        return walk(records, QuickRounds(problem, records.units))
    except (Doubt, Rejected):
        return walk(records, WholeRounds(problem, records.units))


def _cost(
    upper: Any,
    rows: list[list[Fraction]],
    signs: Any,
    costs: list[Fraction],
    terms: tuple[Fraction, Fraction, Fraction],
    intercept: Any,
) -> Fraction:
    """What the certificate's rule costs."""
    a, theta, s = terms
    w = rationals(field(upper, "w", "upper"), len(rows[0]), "upper, w")
    b = rational(field(upper, "b", "upper"), "upper, b")
    if b and not intercept:
        raise Rejected("upper", "the rule has an offset, and the problem has none")
    total = a * sum((v * v for v in w), b * b if intercept == "penalised" else Fraction(0))
    for row, sign, cost in zip(rows, signs, costs, strict=True):
        look()
        total += cost * loss_of(int(sign) * sum((v * x for v, x in zip(w, row, strict=True)), b), theta, s)
    return total


def _distinct(
    lower: Any, signed: list[list[Fraction]], signs: list[int], costs: list[Fraction]
) -> tuple[list[int], list[Fraction]]:
    """The rows that the certificate names, which must hold all distinct points of positive cost, and the sums of their costs.

    Points with equal features and labels are one: their margins are equal for every rule.
    """
    rows = whole_list(field(lower, "points", "lower"), "lower, points")
    if not all(0 <= row < len(signed) for row in rows):
        raise Rejected("lower, points", "it names a point that the data do not have")
    sums = [Fraction(0)] * len(rows)
    of_row = {(signs[row], *signed[row]): k for k, row in enumerate(rows)}
    for row, sign, cost in zip(signed, signs, costs, strict=True):
        look()
        k = of_row.get((sign, *row))
        if k is not None:
            sums[k] += cost
        elif cost:
            raise Rejected("lower, points", "a point of positive cost is missing")
    return rows, sums
