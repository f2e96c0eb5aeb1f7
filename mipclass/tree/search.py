"""Branch and bound: depth first (the paper's order, little memory) or best bound first."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..protocol.result import Status
from ..protocol.run import Run
from .rules import FREE, Decisions, Incumbent, Rules

REPORT_SECONDS = 0.1
"""Seconds between two reports of bound and nodes."""
EQUAL = 1e-9
"""Bounds and objectives that differ by at most this fraction of the objective count as equal where no granularity is known."""
ROUND_UP = 1e-6
"""A bound above a multiple of the granularity by at most this fraction of it counts as that multiple."""


@dataclass(frozen=True)
class Explored:
    """What a search found. status OPTIMAL: nothing better than `best` (within the gap) is left.

    tree : networkx DiGraph of the nodes when asked for. Node attributes: `depth`, `bound`, `fate` ("branched", "pruned",
    "infeasible", "leaf", "open") and, where an incumbent was found, `objective`; edge attributes: `decision`, `value`.
    """

    status: Status
    best: Incumbent | None
    bound: float
    nodes: int
    tree: Any = None


@dataclass(order=True)
class _OpenNode:
    """An open node; the order is that of a best-bound heap (ties: the newest, that is the deepest, first)."""

    bound: float
    age: int
    fixed: Decisions = field(compare=False)
    changed: int | None = field(compare=False, default=None)
    parent: int | None = field(compare=False, default=None)


def search(
    rules: Rules,
    run: Run,
    *,
    first: Incumbent | None = None,
    order: Literal["depth", "best"] = "depth",
    node_limit: int | None = None,
    keep_tree: bool = False,
    granularity: float = 0.0,
) -> Explored:
    """Minimise over all decisions.

    Parameters
    ----------
    first : an incumbent to begin with.
    granularity : objectives are multiples of this number (1 for whole weights), so a bound may be rounded up; 0: unknown.
    """
    return _TreeSearch(rules, run, first, order, node_limit, keep_tree, granularity).run_all()


class _TreeSearch:
    """One search: its rules, its open nodes, its incumbent and, when asked for, the graph of its nodes."""

    def __init__(
        self,
        rules: Rules,
        run: Run,
        first: Incumbent | None,
        order: str,
        node_limit: int | None,
        keep_tree: bool,
        granularity: float,
    ) -> None:
        self.rules, self.run, self.best, self.order = rules, run, first, order
        self.node_limit, self.granularity = node_limit, granularity
        self.graph = _new_graph() if keep_tree else None
        self.open: list[_OpenNode] = []
        self.nodes = 0
        self.created = 0
        self.last_report = -np.inf
        self.least_pruned = (
            np.inf
        )  # with a gap allowed, nodes are pruned below the incumbent: the bound must cover them

    def run_all(self) -> Explored:
        """Visit nodes until none is open or a limit is reached."""
        self._push(_OpenNode(-np.inf, 0, np.full(self.rules.n, FREE, dtype=np.int8)))
        status: Status | None = None
        while self.open and status is None:
            node = self._pop()
            if self._hopeless(node.bound):
                self._prune(self._add(node), node.bound)
            else:
                self._visit(node)
            status = self._limits()
        for node in self.open:
            self._note(self._add(node), "open", node.bound)
        bound = self._bound()
        if status is not None and not self.open:
            status = None
        return Explored(status or Status.OPTIMAL, self.best, bound, self.nodes, self.graph)

    def _visit(self, node: _OpenNode) -> None:
        self.nodes += 1
        name = self._add(node)
        fixed = self.rules.propagate(node.fixed, node.changed)
        if fixed is None:
            self._note(name, "infeasible", np.inf)
            return
        self.rules.separate(fixed)
        bound = max(node.bound, self._rounded(self.rules.bound(fixed)))
        if self._hopeless(bound):
            self._prune(name, bound)
            return
        found = self.rules.incumbent(fixed)
        if found is not None and (self.best is None or found.objective < self.best.objective):
            self.best = found
            self.run.report(objective=found.objective, nodes=self.nodes)
            if self.graph is not None:
                self.graph.nodes[name]["objective"] = found.objective
        chosen = self.rules.branch(fixed)
        if chosen is None:
            self._note(name, "leaf", bound)
            return
        self._note(name, "branched", bound)
        decision, value = chosen
        for v in (1 - value, value):  # the last one pushed is the first one visited
            child = fixed.copy()
            child[decision] = v
            self._push(_OpenNode(bound, 0, child, decision, name))

    def _push(self, node: _OpenNode) -> None:
        self.created -= 1
        node.age = self.created
        if self.order == "best":
            heapq.heappush(self.open, node)
        else:
            self.open.append(node)

    def _pop(self) -> _OpenNode:
        return heapq.heappop(self.open) if self.order == "best" else self.open.pop()

    def _rounded(self, bound: float) -> float:
        if self.granularity <= 0 or not np.isfinite(bound):
            return bound
        return float(np.ceil(bound / self.granularity - ROUND_UP) * self.granularity)

    def _hopeless(self, bound: float) -> bool:
        if self.best is None:
            return bool(bound == np.inf)
        return bound >= self.best.objective - self.run.gap * abs(self.best.objective) - self._rounding()

    def _prune(self, name: int, bound: float) -> None:
        self.least_pruned = min(self.least_pruned, bound)
        self._note(name, "pruned", bound)

    def _bound(self) -> float:
        best = np.inf if self.best is None else self.best.objective
        left = min([node.bound for node in self.open], default=best)
        return float(min(left, self.least_pruned) if self.least_pruned < best - self._rounding() else left)

    def _rounding(self) -> float:
        """By how much a bound may lie below the incumbent's objective and still be called equal to it."""
        if self.best is None:
            return 0.0
        return ROUND_UP * self.granularity if self.granularity > 0 else EQUAL * abs(self.best.objective)

    def _limits(self) -> Status | None:
        if self.node_limit is not None and self.nodes >= self.node_limit:
            return Status.NODE_LIMIT
        now = self.run.seconds()
        if now - self.last_report >= REPORT_SECONDS:
            self.last_report = now
            bound = self._bound()
            self.run.report(bound=bound if np.isfinite(bound) else None, nodes=self.nodes)
        return self.run.stop()

    def _add(self, node: _OpenNode) -> int:
        name = -node.age - 1
        if self.graph is not None:
            depth = 0 if node.parent is None else self.graph.nodes[node.parent]["depth"] + 1
            self.graph.add_node(name, depth=depth, bound=node.bound, fate="open")
            if node.parent is not None and node.changed is not None:
                self.graph.add_edge(node.parent, name, decision=node.changed, value=int(node.fixed[node.changed]))
        return name

    def _note(self, name: int, fate: str, bound: float) -> None:
        if self.graph is not None:
            self.graph.nodes[name].update(fate=fate, bound=bound)


def _new_graph() -> Any:
    import networkx as nx

    return nx.DiGraph()
