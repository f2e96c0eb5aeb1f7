"""What a box search proves, as a certificate holds it: a tree over the faces of the cube, and the lemmas that it refers to."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ....arrays import Array, Positions
from ....certificates.certificate import floats, pack
from ...zero_one.prepared import ZeroOneData
from ...zero_one.scope import RELATIVE_MARGIN
from .kernels.state import BoxTree
from .pieces import Piece, forest_content


@dataclass(frozen=True)
class CoverProof:
    """The rows `rows` of a larger matrix cost at least `bound` whatever W is: infeasible subsystems of them, and a tree of covers."""

    rows: Positions
    bound: int
    cover: dict[str, Any]
    relative_margin: Fraction

    def content(self, data: ZeroOneData) -> dict[str, Any]:
        """The proof as a certificate holds it.

        Its multipliers also hold for the user's features: dropped columns are multiples of the column of the offset.
        """
        return {"kind": "iis", "rows": self.rows.tolist(), "bound": self.bound, **self.cover}


@dataclass(frozen=True)
class BoxProof:
    """The rows `rows` of a larger matrix cost at least `bound` whatever W = M V is: a tree over the faces of V's cube, and lemmas.

    inverse : L with V = L W, when W = M V reaches every rule within the relative margin alone (`within_margin`); else None.
    pieces : of the tree, where it is not in one piece, `tree`.
    """

    rows: Positions
    M: Array
    inverse: Array | None
    bound: int
    tree: BoxTree
    pieces: dict[int, Piece]
    lemmas: tuple[BoxProof | CoverProof, ...]

    @property
    def relative_margin(self) -> Fraction:
        """Of the rules that the bound speaks of (`zero_one.scope`); 0 for every rule."""
        inner = max((lemma.relative_margin for lemma in self.lemmas), default=Fraction(0))
        return inner if self.inverse is None else RELATIVE_MARGIN

    def content(self, data: ZeroOneData) -> dict[str, Any]:
        """The proof as a certificate holds it, over the user's features and the offset.

        The map has a row of zeros for a feature that was dropped. Such a feature is constant, a multiple of the column of the offset, and
        so is its column of the inverse.
        """
        inverse = {}
        if self.inverse is not None:
            wide = np.outer(self.inverse[:, -1], np.append(data.at, 1.0))
            wide[:, data.columns] = self.inverse[:, :-1] * data.scales
            inverse = {"inverse": floats(wide)}
        return {
            "kind": "box",
            "rows": self.rows.tolist(),
            "columns": self.M.shape[1],
            "map": floats(data.over_all_features(self.M)),
            **inverse,
            "bound": self.bound,
            **self._tree(),
            "lemmas": [lemma.content(data) for lemma in self.lemmas],
        }

    def _tree(self) -> dict[str, Any]:
        """The tree in one piece or in several."""
        if self.pieces:
            return {"pieces": forest_content(self.pieces)}
        return {"tree": tree_content(self.tree)}


def tree_content(tree: BoxTree) -> dict[str, str]:
    """The arrays of a tree of boxes as a certificate holds them."""
    return {
        "ops": pack(tree.ops),
        "counts": pack(tree.counts.astype(np.uint8)),
        "first": pack(tree.pairs[:, 0]),
        "second": pack(tree.pairs[:, 1]),
        "mix": pack(tree.pairs[:, 2].astype(np.uint8)),
        "lemmas": pack(tree.lemmas),
    }
