"""Declaration: the state while a Model is written into a Builder.

A rule, its terms and its constraints declare themselves one after the other; what they share (scores, points, notes on
the scope of an optimum) is kept here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..arrays import Array
from ..errors import InvalidInputError
from .builder import Builder
from .expression import Affine

if TYPE_CHECKING:
    from .model import Model


@dataclass(frozen=True, eq=False)
class Units:
    """w = diag(w) w' and b = b' - mean.w: the units of the weights and the point around which scores are measured."""

    w: Array
    mean: Array


class Declaration:
    """What a model's parts read and write while they declare their variables, rows and costs.

    data, points : the data as given, and the distinct points that the program speaks of.
    builder : takes variables, rows and parts of the objective.
    scores : the affine score of each point; the rule sets it, unless its score is not affine.
    notes : limits within which an optimum of the program is an optimum of the problem.
    units : a change of variables in which the program is better conditioned, or None.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.data = model.data
        self.points = model.points
        self.builder = Builder(model.name)
        self.scores: Affine | None = None
        self.notes: list[str] = []
        self.units: Units | None = None
        self._row_names: set[str] = set()

    @property
    def margins(self) -> Affine:
        """y_i times the score of each point."""
        if self.scores is None:
            raise InvalidInputError(
                f"rule {type(self.model.rule).__name__} has no single affine score, which this term or constraint needs; "
                "use rule=Linear()."
            )
        return self.points.y_pm1 * self.scores

    def fresh_row_name(self, name: str) -> str:
        """`name`, or `name2`, `name3`, ... when earlier parts have taken it."""
        k, candidate = 1, name
        while candidate in self._row_names:
            k += 1
            candidate = f"{name}{k}"
        self._row_names.add(candidate)
        return candidate
