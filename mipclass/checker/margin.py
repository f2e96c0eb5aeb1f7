"""Checks a maximum margin: a rule that keeps every point at its margin, and two points of the hulls that allow no wider one.

Minimise c |w|^2 subject to y_i (w.x_i + b) >= 1. For weights alpha, beta of the simplices and x = sum alpha_i p_i - sum beta_j q_j, every
feasible rule has w.x >= 2, hence |w| >= 2/|x|: no objective lies below 4 c/|x|^2. A rule whose least margin is m > 0 becomes feasible when it is
divided by m: c |w|^2/m^2 is reached. Both are computed in fractions. Without an offset, x = sum alpha_i y_i x_i and the bound is c/|x|^2.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .arithmetic import Rejected, field, rational, rationals, whole_list
from .problem import read_data

Vector = list[Fraction]


def check_margin(content: Any, X: Any, y: Any) -> tuple[Fraction, Fraction]:
    """The proven bound and the objective reached; Rejected when either claim does not hold."""
    matrix, signs = read_data(content, X, y)
    points = [[Fraction(value) for value in row] for row in matrix.tolist()]
    labels = [int(sign) for sign in signs]
    statement = field(content, "problem", "problem")
    coefficient = rational(field(statement, "coefficient", "problem"), "problem, coefficient")
    if coefficient <= 0:
        raise Rejected("problem, coefficient", "it must be positive")
    intercept = field(statement, "intercept", "problem") is True
    lower = _bound(field(content, "lower", "lower"), points, labels, coefficient, intercept)
    upper = _reached(field(content, "upper", "upper"), points, labels, coefficient, intercept)
    return lower, upper


def _bound(lower: Any, points: list[Vector], labels: list[int], coefficient: Fraction, intercept: bool) -> Fraction:
    if field(lower, "kind", "lower") != "hulls":
        raise Rejected("lower", "a maximum margin is proven by points of the hulls")
    used = whole_list(field(lower, "points", "lower"), "lower, points")
    weights = rationals(field(lower, "weights", "lower"), len(used), "lower, weights")
    if any(not 0 <= i < len(points) for i in used) or len(set(used)) != len(used):
        raise Rejected("lower, points", "they must be different rows of the data")
    if any(weight < 0 for weight in weights):
        raise Rejected("lower, weights", "a weight is negative")
    masses = {
        sign: sum((w for i, w in zip(used, weights, strict=True) if labels[i] == sign), Fraction(0)) for sign in (1, -1)
    }
    if intercept and min(masses.values()) <= 0:
        raise Rejected("lower, weights", "each class needs a positive weight")
    total = sum(masses.values(), Fraction(0))
    if total <= 0:
        raise Rejected("lower, weights", "they sum to zero")
    x = [Fraction(0)] * len(points[0])
    for i, weight in zip(used, weights, strict=True):
        share = weight / (masses[labels[i]] if intercept else total) * labels[i]
        x = [value + share * entry for value, entry in zip(x, points[i], strict=True)]
    square = sum((value * value for value in x), Fraction(0))
    if square == 0:
        raise Rejected("lower", "the hulls meet: there is no margin")
    proven = coefficient * (4 if intercept else 1) / square
    claimed = rational(field(lower, "bound", "lower"), "lower, bound")
    if claimed > proven:
        raise Rejected("lower", f"the proof gives {float(proven):.17g}, the certificate claims {float(claimed):.17g}")
    return claimed


def _reached(upper: Any, points: list[Vector], labels: list[int], coefficient: Fraction, intercept: bool) -> Fraction:
    w = rationals(field(upper, "w", "upper"), len(points[0]), "upper, w")
    b = rational(field(upper, "b", "upper"), "upper, b")
    if not intercept and b != 0:
        raise Rejected("upper", "the rule has an offset although the problem has none")
    scores = (sum((v * e for v, e in zip(w, point, strict=True)), b) for point in points)
    margin = min(label * score for label, score in zip(labels, scores, strict=True))
    if margin <= 0:
        raise Rejected("upper", "the rule does not separate the classes")
    reached = coefficient * sum((v * v for v in w), Fraction(0)) / margin**2
    claimed = rational(field(upper, "loss", "upper"), "upper, loss")
    if claimed < reached:
        raise Rejected("upper", f"the rule reaches {float(reached):.17g}, the certificate claims {float(claimed):.17g}")
    return claimed
