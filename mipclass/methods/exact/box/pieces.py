"""Pieces of a tree of boxes: subtrees that are searched, stored and checked on their own.

A tree hands some of its boxes over (op HANDED); each goes on as the root of another piece. A root begins with the conflicts that the box
above it had, which hold on every part of that box. So a piece needs nothing from the tree that handed it over, and pieces can be grown
by any worker in any order. The first piece begins with the faces of the cube, every other piece with one box.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....certificates.certificate import pack, pack_bytes
from .kernels.state import HANDED, MOST_NEW, OPEN, Boxes, BoxTree

FASTEST = 1
"""zlib's level for trees at rest: packing takes 2 % of the time of the search (level 6: 15 %) and the text is a tenth longer."""

MOST_AT_ROOT = (1 << 16) - 1 - MOST_NEW
"""Conflicts that the root of a piece may begin with: with those that are new there, their number is stored in two bytes."""

_KINDS = ("u1", "u2", "i4", "i4", "u1")
"""Little-endian types of ops, counts, first points, second points and multipliers."""


@dataclass(frozen=True, eq=False)
class PackedTree:
    """A BoxTree whose arrays are deflated; `lemmas` are not, since their numbers change when trees of several workers come together."""

    nodes: int
    arrays: tuple[bytes, ...]
    lemmas: NDArray[np.int32]

    @classmethod
    def of(cls, tree: BoxTree) -> PackedTree:
        """Pack a tree."""
        columns = (tree.ops, tree.counts, *tree.pairs.T)
        arrays = tuple(
            zlib.compress(np.ascontiguousarray(part, dtype=f"<{kind}").tobytes(), FASTEST)
            for part, kind in zip(columns, _KINDS, strict=True)
        )
        return cls(len(tree.ops), arrays, tree.lemmas.copy())

    def unpacked(self) -> BoxTree:
        """The tree."""
        ops, counts, *pairs = (
            np.frombuffer(zlib.decompress(part), dtype=f"<{kind}")
            for part, kind in zip(self.arrays, _KINDS, strict=True)
        )
        columns = np.ascontiguousarray(np.column_stack(pairs), dtype=np.int32)
        return BoxTree(ops.astype(np.uint8), counts.astype(np.uint16), columns, self.lemmas)

    def content(self) -> dict[str, Any]:
        """The tree as a certificate holds it, with two bytes per count."""
        ops, counts, first, second, mix = (pack_bytes(part) for part in self.arrays)
        return {
            "ops": ops,
            "counts": counts,
            "first": first,
            "second": second,
            "mix": mix,
            "lemmas": pack(self.lemmas),
        }


NO_TREE = PackedTree.of(BoxTree.blank(0, 0, 0))
"""Of a piece that has not been searched."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A tree that begins with the boxes `roots` and hands boxes over to the pieces `children`, in the order of its nodes.

    share : of the present pass, as far as known when the piece was made; the shares of all pieces to be done add up to 1.
    visits : point visits that it took when it was last grown.
    """

    roots: Boxes
    tree: PackedTree
    children: tuple[int, ...] = ()
    share: float = 1.0
    visits: int = 0

    @property
    def nodes(self) -> int:
        """Nodes of its tree."""
        return self.tree.nodes


@dataclass(frozen=True, eq=False)
class Rest:
    """A box that a task did not get to: as much of the old tree as lies below it, and how many of the old tree's handed boxes."""

    box: Boxes
    tree: PackedTree
    n_handed: int
    share: float


def forest_content(pieces: dict[int, Piece]) -> list[dict[str, Any]]:
    """The pieces as a certificate holds them, each before those that it hands boxes to."""
    order = [0]
    for number in order:
        order.extend(pieces[number].children)
    places = {number: place for place, number in enumerate(order)}
    return [
        {
            **({} if number == 0 else _box_content(pieces[number].roots)),
            "handed_to": pack(np.array([places[child] for child in pieces[number].children], dtype=np.int32)),
            "tree": pieces[number].tree.content(),
        }
        for number in order
    ]


