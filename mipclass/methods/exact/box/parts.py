"""The parts of one round of a proof under limits on errors, grown by several workers at a time.

A part is a task with a budget (`tasks`). The boxes that it did not get to when the budget was used up go to new parts under the same loss.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ....arrays import Index
from ....protocol.tasks import Orders, TaskRecord, TasksUnderWay
from .kernels.state import Boxes, BoxTree, LemmaTable
from .lemmas import Lemmas
from .piece_pass import MOST_VISITS, TASKS_PER_WORKER
from .pieces import PackedTree, Piece, Rest, as_inner
from .tasks import BoxWork, Grown, grow_piece, renumbered

LEAST_VISITS = 8_000_000
"""Least budget of a task in point visits, 0.2 to 1.3 s: far above what it takes to hand out a task."""

MOST_NEW_PARTS = 8
"""Parts that the rest of one part is divided into, at most: boxes are handed back while others are at work, so few are enough."""

NO_RULE = 1 << 62
"""The cost of an incumbent where there is none: more than all weights together."""


@dataclass(frozen=True, eq=False)
class Part:
    """A tree under the loss of the given number; it begins with the boxes that earlier parts handed to it, the first part with the faces.

    handed : the boxes that it hands over.   handed_to : the part that each of them goes to, or -1 - k where joint lemma k closes it.
    rest_to : the parts that the boxes go to which it did not get to; these come behind those handed over.
    """

    loss: int
    target: int
    tree: BoxTree
    handed: Boxes
    handed_to: Index
    rest_to: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class LimitedWork:
    """What all tasks share: the rows of each loss."""

    losses: tuple[BoxWork, ...]


def grow_part(
    work: LimitedWork,
    loss: int,
    piece: Piece,
    target: int,
    known: LemmaTable,
    budget: int,
    orders: Orders[int],
    handing: int,
) -> Grown:
    """Grow a piece under one of the losses, see `grow_piece`."""
    return grow_piece(work.losses[loss], piece, target, known, budget, orders, handing)


@dataclass(frozen=True, eq=False)
class _Begun:
    """A part to come, and the part whose rest it is (-1: of an earlier round)."""

    loss: int
    target: int
    piece: Piece
    parent: int


class PartsAtOnce:
    """One round. Parts have numbers in the order in which they are begun, so that boxes go to parts of higher number."""

    def __init__(
        self,
        tasks: TasksUnderWay[tuple[int, int]],
        lemmas: Sequence[Lemmas],
        handing: int,
        first: int,
        log: list[TaskRecord],
        seconds_left: Callable[[], float],
    ) -> None:
        """lemmas : of each loss.     handing : see `grow_piece`.     first : the number of the first part."""
        self._tasks, self._lemmas, self._handing, self._first, self._log = tasks, lemmas, handing, first, log
        self._seconds_left = seconds_left
        self._begun: list[_Begun] = []
        self._todo: deque[int] = deque()
        self._done: dict[int, Part] = {}
        self._orders = Orders(NO_RULE)
        self._visits = 0
        self.nodes = self.holes = 0

    def begin(self, loss: int, target: int, piece: Piece, parent: int = -1) -> int:
        """Take a part among those to do; its number."""
        number = self._first + len(self._begun)
        self._begun.append(_Begun(loss, target, piece, parent))
        self._todo.append(number)
        return number

    def parts(self) -> list[Part]:
        """All parts in the order of their numbers; where the boxes go that they hand over is not decided yet."""
        return [self._done[number] for number in sorted(self._done)]

    def grow_all(self, stop: Callable[[], object], on_progress: Callable[[], None]) -> bool:
        """True when all parts are done; False when stopped."""
        tasks = self._tasks
        try:
            while self._todo or len(tasks):
                while self._todo and tasks.has_room:
                    self._hand_out(self._todo.popleft())
                for (number, known), grown in tasks.answers():
                    self._take(number, known, grown)
                on_progress()
                if stop():
                    return False
            return True
        finally:
            self._orders.stopped = True
            tasks.recall()

    def _hand_out(self, number: int) -> None:
        part, workers = self._begun[number - self._first], self._tasks.crew.workers
        budget = min(MOST_VISITS, max(LEAST_VISITS, self._visits // (workers * TASKS_PER_WORKER)))
        known = self._lemmas[part.loss].table
        orders = self._orders if self._tasks.crew.sees_memory else Orders(NO_RULE, self._seconds_left())
        key = (number, len(known.bounds))
        self._tasks.submit(key, grow_part, part.loss, part.piece, part.target, known, budget, orders, self._handing)

    def _take(self, number: int, known: int, grown: Grown) -> None:
        """Put a part in its place, and what is left of it among the parts to do."""
        begun = self._begun[number - self._first]
        self.nodes += grown.nodes
        self.holes += grown.holes
        self._visits += grown.visits
        self._log.append(TaskRecord(self._first, number, begun.parent, round(grown.cpu, 4), grown.visits))
        rest_to: list[int] = []
        for rests in _groups(grown.rest):
            rest_to += [self.begin(begun.loss, begun.target, _together(rests), number)] * len(rests)
        assert grown.handed is not None
        tree = renumbered(grown, known, self._lemmas[begun.loss]).unpacked()
        nothing = np.zeros(0, dtype=np.int64)
        self._done[number] = Part(begun.loss, begun.target, tree, grown.handed, nothing, tuple(rest_to))


def _groups(rest: Sequence[Rest]) -> Iterator[Sequence[Rest]]:
    """The rest in its order, in some groups of about the same number."""
    count = min(len(rest), MOST_NEW_PARTS)
    for k in range(count):
        yield rest[k * len(rest) // count : (k + 1) * len(rest) // count]


def _together(rests: Sequence[Rest]) -> Piece:
    """One piece of several boxes, with as much of the old tree as lies below them."""
    centre, half = (np.concatenate(arrays) for arrays in zip(*(rest.box for rest in rests), strict=True))
    trees = [as_inner(rest.tree.unpacked()) for rest in rests]
    tree = BoxTree._make(np.concatenate(arrays) for arrays in zip(*trees, strict=True))
    return Piece(Boxes(centre, half), PackedTree.of(tree))
