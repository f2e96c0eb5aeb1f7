"""One pass of a search over whole weights: the tree of all weights at one goal, its subtrees being grown by several workers at a time.

The caller begins alone; what it hands back after a moment, and what other tasks hand back (`tasks`), become tasks of their own, the largest
boxes first. The trees of all tasks, joined in preorder, are one tree.
"""

from __future__ import annotations

import heapq
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ....protocol.crew import Crew
from ....protocol.result import Status
from ....protocol.tasks import TaskRecord, TasksUnderWay
from .tasks import GrowingBox, GrownBox, Rule, TreeOrders, WholeBox, WholeWork, grow_box

ALONE_CHUNKS = 5
"""Chunks of boxes, about 0.5 s, that the caller visits by itself before it asks others: setting up processes takes longer."""

LEAST_CHUNKS, MOST_CHUNKS = 4, 100
"""Budgets of tasks in chunks of boxes: about 0.4 s, far above what it takes to hand out a task, and about 10 s, all that is lost with a worker."""

TASKS_PER_WORKER = 16
"""A budget is at most this fraction (one in so many) of a worker's work in this pass so far: the wait for the last task is bounded by it."""


class TreeHost(Protocol):
    """The search that a pass belongs to. `under_way`: boxes that the caller's own task has visited so far."""

    work: WholeWork
    best: Fraction | None
    nodes: int
    under_way: int
    log: list[TaskRecord]

    def offer(self, loss: Fraction, rule: Rule) -> None:
        """Make the rule the incumbent if it costs less."""
        ...

    def stop(self) -> Status | None:
        """The limit that is reached, if one is."""
        ...

    def seconds_left(self) -> float:
        """Until the time limit."""
        ...

    def shared(self, crew: Crew) -> object:
        """The crew's token of `work`."""
        ...

    def tell(self) -> None:
        """Report the state of the search."""
        ...


class _Polled(TreeOrders):
    """Orders of a task in the caller's own thread, which asks whether to stop itself."""

    def __init__(self, host: TreeHost) -> None:
        super().__init__(host.best)
        self._host = host

    def end(self, task: GrowingBox) -> bool:
        """Ask the caller."""
        host = self._host
        host.under_way = task.nodes
        if task.rule is not None and task.best is not None:
            host.offer(task.best, task.rule)
        return host.stop() is not None


class TreePass:
    """One pass at a share of the incumbent's cost. When it is complete every leaf of the tree `ops()` reaches `target`, in counts."""

    def __init__(self, search: TreeHost, share: Fraction) -> None:
        self.search, self.share = search, share
        self.target = search.work.goal(share, search.best)
        self._first = len(search.log)
        self._trees: dict[int, tuple[NDArray[np.uint8], list[int]]] = {}  # ops of a task, tasks of what it handed back
        self._boxes: dict[int, WholeBox] = {}
        self._parents: dict[int, int] = {}
        self._todo: list[tuple[float, int]] = []
        self._nodes = 0
        self._orders = TreeOrders(search.best)

    def run(self, root: WholeBox, crew: Crew | None) -> Status | None:
        """Close all boxes; why it was stopped, if it was."""
        search = self.search
        budget = None if crew is None else ALONE_CHUNKS * search.work.chunk
        grown = grow_box(search.work, root, self.share, budget, _Polled(search))
        search.under_way = 0
        self._boxes[0] = root
        self._take(0, grown)
        if grown.is_over:
            return search.stop()
        return None if crew is None or not self._todo else self._run_at_once(crew)

    def _run_at_once(self, crew: Crew) -> Status | None:
        search = self.search
        tasks: TasksUnderWay[int] = TasksUnderWay(crew, search.shared(crew))
        try:
            while self._todo or len(tasks):
                while self._todo and tasks.has_room:
                    number = heapq.heappop(self._todo)[1]
                    orders = self._orders if crew.sees_memory else TreeOrders(search.best, search.seconds_left())
                    tasks.submit(number, grow_box, self._boxes[number], self.share, self._budget(crew), orders)
                for number, grown in tasks.answers():
                    self._take(number, grown)
                search.tell()
                stopped = search.stop()
                if stopped is not None:
                    return stopped
            return None
        finally:
            self._orders.stopped = True
            tasks.recall()

    def _budget(self, crew: Crew) -> int:
        """Boxes of the next task."""
        chunk = self.search.work.chunk
        return min(MOST_CHUNKS * chunk, max(LEAST_CHUNKS * chunk, self._nodes // (crew.workers * TASKS_PER_WORKER)))

    def _take(self, number: int, grown: GrownBox) -> None:
        """The tree of a task, and the boxes that it handed back as tasks to come."""
        search = self.search
        if grown.rule is not None and grown.best is not None:
            search.offer(grown.best, grown.rule)
        self._orders.lower(search.best)
        self.target = min(self.target, grown.goal, grown.least)
        search.nodes += grown.nodes
        self._nodes += grown.nodes
        parent = self._parents.get(number, -1)
        search.log.append(TaskRecord(self._first, number, parent, round(grown.cpu, 4), grown.nodes))
        children = []
        for box in grown.rest:
            child = len(self._boxes)
            self._boxes[child], self._parents[child] = box, number
            heapq.heappush(self._todo, (-float(np.log2(box.high - box.low + 1.0).sum()), child))
            children.append(child)
        self._trees[number] = grown.ops, children

    def ops(self) -> NDArray[np.uint8]:
        """The whole tree in preorder."""
        found, waiting = [], [0]
        while waiting:
            ops, children = self._trees[waiting.pop()]
            found.append(ops)
            waiting += children[::-1]
        return np.concatenate(found)
