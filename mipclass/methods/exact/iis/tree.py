"""Branch and cut over covers at array level: anytime, with a proof at every leaf (`leaf_bounds`).

A node calls some points wrong (e_i = 1) and some right (e_i = 0). Its LP bounds the cost of every rule below it; new infeasible
subsystems cut the LP's cover off until that stops helping, and then the node is split on a point that the cover leaves open.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ....arrays import Array
from .cover import CoverData
from .leaf_bounds import LeafBounds, LeafProof
from .master import Master, Relaxation
from .offsets import with_best_offset
from .root import MOST_POINTS, RootCuts
from .rules import widest_rules
from .separator import Separator, choose

Stop = Callable[[], object]

CUTS_PER_ROUND = 200
"""Rows added in one round at a node; half the number of points where that is more."""

REUSE = 12
"""New supports of one round that may share a point."""

CENTRE_STEP = 0.2
"""Weight of the newest cover in the running mean of covers, between which and the newest one random costs are drawn."""

PATIENCE, LARGE_PATIENCE = 6, 30
"""Rounds over which the LP's value must rise; more at the root of large problems, which had no cuts from interior points."""

ROOT_RISE, NODE_RISE = 0.02, 0.05
"""Least rise of the LP's value over these rounds, as a fraction of a typical cost, at the root and at other nodes."""

WHOLE = 1e-6
"""Distance from 0 or 1 up to which an entry of a cover counts as whole: the LP's feasibility tolerance."""

FIRST_LOOKS, FEWEST_LOOKS, MOST_LOOKS = 8, 8, 256
"""Walks of the separating simplex in a round: at first, at least and at most. They double when fewer than NEW_ROWS rows were new."""

NEW_ROWS = 5
"""New rows in a round below which the next one looks longer."""

CLOSED_BITS = 36
"""A bound counts as the incumbent's loss when it is less than 2^-CLOSED_BITS of it away: with costs of many digits, multipliers of
linear programs prove no more. Where losses have fewer digits this is less than one unit, so that the bound has to meet the loss."""

OPEN_TIE = 1e-6
"""Weight of the cover itself in the choice of the branching point: it breaks ties among whole entries."""


def limits_of(stop: Stop) -> Stop:
    """The limits within a turn of a race (`race`), none for another `stop`: a search that only pauses writes its proofs to the end."""
    limit: Stop = getattr(stop, "limit", lambda: False)
    return limit


@dataclass(eq=False)
class CoverNode:
    """A leaf or a branching of the tree. `children` are (point called wrong, point called right)."""

    wrong: tuple[int, ...]
    right: tuple[int, ...]
    proof: LeafProof
    point: int = -1
    children: list[CoverNode] = field(default_factory=list)

    @property
    def bound(self) -> int:
        """What every rule below the node costs at least."""
        return self.proof.bound


def closed_within(loss: int) -> int:
    """Units by which a bound may lie below a loss and still prove it, see CLOSED_BITS."""
    return loss >> CLOSED_BITS


