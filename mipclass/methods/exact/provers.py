"""The two proving searches behind one face, so that `box`, `iis` and `exact` can drive either.

Losses and bounds are whole numbers in units of the problem, without its constant; rules are W = (w, b) over all features.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...certificates.certificate import fraction
from ...protocol.run import Run
from ..zero_one.prepared import ZeroOneData
from .box.search import BoxSearch
from .iis.cover import CoverData
from .iis.proof import iis_lower
from .iis.tree import IISSearch
from .rational import integer_weights

Stop = Callable[[], object]


class Engine(Protocol):
    """A search that can be paused, told of rules, and asked for its proof."""

    name: str

    @property
    def lower(self) -> int: ...
    @property
    def best(self) -> int | None: ...
    @property
    def rule(self) -> Array | None: ...
    @property
    def nodes(self) -> int: ...
    @property
    def exhausted(self) -> bool:
        """Nothing more can be done, whether or not the bound meets the incumbent."""
        ...

    def offer(self, W: Array) -> None: ...
    def advance(self, stop: Stop, on_progress: Callable[[], None]) -> None: ...
    def proof(self) -> dict[str, Any]: ...


def trivial_lower(data: ZeroOneData) -> dict[str, Any]:
    """The proof that needs no search: what opposite twins cost."""
    constant = Fraction(data.constant)
    return {
        "kind": "trivial",
        "bound": fraction(constant),
        "constant": fraction(constant),
        "unit": "1",
        "points": [],
        "weights": [],
    }


def representatives(data: ZeroOneData) -> NDArray[np.intp]:
    """The first of the user's points that went into each row."""
    points = np.full(len(data.Z), -1, dtype=np.intp)
    kept = np.flatnonzero(data.group >= 0)[::-1]
    points[data.group[kept]] = kept
    return points


class BoxEngine:
    """Boxes over the prepared rows (plain problems only)."""

    name = "box"

    def __init__(self, data: ZeroOneData, at: Array) -> None:
        """`at` is any of the user's points: the value of the columns that are constant."""
        self.data, self._at = data, at
        weights, self.unit = integer_weights(data.weights)
        self.search = BoxSearch(data.Z, weights)
        self._dead = False

    @property
    def lower(self) -> int:
        return self.search.lower

    @property
    def best(self) -> int:
        return self.search.best

    @property
    def rule(self) -> Array:
        w, b = self.data.rule(self.search.best_W)
        return np.append(w, b)

    @property
    def nodes(self) -> int:
        return self.search.nodes

    @property
    def exhausted(self) -> bool:
        return self._dead or self.search.finished

    def offer(self, W: Array) -> None:
        dropped = np.setdiff1d(np.arange(self.data.n_features), self.data.columns)
        self.search.offer(np.append(W[self.data.columns], W[-1] + self._at[dropped] @ W[dropped]))

    def advance(self, stop: Stop, on_progress: Callable[[], None]) -> None:
        self._dead = self.search.advance(stop, on_progress=on_progress) and not self.search.finished

    def proof(self) -> dict[str, Any]:
        constant = Fraction(self.data.constant)
        if self.lower <= 0:
            return trivial_lower(self.data)
        return {
            "kind": "box",
            "bound": fraction(constant + self.unit * self.lower),
            "constant": fraction(constant),
            "unit": fraction(self.unit),
            "points": representatives(self.data).tolist(),
            "weights": self.search.weights.tolist(),
            "proof": self.search.proof().content(self.data.columns, self.data.n_features),
        }


class IISEngine:
    """Branch and cut over infeasible subsystems."""

    name = "iis"

    def __init__(self, data: CoverData, seed: int, has_offset: bool, run: Run | None = None) -> None:
        self.data, self._has_offset = data, has_offset
        self.search = IISSearch(data, seed=seed)
        self.search.master.run = run

    @property
    def lower(self) -> int:
        return self.search.lower

    @property
    def best(self) -> int | None:
        return self.search.best

    @property
    def rule(self) -> Array | None:
        W = self.search.best_W
        return W if W is None or self._has_offset else np.append(W, 0.0)

    @property
    def nodes(self) -> int:
        return self.search.nodes

    @property
    def exhausted(self) -> bool:
        return self.search.finished

    def offer(self, W: Array) -> None:
        self.search.offer(W if self._has_offset else W[:-1])

    def advance(self, stop: Stop, on_progress: Callable[[], None]) -> None:
        self.search.advance(stop, on_progress)

    def proof(self) -> dict[str, Any]:
        return iis_lower(self.search)
