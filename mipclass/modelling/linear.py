"""The linear rule, score = w.x + b: the default form of a classifier, with decoding that leaves no point tied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..arrays import Array
from ..errors import InvalidInputError
from ..protocol.result import Values
from .algebra import Rule
from .data import Data
from .expression import Affine, Variables
from .readable_rule import readable

if TYPE_CHECKING:
    from .declaration import Declaration

LEAST_DISTANCE = 1e-9
"""When all products w.x are equal, the threshold stays at least this fraction of them away, far above their rounding."""

SMALLEST = 1e-300
"""When all products w.x are zero, the threshold moves by this much: any positive number separates it from zero."""

USED = 0.5
"""A binary `use_j` above this value is one; its weight is kept."""


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

    def value_names(self, data: Data) -> tuple[str, ...]:
        return ("w", "b")

    def declare(self, d: Declaration) -> None:
        w = d.builder.variables("w", labels=d.data.feature_names, note="weights of the features")
        d.scores = d.points.X @ w
        if self.intercept is not False:
            d.scores = d.scores + d.builder.variables(
                "b", note="the offset: a point is called positive where w.x + b > 0"
            )

    def scores(self, values: Mapping[str, Any], X: Any) -> Array:
        products = np.asarray(X @ np.asarray(values["w"], dtype=np.float64), dtype=np.float64)
        return products + float(values.get("b", 0.0))

    def decode(self, d: Declaration, values: Values) -> Values:
        decoded = {"w": values["w"], "b": values.get("b", np.zeros(()))}
        if "use" in values:
            decoded["w"] = np.where(values["use"] > USED, decoded["w"], 0.0)
        for name in decoded:
            if d.builder.has(name):
                if d.builder.is_integer(name):
                    decoded[name] = np.round(decoded[name])
                lower, upper = (side.reshape(decoded[name].shape) for side in d.builder.bounds(name))
                decoded[name] = np.clip(decoded[name], lower, upper)  # Solvers violate bounds within tolerances.
        if self._may_nudge(d):
            decoded["b"] = centre_offset(d, decoded)
        return decoded

    def _may_nudge(self, d: Declaration) -> bool:
        """The offset may move when the loss is scale-free, the offset is continuous and no constraint restricts it."""
        scale_free = d.model.is_scale_free and any(term.is_loss for _, term in d.model.terms)
        named = {block.name for rows in d.model.weight_rows() for block in rows.expression.terms}
        integer = d.builder.is_integer("b") if self.intercept is not False else True
        return scale_free and not integer and "b" not in named

    @property
    def penalised(self) -> tuple[str, ...]:
        return ("w", "b") if self.intercept == "penalised" else ("w",)

    def formula(self) -> str:
        return {True: "w.x + b", False: "w.x", "penalised": "w.x + b (b penalised)"}[self.intercept]

    def latex(self) -> str:
        return "w^T x + b" if self.intercept is not False else "w^T x"

    def sentence(self, values: Mapping[str, Any], data: Data) -> str:
        """The rule with as few weights and digits as keep the decision for every training point."""
        free = self.intercept is not False
        rule = readable(values["w"], float(values.get("b", 0.0)), data.X, data.feature_names, free_offset=free)
        return rule.sentence(data.classes[1], data.classes[0])


def centre_offset(d: Declaration, values: Mapping[str, Any]) -> Array:
    """The offset b moved so that -b is the midpoint of two neighbouring products w.x, and no point is tied.

    Points off the boundary keep their side. Points on the boundary go to the side that costs less; as ties they counted
    as errors of either class, so that the loss never increases.
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
            high = threshold  # The tied points become positive.
        else:
            low = threshold
    if low is not None and high is not None:
        return np.asarray(-(low + (high - low) / 2))
    # All points are on one side of the threshold; it moves away from the nearest one.
    reach = max(float(distinct[-1] - distinct[0]) / 2, LEAST_DISTANCE * float(np.abs(distinct).max()), SMALLEST)
    if high is not None:
        return np.asarray(-(high - reach))
    return np.asarray(-(low + reach)) if low is not None else np.asarray(-threshold)
