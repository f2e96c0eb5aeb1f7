"""One pass of a box search in pieces: the tree proves the next target, its pieces being grown by several workers at a time.

Each piece is a task (`tasks`). A task that has used up its budget hands boxes back, which become pieces and tasks of their own. Budgets
grow with the work done so far in the pass, so that at its end no worker waits long for the last task of another. The largest pieces
come first. Better rules reach running tasks at once if they share memory, other tasks when they start.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ....arrays import Array
from ....protocol.checkpoint import CheckpointFolder
from ....protocol.crew import Crew
from ....protocol.tasks import Orders, TaskRecord, TasksUnderWay
from .kernels.state import Boxes
from .lemmas import Lemmas
from .pieces import NO_TREE, Piece
from .tasks import BoxWork, Grown, grow_piece, renumbered

Stop = Callable[[], object]
Progress = Callable[[], None]

ALONE_VISITS = 10_000_000
"""Point visits, about 0.5 s, that the caller makes by itself before it asks others: setting up processes takes longer."""

LEAST_VISITS, MOST_VISITS = 8_000_000, 200_000_000
"""Budgets of tasks in point visits: about 0.4 s, far above what it takes to hand out a task, and about 10 s, all that is lost with a worker."""

LEAST_OF_THREADS = 1_000_000
"""The most that ALONE_VISITS and LEAST_VISITS may be where the workers are threads, which need no set-up: liver's six seconds begin with both cores."""

TASKS_PER_WORKER = 16
"""A budget is at most this fraction (one in so many) of a worker's work in this pass so far: the wait for the last task is bounded by it."""


@dataclass(frozen=True, eq=False)
class Help:
    """Who helps a search: workers, if there are any; how many seconds are left; where finished pieces are kept, if they are."""

    crew: Crew | None
    seconds_left: Callable[[], float]
    checkpoint: CheckpointFolder | None = None


class Host(Protocol):
    """The search that a pass belongs to."""

    work: BoxWork
    lemmas: Lemmas
    best: int
    nodes: int
    visits: int
    log: list[TaskRecord]
    shared: object
    """The crew's token of `work`, once it has one."""

    def offer(self, W: Array) -> bool:
        """Make W the incumbent if it costs less."""
        ...

    def keep(self) -> None:
        """Write the state to disk, if it is kept there and the last one is old."""
        ...


def _at_least(visits: int, crew: Crew) -> int:
    """A least number of visits, which is smaller for threads."""
    return min(visits, LEAST_OF_THREADS) if crew.sees_memory else visits


def first_pieces(r: int) -> dict[int, Piece]:
    """The faces of the cube, before any search."""
    return {0: Piece(Boxes.faces(r), NO_TREE)}


class _Polled(Orders[int]):
    """Orders of a task in the caller's own thread, which asks whether to stop itself."""

    def __init__(self, best: int, stop: Stop, on_progress: Progress | None) -> None:
        super().__init__(best)
        self._stop, self._on_progress = stop, on_progress

    def is_over(self, seconds: float) -> bool:
        """Ask the caller."""
        if self._on_progress is not None:
            self._on_progress()
        self.stopped = self.stopped or bool(self._stop())
        return self.stopped


