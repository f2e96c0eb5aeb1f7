"""What local and swap search share: a compiled search made in pieces, and the incumbent, which is counted on the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ...arrays import Array
from .prepared import WeightedRows
from .smoothed import smoothed_rule

PIECE = 2e7
"""Operations in one call of a compiled search, about 50 ms: between two calls the caller may stop it. The number of steps
in a piece follows from the size of the data and not from the clock, so that runs repeat."""

SORTING = 40
"""Operations that a sweep spends on each row beyond its products: histogram and sorting."""

Stop = Callable[[], object]
"""Anything but None or False ends the search."""

OnImprovement = Callable[[Array, float, int], None]
"""Called with (w, loss, steps) of a new incumbent."""


@dataclass(frozen=True)
class LocalResult:
    """Best rule found (in the coordinates of Z), its loss counted on Z, and the line searches spent."""

    w: Array
    loss: float
    steps: int


class Walk(Protocol):
    """A compiled search over rows of length one, which goes on from where it stands."""

    unit: Array

    @property
    def best(self) -> Array:
        """The best rule so far, of length one."""

    @property
    def loss(self) -> float:
        """Its loss."""

    @property
    def is_over(self) -> bool:
        """Whether the search came to its own end."""

    def go(self, steps: int) -> int:
        """Make so many steps, fewer when the search comes to its own end; the number of steps made."""


@dataclass
class BestRule:
    """The best rule of a search in the coordinates of `rows.Z`, its loss counted there, and the steps made so far."""

    rows: WeightedRows
    w: Array
    loss: float
    stop: Stop | None = None
    on_improvement: OnImprovement | None = None
    steps: int = 0

    @property
    def is_final(self) -> bool:
        """Whether no rule is better, or the caller wants to stop."""
        return self.loss <= 0.0 or bool(self.stop is not None and self.stop())

    def offer(self, v: Array) -> None:
        """Take the rule v, in whitened coordinates, when it is better; counted again, because the way back from them rounds."""
        w = self.rows.map @ v
        loss = self.rows.cost(w)
        if loss < self.loss:
            self.w, self.loss = w, loss
            if self.on_improvement is not None:
                self.on_improvement(w, loss, self.steps)

    def descend(self, v: Array) -> tuple[Array, float]:
        """Follow the smooth loss from v, of length one in whitened coordinates: (the best rule on the way, its loss over the unit rows)."""
        v, loss = smoothed_rule(self.rows.unit, self.rows.weights, v, self.stop)
        self.offer(v)
        return v, loss

    def walk(self, walk: Walk, steps: int) -> None:
        """Make so many steps of a search, in pieces, offering every new best rule."""
        piece = steps_of_a_piece(walk.unit)
        end = self.steps + steps
        while self.steps < end and not walk.is_over and not self.is_final:
            before = walk.loss
            self.steps += walk.go(min(piece, end - self.steps))
            if walk.loss < before:
                self.offer(walk.best)

    def result(self) -> LocalResult:
        """What the search answers."""
        return LocalResult(self.w, self.loss, self.steps)


def steps_of_a_piece(unit: Array) -> int:
    """Sweeps of a pencil in one call of a compiled search."""
    return max(5, int(PIECE / (unit.size + SORTING * len(unit))))
