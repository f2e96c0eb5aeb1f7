"""The problem a certificate speaks of, in exact numbers, and the checks that do not depend on the kind of proof."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from dataclasses import field as entry
from fractions import Fraction
from typing import Any

import numpy as np

from .arithmetic import Rejected, field, rational, rationals, whole, whole_list
from .patience import look

Row = tuple[list[Fraction], Fraction]
"""Coefficients and the end of a limit (at most) or of a side row (at least)."""


@dataclass(frozen=True)
class StatedProblem:
    """Minimise sum_i costs_i [i wrong] + feature_cost |w|_0 subject to limits on errors, rows on W = (w, b) and |w|_0 <= max_features;
    all in fractions. `whole` is the range of whole weights and whether the offset is whole too; None for real weights."""

    costs: list[Fraction]
    margin: int
    intercept: bool
    limits: list[Row]
    rows: list[Row]
    max_features: int | None = entry(default=None, kw_only=True)
    feature_cost: Fraction = entry(default=Fraction(0), kw_only=True)
    whole: tuple[int, int, bool] | None = entry(default=None, kw_only=True)

    @property
    def welcome(self) -> set[int]:
        """Points whose errors help to keep a limit; rules that tie one of them are not allowed."""
        return {i for coefficients, _ in self.limits for i, c in enumerate(coefficients) if c < 0}

    @property
    def is_plain(self) -> bool:
        """No side constraints, no margin, a free offset, real weights, and all features for nothing."""
        features = self.max_features is not None or self.feature_cost or self.whole is not None
        return not self.limits and not self.rows and not features and self.margin == 0 and self.intercept

    def is_same_as(self, other: StatedProblem) -> bool:
        """Whether both ask for the same; the order of limits and rows does not matter."""
        mine, theirs = (
            (problem.costs, problem.margin, problem.intercept, sorted(problem.limits), sorted(problem.rows))
            for problem in (self, other)
        )
        features = self.max_features == other.max_features and self.feature_cost == other.feature_cost
        return mine == theirs and features and self.whole == other.whole


@dataclass(frozen=True)
class ExactProblem(StatedProblem):
    """A stated problem about points X with labels y = -1 or +1."""

    X: list[list[Fraction]]
    y: list[int]

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.y)

    def signed_row(self, i: int) -> list[Fraction]:
        """y_i (x_i, 1), without the 1 when there is no offset."""
        row = [self.y[i] * value for value in self.X[i]]
        return [*row, Fraction(self.y[i])] if self.intercept else row


def read_data(content: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """The data as float64 and signs, when their hash is that of the certificate."""
    if not isinstance(content, dict) or content.get("format") != "mipclass certificate":
        raise Rejected("format", "this is not a mipclass certificate")
    if content.get("version") != 1:
        raise Rejected("version", f"version {content.get('version')!r} is not known to this checker; it reads 1")
    data = field(content, "data", "data")
    matrix = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    matrix = np.ascontiguousarray(matrix, dtype="<f8") + 0.0
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise Rejected("data", "X must be a finite matrix")
    signs = _signs(y, field(data, "positive", "data"))
    if matrix.shape != (data.get("points"), data.get("features")) or len(signs) != len(matrix):
        raise Rejected(
            "data",
            f"the certificate is about {data.get('points')} points with {data.get('features')} features, "
            f"these data have {matrix.shape[0]} with {matrix.shape[1]} and {len(signs)} labels",
        )
    digest = hashlib.sha256(matrix.tobytes())
    digest.update(signs.tobytes())
    if digest.hexdigest() != data.get("sha256"):
        raise Rejected("data", "the hash differs: the certificate is about other data (values, order or labels)")
    return matrix, signs


def read_statement(content: Any, n: int, d: int) -> StatedProblem:
    """The problem that the certificate states, about n points with d features."""
    statement = field(content, "problem", "problem")
    costs = field(statement, "costs", "problem")
    intercept = bool(field(statement, "intercept", "problem"))
    margin = whole(field(statement, "margin", "problem"), "problem")
    if margin not in (0, 1):
        raise Rejected("problem", f"the margin must be 0 or 1, got {margin}")
    exact_costs = [Fraction(1)] * n if costs is None else rationals(costs, n, "problem, costs")
    if any(cost < 0 for cost in exact_costs):
        raise Rejected("problem, costs", "a cost is negative")
    limits = _read_rows(statement, "limits", n, "at_most")
    rows = _read_rows(statement, "rows", d + 1, "at_least")
    most = statement.get("max_features")
    if most is not None and whole(most, "problem, max_features") < 0:
        raise Rejected("problem, max_features", f"it must be a whole number >= 0, got {most!r}")
    feature_cost = rational(statement.get("feature_cost", 0), "problem, feature_cost")
    if feature_cost < 0:
        raise Rejected("problem, feature_cost", "it is negative")
    stated = StatedProblem(exact_costs, margin, intercept, limits, rows, max_features=most, feature_cost=feature_cost)
    return replace(stated, whole=_read_whole(statement.get("whole")))


def _read_whole(stated: Any) -> tuple[int, int, bool] | None:
    """The range of whole weights and whether the offset is whole; None where nothing is stated."""
    if stated is None:
        return None
    lower, upper = (whole(field(stated, name, "problem, whole"), "problem, whole") for name in ("lower", "upper"))
    return lower, upper, bool(field(stated, "intercept", "problem, whole"))


def _read_rows(statement: Any, name: str, length: int, end: str) -> list[Row]:
    items = field(statement, name, "problem")
    if not isinstance(items, list):
        raise Rejected("problem", f"the entry {name!r} must be a list")
    return [
        (rationals(field(item, "coefficients", name), length, name), rational(field(item, end, name), name))
        for item in items
    ]


def read_problem(content: Any, X: Any, y: Any) -> ExactProblem:
    """The problem stated in the certificate about these data, whose hash must agree."""
    matrix, signs = read_data(content, X, y)
    stated = read_statement(content, *matrix.shape)
    points = []
    for row in matrix.tolist():
        look()
        points.append([Fraction(value) for value in row])
    return ExactProblem(
        stated.costs,
        stated.margin,
        stated.intercept,
        stated.limits,
        stated.rows,
        points,
        [int(sign) for sign in signs],
        max_features=stated.max_features,
        feature_cost=stated.feature_cost,
        whole=stated.whole,
    )


def _signs(y: Any, positive: Any) -> Any:
    labels = np.asarray(y).reshape(-1)
    kinds = np.unique(labels)
    if len(kinds) != 2:
        raise Rejected("data", f"y must have two labels, got {len(kinds)}")
    if positive not in ("larger", "smaller"):
        raise Rejected("data", "'positive' must be 'larger' or 'smaller'")
    top = kinds[1] if positive == "larger" else kinds[0]
    return np.where(labels == top, 1, -1).astype(np.int8)


def check_rule(upper: Any, problem: ExactProblem) -> Fraction:
    """The exact loss of the certificate's rule, which must equal the claim and keep every constraint."""
    d = len(problem.X[0]) if problem.X else 0
    w = rationals(field(upper, "w", "upper"), d, "upper, w")
    b = rational(field(upper, "b", "upper"), "upper, b")
    if not problem.intercept and b != 0:
        raise Rejected("upper", "the rule has an offset although the problem has none")
    _check_whole(w, b, problem)
    wrong, welcome = [], problem.welcome
    for i in range(problem.n):
        look()
        margin = problem.y[i] * (sum((v * x for v, x in zip(w, problem.X[i], strict=True) if v), Fraction(0)) + b)
        if margin == 0 and i in welcome:
            raise Rejected("upper", f"the rule ties point {i}, whose error would help to keep a limit")
        wrong.append(margin < 1 if problem.margin else margin <= 0)
    for number, (coefficients, at_least) in enumerate(problem.rows):
        value = sum((c * v for c, v in zip(coefficients, [*w, b], strict=True)), Fraction(0))
        if value < at_least:
            raise Rejected(f"upper, row {number}", f"the rule breaks it: {float(value):.17g} < {float(at_least):.17g}")
    for number, (coefficients, at_most) in enumerate(problem.limits):
        value = sum((c for c, bad in zip(coefficients, wrong, strict=True) if bad), Fraction(0))
        if value > at_most:
            raise Rejected(f"upper, limit {number}", f"the rule breaks it: {float(value):g} > {float(at_most):g}")
    used = sum(weight != 0 for weight in w)
    if problem.max_features is not None and used > problem.max_features:
        raise Rejected("upper", f"the rule uses {used} features, the problem allows {problem.max_features}")
    loss = sum((c for c, bad in zip(problem.costs, wrong, strict=True) if bad), problem.feature_cost * used)
    claimed = rational(field(upper, "loss", "upper"), "upper, loss")
    if loss != claimed:
        raise Rejected("upper", f"the rule's exact loss is {loss}, the certificate says {claimed}")
    return loss


