"""What the compiled kernels of a box search work on: named tuples of arrays, and one record of counters.

numba compiles functions that take named tuples of arrays, and it reads and writes the fields of a NumPy record in place. This module
itself does not import numba, so that the search can build its arrays before anything is compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....arrays import Array, Index, Mask

QBITS = 21  # points are rounded to integers of at most 2^QBITS per coordinate
KBITS = 20  # boxes lie on the grid of integers up to 2^KBITS; with 16 coordinates all sums of products stay below 2^53
MOST_NEW = 255  # conflicts that the search adds at one node; stored in one byte where there are no pieces

# What a node of a tree says, in one byte; every other value is 1 + the coordinate that is halved.
LEAF = 0  # the bound of the box reaches the target
HANDED = 253  # the box is left to another part of the proof: a piece of the same tree (`pieces`), or one that counts other costs (`limited`)
OPEN = 254  # a lemma closes the box, or (NO_LEMMA) nothing does and the box cannot be halved any more
NO_LEMMA = -1

# Columns of a conflict: the two points, the index of their multipliers, and the weight that the pair uses of both.
FIRST, SECOND, MIX, VALUE = range(4)

# Stages of a box on the path: not visited yet, its lower or upper half comes next, or both halves are done.
NEW, LOWER_NEXT, UPPER_NEXT, DONE = range(4)

# Why `grow` returned.
RUNNING, FINISHED, FULL, ASKING, BETTER, PAUSED = range(6)


class RoundedPoints(NamedTuple):
    """The rounded points: Q_i is an integer vector that differs from its true direction by at most err_i per coordinate."""

    Q: Array  # (n, r), |Q_ik| <= 2^QBITS
    err: Array  # (n,), 0 or 1/2
    weights: Index  # (n,), positive integers


class Path(NamedTuple):
    """The boxes from a face of the cube down to the present one; the first axis of each array but `lost` is the depth."""

    centre: Array  # (levels, r)
    half: Array  # (levels, r), half-widths
    stage: NDArray[np.int8]  # NEW, LOWER_NEXT, UPPER_NEXT or DONE
    axis: Index  # the coordinate that is halved
    stale: Index  # successive halvings up to this box that decided no point
    replayed: NDArray[np.int8]  # 1 while the tree of the last pass has this box
    wrong: Index  # weight of the points that are wrong all over the box
    members: NDArray[np.int32]  # (levels, n), the uncertain points
    n_members: Index
    q: Array  # (levels, r, n), coordinates of the uncertain points, one column per point
    pairs: NDArray[np.int64]  # (levels, room, 4), conflicts; see FIRST, SECOND, MIX, VALUE
    n_pairs: Index
    since_paths: Index  # halvings since augmenting paths were last tried
    lost: Mask  # (n,), whether a point is wrong all over the present box

    @classmethod
    def empty(cls, n: int, r: int) -> Path:
        """Room for the deepest path: each of the r - 1 free coordinates of a face can be halved KBITS times."""
        levels = (r - 1) * KBITS + 2
        most_pairs = 2 * n + MOST_NEW + 1  # a replay keeps dissolved pairs until it ends
        return cls(
            centre=np.zeros((levels, r)),
            half=np.zeros((levels, r)),
            stage=np.zeros(levels, np.int8),
            axis=np.zeros(levels, np.int64),
            stale=np.zeros(levels, np.int64),
            replayed=np.zeros(levels, np.int8),
            wrong=np.zeros(levels, np.int64),
            members=np.zeros((levels, n), np.int32),
            n_members=np.zeros(levels, np.int64),
            q=np.zeros((levels, r, n)),
            pairs=np.zeros((levels, most_pairs, 4), np.int64),
            n_pairs=np.zeros(levels, np.int64),
            since_paths=np.zeros(levels, np.int64),
            lost=np.zeros(n, np.bool_),
        )


class Boxes(NamedTuple):
    """Some boxes: those that a tree begins with, or those that it hands over."""

    centre: Array  # (count, r)
    half: Array  # (count, r), half-widths

    @classmethod
    def faces(cls, r: int) -> Boxes:
        """The 2r faces of the cube |V|_max = 1."""
        one = float(1 << KBITS)
        signs = np.repeat(np.eye(r), 2, axis=0)
        signs[1::2] *= -1.0
        return cls(signs * one, np.where(signs != 0, 0.0, one))

    @classmethod
    def blank(cls, count: int, r: int) -> Boxes:
        """Room for so many."""
        return cls(np.zeros((count, r)), np.zeros((count, r)))

    def enlarged(self, count: int) -> Boxes:
        """The same boxes with twice the room if so many fill half of it."""
        return Boxes._make(_with_room(part, count, 1) for part in self)

    def head(self, count: int) -> Boxes:
        """A copy of the first so many."""
        return Boxes(self.centre[:count].copy(), self.half[:count].copy())


class OpenBox(NamedTuple):
    """The present box with its uncertain points; entry u of members, a and s and column u of q belong together."""

    centre: Array  # c
    half: Array  # h, half-widths
    members: NDArray[np.int32]  # rows of Q, one per uncertain point
    q: Array  # (r, at least the number of members), coordinates
    a: Array  # q.c
    s: Array  # |q|.h
    left: Index  # (n,), weight of each point that no pair uses yet
    pairs: NDArray[np.int64]  # (room, 4), the conflicts of this box


class LemmaTable(NamedTuple):
    """Lemma l says that the points rows[starts[l] : starts[l + 1]] cost at least bounds[l] wherever V is."""

    starts: Index
    rows: Index
    bounds: Index


class BoxTree(NamedTuple):
    """A preorder stream of nodes (see `grow`), with the conflicts and lemmas they refer to, in order of appearance."""

    ops: NDArray[np.uint8]  # LEAF, OPEN, or 1 + the coordinate halved
    counts: NDArray[np.uint16]  # conflicts that are new at the node
    pairs: NDArray[np.int32]  # (total of counts, 3): FIRST, SECOND, MIX
    lemmas: NDArray[np.int32]  # one per OPEN node: an index of the lemma table, or NO_LEMMA

    @classmethod
    def blank(cls, nodes: int, pairs: int, lemmas: int) -> BoxTree:
        """Room for so many nodes, conflicts and lemmas."""
        return cls(
            np.zeros(nodes, np.uint8),
            np.zeros(nodes, np.uint16),
            np.zeros((pairs, 3), np.int32),
            np.zeros(lemmas, np.int32),
        )

    def head(self, nodes: int, pairs: int, lemmas: int) -> BoxTree:
        """A copy of the first so many nodes, conflicts and lemmas."""
        return BoxTree(
            self.ops[:nodes].copy(), self.counts[:nodes].copy(), self.pairs[:pairs].copy(), self.lemmas[:lemmas].copy()
        )

    def enlarged(self, nodes: int, pairs: int, lemmas: int) -> BoxTree:
        """The same tree with twice the room for those of its nodes, conflicts and lemmas that fill half of it, or have none for another node."""
        return BoxTree(
            _with_room(self.ops, nodes, 1),
            _with_room(self.counts, nodes, 1),
            _with_room(self.pairs, pairs, MOST_NEW + 1),
            _with_room(self.lemmas, lemmas, 1),
        )


def _with_room(part: NDArray[Any], used: int, spare: int) -> NDArray[Any]:
    """The array, or one twice as long if half of it is used or less than `spare` is left."""
    is_wide = used + max(used, spare) < len(part)
    return part if is_wide else np.concatenate([part, np.zeros_like(part)])


_STATE = np.dtype(
    [
        # where the search stands
        ("depth", np.int64),  # of the present box; -1 between two faces
        ("face", np.int64),  # number of the box that the tree begins with: of the cube's face, 0 to 2r - 1
        # what is to be proven
        ("target", np.int64),  # bound that this pass proves for every box
        ("best", np.int64),  # cost of the incumbent; no box has to prove more
        ("few", np.int64),  # up to so many dependent points, a lemma is asked for although they span the whole space
        # how far the tree of the last pass is read, and the new one written
        ("read_nodes", np.int64),
        ("read_pairs", np.int64),
        ("written_nodes", np.int64),
        ("written_pairs", np.int64),
        ("written_lemmas", np.int64),
        ("holes", np.int64),  # boxes left open without a lemma
        ("handing", np.int64),  # boxes with up to so many uncertain points may be handed over; 0: none
        ("handed", np.int64),  # boxes handed over
        ("pause", np.int64),  # return before the next box of at most this depth is visited; -1: never
        # questions to the caller and its answers, about the present box
        ("offered", np.int64),  # 1 after BETTER was returned for it
        ("need", np.int64),  # what the lemma asked for has to prove
        ("refused", np.int64),  # set to 1 by the caller when there is no such lemma
        # the clock
        ("budget", np.int64),  # point visits until the next return; set by the caller before each call
    ]
)


def new_state(target: int, few: int) -> np.record:
    """The counters of a pass that has not begun."""
    state: np.record = np.zeros(1, _STATE).view(np.recarray)[0]
    state.depth = state.face = state.pause = -1
    state.target, state.few = target, few
    return state
