"""Penalties on the weights of a rule: |w|_2^2, |w|_1 and the number of features used.

The offset is penalised only with Linear(intercept="penalised").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InvalidInputError
from ..modelling.algebra import Term
from ..modelling.declaration import Declaration
from ..modelling.expression import Variables
from ..modelling.model import Model


def _penalised(model: Model, values: Mapping[str, Any]) -> Array:
    """The penalised numbers among decoded values, as one vector."""
    return np.concatenate([np.ravel(values[name]) for name in model.rule.penalised])


def _penalised_blocks(d: Declaration) -> list[Variables]:
    """The blocks of variables that are penalised."""
    return [d.builder[name] for name in d.model.rule.penalised]


def _labels(block: Variables) -> Any:
    """Labels as `Builder.variables` takes them: none for a scalar, one list for a vector, a pair for a matrix."""
    return None if not block.shape else block.labels[0] if len(block.shape) == 1 else block.labels


@dataclass(frozen=True)
class L2(Term):
    """w'w, without the factor 1/2 of the usual support vector machine: write 0.5 * L2() for that one."""

    is_loss = False
    merges_points = True

    def declare(self, d: Declaration, coefficient: float) -> None:
        for block in _penalised_blocks(d):
            d.builder.add_square(block, coefficient)

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return model.rule.squared_norm(model, values)

    def formula(self) -> str:
        return "|w|_2^2"

    def latex(self) -> str:
        return r"\lVert w \rVert_2^2"


@dataclass(frozen=True)
class L1(Term):
    """|w|_1, by variables abs_w >= w, abs_w >= -w."""

    is_loss = False
    merges_points = True

    def declare(self, d: Declaration, coefficient: float) -> None:
        for block in _penalised_blocks(d):
            d.builder.minimize(coefficient * _declare_size(d, block).sum())

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return float(np.sum(np.abs(_penalised(model, values))))

    def formula(self) -> str:
        return "|w|_1"

    def latex(self) -> str:
        return r"\lVert w \rVert_1"


def _declare_size(d: Declaration, block: Variables) -> Variables:
    """The variables abs_w >= |w|, declared on first use."""
    name = f"abs_{block.name}"
    if d.builder.has(name):
        return d.builder[name]
    size = d.builder.variables(name, block.shape, labels=_labels(block), lower=0.0)
    d.builder.subject_to(f"{name}_above", size - block >= 0, note=f"{name} is at least the size of {block.name}")
    d.builder.subject_to(f"{name}_below", size + block >= 0)
    return size


@dataclass(frozen=True)
class L0(Term):
    """The number of features used, by binaries use_j: use_j = 0 implies w_j = 0. It is scale-free."""

    is_loss = False
    is_scale_free = True
    merges_points = True

    def declare(self, d: Declaration, coefficient: float) -> None:
        d.builder.minimize(coefficient * declare_use(d).sum())

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        return float(np.count_nonzero(values["w"]))

    def formula(self) -> str:
        return "|w|_0"

    def latex(self) -> str:
        return r"\lVert w \rVert_0"


def declare_use(d: Declaration) -> Variables:
    """The binaries `use`, declared on first use and shared by L0 and MaxFeatures."""
    if d.builder.has("use"):
        return d.builder["use"]
    if "w" not in d.model.rule.variables(d.data):
        raise InvalidInputError(
            f"the rule {d.model.rule.formula()!r} has no weight for each feature to count; use Linear()."
        )
    use = d.builder.binaries("use", labels=d.data.feature_names, note="1 where a feature has a weight")
    note = "where use is 0, the weight is 0"
    d.builder.subject_to("unused", d.builder["w"] == 0, when=(use, 0), labels=d.data.feature_names, note=note)
    return use
