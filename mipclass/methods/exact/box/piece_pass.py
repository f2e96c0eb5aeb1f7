"""One pass of a box search in pieces: the tree proves the next target, its pieces being grown by several workers at a time.

Each piece is a task (`tasks`); workers that do not share memory, to which a message takes some milliseconds, get several small ones at a time.
A task that has used up its budget hands boxes back, which become pieces and tasks of their own. Budgets grow with the work done so far in the
pass, so that at its end no worker waits long for the last task of another. The largest pieces come first. Better rules reach running tasks at
once if they share memory, other tasks when they start. Until processes are set up, the caller grows pieces by itself, with as many threads as it
may use.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ....arrays import Array
from ....protocol.checkpoint import CheckpointFolder
from ....protocol.crew import Crew
from ....protocol.tasks import Orders, SettingUp, TaskRecord, TasksUnderWay
from .kernels.state import Boxes
from .lemmas import Lemmas
from .pieces import NO_TREE, Piece
from .tasks import BoxWork, Grown, grow_piece, grow_pieces, renumbered

Stop = Callable[[], object]
Progress = Callable[[], None]

ALONE_SECONDS = 0.5
"""Processor seconds that the caller works by itself before it sets up processes, which takes longer."""

PATIENCE = 6
"""Several threads of the caller work for so many times ALONE_SECONDS each before processes are set up: these then gain nothing on the cores that the
threads use already, and each takes a second or two of a core to import the package and to load kernels."""

WORTH_SECONDS = 5.0
"""Processes are set up only for a proof that is expected to take at least so many more seconds without them, if that can be told yet."""

LEAST_SECONDS, LEAST_OF_THREADS = 0.25, 0.05
"""Least budgets of a task: for workers that do not share memory, far above the time to hand it out, and for threads and the caller."""

MOST_VISITS = 200_000_000
"""Largest budget of a piece in point visits: 5 to 30 s, all that is lost with a worker."""

FIRST_RATE = 2e7
"""Point visits per processor second, before any were counted: 6e6 (liver) to 4e7 (10,000 points) on a usual machine."""

TASKS_PER_WORKER = 16
"""A budget is at most this fraction (one in so many) of a worker's work in this pass so far: the wait for the last task is bounded by it."""

EXPECTED_GROWTH = 3
"""Visits that a piece is expected to take, as a multiple of those in the pass before, when small pieces become one task."""

BUNDLE_SECONDS = 0.6
"""Processor seconds that small pieces in one task are expected to take together, at most."""

BUNDLES_PER_WORKER = 4
"""Small pieces become one task only as long as each worker gets at least so many more tasks from those that are left."""


@dataclass(frozen=True, eq=False)
class Help:
    """Who helps a search: workers, if there are any; how many seconds are left; where finished pieces are kept, if they are; and the threads
    of the caller that work until processes are set up, if it may use more than one."""

    crew: Crew | None
    seconds_left: Callable[[], float]
    checkpoint: CheckpointFolder | None = None
    here: Crew | None = None


