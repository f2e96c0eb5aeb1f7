"""What a box search proves, as a certificate holds it: a tree over the faces of the cube, and the lemmas that it refers to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....arrays import Array, Positions
from ....certificates.certificate import floats, pack
from .kernels.state import BoxTree


@dataclass(frozen=True)
class CoverProof:
    """The rows `rows` of a larger matrix cost at least `bound` whatever W is: infeasible subsystems of them, and a tree of covers."""

    rows: Positions
    bound: int
    cover: dict[str, Any]

    def content(self, columns: Positions, n_features: int) -> dict[str, Any]:
        """The proof as a certificate holds it.

        Its multipliers also hold for the user's features: dropped columns are multiples of the column of the offset.
        """
        return {"kind": "iis", "rows": self.rows.tolist(), "bound": self.bound, **self.cover}


@dataclass(frozen=True)
class BoxProof:
    """The rows `rows` of a larger matrix cost at least `bound` whatever W = M V is: a tree over the faces of V's cube, and lemmas."""

    rows: Positions
    M: Array
    bound: int
    tree: BoxTree
    lemmas: tuple[BoxProof | CoverProof, ...]

    def content(self, columns: Positions, n_features: int) -> dict[str, Any]:
        """The proof as a certificate holds it; its map has one row per feature of the user (zero if dropped) and one for the offset."""
        full = np.zeros((n_features + 1, self.M.shape[1]))
        full[columns], full[-1] = self.M[:-1], self.M[-1]
        return {
            "kind": "box",
            "rows": self.rows.tolist(),
            "columns": self.M.shape[1],
            "map": floats(full),
            "bound": self.bound,
            "tree": {
                "ops": pack(self.tree.ops),
                "counts": pack(self.tree.counts),
                "first": pack(self.tree.pairs[:, 0]),
                "second": pack(self.tree.pairs[:, 1]),
                "mix": pack(self.tree.pairs[:, 2].astype(np.uint8)),
                "lemmas": pack(self.tree.lemmas),
            },
            "lemmas": [lemma.content(columns, n_features) for lemma in self.lemmas],
        }
