"""Constraints on the weights and the offset: how many, within which bounds, of which sign, whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import is_number, is_whole_number, plain
from ..errors import InvalidInputError
from ..modelling.algebra import Constraint
from ..modelling.data import Data
from ..modelling.declaration import Declaration
from ..modelling.expression import Rows
from ..modelling.model import Model
from .penalties import declare_use

BOUND_TOLERANCE = 1e-6
"""A weight outside its bounds by more than this (absolute, in units of the weight) violates them; decoding clips weights
to their bounds, so that only values from elsewhere, such as a warm start, can be outside."""

WHOLE_TOLERANCE = 1e-9
"""A weight farther than this from a whole number is not whole; decoding rounds, so that only rounding errors remain."""

NAMES_SHOWN = 12
"""A message that lists the features of X names this many."""


@dataclass(frozen=True)
class MaxFeatures(Constraint):
    """At most this many features have a weight other than zero."""

    at_most: int

    def __post_init__(self) -> None:
        if not is_whole_number(self.at_most) or self.at_most < 0:
            raise InvalidInputError(f"MaxFeatures(at_most=...) must be a whole number >= 0; got {self.at_most!r}.")

    @property
    def speaks_of(self) -> tuple[str, ...]:
        return ("w",)

    def declare(self, d: Declaration) -> None:
        note = "limit on the number of features with a weight"
        d.builder.subject_to(d.fresh_row_name("max_features"), declare_use(d).sum() <= int(self.at_most), note=note)

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        return max(0.0, float(np.count_nonzero(values["w"])) - self.at_most)

    def formula(self) -> str:
        return f"at most {self.at_most} feature(s)"

    def latex(self) -> str:
        return rf"\lVert w \rVert_0 \le {self.at_most}"


def _by_feature(owner: str, given: Mapping[str, Any] | Mapping[int, Any], data: Data) -> list[tuple[int, Any]]:
    """(column, value) for each feature in `given`, where features are named or numbered from 0."""
    table: dict[str | int, int] = {j: j for j in range(data.d)}
    table.update({name: j for j, name in enumerate(data.feature_names)})
    unknown = [name for name in given if name not in table]
    if unknown:
        shown = ", ".join(data.feature_names[:NAMES_SHOWN]) + (" ..." if data.d > NAMES_SHOWN else "")
        raise InvalidInputError(
            f"{owner} names the feature {plain(unknown[0])!r}, which X does not have; it has {shown}, also numbered from 0."
        )
    return [(table[name], value) for name, value in given.items()]


@dataclass(frozen=True, eq=False)
class Bounds(Constraint):
    """lower <= w_j <= upper, for all features or by name or number as in Bounds(w={"age": (0, 2)}); b=(lower, upper)."""

    w: tuple[float, float] | Mapping[str, tuple[float, float]] | Mapping[int, tuple[float, float]] | None = None
    b: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for pair in self._pairs():
            if not _is_interval(pair):
                raise InvalidInputError(
                    f"Bounds needs pairs (lower, upper) with lower <= upper; got {pair!r}. Write Bounds((-5, 5)) for all weights, "
                    "Bounds(w={'age': (0, 2)}) for some, Bounds(b=(-1, 1)) for the offset."
                )

    def _pairs(self) -> list[tuple[float, float]]:
        """All pairs (lower, upper) that were given."""
        pairs = list(self.w.values()) if isinstance(self.w, Mapping) else [self.w]
        return [pair for pair in [*pairs, self.b] if pair is not None]

    @property
    def speaks_of(self) -> tuple[str, ...]:
        return (*(("w",) if self.w is not None else ()), *(("b",) if self.b is not None else ()))

    @property
    def is_homogeneous(self) -> bool:  # type: ignore[override]
        """All bounds are zero or infinite."""
        return all(side == 0 or np.isinf(side) for pair in self._pairs() for side in pair)

    def check(self, data: Data) -> None:
        self.weight_box(data)

    def weight_box(self, data: Data) -> tuple[Array, Array]:
        lower, upper = np.full(data.d, -np.inf), np.full(data.d, np.inf)
        if isinstance(self.w, Mapping):
            for j, (low, high) in _by_feature("Bounds", self.w, data):
                lower[j], upper[j] = low, high
        elif self.w is not None:
            lower[:], upper[:] = self.w
        return lower, upper

    def weight_rows(self, model: Model) -> list[Rows]:
        rows = [Rows(model.w + 0.0, *self.weight_box(model.data))] if self.w is not None else []
        return rows + ([Rows(model.b + 0.0, *map(np.asarray, self.b))] if self.b is not None else [])

    def declare(self, d: Declaration) -> None:
        if self.w is not None:
            lower, upper = self.weight_box(d.data)
            d.builder.tighten("w", lower=lower, upper=upper)
        if self.b is not None:
            d.builder.tighten("b", lower=self.b[0], upper=self.b[1])

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        worst = max([0.0, *(rows.violation(values) for rows in self.weight_rows(model))])
        return worst if worst > BOUND_TOLERANCE else 0.0

    def formula(self) -> str:
        parts = [f"w in {self.w}"] if self.w is not None else []
        return "bounds " + ", ".join(parts + ([f"b in {self.b}"] if self.b is not None else []))


def _is_interval(pair: Any) -> bool:
    numbers = np.shape(pair) == (2,) and all(isinstance(side, int | float | np.number) for side in pair)
    return bool(numbers and pair[0] <= pair[1])


_SIGNS: dict[int | str, int] = {1: 1, -1: -1, "increasing": 1, "decreasing": -1, "+": 1, "-": -1}


@dataclass(frozen=True, eq=False)
class Monotone(Constraint):
    """The score never decreases (+1, "increasing") or never increases (-1, "decreasing") in the given features.

    Features are named, or numbered from 0.
    """

    signs: Mapping[str, int | str] | Mapping[int, int | str]

    def __post_init__(self) -> None:
        if not isinstance(self.signs, Mapping):
            raise InvalidInputError(
                f"Monotone takes directions by feature name, such as {{'age': +1}}; got {type(self.signs).__name__}."
            )
        for name, sign in self.signs.items():
            if not isinstance(sign, int | str) or sign not in _SIGNS:
                raise InvalidInputError(
                    f"Monotone: the direction of {plain(name)!r} must be +1/'increasing' or -1/'decreasing'; got {sign!r}."
                )

    @property
    def speaks_of(self) -> tuple[str, ...]:
        return ("w",)

    def _box(self, data: Data) -> tuple[Array, Array]:
        lower, upper = np.full(data.d, -np.inf), np.full(data.d, np.inf)
        for j, sign in _by_feature("Monotone", self.signs, data):
            if _SIGNS[sign] > 0:
                lower[j] = 0.0
            else:
                upper[j] = 0.0
        return lower, upper

    def check(self, data: Data) -> None:
        self._box(data)

    def weight_rows(self, model: Model) -> list[Rows]:
        return [Rows(model.w + 0.0, *self._box(model.data))]

    def declare(self, d: Declaration) -> None:
        lower, upper = self._box(d.data)
        d.builder.tighten("w", lower=lower, upper=upper)

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        [rows] = self.weight_rows(model)
        return rows.violation(values)

    def formula(self) -> str:
        return "monotone: " + ", ".join(f"{name} {'up' if _SIGNS[s] > 0 else 'down'}" for name, s in self.signs.items())


@dataclass(frozen=True, init=False)
class IntegerCoefficients(Constraint):
    """Whole-number weights (a scorecard); with intercept=True the offset is a whole number too.

    IntegerCoefficients(5) means -5..5, IntegerCoefficients(0, 3) means 0..3; without arguments -5..5.
    """

    lower: int
    upper: int
    intercept: bool

    def __init__(self, lower: int = -5, upper: int | None = None, intercept: bool = False) -> None:
        given: tuple[Any, ...] = (lower,) if upper is None else (lower, upper)
        whole = all(is_number(n) and float(n).is_integer() for n in given)
        if not whole or given[0] > given[-1]:
            raise InvalidInputError(
                "IntegerCoefficients takes one whole number k for the range -k..k, or two whole numbers lower <= upper; "
                f"got {', '.join(map(repr, given))}."
            )
        low, high = given if len(given) == 2 else (-abs(lower), abs(lower))
        for name, value in (("lower", low), ("upper", high), ("intercept", intercept)):
            object.__setattr__(self, name, value)

    @property
    def speaks_of(self) -> tuple[str, ...]:
        return ("w", "b") if self.intercept else ("w",)

    def weight_box(self, data: Data) -> tuple[Array, Array]:
        return np.full(data.d, float(self.lower)), np.full(data.d, float(self.upper))

    def declare(self, d: Declaration) -> None:
        d.builder.make_integer("w")
        d.builder.tighten("w", lower=self.lower, upper=self.upper)
        if self.intercept:
            d.builder.make_integer("b")

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        numbers = [np.ravel(values["w"])] + ([np.ravel(values["b"])] if self.intercept else [])
        off = float(np.abs(np.concatenate(numbers) - np.round(np.concatenate(numbers))).max())
        outside = float(max(0.0, np.max(values["w"]) - self.upper, self.lower - np.min(values["w"])))
        return max(off, outside) if max(off, outside) > WHOLE_TOLERANCE else 0.0

    def formula(self) -> str:
        return f"w whole numbers in [{self.lower}, {self.upper}]" + (", b whole" if self.intercept else "")
