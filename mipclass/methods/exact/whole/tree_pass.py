"""One pass of a search over whole weights: the tree of all weights at one goal, its subtrees being grown by several workers at a time.

The caller begins alone; what it hands back after a moment, and what other tasks hand back (`tasks`), become tasks of their own, the largest
boxes first. The trees of all tasks, joined in preorder, are one tree. Where the trees are kept on disk, a caller without workers goes on
with one task after the other.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Protocol

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

    def keep(self, tree: TreePass) -> None:
        """Write the state to disk, if it is kept there and the last one is old."""
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

    def run(self, root: WholeBox, crew: Crew | None, in_pieces: bool) -> Status | None:
        """Close all boxes; why it was stopped, if it was.

        in_pieces : without a crew too the caller hands boxes back to itself, so that trees can be kept.
        """
        if not self._boxes:
            self._boxes[0] = root
            stopped = self._grow_here(0, crew, in_pieces)
            if stopped is not None:
                return stopped
        if crew is not None:
            return self._run_at_once(crew) if self._todo else None
        while self._todo:
            stopped = self._grow_here(heapq.heappop(self._todo)[1], crew, in_pieces)
            if stopped is not None:
                return stopped
        return None

    def _grow_here(self, number: int, crew: Crew | None, in_pieces: bool) -> Status | None:
        """Grow a box in this thread; why it was stopped, if it was."""
        search = self.search
        budget = None
        if crew is not None or in_pieces:
            budget = search.work.chunk * (MOST_CHUNKS if crew is None else ALONE_CHUNKS)
        grown = grow_box(search.work, self._boxes[number], self.share, budget, _Polled(search))
        search.under_way = 0
        self._take(number, grown)
        return search.stop() if grown.is_over else None

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
            self._put(child)
            children.append(child)
        self._trees[number] = grown.ops, children
        search.keep(self)

    def state(self) -> dict[str, Any]:
        """What a later process needs to go on, as arrays; boxes under way count as not begun."""
        count = len(self._boxes)
        ops = [self._trees[k][0] if k in self._trees else np.zeros(0, np.uint8) for k in range(count)]
        children = [self._trees[k][1] if k in self._trees else [] for k in range(count)]
        return {
            "share": np.array([self.share.numerator, self.share.denominator]),
            "pass_target": np.array(self.target),
            "is_done": np.array([k in self._trees for k in range(count)], dtype=bool),
            "low": np.array([box.low for box in self._boxes.values()], dtype=np.int64),
            "high": np.array([box.high for box in self._boxes.values()], dtype=np.int64),
            "sizes": np.array([len(part) for part in ops], dtype=np.int64),
            "ops": np.concatenate([np.zeros(0, np.uint8), *ops]),
            "n_children": np.array([len(part) for part in children], dtype=np.int64),
            "children": np.array([child for part in children for child in part], dtype=np.int64),
        }

    @classmethod
    def resumed(cls, search: TreeHost, state: Mapping[str, Any]) -> TreePass:
        """The pass of an earlier process."""
        made = cls(search, Fraction(*state["share"].tolist()))
        made.target = min(made.target, int(state["pass_target"]))
        made._boxes = {k: WholeBox(*pair) for k, pair in enumerate(zip(state["low"], state["high"], strict=True))}
        ops = np.split(state["ops"], np.cumsum(state["sizes"])[:-1])
        children = np.split(state["children"], np.cumsum(state["n_children"])[:-1])
        for k, is_done in enumerate(state["is_done"].tolist()):
            if is_done:
                made._trees[k] = ops[k], children[k].tolist()
                made._parents.update(dict.fromkeys(children[k].tolist(), k))
                made._nodes += len(ops[k])
            else:
                made._put(k)
        return made

    def _put(self, number: int) -> None:
        """Among the boxes to grow, the largest first."""
        box = self._boxes[number]
        heapq.heappush(self._todo, (-float(np.log2(box.high - box.low + 1.0).sum()), number))

    def ops(self) -> NDArray[np.uint8]:
        """The whole tree in preorder."""
        found, waiting = [], [0]
        while waiting:
            ops, children = self._trees[waiting.pop()]
            found.append(ops)
            waiting += children[::-1]
        return np.concatenate(found)
