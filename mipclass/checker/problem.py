"""The problem a certificate speaks of, in exact numbers, and the checks that do not depend on the kind of proof."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import field as entry
from fractions import Fraction
from itertools import compress
from typing import Any

import numpy as np

from .arithmetic import ONE, Rejected, field, nearest_float, rational, rationals, tally, whole
from .patience import look
from .points.vectors import Vectors, products, steps

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

    X: Vectors
    y: list[int]

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.y)

    def signed_rows(self, points: list[int], behind: Sequence[Sequence[Fraction]] = ()) -> Vectors:
        """y_i (x_i, 1) of some points, without the 1 when there is no offset, and rows `behind` them."""
        signs = np.array([self.y[i] for i in points], dtype=np.float64)[:, None]
        rows = self.X.values[np.array(points, dtype=np.intp)] * signs
        return Vectors(np.hstack([rows, signs]) if self.intercept else rows, behind)


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
    exact_costs = [ONE] * n if costs is None else rationals(costs, n, "problem, costs")
    if any(cost < 0 for cost, _ in tally(exact_costs)):
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
    return ExactProblem(
        stated.costs,
        stated.margin,
        stated.intercept,
        stated.limits,
        stated.rows,
        Vectors(matrix),
        signs.tolist(),
        max_features=stated.max_features,
        feature_cost=stated.feature_cost,
        whole=stated.whole,
    )


def _signs(y: Any, positive: Any) -> Any:
    labels = np.asarray(y).reshape(-1)
    kinds = np.unique(labels)
    if positive == "only" and len(kinds) == 1:
        return np.ones(len(labels), dtype=np.int8)
    if len(kinds) != 2:
        raise Rejected("data", f"y must have two labels, got {len(kinds)}")
    if positive not in ("larger", "smaller"):
        raise Rejected("data", "'positive' must be 'larger' or 'smaller', or 'only' with one label")
    top = kinds[1] if positive == "larger" else kinds[0]
    return np.where(labels == top, 1, -1).astype(np.int8)


def check_rule(upper: Any, problem: ExactProblem) -> Fraction:
    """The exact loss of the certificate's rule, which must equal the claim and keep every constraint."""
    d = problem.X.width
    w = rationals(field(upper, "w", "upper"), d, "upper, w")
    b = rational(field(upper, "b", "upper"), "upper, b")
    if not problem.intercept and b != 0:
        raise Rejected("upper", "the rule has an offset although the problem has none")
    _check_whole(w, b, problem)
    wrong = _wrong_points(w, b, problem)
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
    paid = tally(compress(problem.costs, wrong))
    loss = sum((times * cost for cost, times in paid), problem.feature_cost * used)
    claimed = rational(field(upper, "loss", "upper"), "upper, loss")
    if loss != claimed:
        raise Rejected("upper", f"the rule's exact loss is {loss}, the certificate says {claimed}")
    return loss


def _wrong_points(w: list[Fraction], b: Fraction, problem: ExactProblem) -> list[bool]:
    """Which points the rule gets wrong; Rejected when it ties one whose error would help to keep a limit."""
    level, welcome = problem.margin, problem.welcome
    signs, values = np.array(problem.y, dtype=np.float64), problem.X.values
    wrong, is_sure = np.zeros(problem.n, np.bool_), np.zeros(problem.n, np.bool_)
    rule = np.array([nearest_float(value) for value in (*w, b - level, b + level)])
    if all(Fraction(float(x)) == value for x, value in zip(rule, (*w, b - level, b + level), strict=True)):
        for part in steps(problem.n):
            # Right is y (w.x + b) > 0, or >= 1 with a margin, which is y (w.x + b - y) >= 0.
            ends = np.where(signs[part] > 0, rule[-2], rule[-1])[:, None]
            scores, doubt = products(np.hstack([values[part], ends]), np.append(rule[:-2], 1.0)[:, None])
            wrong[part] = signs[part] * scores[:, 0] < 0
            is_sure[part] = np.abs(scores[:, 0]) > doubt[:, 0]
    for i in np.flatnonzero(~is_sure).tolist():
        look()
        margin = problem.y[i] * (sum((v * x for v, x in zip(w, problem.X[i], strict=True) if v), Fraction(0)) + b)
        if margin == 0 and i in welcome:
            raise Rejected("upper", f"the rule ties point {i}, whose error would help to keep a limit")
        wrong[i] = margin < 1 if problem.margin else margin <= 0
    return wrong.tolist()


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
        X=Vectors(np.concatenate([problem.X.values, problem.X.values[welcome]])),
        y=problem.y + [-problem.y[i] for i in welcome],
    )


def without_choice(problem: ExactProblem) -> ExactProblem:
    """The problem with all features for nothing and with real weights: its bounds hold for the problem."""
    return replace(problem, max_features=None, feature_cost=Fraction(0), whole=None)