def _check_whole(w: list[Fraction], b: Fraction, problem: ExactProblem) -> None:
    if problem.whole is None:
        return
    lower, upper, offset = problem.whole
    if any(value.denominator > 1 or not lower <= value <= upper for value in w):
        raise Rejected("upper, w", f"the problem asks for whole weights from {lower} to {upper}")
    if offset and b.denominator > 1:
        raise Rejected("upper, b", "the problem asks for a whole offset")


def unfolded(problem: ExactProblem) -> ExactProblem:
    """The same problem with limits that no error helps to keep, for proofs of lower bounds.

    Where l_i < 0 the term l_i e_i is l_i + |l_i| (1 - e_i). The rules in question do not tie the point, so that 1 - e_i = 1 where the
    same point with the other label is wrong. Such copies come behind all points, in order, and cost nothing themselves.
    """
    welcome = sorted(problem.welcome)
    if not welcome:
        return problem
    if problem.margin:
        raise Rejected("problem, limits", "with a margin, proofs do not cover negative coefficients")
    limits = []
    for coefficients, at_most in problem.limits:
        positive = [max(c, Fraction(0)) for c in coefficients]
        limits.append(
            (
                positive + [max(-coefficients[i], Fraction(0)) for i in welcome],
                at_most - sum((c for c in coefficients if c < 0), Fraction(0)),
            )
        )
    return replace(
        problem,
        costs=problem.costs + [Fraction(0)] * len(welcome),
        limits=limits,
        X=problem.X + [problem.X[i] for i in welcome],
        y=problem.y + [-problem.y[i] for i in welcome],
    )