class Host(Protocol):
    """The search that a pass belongs to."""

    work: BoxWork
    lemmas: Lemmas
    best: int
    nodes: int
    visits: int
    cpu: float
    """Processor seconds of all tasks."""

    log: list[TaskRecord]
    setting_up: SettingUp | None
    """The workers that have `work`, once they were asked for."""

    def offer(self, W: Array) -> bool:
        """Make W the incumbent if it costs less."""
        ...

    def keep(self) -> None:
        """Write the state to disk, if it is kept there and the last one is old."""
        ...

    def seconds_to_come(self) -> float | None:
        """Seconds that the proof may still take with those who are at work now; None when it cannot be told yet."""
        ...


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
        self._tasks: TasksUnderWay[tuple[tuple[int, ...], int]] | None = (
            None  # keys: pieces, and number of lemmas that the task knows
        )
        self._new_pieces = self._new_visits = 0  # pieces that were grown for the first time, and their visits
        self._orders = Orders(search.best)

    def state(self) -> dict[str, Any]:
        """What a later process needs, besides the pieces, to go on; pieces under way count as not begun."""
        under_way = [] if self._tasks is None else [number for numbers, _ in self._tasks.keys for number in numbers]
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
                crew = self._helping()
                if crew is None:
                    if not self._grow_here(stop, on_progress):
                        return False
                    continue
                tasks = self._handed_out(crew)
                for (numbers, known), grown in tasks.answers():
                    self._take(numbers, known, grown, by_caller=tasks.crew is self.help.here)
                if on_progress is not None:
                    on_progress()
                if stop():
                    return False
            return True
        finally:
            self._recall()

    def _helping(self) -> Crew | None:
        """The workers that get the next tasks: the run's once they are set up, until then threads of the caller; None: the caller's own thread."""
        crew = self.help.crew
        if crew is None or self._can_help(crew):
            return crew
        return self.help.here

    def _can_help(self, crew: Crew) -> bool:
        """Whether the workers are set up, which begins once they are worth it."""
        search = self.search
        if search.setting_up is None:
            if not crew.sees_memory and not self._are_processes_worth_it():
                return False
            orders = Orders(search.best, self.help.seconds_left())
            small = (Piece(Boxes.faces(search.work.M.shape[1]), NO_TREE), 1, search.lemmas.table, 1, orders)
            search.setting_up = SettingUp(crew, search.work, grow_piece, [small] * crew.workers)
        return search.setting_up.is_over

    def _are_processes_worth_it(self) -> bool:
        """Not before ALONE_SECONDS, or more with several threads here, nor for the last WORTH_SECONDS of a proof."""
        here = self.help.here
        if self.search.cpu < (ALONE_SECONDS if here is None else ALONE_SECONDS * PATIENCE * here.workers):
            return False
        to_come = self.search.seconds_to_come()
        return to_come is None or to_come >= WORTH_SECONDS

    def _visits_in(self, seconds: float) -> int:
        """Point visits in so many processor seconds, by what was counted so far."""
        search = self.search
        return 1 + int(seconds * (search.visits / search.cpu if search.cpu > 0 else FIRST_RATE))

    def _budget(self, least: float) -> int:
        """Point visits of the next piece, worth at least so many seconds."""
        if self.help.crew is None:
            return MOST_VISITS
        share = self.visits // (self.help.crew.workers * TASKS_PER_WORKER)
        return min(MOST_VISITS, max(self._visits_in(least), share))

    def _grow_here(self, stop: Stop, on_progress: Progress | None) -> bool:
        """Grow the next piece in this thread; False when stopped."""
        number = heapq.heappop(self.todo)[1]
        orders = _Polled(self.search.best, stop, on_progress)
        lemmas = self.search.lemmas.table
        budget = self._budget(LEAST_OF_THREADS)
        grown = grow_piece(self.search.work, self.pieces[number], self.target, lemmas, budget, orders)
        self._take((number,), len(lemmas.bounds), [grown], by_caller=True)
        if on_progress is not None:
            on_progress()
        return not orders.stopped and not stop()

    def _handed_out(self, crew: Crew) -> TasksUnderWay[tuple[tuple[int, ...], int]]:
        """The tasks under way, after giving more to the workers until none is idle or no piece is left; other workers end their tasks first."""
        if self._tasks and self._tasks.crew is not crew:
            return self._tasks
        if self._tasks is None or self._tasks.crew is not crew:
            self._tasks = TasksUnderWay(crew, self._token(crew))
        while self.todo and self._tasks.has_room:
            budget = self._budget(LEAST_OF_THREADS if crew.sees_memory else LEAST_SECONDS)
            numbers = self._bundle(crew, budget)
            lemmas = self.search.lemmas.table
            orders = self._orders if crew.sees_memory else Orders(self.search.best, self.help.seconds_left())
            pieces = [self.pieces[number] for number in numbers]
            self._tasks.submit((numbers, len(lemmas.bounds)), grow_pieces, pieces, self.target, lemmas, budget, orders)
        return self._tasks

    def _token(self, crew: Crew) -> Any:
        """The crew's token of what the tasks share."""
        if crew is self.help.here:
            return crew.share(self.search.work)
        assert self.search.setting_up is not None, "_can_help() shares the work"
        return self.search.setting_up.token

    def _bundle(self, crew: Crew, budget: int) -> tuple[int, ...]:
        """The pieces of the next task: the largest one, and further ones if all together should take less than BUNDLE_SECONDS."""
        at_most = 1 if crew.sees_memory else len(self.todo) // (BUNDLES_PER_WORKER * crew.workers)
        numbers = [heapq.heappop(self.todo)[1]]
        expected, most = self._expected(numbers[0], budget), self._visits_in(BUNDLE_SECONDS)
        while len(numbers) < at_most:
            expected += self._expected(self.todo[0][1], budget)
            if expected > most:
                break
            numbers.append(heapq.heappop(self.todo)[1])
        return tuple(numbers)

    def _expected(self, number: int, budget: int) -> int:
        """Visits that a piece may take: some multiple of those in the pass before, or the mean of other new pieces of this pass."""
        known = EXPECTED_GROWTH * self.pieces[number].visits
        return known or (self._new_visits // self._new_pieces if self._new_pieces else budget)

    def _take(self, numbers: tuple[int, ...], known: int, grown: Sequence[Grown], by_caller: bool = False) -> None:
        """Take over what a task found out about its pieces."""
        first = numbers[0]
        cpu, visits = round(sum(each.cpu for each in grown), 4), sum(each.visits for each in grown)
        self.search.log.append(TaskRecord(self.target, first, self._parents.get(first, -1), cpu, visits, by_caller))
        for number, each in zip(numbers, grown, strict=True):
            self._put(number, first, known, each)
        self.search.keep()

    def _put(self, number: int, task: int, known: int, grown: Grown) -> None:
        """Put the tree of a piece in its place, and the boxes that its task handed back among the pieces to do."""
        search, piece = self.search, self.pieces[number]
        if grown.W is not None:
            search.offer(grown.W)
        self._orders.lower(search.best)
        search.nodes += grown.nodes
        search.visits += grown.visits
        search.cpu += grown.cpu
        self.visits += grown.visits
        self.holes += grown.holes
        if not piece.visits:
            self._new_pieces += 1
            self._new_visits += grown.visits
        old = iter(piece.children)
        children = [next(old) for _ in range(grown.n_handed)]
        left = 0.0
        for rest in grown.rest:
            below = tuple(next(old) for _ in range(rest.n_handed))
            if rest.tree.nodes == rest.n_handed == 1:  # the old tree handed this box over too
                children += below
                continue
            children.append(self._next)
            self._parents[self._next] = task
            self.pieces[self._next] = Piece(rest.box, rest.tree, below, rest.share)
            heapq.heappush(self.todo, (-rest.share, self._next))
            self._next += 1
            left += rest.share
        self.done_share += piece.share - left
        tree = renumbered(grown, known, search.lemmas)
        self.pieces[number] = replace(piece, tree=tree, children=tuple(children), visits=grown.visits)

    def _recall(self) -> None:
        """Bring running tasks to an end: those that share memory return what they have, the others are given up and begun again later."""
        if not self._tasks:
            return
        self._orders.stopped = True
        for numbers, _ in self._tasks.recall():
            for number in numbers:
                heapq.heappush(self.todo, (-self.pieces[number].share, number))
        for (numbers, known), grown in self._tasks.answers():
            self._take(numbers, known, grown, by_caller=self._tasks.crew is self.help.here)
        self._orders = Orders(self.search.best)
