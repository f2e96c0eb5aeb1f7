"""One task of a box search: replay a piece of the tree, or a few, and grow it towards a target, within a budget; what is left is handed back.

A task is a function of its arguments alone, so that any thread, process or machine can carry it out, twice if need be. When its budget
is used up it finishes the deepest boxes and hands back the shallowest ones that it did not get to, the largest subtrees.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array, Index, Positions
from ....protocol.tasks import Orders
from ..rational import surely_positive
from .kernels.state import (
    ASKING,
    BETTER,
    FINISHED,
    FULL,
    HANDED,
    KBITS,
    PAUSED,
    UPPER_NEXT,
    Boxes,
    BoxTree,
    LemmaTable,
    Path,
    RoundedPoints,
    new_state,
)
from .lemmas import Lemmas, SubspaceSearch, Walls
from .pieces import PackedTree, Piece, Rest, Slices, only_root
from .proof import BoxProof, CoverProof

CHUNK = 3_000_000
"""Point visits between two looks at the clock, about 0.1 s."""

FIRST_NODES, FIRST_LEMMAS, FIRST_BOXES = 1 << 12, 1 << 10, 1 << 6
"""Room for a first tree; it is doubled when it is full."""

HANDED_AT_ONCE = 4
"""Boxes that a task hands back each time that its budget is used up: the shallowest."""

FURTHER_BUDGET = 4
"""The deeper boxes get one in so many of the budget before the next shallowest are handed back as well."""

NUDGES = (-6, -10, -14, -18)
"""Lengths of the steps away from a rule, as powers of two of its own length; the boxes' grid is 2^-20."""

_EVERY_DEPTH = 1 << 30
"""A pause at this depth is a pause at once."""


@dataclass(frozen=True, eq=False)
class BoxWork:
    """What all tasks of a search share. `own_space(work, rows, W)` begins a search over rows that span a smaller space, or returns None.

    refused : points -> a cost that could not be proven of them, as far as the tasks of this worker have found out.
    """

    Z: Array
    M: Array
    scales: Array
    points: RoundedPoints
    few: int
    walls: Walls
    own_space: Callable[[BoxWork, Positions, Array], SubspaceSearch | None]
    refused: dict[frozenset[int], int] = field(default_factory=dict)

    @property
    def weights(self) -> Index:
        """Whole weights of the rows."""
        return self.points.weights

    def cost(self, W: Array) -> int:
        """The weight of the rows that W gets wrong; a row counts as right only if its score is positive whatever rounding did."""
        return int(self.weights[~surely_positive(self.Z, W)].sum())

    def lemmas(self, known: LemmaTable | None = None) -> Lemmas:
        """Lemmas about its rows, beside those known already."""
        own_space = partial(self.own_space, self)
        return Lemmas(self.Z, self.weights, self.scales, self.few, own_space, self.walls, known, self.refused)


@dataclass(frozen=True, eq=False)
class Grown:
    """What a task brings back: the tree of the piece, the boxes that it did not get to, and what it found on the way.

    n_handed : how many of the old tree's handed boxes it met, without those below boxes it did not get to.
    proofs : new lemmas; in the tree they come after those that the task knew.     W : a rule of cost `best`, if it found a better one.
    handed : the boxes that the task hands over by its own choice, under limits on errors (`limited`).
    cpu : seconds of processor time.
    """

    tree: PackedTree
    n_handed: int
    rest: tuple[Rest, ...]
    proofs: tuple[BoxProof | CoverProof, ...]
    best: int
    W: Array | None
    nodes: int
    visits: int
    holes: int
    cpu: float
    handed: Boxes | None = None


_ROOM = threading.local()


def _path(n: int, r: int) -> Path:
    """Room for a path; each thread keeps one, since it is large."""
    kept: tuple[tuple[int, int], Path] | None = getattr(_ROOM, "path", None)
    if kept is None or kept[0] != (n, r):
        kept = _ROOM.path = ((n, r), Path.empty(n, r))
    return kept[1]


def nearby(W: Array, direction: Array) -> Iterator[Array]:
    """Rules at several small distances from W in the given direction.

    At a vertex W some points are ties; the direction decides them, and a small step changes no other point.
    """
    step = direction * (np.linalg.norm(W) / np.linalg.norm(direction))
    for power in NUDGES:
        yield W + 2.0**power * step