def without_choice(problem: ExactProblem) -> ExactProblem:
    """The problem with all features for nothing and with real weights: its bounds hold for the problem."""
    return replace(problem, max_features=None, feature_cost=Fraction(0), whole=None)


def merged_costs(problem: ExactProblem) -> list[Fraction]:
    """The costs of the distinct points, and of the features: equal points of equal labels are wrong together."""
    total: dict[tuple[Any, ...], Fraction] = {}
    for label, point, cost in zip(problem.y, problem.X, problem.costs, strict=True):
        look()
        key = (label, *point)
        total[key] = total.get(key, Fraction(0)) + cost
    return [*total.values(), *([problem.feature_cost] * len(problem.X[0]) if problem.feature_cost else [])]


@dataclass(frozen=True)
class ProofRows:
    """Distinct points that stand for the data in a proof.

    Every loss is at least `constant + unit * sum_r weights_r [row r wrong]`.
    """

    points: list[int]
    weights: list[int]
    unit: Fraction
    constant: Fraction


def check_rows(lower: Any, problem: ExactProblem, *, may_repeat: bool = False) -> ProofRows:
    """Merge equal points, cancel opposite ones where the certificate's constant counts them, and hold its weights against it.

    Equal points with equal labels are wrong together, so their costs add. Of equal points with opposite labels at least one kind is
    wrong: min of the two masses is paid by every rule, and what is left on the heavier side can be avoided.
    may_repeat : several rows may stand for the same points, whose costs their weights share. Where rows carry more than a weight (the
        coefficients of limits), each point must have one row.
    """
    mass: dict[tuple[Fraction, ...], dict[int, Fraction]] = {}
    for i in range(problem.n):
        look()
        sides = mass.setdefault(tuple(problem.X[i]), {1: Fraction(0), -1: Fraction(0)})
        sides[problem.y[i]] += problem.costs[i]
    constant = rational(field(lower, "constant", "lower"), "lower, constant")
    common = {point: min(sides.values()) if constant else Fraction(0) for point, sides in mass.items()}
    if constant > sum(common.values(), Fraction(0)):
        raise Rejected("lower, constant", "it is more than opposite twins cost")
    unit = rational(field(lower, "unit", "lower"), "lower, unit")
    if unit <= 0:
        raise Rejected("lower, unit", "it must be positive")
    points = whole_list(field(lower, "points", "lower"), "lower, points")
    weights = whole_list(field(lower, "weights", "lower"), "lower, weights")
    if len(weights) != len(points):
        raise Rejected("lower, weights", f"there are {len(weights)} for {len(points)} points")
    taken: dict[tuple[tuple[Fraction, ...], int], Fraction] = {}
    for row, (i, weight) in enumerate(zip(points, weights, strict=True)):
        look()
        if not 0 <= i < problem.n:
            raise Rejected(f"lower, point {row}", f"the data have no point {i}")
        point = tuple(problem.X[i])
        kind = (point, problem.y[i])
        if kind in taken and not may_repeat:
            raise Rejected(f"lower, point {row}", "it stands for a point that another one stands for already")
        taken[kind] = taken.get(kind, Fraction(0)) + weight * unit
        if weight < 0 or taken[kind] > mass[point][problem.y[i]] - common[point]:
            raise Rejected(f"lower, weight {row}", "it is negative or more than its points cost")
    return ProofRows(points, weights, unit, constant)
