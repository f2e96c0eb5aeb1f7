"""Rules: the shape of the classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..data import Array, Data
from ..errors import InvalidInputError
from ..expression import Affine, Variables
from ..model import Declaration, Rule
from ..result import Values


@dataclass(frozen=True)
class Linear(Rule):
    """score = w.x + b.

    intercept : True for a free offset, False for none, "penalised" for an offset that penalties treat like a weight
        (the same as a constant column in X).
    """

    intercept: Literal[True, False, "penalised"] = True

    def __post_init__(self) -> None:
        if self.intercept not in (True, False, "penalised"):
            raise InvalidInputError(f"intercept must be True, False or 'penalised'; got {self.intercept!r}.")

    def variables(self, data: Data) -> dict[str, Affine]:
        variables: dict[str, Affine] = {"w": Variables("w", (data.d,), (data.feature_names,))}
        if self.intercept is not False:
            variables["b"] = Variables("b")
        return variables

    def declare(self, d: Declaration) -> None:
        w = d.builder.variables("w", labels=d.data.feature_names)
        d.scores = d.points.X @ w
        if self.intercept is not False:
            d.scores = d.scores + d.builder.variables("b")

    def scores(self, values: Mapping[str, Any], X: Any) -> Array:
        products = np.asarray(X @ np.asarray(values["w"], dtype=np.float64), dtype=np.float64)
        return products + float(values.get("b", 0.0))

    def decode(self, d: Declaration, values: Values) -> Values:
        decoded = {"w": values["w"], "b": values.get("b", np.zeros(()))}
        if "use" in values:
            decoded["w"] = np.where(values["use"] > 0.5, decoded["w"], 0.0)
        for name in decoded:
            if d.builder.has(name) and d.builder.is_integer(name):
                decoded[name] = np.round(decoded[name])
        if self._may_nudge(d):
            decoded["b"] = centre_offset(d, decoded)
        return decoded

    def _may_nudge(self, d: Declaration) -> bool:
        """Only the scale-free loss leaves the offset free to move, and only when no constraint speaks of it."""
        scale_free = any(term.is_scale_free for _, term in d.model.terms)
        named = {block.name for rows in d.model.weight_rows() for block in rows.expression.terms}
        integer = d.builder.is_integer("b") if self.intercept is not False else True
        return scale_free and self.intercept is True and not integer and "b" not in named

    @property
    def penalised(self) -> tuple[str, ...]:
        return ("w", "b") if self.intercept == "penalised" else ("w",)

    def formula(self) -> str:
        return {True: "w.x + b", False: "w.x", "penalised": "w.x + b (b penalised)"}[self.intercept]

    def latex(self) -> str:
        return "w^T x + b" if self.intercept is not False else "w^T x"


def centre_offset(d: Declaration, values: Mapping[str, Any]) -> Array:
    """Move b to the middle of the gap between neighbouring products w.x that holds it, so that no tie remains.

    A point off the boundary keeps its side. Points on the boundary go to whichever side costs less; they were errors
    of both classes before, so the loss never rises.
    """
    data = d.data
    products = np.asarray(data.X @ values["w"], dtype=np.float64)
    threshold = -float(values["b"])
    distinct = np.unique(products)
    below, above = distinct[distinct < threshold], distinct[distinct > threshold]
    tied = products == threshold
    low = below[-1] if len(below) else None
    high = above[0] if len(above) else None
    if tied.any():
        tied_weight = data.y_pm1[tied] @ data.weights[tied]
        if tied_weight >= 0:
            high = threshold  # the tied points become positive
        else:
            low = threshold
    if low is not None and high is not None:
        return np.asarray(-(low + (high - low) / 2))
    # Every point is on one side: stay clear of the outermost one.
    reach = max(float(distinct[-1] - distinct[0]) / 2, 1e-9 * float(np.abs(distinct).max()), 1e-300)
    if high is not None:
        return np.asarray(-(high - reach))
    return np.asarray(-(low + reach)) if low is not None else np.asarray(-threshold)


@dataclass(frozen=True)
class Polyhedron(Rule):
    """A point is inside when v_j.x < g_j for all j = 1..h. With h = 1 this is a half-space.

    inside : the class that is to lie inside, "positive" (default) or "negative".
    box : |v_jc| <= box in the exact model; an optimum is then one within the box. Without it the exact model needs an L1
        penalty, which implies a box, or a solver with native indicators.

    score = min_j (g_j - v_j.x) when the positive class is inside, else max_j (v_j.x - g_j).
    """

    h: int
    inside: Literal["positive", "negative"] = "positive"
    box: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.h, bool) or not isinstance(self.h, int | np.integer) or self.h < 1:
            raise InvalidInputError(f"the number of hyperplanes h must be a whole number >= 1; got {self.h!r}.")
        if self.inside not in ("positive", "negative"):
            raise InvalidInputError(f"Polyhedron(inside=...) must be 'positive' or 'negative'; got {self.inside!r}.")
        if self.box is not None and not 0 < self.box < np.inf:
            raise InvalidInputError(f"Polyhedron(box=...) must be a positive number or None; got {self.box!r}.")

    def variables(self, data: Data) -> dict[str, Affine]:
        return {"v": Variables("v", (self.h, data.d), (None, data.feature_names)), "g": Variables("g", (self.h,))}

    def declare(self, d: Declaration) -> None:
        limit = np.inf if self.box is None else self.box
        d.builder.variables("v", (self.h, d.data.d), labels=[None, d.data.feature_names], lower=-limit, upper=limit)
        d.builder.variables("g", self.h)
        if self.box is not None:
            d.notes.append(f"|v| <= {self.box:g}")

    def scores(self, values: Mapping[str, Any], X: Any) -> Array:
        v, g = np.asarray(values["v"], dtype=np.float64), np.asarray(values["g"], dtype=np.float64)
        beyond = np.asarray(X @ v.T, dtype=np.float64) - g
        farthest = np.asarray(beyond.max(axis=1), dtype=np.float64)
        return -farthest if self.inside == "positive" else farthest

    @property
    def penalised(self) -> tuple[str, ...]:
        return ("v",)

    def formula(self) -> str:
        return "min_j (g_j - v_j.x)" if self.inside == "positive" else "max_j (v_j.x - g_j)"