def last_rule(M: Array, path: Path, depth: int) -> Array | None:
    """The rule at the centre of a box of the path that cannot be halved any more; None for other boxes."""
    return np.asarray(M @ path.centre[depth]) if path.half[depth].max() <= 1.0 else None


def grow_piece(
    work: BoxWork, piece: Piece, target: int, known: LemmaTable, budget: int, orders: Orders[int], handing: int = 0
) -> Grown:
    """Grow a piece until every leaf proves min(target, cost of the incumbent), within about `budget` point visits.

    handing : if not zero, boxes with at most so many uncertain points are handed over, and rules are not offered.
    """
    return _Growing(work, piece, target, known, orders, handing).run(budget)


def grow_pieces(
    work: BoxWork, pieces: Sequence[Piece], target: int, known: LemmaTable, budget: int, orders: Orders[int]
) -> list[Grown]:
    """Grow some pieces one after the other, each within the budget."""
    return [grow_piece(work, piece, target, known, budget, orders) for piece in pieces]


class _Growing:
    """One piece under way."""

    def __init__(
        self, work: BoxWork, piece: Piece, target: int, known: LemmaTable, orders: Orders[int], handing: int
    ) -> None:
        self.work, self.piece, self.orders, self.handing = work, piece, orders, handing
        self.lemmas = work.lemmas(known)
        self.old = piece.tree.unpacked()
        self.path = _path(*work.points.Q.shape)
        self.state = new_state(target, work.few)
        self.state.handing = handing
        room = max(FIRST_NODES, 2 * len(self.old.ops))
        pairs = max(2 * room, len(self.old.pairs) + 2 * FIRST_NODES)
        self.out = BoxTree.blank(nodes=room, pairs=pairs, lemmas=FIRST_LEMMAS)
        self.handed = Boxes.blank(FIRST_BOXES, work.points.Q.shape[1])
        self.best = orders.best
        self.W: Array | None = None
        self.visits = 0
        self._began = time.monotonic()

    def over(self) -> bool:
        """Whether the task should end now."""
        return self.orders.is_over(time.monotonic() - self._began)

    def run(self, budget: int) -> Grown:
        """Until the piece is done or the rest of it is handed back."""
        from .kernels.grow import grow

        cpu, state, limit = time.thread_time(), self.state, budget
        while True:
            state.best = self.best = min(self.best, self.orders.best)
            state.budget = chunk = min(CHUNK, max(1, limit - self.visits))
            status = grow(
                self.work.points, self.path, self.piece.roots, self.old, self.lemmas.table, self.out, self.handed, state
            )
            self.visits += chunk - int(state.budget)
            if status in (FINISHED, PAUSED):
                rest = tuple(self._rest()) if status == PAUSED else ()
                return self._grown(rest, time.thread_time() - cpu)
            if status == BETTER:
                self._offer(self.work.M @ self.path.centre[state.depth])
                continue
            if status == FULL:
                self.out = self.out.enlarged(state.written_nodes, state.written_pairs, state.written_lemmas)
                self.handed = self.handed.enlarged(state.handed)
            elif status == ASKING:
                self._ask()
            if self.over():
                state.pause = _EVERY_DEPTH
            elif self.visits >= limit:
                limit = self.visits + max(1, budget // FURTHER_BUDGET)
                state.pause = max(int(state.pause), self._pause())

    def _offer(self, W: Array) -> None:
        if self.handing:  # the target is not the cost of an incumbent then, and must not fall with that of a rule
            return
        cost = self.work.cost(W)
        if cost < self.best:
            self.best, self.W = cost, np.array(W, dtype=np.float64)
            self.orders.lower(cost)

    def _ask(self) -> None:
        """Look for a lemma about the members of the present box."""
        depth = int(self.state.depth)
        members = self.path.members[depth, : self.path.n_members[depth]]
        at = last_rule(self.work.M, self.path, depth)
        found = self.lemmas.find(members, int(self.state.need), self.over, at)
        self.state.refused = found is False
        if self.lemmas.counterexample is not None:
            for W in nearby(self.work.M @ self.path.centre[depth], self.lemmas.counterexample):
                self._offer(W)

    def _pause(self) -> int:
        """The depth at which to hand back: of the shallowest boxes to come that are not to be handed back yet."""
        pending = np.flatnonzero(self.path.stage[: self.state.depth] == UPPER_NEXT) + 1
        deeper = pending[pending > self.state.pause][:HANDED_AT_ONCE]
        return int(deeper[-1]) if len(deeper) else 0

    def _rest(self) -> Iterator[Rest]:
        """The boxes that were not visited, in preorder."""
        path, state, old = self.path, self.state, self.old
        depth, roots = int(state.depth), self.piece.roots
        slices = Slices(old, int(state.read_nodes), int(state.read_pairs))
        fresh = np.flatnonzero(path.replayed[: depth + 1] == 0)
        unit = self.piece.share / (len(old.ops) or len(roots.centre))
        nothing = path.pairs[0, :0]
        boxes = [(path.centre[depth], path.half[depth], depth)]
        for above in range(depth - 1, -1, -1):
            if path.stage[above] == UPPER_NEXT:
                axis, half, centre = path.axis[above], path.half[above].copy(), path.centre[above].copy()
                half[axis] /= 2
                centre[axis] += half[axis]
                boxes.append((centre, half, above + 1))
        boxes += [(roots.centre[f], roots.half[f], 0) for f in range(int(state.face) + 1, len(roots.centre))]
        for centre, half, level in boxes:
            box = Boxes(centre[None, :].copy(), half[None, :].copy())
            pairs = path.pairs[level - 1, : path.n_pairs[level - 1]] if level else nothing
            is_old = bool(path.replayed[max(level - 1, 0)]) if level else slices.has_more
            keep = partial(self._usable, box)
            if is_old:
                tree, n_handed = slices.take(pairs, keep)
                yield Rest(box, tree, n_handed, unit * tree.nodes)
            else:
                since = int(fresh[0]) if len(fresh) else 0
                yield Rest(box, only_root(keep(pairs[:, :3])), 0, unit * 2.0 ** (since - level))

    def _usable(self, box: Boxes, pairs: NDArray[Any]) -> NDArray[np.int32]:
        """Those of the conflicts whose points are uncertain on the box and have weight left when the ones before have used theirs.

        Added one by one they release no point, so that search and checker count the same weights.
        """
        Q, err, weights = self.work.points
        a, s = Q @ box.centre[0], np.abs(Q) @ box.half[0]
        uncertain = (a + s + err * (Q.shape[1] * float(1 << KBITS)) > 0) & (a - s < 0)
        left = np.where(uncertain, weights, 0).tolist()
        kept = []
        for i, j, m in pairs.tolist():
            value = min(left[i], left[j])
            if value > 0:
                left[i] -= value
                left[j] -= value
                kept.append((i, j, m))
        return np.array(kept, dtype=np.int32).reshape(-1, 3)

    def _grown(self, rest: tuple[Rest, ...], cpu: float) -> Grown:
        state, out = self.state, self.out
        nodes = int(state.written_nodes)
        tree = out.head(nodes, state.written_pairs, state.written_lemmas)
        if rest:
            ops = np.concatenate([tree.ops, np.full(len(rest), HANDED, np.uint8)])
            tree = tree._replace(ops=ops, counts=np.concatenate([tree.counts, np.zeros(len(rest), np.uint16)]))
        proofs = tuple(self.lemmas.proofs)
        return Grown(
            PackedTree.of(tree),
            int(state.handed),
            rest,
            proofs,
            self.best,
            self.W,
            nodes,
            self.visits,
            int(state.holes),
            cpu,
            self.handed.head(state.handed) if self.handing else None,
        )


def renumbered(grown: Grown, known: int, lemmas: Lemmas) -> PackedTree:
    """The tree with the search's own numbers of the lemmas that the task found, which join the search's own.

    known : number of lemmas that the task knew.
    """
    if not grown.proofs:
        return grown.tree
    numbers = np.array([lemmas.add(proof) for proof in grown.proofs], dtype=np.int32)
    used = grown.tree.lemmas
    is_new = used >= known
    return replace(grown.tree, lemmas=np.where(is_new, numbers[np.where(is_new, used - known, 0)], used))
