"""One task of branch and cut: a node and what is below it, within a budget of seconds; what is left is handed back as open leaves.

A task knows all supports that the search had found when it was handed out, and brings back those that it finds. Each worker keeps its linear
program from one task to the next, as a single thread keeps it from one node to the next: that saves time and changes no answer's meaning, so
that any thread, process or machine can carry out a task, twice if need be.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ....arrays import Array, Positions
from ....protocol.tasks import Orders
from .cover import CoverData
from .leaf_bounds import Called
from .row_store import PackedRows
from .separator import Support
from .tree import CoverNode, IISSearch


@dataclass(frozen=True, eq=False)
class NodeWork:
    """What all tasks of one search share."""

    data: CoverData


@dataclass(frozen=True, eq=False)
class NodeStart:
    """Where a task begins: the points that its node calls wrong and right, the supports found so far, which of them are refused, a point between
    the covers met so far, and the level above which it hands nodes back, since others are lower.

    rows, seed : for the first task of a worker, which of the supports its linear program has, and what its random costs begin with.
    """

    wrong: Called
    right: Called
    supports: PackedRows
    refused: Positions
    rows: Positions
    centre: Array
    level: int
    seed: int


@dataclass(frozen=True, eq=False)
class Subtree:
    """What a task brings back.

    root : its node, with the nodes below; the proofs of leaves number the supports in `supports`, which are those in use and all new ones.
    opened : leaves that it did not get to.
    unresolved : leaves whose cover is right though no rule in floats confirms it.
    exact, blurred : what is known about the supports, see `ExactSupports`.     W : a rule of cost `best`, if it found a better one.
    cpu : seconds of processor time.
    """

    root: CoverNode
    supports: list[Support]
    opened: list[CoverNode]
    unresolved: list[CoverNode]
    exact: dict[Support, list[int] | None]
    blurred: set[Support]
    best: int | None
    W: Array | None
    centre: Array
    nodes: int
    cpu: float

    def leaves(self) -> Iterator[CoverNode]:
        """The nodes without children."""
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node.children:
                stack += node.children
            else:
                yield node


class _Stop:
    """Asks the orders whether to stop, which is a limit and no pause, and passes a better incumbent on."""

    def __init__(self, search: IISSearch, orders: Orders[int | None]) -> None:
        self._search, self._orders, self._began = search, orders, time.monotonic()

    def __call__(self) -> bool:
        if self._orders.best is not None:
            self._search.look_below(self._orders.best)
        return self.limit()

    def limit(self) -> bool:
        """Whether the task should end."""
        return self._orders.is_over(time.monotonic() - self._began)


_KEPT = threading.local()
"""Of each thread of a worker: `worker`, see `_worker_for`."""


class _Worker:
    """A worker's search, and how many of the caller's supports it has taken over."""

    def __init__(self, work: NodeWork, seed: int) -> None:
        self.work = work
        self.search = IISSearch(work.data, seed=seed)
        self.taken = 0

    def begin(self, start: NodeStart) -> IISSearch:
        """The search at the start of a task, which may have been handed out before the last one."""
        search, master, is_new = self.search, self.search.master, self.taken == 0
        supports = start.supports.tuples(self.taken)
        master.remember([support for support in supports if support not in master.index])
        self.taken = max(self.taken, start.supports.n_rows)
        if len(start.refused):
            refused = [master.index[start.supports.row(k)] for k in start.refused.tolist()]
            master.refuse(np.array(refused, dtype=np.intp))
        if is_new:
            master.reload(start.rows)
        search.begin_below(start.wrong, start.right, start.centre)
        return search


def _worker_for(work: NodeWork, seed: int) -> _Worker:
    """The worker of this thread's last task, if that was of the same search, else a new one."""
    worker: _Worker | None = getattr(_KEPT, "worker", None)
    if worker is None or worker.work is not work:
        worker = _KEPT.worker = _Worker(work, seed)
    return worker


def set_up(work: NodeWork, seed: int) -> None:
    """Make a worker ready for its first task: import what that needs, and load the kernels."""
    _worker_for(work, seed)


def grow_subtree(work: NodeWork, start: NodeStart, budget: float, orders: Orders[int | None]) -> Subtree:
    """Process the node and those below it, lowest bound first, for about `budget` seconds of processor time, or until all are above the level of
    the start."""
    cpu = time.thread_time()
    search = _worker_for(work, start.seed).begin(start)
    known = len(search.master.supports)

    stop = _Stop(search, orders)
    while not stop() and not search.finished and search.lower <= start.level and search.step(stop):
        if search.best_W is not None:
            orders.lower(search.best)
        if time.thread_time() - cpu > budget:
            break
    return _brought_back(search, known, time.thread_time() - cpu)


def _brought_back(search: IISSearch, known: int, cpu: float) -> Subtree:
    """The tree of a task with those supports that its proofs use, and with the new ones: all but the first `known`."""
    used = set(range(known, len(search.master.supports)))
    stack, leaves = [search.root], []
    while stack:
        node = stack.pop()
        stack += node.children
        if node.children:
            node.proof = search.leaves.nothing()
        else:
            leaves.append(node)
            used.update(node.proof.supports.tolist())
    numbers = np.array(sorted(used - set(search.master.refused.tolist())), dtype=np.intp)
    for leaf in leaves:
        leaf.proof = replace(leaf.proof, supports=np.searchsorted(numbers, leaf.proof.supports))
    supports = [search.master.supports[k] for k in numbers.tolist()]
    exact = search.leaves.exact
    return Subtree(
        search.root,
        supports,
        search.opened(),
        search.unresolved,
        {support: exact.known[support] for support in supports if support in exact.known},
        exact.blurred.intersection(supports),
        search.best if search.best_W is not None else None,
        search.best_W,
        search.centre,
        search.nodes,
        cpu,
    )


def adopt(found: Subtree, node: CoverNode, search: IISSearch) -> None:
    """Put a subtree in the place of its node, with the search's numbers of its supports."""
    search.leaves.exact.known.update(found.exact)
    search.leaves.exact.blurred |= found.blurred
    master = search.master
    master.remember([support for support in found.supports if support not in master.index])
    numbers = np.array([master.index[support] for support in found.supports], dtype=np.intp)
    for leaf in found.leaves():
        leaf.proof = replace(leaf.proof, supports=numbers[leaf.proof.supports])
    if found.root.children or found.root.proof.bound > node.proof.bound:
        node.proof = found.root.proof
    node.point, node.children = found.root.point, found.root.children
