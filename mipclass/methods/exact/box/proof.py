"""What a box search proves, as a certificate holds it: trees over the cube, and lemmas about few points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ....certificates.certificate import floats, pack

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class BoxTree:
    """A preorder stream of nodes (see `kernels.box`) and the conflicts and lemmas it refers to, in order of appearance."""

    ops: NDArray[np.uint8]
    counts: NDArray[np.uint8]
    pairs: NDArray[np.int32]
    lemmas: NDArray[np.int32]

    @classmethod
    def empty(cls) -> BoxTree:
        return cls(np.zeros(0, np.uint8), np.zeros(0, np.uint8), np.zeros((0, 3), np.int32), np.zeros(0, np.int32))


@dataclass(frozen=True)
class CoverProof:
    """Rows `rows` of the parent cost at least `bound` whatever W is: infeasible subsystems among them, and a tree of covers."""

    rows: Rows
    bound: int
    cover: dict[str, Any]

    def content(self, columns: Rows, n_features: int) -> dict[str, Any]:
        """As a certificate holds it. Multipliers are the same over all features: dropped columns are multiples of the offset's."""
        return {"kind": "iis", "rows": self.rows.tolist(), "bound": self.bound, **self.cover}


@dataclass(frozen=True)
class BoxProof:
    """Rows `rows` of the parent cost at least `bound` whatever W is: the map M, the tree over its cube, lemmas it may use."""

    rows: Rows
    M: Array
    bound: int
    tree: BoxTree
    lemmas: tuple[BoxProof | CoverProof, ...]

    def content(self, columns: Rows, n_features: int) -> dict[str, Any]:
        """As a certificate holds it: the map has a row for each of the user's features (zero where dropped) and the offset."""
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
