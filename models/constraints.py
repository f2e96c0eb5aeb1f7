"""Side constraints: on error rates, on features and coefficients, on groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import is_number, is_whole_number
from ..errors import InvalidInputError
from ..modelling.data import Data
from ..modelling.expression import Affine, Rows
from ..modelling.model import Constraint, Declaration, ErrorLimit, Model
from .error_indicators import declare_errors, zero_one_margin
from .losses import ZeroOne
from .penalties import declare_use

_ROUNDING = 1e-9


def _check_rate(owner: str, value: float) -> None:
    if not is_number(value) or not 0 <= value <= 1:
        raise InvalidInputError(
            f"{owner}(at_most=...) must be a number in [0, 1]; got {value!r}. Write 0.05 for five per cent."
        )


def _is_error(model: Model, values: Mapping[str, Any]) -> NDArray[np.bool_]:
    return np.asarray(ZeroOne(margin=1 if zero_one_margin(model) else 0).errors(model.margins(values)))


def _limit(rate: float, weights: Array) -> float:
    """rate * sum(weights), rounded down when only whole numbers can be reached."""
    total = rate * float(weights.sum())
    return float(np.floor(total + _ROUNDING)) if (weights == np.round(weights)).all() else total


class _Rate(Constraint):
    """Errors of one class as a share of that class."""

    at_most: float

    def _weights(self, data: Data) -> Array:
        raise TypeError(f"{type(self).__name__} must say which points it counts.")

    def error_limits(self, model: Model) -> list[ErrorLimit]:
        weights = self._weights(model.data)
        return [ErrorLimit(weights, _limit(self.at_most, weights[weights > 0]))]

    def declare(self, d: Declaration) -> None:
        error = declare_errors(d)
        [limit] = self.error_limits(d.model)
        coefficients = np.bincount(
            d.points.point_of[d.points.point_of >= 0], limit.coefficients[d.points.point_of >= 0], d.points.n
        )
        d.builder.subject_to(d.fresh_row_name(self._row_name), coefficients @ error <= limit.at_most)

    _row_name = "rate"

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        weights = self._weights(model.data)
        rate = float(weights @ _is_error(model, values)) / float(weights.sum())
        return rate - self.at_most if rate > self.at_most + _ROUNDING else 0.0


@dataclass(frozen=True)
class FalsePositiveRate(_Rate):
    """At most this share (weighted) of the negatives may be called positive."""

    at_most: float
    _row_name = "false_positive_rate"

    def __post_init__(self) -> None:
        _check_rate("FalsePositiveRate", self.at_most)

    def _weights(self, data: Data) -> Array:
        return np.where(data.positive, 0.0, data.weights)

    def formula(self) -> str:
        return f"false-positive rate <= {self.at_most:g}"

    def latex(self) -> str:
        return rf"\mathrm{{FPR}} \le {self.at_most:g}"


@dataclass(frozen=True)
class FalseNegativeRate(_Rate):
    """At most this share (weighted) of the positives may be called negative."""

    at_most: float
    _row_name = "false_negative_rate"

    def __post_init__(self) -> None:
        _check_rate("FalseNegativeRate", self.at_most)

    def _weights(self, data: Data) -> Array:
        return np.where(data.positive, data.weights, 0.0)

    def formula(self) -> str:
        return f"false-negative rate <= {self.at_most:g}"

    def latex(self) -> str:
        return rf"\mathrm{{FNR}} \le {self.at_most:g}"


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
        d.builder.subject_to(d.fresh_row_name("max_features"), declare_use(d).sum() <= int(self.at_most))

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        return max(0.0, float(np.count_nonzero(values["w"])) - self.at_most)

    def formula(self) -> str:
        return f"at most {self.at_most} feature(s)"

    def latex(self) -> str:
        return rf"\lVert w \rVert_0 \le {self.at_most}"


def _by_feature(owner: str, given: Mapping[str, Any] | Mapping[int, Any], data: Data) -> list[tuple[int, Any]]:
    """(column, what is given for it), where columns are named or numbered from 0."""
    table: dict[str | int, int] = {j: j for j in range(data.d)}
    table.update({name: j for j, name in enumerate(data.feature_names)})
    unknown = [name for name in given if name not in table]
    if unknown:
        shown = ", ".join(data.feature_names[:12]) + (" ..." if data.d > 12 else "")
        raise InvalidInputError(
            f"{owner} names the feature {unknown[0]!r}, which X does not have; it has {shown}, also numbered from 0."
        )
    return [(table[name], value) for name, value in given.items()]


@dataclass(frozen=True, eq=False)
class Bounds(Constraint):
    """lower <= w_j <= upper for all features, or by name or number: Bounds(w={"age": (0, 2)}); likewise b=(lower, upper)."""

    w: tuple[float, float] | Mapping[str, tuple[float, float]] | Mapping[int, tuple[float, float]] | None = None
    b: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        pairs = list(self.w.values()) if isinstance(self.w, Mapping) else [self.w]
        for pair in [*pairs, self.b]:
            if pair is not None and not _is_interval(pair):
                raise InvalidInputError(f"Bounds needs pairs (lower, upper) with lower <= upper; got {pair!r}.")

    @property
    def speaks_of(self) -> tuple[str, ...]:
        return (*(("w",) if self.w is not None else ()), *(("b",) if self.b is not None else ()))

    @property
    def is_homogeneous(self) -> bool:  # type: ignore[override]
        pairs = list(self.w.values()) if isinstance(self.w, Mapping) else [self.w]
        numbers = [side for pair in [*pairs, self.b] if pair is not None for side in pair]
        return all(side == 0 or np.isinf(side) for side in numbers)

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
        return worst if worst > 1e-6 else 0.0

    def formula(self) -> str:
        parts = [f"w in {self.w}"] if self.w is not None else []
        return "bounds " + ", ".join(parts + ([f"b in {self.b}"] if self.b is not None else []))


def _is_interval(pair: Any) -> bool:
    numbers = np.shape(pair) == (2,) and all(map(is_number, pair))
    return bool(numbers and pair[0] <= pair[1])


_SIGNS = {1: 1, -1: -1, "increasing": 1, "decreasing": -1, "+": 1, "-": -1}


@dataclass(frozen=True, eq=False)
class Monotone(Constraint):
    """The score may only rise (+1, "increasing") or only fall (-1, "decreasing") in the features named, or numbered from 0."""

    signs: Mapping[str, int | str] | Mapping[int, int | str]

    def __post_init__(self) -> None:
        if not isinstance(self.signs, Mapping):
            raise InvalidInputError(
                f"Monotone takes directions by feature name, such as {{'age': +1}}; got {type(self.signs).__name__}."
            )
        for name, sign in self.signs.items():
            if not isinstance(sign, int | str) or sign not in _SIGNS:
                raise InvalidInputError(
                    f"Monotone: the direction of {name!r} must be +1/'increasing' or -1/'decreasing'; got {sign!r}."
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


@dataclass(frozen=True)
class IntegerCoefficients(Constraint):
    """Whole-number weights in [lower, upper] (a scorecard); with intercept=True the offset is whole too."""

    lower: int = -5
    upper: int = 5
    intercept: bool = False

    def __post_init__(self) -> None:
        if not _is_interval((self.lower, self.upper)) or not all(
            float(n).is_integer() for n in (self.lower, self.upper)
        ):
            raise InvalidInputError(
                f"IntegerCoefficients needs whole numbers lower <= upper; got {self.lower!r}, {self.upper!r}."
            )

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
        return max(off, outside) if max(off, outside) > 1e-9 else 0.0

    def formula(self) -> str:
        return f"w whole numbers in [{self.lower}, {self.upper}]" + (", b whole" if self.intercept else "")


@dataclass(frozen=True, eq=False)
class RateParity(Constraint):
    """The rates of any two groups differ by at most `at_most`.

    groups : one label for each point.
    rate : "error" (share of wrong points), "positive" (share called positive), "false_positive" (share of negatives
        called positive) or "false_negative" (share of positives called negative).
    """

    groups_of_points: Sequence[Any]
    at_most: float
    rate: Literal["error", "positive", "false_positive", "false_negative"] = "error"
    two_sided = True

    def __init__(self, groups: Sequence[Any], at_most: float, rate: str = "error") -> None:
        _check_rate("RateParity", at_most)
        allowed = ("error", "positive", "false_positive", "false_negative")
        if rate not in allowed:
            raise InvalidInputError(f"RateParity(rate=...) must be one of {', '.join(allowed)}; got {rate!r}.")
        labels = np.asarray(groups)
        try:
            np.unique(labels)
        except TypeError:  # mixed labels, such as a missing one among names, have no order of their own
            labels = labels.astype(str)
        for name, value in (("groups_of_points", labels), ("at_most", at_most), ("rate", rate)):
            object.__setattr__(self, name, value)

    def check(self, data: Data) -> None:
        if np.shape(self.groups_of_points) != (data.n,):
            raise InvalidInputError(
                f"RateParity: groups must hold one label for each of the {data.n} points; got shape {np.shape(self.groups_of_points)}."
            )
        for label, weights, _ in self._parts(data):
            if not weights.any():
                raise InvalidInputError(
                    f"RateParity(rate={self.rate!r}): group {label!r} has no point of the class it counts."
                )

    def groups(self, data: Data) -> NDArray[Any]:
        return np.asarray(self.groups_of_points)

    def _parts(self, data: Data) -> list[tuple[Any, Array, Array]]:
        """(group, weights of the points counted, sign): rate = sum weights * (error if sign > 0 else 1 - error) / sum weights."""
        counted = {
            "error": np.ones(data.n, bool),
            "positive": np.ones(data.n, bool),
            "false_positive": ~data.positive,
            "false_negative": data.positive,
        }[self.rate]
        sign = np.where(data.positive, -1.0, 1.0) if self.rate == "positive" else np.ones(data.n)
        labels = np.asarray(self.groups_of_points)
        return [(g, np.where((labels == g) & counted, data.weights, 0.0), sign) for g in np.unique(labels)]

    def declare(self, d: Declaration) -> None:
        d.builder.subject_to(d.fresh_row_name("parity_gap"), self.declare_gap(d) <= self.at_most)

    def declare_gap(self, d: Declaration) -> Affine:
        """high - low, where every group's rate lies in [low, high]."""
        error = declare_errors(d)
        name = d.fresh_row_name("parity")
        low = d.builder.variables(f"{name}_low", lower=0.0, upper=1.0)
        high = d.builder.variables(f"{name}_high", lower=0.0, upper=1.0)
        kept = d.points.point_of >= 0
        for group, weights, sign in self._parts(d.data):
            share = weights / weights.sum()
            on_error = np.bincount(d.points.point_of[kept], (share * sign)[kept], d.points.n)
            rate = on_error @ error + float(share[sign < 0].sum())
            d.builder.subject_to(f"{name}_{group}_low", rate - low >= 0)
            d.builder.subject_to(f"{name}_{group}_high", rate - high <= 0)
        return high - low

    def rates(self, model: Model, values: Mapping[str, Any]) -> dict[Any, float]:
        """The rate of each group at decoded values."""
        wrong = _is_error(model, values).astype(np.float64)
        return {
            group: float(weights @ np.where(sign > 0, wrong, 1.0 - wrong)) / float(weights.sum())
            for group, weights, sign in self._parts(model.data)
        }

    def violation(self, model: Model, values: Mapping[str, Any]) -> float:
        rates = list(self.rates(model, values).values())
        excess = max(rates) - min(rates) - self.at_most
        return excess if excess > 1e-6 else 0.0

    def formula(self) -> str:
        return f"{self.rate.replace('_', '-')} rates of groups differ by <= {self.at_most:g}"
