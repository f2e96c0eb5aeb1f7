"""One task of branch and cut: a node and what is below it, within a budget of seconds; what is left is handed back as open leaves.

A task has a linear program of its own, which begins with the supports that were useful near the node. It is a function of its arguments
alone, so that any thread, process or machine can carry it out, twice if need be.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ....arrays import Array, Positions
from ....protocol.tasks import Orders
from .cover import CoverData
from .leaf_bounds import Called
from .separator import Support
from .tree import CoverNode, IISSearch


@dataclass(frozen=True, eq=False)
class NodeStart:
    """Where a task begins: the points that its node calls wrong and right, supports for its first linear program, a point between the
    covers met so far, and the seed of its random costs."""

    wrong: Called
    right: Called
    supports: list[Support]
    centre: Array
    seed: int


@dataclass(frozen=True, eq=False)
class Subtree:
    """What a task brings back.

    root : its node, with the nodes below; the proofs of leaves number the supports in `supports`.
    rows : which of these the last linear program had.     opened : leaves that it did not get to.
    unresolved : leaves whose cover is right though no rule in floats confirms it.
    exact, blurred : what is known about the supports, see `ExactSupports`.     W : a rule of cost `best`, if it found a better one.
    cpu : seconds of processor time.
    """

    root: CoverNode
    supports: list[Support]
    rows: Positions
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


def grow_subtree(data: CoverData, start: NodeStart, budget: float, orders: Orders[int | None]) -> Subtree:
    """Process the node and those below it, lowest bound first, for about `budget` seconds of processor time."""
    cpu = time.thread_time()
    search = IISSearch(data, seed=start.seed)
    search.begin_below(start.wrong, start.right, start.supports, start.centre)

    stop = _Stop(search, orders)
    while not stop() and not search.finished and search.step(stop):
        if search.best_W is not None:
            orders.lower(search.best)
        if time.thread_time() - cpu > budget:
            break
    return _brought_back(search, time.thread_time() - cpu)


def _brought_back(search: IISSearch, cpu: float) -> Subtree:
    """The tree of a task with only those supports that its proofs or its linear program use."""
    used = set(search.master.rows.tolist())
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
        np.flatnonzero(np.isin(numbers, search.master.rows)),
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


def adopt(found: Subtree, node: CoverNode, search: IISSearch) -> Positions:
    """Put a subtree in the place of its node, with the search's numbers of its supports; the numbers of those in its last linear program."""
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
    return numbers[found.rows]