def joined(pieces: dict[int, Piece]) -> BoxTree:
    """One tree of all pieces: each box that a piece hands over is replaced by the tree of the piece that it goes to.

    The root of a piece begins with all conflicts that the boxes above had. Inside a tree these are inherited, and a node has room for
    MOST_NEW of its own: the last ones stay, which were found at the root itself. The others cost no more than finding them again.
    """
    found: list[BoxTree] = []
    todo: list[int | BoxTree] = [0]  # pieces, and stretches of trees between two handed boxes, the next one last
    while todo:
        following = todo.pop()
        if isinstance(following, BoxTree):
            found.append(following)
            continue
        piece = pieces[following]
        tree = piece.tree.unpacked()
        stretches = _stretches(tree if following == 0 else as_inner(tree))
        todo.append(stretches[-1])
        for stretch, child in zip(stretches[-2::-1], piece.children[::-1], strict=True):
            todo.extend((child, stretch))
    return BoxTree._make(np.concatenate(parts) for parts in zip(*found, strict=True))


def as_inner(tree: BoxTree) -> BoxTree:
    """The tree with at most MOST_NEW conflicts at its root."""
    surplus = max(0, int(tree.counts[0]) - MOST_NEW)
    counts = tree.counts.copy()
    counts[0] -= surplus
    return tree._replace(counts=counts, pairs=tree.pairs[surplus:])


def _stretches(tree: BoxTree) -> list[BoxTree]:
    """What lies before, between and after the boxes that the tree hands over."""
    handed = np.flatnonzero(tree.ops == HANDED)
    pairs = np.append(0, np.cumsum(tree.counts, dtype=np.int64))
    lemmas = np.append(0, np.cumsum(tree.ops == OPEN))
    starts, ends = np.append(0, handed + 1), np.append(handed, len(tree.ops))
    return [
        BoxTree(tree.ops[a:b], tree.counts[a:b], tree.pairs[pairs[a] : pairs[b]], tree.lemmas[lemmas[a] : lemmas[b]])
        for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _box_content(box: Boxes) -> dict[str, Any]:
    """The corners of one box, on the grid."""
    low, high = box.centre[0] - box.half[0], box.centre[0] + box.half[0]
    return {"low": [int(value) for value in low], "high": [int(value) for value in high]}


Keep = Callable[[NDArray[Any]], NDArray[np.int32]]
"""Chooses from conflicts (first point, second point, multipliers) those that the root of a piece begins with."""


class Slices:
    """Cuts a preorder stream into the subtrees that follow a given node."""

    def __init__(self, tree: BoxTree, node: int, pair: int) -> None:
        """node, pair : how many nodes and conflicts of the tree have been read."""
        self._tree, self._node, self._pair = tree, node, pair
        ops = tree.ops[node:]
        steps = np.where((ops > 0) & (ops < HANDED), 1, -1)
        lowest = np.minimum.accumulate(np.minimum(np.cumsum(steps), 0))
        # The k-th of the subtrees that follow ends where the running sum first reaches -k.
        self._ends = (node + 1 + np.flatnonzero(np.diff(lowest, prepend=0) < 0)).tolist()

    @property
    def has_more(self) -> bool:
        """Whether a subtree is left."""
        return bool(self._ends)

    def take(self, above: NDArray[np.int64], keep: Keep) -> tuple[PackedTree, int]:
        """The next subtree, whose root begins with those of its own conflicts and then of those `above` that are to be kept, and the
        number of boxes that it hands over."""
        tree, start, end = self._tree, self._node, self._ends.pop(0)
        counts = tree.counts[start:end].copy()
        pairs = tree.pairs[self._pair : self._pair + int(counts.sum())]
        self._pair += len(pairs)
        self._node = end
        own = int(counts[0])
        root = keep(np.concatenate([pairs[:own], above[:, :3]]))[:MOST_AT_ROOT]
        counts[0] = len(root)
        part = BoxTree(tree.ops[start:end], counts, np.concatenate([root, pairs[own:]]), np.zeros(0, np.int32))
        return PackedTree.of(part), int((part.ops == HANDED).sum())


def only_root(pairs: NDArray[np.int32]) -> PackedTree:
    """A tree of one leaf with these conflicts."""
    root = BoxTree.blank(1, 0, 0)._replace(pairs=pairs[:MOST_AT_ROOT])
    root.counts[0] = len(root.pairs)
    return PackedTree.of(root)