class IISSearch:
    """Anytime branch and cut; `lower` and `best` in the data's units, without its constant."""

    def __init__(self, data: CoverData, W: Array | None = None, *, seed: int = 0) -> None:
        self.data = data
        self.separator = Separator(data, seed)
        self.master = Master(data)
        self.leaves = LeafBounds(data, self.master)
        self.root_cuts = RootCuts(data, self.separator, self.master)
        self.best: int | None = None
        self.best_W: Array | None = None
        self.centre = np.zeros(data.n)
        self.root = CoverNode((), (), self.leaves.nothing())
        self._open: list[tuple[int, int, CoverNode]] = [(0, 0, self.root)]
        self._least_closed: int | None = (
            None  # bound of a node that was closed though its bound is below the incumbent's loss
        )
        self.unresolved: list[CoverNode] = []  # leaves whose cover is right though no rule in floats confirms it
        self._elsewhere: list[CoverNode] = []  # nodes that other workers process
        self._order = 0
        self.nodes = 0
        self.infeasible = False
        self._settled = False
        self._typical_cost = data.typical_cost
        self.looks = FIRST_LOOKS
        if W is not None:
            self.offer(W)

    @property
    def lower(self) -> int:
        """The least bound of an open or unresolved node, at most the incumbent's loss; proven at any time."""
        left = [node.bound for _, _, node in self._open] + [node.bound for node in (*self.unresolved, *self._elsewhere)]
        left += [] if self._least_closed is None else [self._least_closed]
        return min(left if self.best is None else [*left, self.best], default=0)

    @property
    def finished(self) -> bool:
        """Nothing is left to search; only unresolved leaves can then keep `lower` below the incumbent."""
        return not self._open or all(self._is_closed(node) for _, _, node in self._open)

    def _is_closed(self, node: CoverNode) -> bool:
        """Whether the node's bound meets the incumbent's loss."""
        return self.best is not None and node.bound >= self.best - closed_within(self.best)

    def offer(self, W: Array) -> bool:
        """Take W, or W with a better offset, as incumbent when it is feasible and cheaper."""
        improved = False
        for candidate in (W, with_best_offset(self.data, W)):
            if candidate is None or not np.isfinite(candidate).all() or not self.data.is_feasible(candidate):
                continue
            loss = self.data.loss(candidate)
            if self.best is None or loss < self.best:
                self.best, self.best_W = loss, np.array(candidate)
                improved = True
        return improved

    def look_below(self, cost: int) -> None:
        """Look for no rule that costs so much or more: the search ends once none costs less, with or without an incumbent."""
        self.best = cost if self.best is None else min(self.best, cost)

    def settle(self, W: Array) -> None:
        """Take W in place of the incumbent when it is feasible and costs no more; asked once, for a rule with wider margins."""
        if self._settled or self.best is None or not self.data.is_feasible(W) or self.data.loss(W) > self.best:
            return
        self.best, self.best_W, self._settled = self.data.loss(W), np.array(W), True

    def advance(self, stop: Stop, on_progress: Callable[[], None] | None = None) -> None:
        """Process open nodes, lowest bound first, until the bound meets the incumbent or `stop()`."""
        while not self.finished:
            if stop() or not self.step(stop, on_progress):
                return
        self.conclude()

    def conclude(self) -> None:
        """Nothing is left to search: without a rule, and without doubtful leaves, none is feasible."""
        if not self._open and not self._elsewhere and not self.unresolved and self.best is None:
            self.infeasible = True

    def step(self, stop: Stop, on_progress: Callable[[], None] | None = None) -> bool:
        """Process the open node with the lowest bound; False when stopped."""
        _, _, node = self._open[0]
        settled = self._process(node, stop, on_progress)
        if on_progress is not None:
            on_progress()
        if not settled:
            return False
        heapq.heappop(self._open)
        if self._is_closed(node):
            self._note_closed(node)
            return True
        if node.point < 0:
            return True
        for wrong, right in (((*node.wrong, node.point), node.right), (node.wrong, (*node.right, node.point))):
            child = CoverNode(wrong, right, self._inherit(node, wrong, right))
            node.children.append(child)
            self._push(child)
        return True

    def _push(self, node: CoverNode) -> None:
        self._order += 1
        heapq.heappush(self._open, (node.bound, self._order, node))

    # -- nodes that other workers process -----------------------------------------------------------------------------

    def begin_below(self, wrong: tuple[int, ...], right: tuple[int, ...], centre: Array) -> None:
        """Search below a node alone, without an incumbent, with the supports and the linear program at hand."""
        self.root_cuts.done = True
        self.centre = centre.copy()
        self.root = CoverNode(wrong, right, self.leaves.nothing())
        self._open, self._order = [(0, 0, self.root)], 0
        self.unresolved, self._least_closed = [], None
        self.best, self.best_W = None, None
        self.nodes = 0

    def go_on_from(self, tree: tuple[CoverNode, list[CoverNode], list[CoverNode]]) -> None:
        """Replace the tree: its root, the leaves that are open or closed, and those that are unresolved."""
        self.root, leaves, self.unresolved = tree
        self._open = []
        for leaf in leaves:
            if self._is_closed(leaf):
                self._note_closed(leaf)
            else:
                self._push(leaf)

    def _note_closed(self, node: CoverNode) -> None:
        self._least_closed = min(node.bound, node.bound if self._least_closed is None else self._least_closed)

    def opened(self) -> list[CoverNode]:
        """The nodes that are not processed."""
        return [node for _, _, node in self._open]

    def level(self, rank: int) -> int:
        """The bound of the node of this rank, counted from one, among those that are open or processed elsewhere, lowest first; of the last one if
        there are fewer."""
        bounds = [node.bound for _, _, node in self._open] + [node.bound for node in self._elsewhere]
        return heapq.nsmallest(rank, bounds)[-1]

    def hand_out(self) -> CoverNode:
        """The open node with the lowest bound, which another worker takes over until `take_back` or `put_back`."""
        node = heapq.heappop(self._open)[2]
        self._elsewhere.append(node)
        return node

    def take_back(self, node: CoverNode, opened: list[CoverNode], unresolved: list[CoverNode]) -> None:
        """The node comes back with what is below it: leaves that are open, leaves that are unresolved, and others, which are closed."""
        self._elsewhere.remove(node)
        self.unresolved += unresolved
        kept, stack = {*opened, *unresolved}, [node]
        while stack:
            below = stack.pop()
            stack += below.children
            if not below.children and below not in kept and self._is_closed(below):
                self._note_closed(below)
        for leaf in opened:
            self._push(leaf)

    def put_back(self) -> None:
        """Nodes that come back as they were: nobody processes them any more."""
        for node in self._elsewhere:
            self._push(node)
        self._elsewhere = []

    def _inherit(self, node: CoverNode, wrong: tuple[int, ...], right: tuple[int, ...]) -> LeafProof:
        """The parent's multipliers hold at a child as well."""
        proof = node.proof
        return self.leaves.sealed(proof.supports, proof.v, proof.mu, wrong, right)

    def _process(self, node: CoverNode, stop: Stop, on_progress: Callable[[], None] | None) -> bool:
        """Cut at a node until it is pruned or cuts stop helping, then choose a branching point. False when stopped."""
        master = self.master
        self.nodes += 1
        master.fix(np.array(node.wrong, dtype=np.intp), np.array(node.right, dtype=np.intp))
        is_root = not node.wrong and not node.right
        if is_root and not self.cut_root(stop, on_progress):
            return False
        if self._is_closed(node):
            return True
        history: list[float] = []
        while True:
            relaxed = master.solve()
            if relaxed is None:
                return False
            self._record(node, relaxed, stop)
            if relaxed.cover is None:
                return not limits_of(stop)()  # a limit may have left too little of the proof
            if self._is_closed(node):
                return True
            cover = relaxed.cover
            history.append(relaxed.value)
            self.centre = (
                cover.copy() if len(history) == 1 and is_root else (1 - CENTRE_STEP) * self.centre + CENTRE_STEP * cover
            )
            if on_progress is not None:
                on_progress()
            if stop():
                return False
            patience = LARGE_PATIENCE if is_root and self.data.n > MOST_POINTS else PATIENCE
            rise = (ROOT_RISE if is_root else NODE_RISE) * self._typical_cost
            stalled = len(history) > patience and history[-1] - history[-1 - patience] < rise
            added = 0 if stalled else self._cut(cover, node)
            if added == 0:
                whole = np.all((cover < WHOLE) | (cover > 1 - WHOLE))
                if whole:
                    supports, _, W = self.separator.minimise(np.round(cover), np.round(cover), 0.5)
                    for rule in [W, *widest_rules(self.data, cover < 0.5)]:
                        self.offer(rule)
                    if self._is_closed(node):
                        return True
                    if master.add(supports):
                        continue
                node.point = self._branching_point(cover, node)
                if node.point < 0:
                    self.unresolved.append(node)
                return True

    def cut_root(self, stop: Stop, on_progress: Callable[[], None] | None) -> bool:
        """All that cuts from the middle of the covers give at the root; False when stopped."""

        def enough(relaxed: Relaxation) -> bool:
            self._record(self.root, relaxed, stop)
            if on_progress is not None:
                on_progress()
            return self._is_closed(self.root)

        return self.root_cuts.advance(stop, enough, self._offer_some)

    def _offer_some(self, rules: list[Array]) -> None:
        for W in rules[: 1 + len(rules) // 4]:
            self.offer(W)

    def _cut(self, cover: Array, node: CoverNode) -> int:
        """One round: rows of the pool, then new supports by the simplex; how many rows were added."""
        at_most = max(CUTS_PER_ROUND, self.data.n // 2)
        recalled = self.master.recall(cover, at_most)
        if recalled >= at_most // 4:
            return recalled
        found, rules = self.separator.violated(cover, self.centre, self.looks, enough=at_most * 3 // 2)
        self._offer_some(rules)
        kept = choose([s for s in found if s not in self.master.index], cover, self.data.n, at_most, REUSE)
        added = self.master.add(kept)
        self.looks = min(MOST_LOOKS, self.looks * 2) if added < NEW_ROWS else max(FEWEST_LOOKS, self.looks // 2)
        if added == 0 and recalled == 0 and self.looks < MOST_LOOKS and not node.wrong and not node.right:
            return self._cut(cover, node)
        return added + recalled

    def _branching_point(self, cover: Array, node: CoverNode) -> int:
        """The free point the cover leaves most open; -1 when all are fixed."""
        free = np.ones(self.data.n, dtype=bool)
        free[list(node.wrong)] = False
        free[list(node.right)] = False
        score = np.where(
            free, np.minimum(cover, 1 - cover) * (self.data.costs / self._typical_cost) + OPEN_TIE * cover, -1.0
        )
        return int(np.argmax(score)) if free.any() else -1

    def _record(self, node: CoverNode, relaxed: Relaxation, stop: Stop) -> None:
        """Keep the LP's multipliers at the node when they prove more than what it has."""
        node.proof = self.leaves.better(node.proof, relaxed, node.wrong, node.right, limits_of(stop))
