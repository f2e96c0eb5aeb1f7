"""What a certificate is about, for people and for machines: the checker's own reading of the entry "problem".

A verdict without the problem would mislead: on the same data a certificate with a row or a limit speaks of other rules than one without.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from .arithmetic import field as entry
from .arithmetic import rational, rationals
from .problem import Row, StatedProblem, read_statement
from .scope import relative_margin, scope_in_words

_KNOWN = {
    "kind",
    "coefficient",
    "intercept",
    "limit",
    "theta",
    "s",
    "margin",
    "costs",
    "limits",
    "rows",
    "max_features",
    "feature_cost",
    "whole",
}
MOST_SHOWN = 5
"""Limits and rows that are spelled out in words; `as_dict` has all of them."""
LONGEST = 200
"""Letters that are shown of an entry which this version does not know."""
ZERO_ONE, MAXIMUM_MARGIN, HARD_MARGIN, RAMP = "0-1 loss", "maximum margin", "hard margin", "ramp loss"


@dataclass(frozen=True)
class AboutProblem:
    """The problem that a certificate states.

    kind : "0-1 loss", "maximum margin", "hard margin" or "ramp loss".   points, features : the size of the data.
    positive : which label counts as +1, the "larger" or the "smaller".
    margin : y (w.x + b) that a right point exceeds (0) or reaches (1).     offset : whether b is free, or "penalised"; else it is 0.
    weights : "all 1", or the least, the largest and the sum of the points' weights and how many are 0.
    limits : for each limit on errors, the points it counts, their common coefficient (None if there is none) and what it allows.
    rows : for each row, the coefficients of w and b, and the end that w.x + b has to reach.
    max_features : weights other than zero, at most (None: as many as there are).     feature_cost : what each of them costs.
    whole : the range of whole weights and whether the offset is whole too; None for real weights.
    scope : the rules that the bound speaks of, as a sentence.       further : entries that this version does not know.
    """

    kind: str
    points: int
    features: int
    positive: str
    margin: int = 0
    offset: bool | str = True
    weights: Any = "all 1"
    limits: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    max_features: int | None = None
    feature_cost: float = 0.0
    whole: tuple[int, int, bool] | None = None
    scope: str = ""
    further: dict[str, Any] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Neither limits, rows, weights nor a margin, a free offset, and all features for nothing."""
        return self == AboutProblem(self.kind, self.points, self.features, self.positive, scope=self.scope)

    def as_dict(self) -> dict[str, Any]:
        """Everything, in values that JSON can hold."""
        return asdict(self)

    def lines(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The problem in words, one line per part."""
        size = f"{self.points} points, {self.features} features, the {self.positive} label is positive"
        if self.kind == MAXIMUM_MARGIN:
            told = [f"problem     the widest margin between the classes ({size})"]
        elif self.kind == HARD_MARGIN:
            told = [f"problem     a wide margin against the points below it, y (w.x + b) < 1 ({size})"]
        elif self.kind == RAMP:
            told = [f"problem     a wide margin against the ramp losses of the points ({size})"]
        else:
            wrong = "y (w.x + b) < 1" if self.margin else "y (w.x + b) <= 0"
            told = [
                f"problem     least weight of the points with {wrong} ({size})",
                f"weights     {self.weights if isinstance(self.weights, str) else _weights_in_words(self.weights)}",
                *_listed("limits", [_limit_in_words(limit) for limit in self.limits]),
                *_listed("rows", [_row_in_words(row, feature_names) for row in self.rows]),
                *self._features_in_words(),
                *self._whole_in_words(),
            ]
        free = "penalised like a weight" if self.offset == "penalised" else "free"
        told.append(f"offset      {free if self.offset else 'none, b = 0'}")
        told.append(f"scope       {self.scope}")
        return told + [f"{name:<11} {str(value)[:LONGEST]}" for name, value in self.further.items()]

    def _features_in_words(self) -> list[str]:
        most = [] if self.max_features is None else [f"at most {self.max_features} with a weight other than zero"]
        cost = [f"each with a weight other than zero costs {self.feature_cost:.10g}"] if self.feature_cost else []
        return [f"features    {'; '.join(most + cost)}"] if most or cost else []

    def _whole_in_words(self) -> list[str]:
        if self.whole is None:
            return []
        lower, upper, offset = self.whole
        return [f"w           whole numbers from {lower} to {upper}{', and a whole offset' if offset else ''}"]


def about(content: Any, n: int, d: int) -> AboutProblem:
    """What the certificate states about n points with d features; Rejected when that cannot be read."""
    statement = entry(content, "problem", "problem")
    positive = str(entry(entry(content, "data", "data"), "positive", "data"))
    intercept = entry(statement, "intercept", "problem")
    offset = intercept if intercept == "penalised" else bool(intercept)
    further = {str(key): value for key, value in statement.items() if key not in _KNOWN}
    if statement.get("kind") == MAXIMUM_MARGIN:
        coefficient = rational(entry(statement, "coefficient", "problem"), "problem, coefficient")
        scope = f"every rule (w, b) with y (w.x + b) >= 1 for every point; the loss is {_show(coefficient)} |w|^2"
        return AboutProblem(MAXIMUM_MARGIN, n, d, positive, 1, offset, scope=scope, further=further)
    if statement.get("kind") == HARD_MARGIN:
        coefficient = rational(entry(statement, "coefficient", "problem"), "problem, coefficient")
        costs = rationals(entry(statement, "costs", "problem"), n, "problem, costs")
        of_points = f"{_show(costs[0])} (points" if min(costs) == max(costs) else "(the costs of the points"
        scope = f"every rule (w, b); the loss is {_show(coefficient)} |w|^2 + {of_points} with y (w.x + b) < 1)"
        if "limit" in statement:
            limit = statement["limit"]
            most = (
                f"{limit[0]} positives and {limit[1]} negatives"
                if isinstance(limit, list) and len(limit) == 2
                else f"{limit} points"
            )
            scope = f"every rule (w, b) with y (w.x + b) < 1 for at most {most}; the loss is {_show(coefficient)} |w|^2"
        return AboutProblem(HARD_MARGIN, n, d, positive, 1, offset, scope=scope, further=further)
    if statement.get("kind") == RAMP:
        return AboutProblem(RAMP, n, d, positive, 1, offset, scope=_ramp_scope(statement, n), further=further)
    stated = read_statement(content, n, d)
    return AboutProblem(
        ZERO_ONE,
        n,
        d,
        positive,
        stated.margin,
        stated.intercept,
        _weights(stated.costs),
        [_limit(limit) for limit in stated.limits],
        [_row(row) for row in stated.rows],
        stated.max_features,
        _float(stated.feature_cost),
        stated.whole,
        _scope(stated, relative_margin(content.get("lower"))),
        further,
    )


def _ramp_scope(statement: Any, n: int) -> str:
    a, theta, s = (
        rational(entry(statement, name, "problem"), f"problem, {name}") for name in ("coefficient", "theta", "s")
    )
    costs = rationals(entry(statement, "costs", "problem"), n, "problem, costs")
    factor = f"{_show(costs[0])} (sum" if min(costs) == max(costs) else "(weighted sum"
    return (
        f"every rule; the loss is {_show(a)} |w|^2 + {factor} of ramps of the margins m: 1 - m, at least 0, from m = {_show(s)} on, "
        f"and {_show(1 - s)} + {_show(theta)} ({_show(s)} - m) below)"
    )


def differences(stated: StatedProblem, asked: StatedProblem) -> list[str]:
    """In which parts the problem that a certificate states differs from the one that was asked about, in words."""
    found = []
    if stated.costs != asked.costs:
        found.append("its weights are others")
    if stated.margin != asked.margin:
        found.append(f"its margin is {stated.margin}, not {asked.margin}")
    if stated.intercept != asked.intercept:
        found.append(
            f"its offset is {'free' if stated.intercept else 'zero'}, not {'free' if asked.intercept else 'zero'}"
        )
    if (stated.max_features, stated.feature_cost) != (asked.max_features, asked.feature_cost):
        found.append("it limits the number of features, or counts them, in another way")
    if stated.whole != asked.whole:
        found.append("it asks for whole numbers in another way")
    for name, mine, theirs in (
        ("limits on errors", stated.limits, asked.limits),
        ("rows on w and b", stated.rows, asked.rows),
    ):
        if sorted(mine) != sorted(theirs):
            counts = f"it has {len(mine)}, the model {len(theirs)}" if len(mine) != len(theirs) else "numbers differ"
            found.append(f"its {name} are others ({counts})")
    return found


def _scope(stated: StatedProblem, margin: Fraction) -> str:
    kept = [name for name, there in (("limits", stated.limits), ("rows", stated.rows)) if there]
    rules = "every rule (w, b)" if stated.intercept else "every rule w"
    kept_in_words = f" that keeps the {' and the '.join(kept)} above" if kept else ""
    # A rule that ties such a point is not allowed (`problem._wrong_points`).
    untied = " and puts no point on the boundary whose error would help to keep them" if stated.welcome else ""
    return f"{rules} of any size{kept_in_words}{untied}{' and' if kept and margin else ''}{scope_in_words(margin)}"


def _weights(costs: list[Fraction]) -> Any:
    if all(cost == 1 for cost in costs):
        return "all 1"
    return {
        "least": _float(min(costs)),
        "largest": _float(max(costs)),
        "sum": _float(sum(costs, Fraction(0))),
        "zero": sum(cost == 0 for cost in costs),
    }


def _weights_in_words(weights: dict[str, Any]) -> str:
    zero = f", {weights['zero']} of them 0" if weights["zero"] else ""
    return f"from {weights['least']:.10g} to {weights['largest']:.10g}, sum {weights['sum']:.10g}{zero}"


def _limit(limit: Row) -> dict[str, Any]:
    coefficients, at_most = limit
    counted = [i for i, coefficient in enumerate(coefficients) if coefficient]
    values = {coefficients[i] for i in counted}
    return {
        "points": counted,
        "coefficient": _float(values.pop()) if len(values) == 1 else None,
        "at_most": _float(at_most),
    }


def _limit_in_words(limit: dict[str, Any]) -> str:
    points = f"{len(limit['points'])} points"
    if limit["coefficient"] is None:
        return f"a weighted sum of errors over {points} <= {limit['at_most']:.10g}"
    factor = "" if limit["coefficient"] == 1 else f"{limit['coefficient']:.10g} x "
    return f"{factor}errors among {points} <= {limit['at_most']:.10g}"


def _row(row: Row) -> dict[str, Any]:
    coefficients, at_least = row
    return {"w": [_float(c) for c in coefficients[:-1]], "b": _float(coefficients[-1]), "at_least": _float(at_least)}


def _row_in_words(row: dict[str, Any], feature_names: Sequence[str] | None) -> str:
    names = [f"w[{name}]" for name in (feature_names if feature_names is not None else range(len(row["w"])))]
    terms = [f"{value:+.10g} {name}" for value, name in zip([*row["w"], row["b"]], [*names, "b"], strict=True) if value]
    return f"{' '.join(terms) or '0'} >= {row['at_least']:.10g}"


def _listed(title: str, words: list[str]) -> list[str]:
    """One line for each, the first with the title; "none" when there are none."""
    shown = words[:MOST_SHOWN] + ([f"... and {len(words) - MOST_SHOWN} more"] if len(words) > MOST_SHOWN else [])
    return [f"{title if k == 0 else '':<11} {text}" for k, text in enumerate(shown or ["none"])]


def _show(value: Fraction) -> str:
    return f"{_float(value):.10g}"


def _float(value: Fraction) -> float:
    """The nearest float64; infinity for a number beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
