"""Branch and cut with several workers: open nodes, lowest bound first, become tasks that bring back the trees below them (`subtrees`).

Every node below the incumbent's cost has to be processed in any order, so that little is done in vain. What one worker finds out about infeasible
subsystems, the others know from their next task on: tasks that do not share them need several times the nodes.
"""

from __future__ import annotations

from collections.abc import Callable

from ....protocol.crew import Crew
from ....protocol.tasks import Orders, SettingUp, TaskRecord, TasksUnderWay
from .row_store import RowStore
from .subtrees import NodeStart, NodeWork, Subtree, adopt, grow_subtree, set_up
from .tree import CoverNode, IISSearch

ALONE_SECONDS = 1.0
"""Seconds of a search after which its workers are set up; until they are ready the caller processes nodes by itself."""

LEAST_SECONDS, MOST_SECONDS = 2.0, 20.0
"""Budgets of tasks in processor seconds: far above the time to hand out a task, and all that is lost with a worker."""

TASKS_PER_WORKER = 16
"""A budget is at most this fraction (one in so many) of a worker's seconds so far: the wait for the last task is bounded by it."""

NODES_PER_WORKER = 2
"""A task hands back nodes above the bound of the node of this rank per worker, lowest first: others are to be processed before them."""


class NodesAtOnce:
    """The tasks of one search."""

    def __init__(self, search: IISSearch, crew: Crew, seconds_left: Callable[[], float]) -> None:
        self.search, self._seconds_left = search, seconds_left
        self._setting_up = SettingUp(crew, NodeWork(search.data), set_up, [(k,) for k in range(crew.workers)])
        self._tasks: TasksUnderWay[tuple[int, CoverNode]] = TasksUnderWay(crew, self._setting_up.token)
        self._supports = RowStore()  # the search's, as tasks are told them
        self._origin: dict[CoverNode, int] = {}  # node -> the task that brought it back
        self._seconds = 0.0
        self._number = 0
        self.log: list[TaskRecord] = []

    @property
    def is_ready(self) -> bool:
        """Whether the workers are set up."""
        return self._setting_up.is_over

    def advance(self, stop: Callable[[], object], on_progress: Callable[[], None] | None) -> None:
        """Until the bound meets the incumbent or `stop()`."""
        search, tasks = self.search, self._tasks
        orders: Orders[int | None] = Orders(search.best)
        try:
            while not stop():
                while tasks.has_room and not search.finished:
                    self._hand_out(orders)
                if not len(tasks):
                    search.conclude()
                    return
                for (number, node), found in tasks.answers():
                    self._take(number, node, found)
                orders.lower(search.best)
                if on_progress is not None:
                    on_progress()
        finally:
            orders.stopped = True
            tasks.recall()
            for (number, node), found in tasks.answers():
                self._take(number, node, found)
            search.put_back()

    def _hand_out(self, orders: Orders[int | None]) -> None:
        """Make a task of the open node with the lowest bound."""
        search, crew = self.search, self._tasks.crew
        node = search.hand_out()
        self._supports.append(search.master.supports[len(self._supports) :])
        known = (self._supports.packed(), search.master.refused, search.master.rows)
        level = max(node.bound, search.level(NODES_PER_WORKER * crew.workers))
        start = NodeStart(node.wrong, node.right, *known, search.centre, level, self._number)
        own = orders if crew.sees_memory else Orders(search.best, self._seconds_left())
        budget = min(MOST_SECONDS, max(LEAST_SECONDS, self._seconds / (crew.workers * TASKS_PER_WORKER)))
        self._tasks.submit((self._number, node), grow_subtree, start, budget, own)
        self._number += 1

    def _take(self, number: int, node: CoverNode, found: Subtree) -> None:
        """Put what a task found in its place."""
        search = self.search
        self.log.append(TaskRecord(0, number, self._origin.pop(node, -1), round(found.cpu, 4), found.nodes))
        self._seconds += found.cpu
        search.nodes += found.nodes
        search.centre = found.centre
        if found.W is not None:
            search.offer(found.W)
        adopt(found, node, search)
        # The caller's own node stands for the root of the subtree.
        opened, unresolved = (
            [node if leaf is found.root else leaf for leaf in leaves] for leaves in (found.opened, found.unresolved)
        )
        search.take_back(node, opened, unresolved)
        for leaf in opened:
            self._origin[leaf] = number