class PiecePass:
    """One pass: `pieces` are those of the tree so far, and those of the new tree once it is complete."""

    def __init__(self, search: Host, target: int, pieces: dict[int, Piece], help: Help) -> None:
        self.search, self.target, self.help = search, target, help
        total = sum(piece.nodes for piece in pieces.values())
        self.pieces = {
            number: replace(piece, share=piece.nodes / total if total else 1.0 / len(pieces))
            for number, piece in pieces.items()
        }
        self.holes = 0
        self.done_share = 0.0
        self.visits = 0
        self.todo = [(-piece.share, number) for number, piece in self.pieces.items()]
        heapq.heapify(self.todo)
        self._next = max(self.pieces) + 1
        self._parents: dict[int, int] = {}
        self._tasks: TasksUnderWay[tuple[int, int]] | None = (
            None  # keys: piece, and number of lemmas that the task knows
        )
        self._orders = Orders(search.best)

    def state(self) -> dict[str, Any]:
        """What a later process needs, besides the pieces, to go on; pieces under way count as not begun."""
        under_way = [] if self._tasks is None else [number for number, _ in self._tasks.keys]
        return {
            "target": self.target,
            "holes": self.holes,
            "done_share": self.done_share,
            "visits": self.visits,
            "todo": [*(number for _, number in self.todo), *under_way],
        }

    @classmethod
    def resumed(cls, search: Host, state: dict[str, Any], pieces: dict[int, Piece], help: Help) -> PiecePass:
        """The pass of an earlier process."""
        made = cls(search, state["target"], pieces, help)
        made.pieces = dict(pieces)
        made.holes, made.done_share, made.visits = state["holes"], state["done_share"], state["visits"]
        made.todo = [(-pieces[number].share, number) for number in state["todo"]]
        heapq.heapify(made.todo)
        return made

    @property
    def share(self) -> float:
        """The share of the pass that is done, counting finished tasks."""
        return self.done_share

    @property
    def size(self) -> int:
        """Nodes of all pieces."""
        return sum(piece.nodes for piece in self.pieces.values())

    def advance(self, stop: Stop, on_progress: Progress | None) -> bool:
        """True when the pass is complete, though perhaps with holes; False when stopped."""
        try:
            while self.todo or self._tasks:
                crew = self.help.crew
                if crew is None or (not self._tasks and self.search.visits < _at_least(ALONE_VISITS, crew)):
                    if not self._grow_here(stop, on_progress):
                        return False
                    continue
                for (number, known), grown in self._handed_out(crew).answers():
                    self._take(number, known, grown)
                if on_progress is not None:
                    on_progress()
                if stop():
                    return False
            return True
        finally:
            self._recall()

    def _budget(self) -> int:
        """Point visits of the next task."""
        if self.help.crew is None:
            return MOST_VISITS
        share = self.visits // (self.help.crew.workers * TASKS_PER_WORKER)
        return min(MOST_VISITS, max(_at_least(LEAST_VISITS, self.help.crew), share))

    def _grow_here(self, stop: Stop, on_progress: Progress | None) -> bool:
        """Grow the next piece in this thread; False when stopped."""
        number = heapq.heappop(self.todo)[1]
        orders = _Polled(self.search.best, stop, on_progress)
        lemmas = self.search.lemmas.table
        grown = grow_piece(self.search.work, self.pieces[number], self.target, lemmas, self._budget(), orders)
        self._take(number, len(lemmas.bounds), grown)
        if on_progress is not None:
            on_progress()
        return not orders.stopped and not stop()

    def _handed_out(self, crew: Crew) -> TasksUnderWay[tuple[int, int]]:
        """The tasks under way, after giving more to the workers until none is idle or no piece is left."""
        if self.search.shared is None:
            self.search.shared = crew.share(self.search.work)
        if self._tasks is None:
            self._tasks = TasksUnderWay(crew, self.search.shared)
        while self.todo and self._tasks.has_room:
            number = heapq.heappop(self.todo)[1]
            lemmas = self.search.lemmas.table
            orders = self._orders if crew.sees_memory else Orders(self.search.best, self.help.seconds_left())
            key = (number, len(lemmas.bounds))
            self._tasks.submit(key, grow_piece, self.pieces[number], self.target, lemmas, self._budget(), orders)
        return self._tasks

    def _take(self, number: int, known: int, grown: Grown) -> None:
        """Put the tree of a piece in its place, and the boxes that its task handed back among the pieces to do."""
        search, piece = self.search, self.pieces[number]
        if grown.W is not None:
            search.offer(grown.W)
        self._orders.lower(search.best)
        search.nodes += grown.nodes
        search.visits += grown.visits
        self.visits += grown.visits
        self.holes += grown.holes
        search.log.append(
            TaskRecord(self.target, number, self._parents.get(number, -1), round(grown.cpu, 4), grown.visits)
        )
        old = iter(piece.children)
        children = [next(old) for _ in range(grown.n_handed)]
        left = 0.0
        for rest in grown.rest:
            below = tuple(next(old) for _ in range(rest.n_handed))
            if rest.tree.nodes == rest.n_handed == 1:  # the old tree handed this box over too
                children += below
                continue
            children.append(self._next)
            self._parents[self._next] = number
            self.pieces[self._next] = Piece(rest.box, rest.tree, below, rest.share)
            heapq.heappush(self.todo, (-rest.share, self._next))
            self._next += 1
            left += rest.share
        self.done_share += piece.share - left
        tree = renumbered(grown, known, search.lemmas)
        self.pieces[number] = replace(piece, tree=tree, children=tuple(children), visits=grown.visits)
        search.keep()

    def _recall(self) -> None:
        """Bring running tasks to an end: those that share memory return what they have, the others are given up and begun again later."""
        if not self._tasks:
            return
        self._orders.stopped = True
        for number, _ in self._tasks.recall():
            heapq.heappush(self.todo, (-self.pieces[number].share, number))
        for (number, known), grown in self._tasks.answers():
            self._take(number, known, grown)
        self._orders = Orders(self.search.best)
