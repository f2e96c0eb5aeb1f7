"""The state of a box search on disk: its proven tree, the pass under way, the incumbent and the lemmas.

Trees and lemmas never change once they are made, so each has a file of its own, written once. The file `state` refers to them; it is
replaced from time to time, and files that it no longer refers to are deleted. A search that begins with the same rows in the same
coordinates finds the state under its digest and goes on from there. Nothing of it is believed without the checker.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ....protocol.checkpoint import CheckpointFolder, Pace, name_for
from .kernels.state import Boxes, BoxTree
from .pieces import PackedTree, Piece
from .proof import BoxProof, CoverProof
from .tasks import BoxWork

STATE = "state"

Pieces = dict[int, Piece]


def name_of(work: BoxWork) -> str:
    """A name for the rows, weights and coordinates of a search."""
    walls = work.walls
    arrays = (work.Z, work.weights, work.M, *(row for row, _ in walls.sides))
    return name_for(arrays, (work.few, walls.behind, [end for _, end in walls.sides]))


class Saver:
    """Writes and reads the states of one search."""

    def __init__(self, checkpoint: CheckpointFolder, work: BoxWork) -> None:
        self.store = checkpoint.part(name_of(work))
        self._trees: dict[PackedTree, str] = {}  # those on disk
        self._made = 0
        self._lemmas = 0  # number of those on disk
        self._pace = Pace()

    @property
    def has_state(self) -> bool:
        """Whether a state is on disk."""
        return self.store.has(STATE)

    @property
    def is_due(self) -> bool:
        """Whether the last state is old."""
        return self._pace.is_due

    def save(self, state: dict[str, Any], sets: dict[str, Pieces], lemmas: list[BoxProof | CoverProof]) -> None:
        """Replace the state: what JSON can hold, sets of pieces by name, and lemmas."""
        with self._pace.writing():
            self._write(state, sets, lemmas)

    def _write(self, state: dict[str, Any], sets: dict[str, Pieces], lemmas: list[BoxProof | CoverProof]) -> None:
        for number in range(self._lemmas, len(lemmas)):
            self.store.write_json(f"lemma-{number}", _lemma_content(lemmas[number]))
        self._lemmas = len(lemmas)
        kept = {piece.tree for pieces in sets.values() for piece in pieces.values()}
        self._trees = {tree: name for tree, name in self._trees.items() if tree in kept}
        for tree in kept - self._trees.keys():
            self._trees[tree] = f"tree-{self._made}"
            self._made += 1
            self.store.write_arrays(self._trees[tree], _tree_arrays(tree))
        pieces = {
            name: [[number, self._trees[piece.tree], *_piece_content(piece)] for number, piece in part.items()]
            for name, part in sets.items()
        }
        self.store.write_json(STATE, {**state, "sets": pieces, "lemmas": len(lemmas), "made": self._made})
        self.store.drop_others({STATE, *self._trees.values(), *(f"lemma-{k}" for k in range(len(lemmas)))})

    def load(self) -> tuple[dict[str, Any], dict[str, Pieces], list[BoxProof | CoverProof]] | None:
        """The last state; None if there is none."""
        if not self.store.has(STATE):
            return None
        state = self.store.read_json(STATE)
        trees: dict[str, PackedTree] = {}
        sets: dict[str, Pieces] = {}
        for name, rows in state["sets"].items():
            sets[name] = {}
            for number, file, *content in rows:
                if file not in trees:
                    trees[file] = _tree_of(self.store.read_arrays(file))
                sets[name][number] = _piece_of(trees[file], content)
        lemmas = [_lemma_of(self.store.read_json(f"lemma-{k}")) for k in range(state["lemmas"])]
        self._trees, self._made, self._lemmas = {tree: file for file, tree in trees.items()}, state["made"], len(lemmas)
        return state, sets, lemmas


def _tree_arrays(tree: PackedTree) -> dict[str, Any]:
    parts = {f"part{k}": np.frombuffer(part, np.uint8) for k, part in enumerate(tree.arrays)}
    return {**parts, "lemmas": tree.lemmas, "nodes": np.array(tree.nodes)}


def _tree_of(arrays: dict[str, Any]) -> PackedTree:
    parts = tuple(arrays[f"part{k}"].tobytes() for k in range(len(arrays) - 2))
    return PackedTree(int(arrays["nodes"]), parts, arrays["lemmas"])


def _piece_content(piece: Piece) -> list[Any]:
    """Corners are whole numbers."""
    boxes = [[[int(value) for value in row] for row in part] for part in piece.roots]
    return [*boxes, list(piece.children), piece.share, piece.visits]


def _piece_of(tree: PackedTree, content: list[Any]) -> Piece:
    centre, half, children, share, visits = content
    roots = Boxes(np.array(centre, dtype=np.float64), np.array(half, dtype=np.float64))
    return Piece(roots, tree, tuple(children), share, visits)


def _lemma_content(proof: BoxProof | CoverProof) -> dict[str, Any]:
    shared: dict[str, Any] = {"rows": proof.rows.tolist(), "bound": int(proof.bound)}
    if isinstance(proof, CoverProof):
        return {**shared, "cover": proof.cover, "relative_margin": str(proof.relative_margin)}
    inverse = None if proof.inverse is None else [[value.hex() for value in row] for row in proof.inverse.tolist()]
    return {
        **shared,
        "M": [[value.hex() for value in row] for row in proof.M.tolist()],
        "inverse": inverse,
        "tree": [part.tolist() for part in proof.tree],
        "lemmas": [_lemma_content(lemma) for lemma in proof.lemmas],
    }


def _lemma_of(content: dict[str, Any]) -> BoxProof | CoverProof:
    rows, bound = np.array(content["rows"], dtype=np.intp), content["bound"]
    if "cover" in content:
        return CoverProof(rows, bound, content["cover"], Fraction(content["relative_margin"]))
    M, inverse = (
        None if content[name] is None else np.array([[float.fromhex(value) for value in row] for row in content[name]])
        for name in ("M", "inverse")
    )
    assert M is not None
    ops, counts, pairs, numbers = content["tree"]
    tree = BoxTree(
        np.array(ops, np.uint8),
        np.array(counts, np.uint16),
        np.array(pairs, np.int32).reshape(-1, 3),
        np.array(numbers, np.int32),
    )
    return BoxProof(rows, M, inverse, bound, tree, {}, tuple(_lemma_of(lemma) for lemma in content["lemmas"]))
