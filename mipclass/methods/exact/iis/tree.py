"""iis at array level: branch and cut over covers, anytime, with a proof at every leaf.

A node calls some points wrong (e_i = 1) and some right (e_i = 0). Its bound comes from multipliers v >= 0 on supports and mu >= 0 on
limits with   sum_{I with i} v_I <= c_i + sum_k mu_k l_ki   for every free point i:

    cost >= sum_I v_I + sum_{i wrong} (c_i + sum_k mu_k l_ki - sum_{I with i} v_I) - sum_k mu_k at_most_k,

rounded up. LP duals are rounded to whole multiples of 1/scale and shrunk until the conditions hold exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from .cover import CoverData
from .master import Master, Relaxation
from .multipliers import ExactSupports
from .root import MOST_POINTS, RootCuts
from .rules import widest_rules
from .separator import Separator, choose

Stop = Callable[[], object]
CUTS_A_ROUND = 200


@dataclass(frozen=True, eq=False)
class LeafProof:
    """Multipliers numerators / scale: `v` for the supports with these numbers, `mu` for the limits."""

    supports: NDArray[np.intp]
    v: NDArray[np.int64]
    mu: NDArray[np.int64]
    bound: int


@dataclass(eq=False)
class Node:
    """A leaf or a branching of the tree. `children` are (point called wrong, point called right)."""

    wrong: tuple[int, ...]
    right: tuple[int, ...]
    proof: LeafProof
    point: int = -1
    children: list[Node] = field(default_factory=list)

    @property
    def bound(self) -> int:
        return self.proof.bound


class IISSearch:
    """Anytime branch and cut; `lower` and `best` in the data's units, without its constant."""

    def __init__(self, data: CoverData, W: Array | None = None, *, seed: int = 0) -> None:
        self.data = data
        self.separator = Separator(data, seed)
        self.exact = ExactSupports(data)
        self.master = Master(data)
        self.root_cuts = RootCuts(data, self.separator, self.master)
        total = int(data.costs.sum())
        self.scale = 1 << max(0, min(30, 52 - max(total, 1).bit_length()))
        self.best: int | None = None
        self.best_W: Array | None = None
        self.centre = np.zeros(data.n)
        nothing = LeafProof(np.zeros(0, np.intp), np.zeros(0, np.int64), np.zeros(len(data.limits), np.int64), 0)
        self.root = Node((), (), nothing)
        self._open: list[tuple[int, int, Node]] = [(0, 0, self.root)]
        self._unresolved: list[Node] = []  # leaves whose cover is right though no rule in floats confirms it
        self._order = 0
        self.nodes = 0
        self.infeasible = False
        self._settled = False
        self.rounds = 8
        if W is not None:
            self.offer(W)

    @property
    def lower(self) -> int:
        """The least bound of an open or unresolved node, at most the incumbent's loss; proven at any time."""
        left = [node.bound for _, _, node in self._open] + [node.bound for node in self._unresolved]
        return min(left if self.best is None else [*left, self.best], default=0)

    @property
    def finished(self) -> bool:
        """Nothing is left to search; only unresolved leaves can then keep `lower` below the incumbent."""
        best = self.best
        return not self._open or (best is not None and all(node.bound >= best for _, _, node in self._open))

    def offer(self, W: Array) -> bool:
        """Take W, or W with a better offset, as incumbent when it is feasible and cheaper."""
        improved = False
        for candidate in (W, self._best_offset(W)):
            if candidate is None or not np.isfinite(candidate).all() or not self.data.is_feasible(candidate):
                continue
            loss = self.data.loss(candidate)
            if self.best is None or loss < self.best:
                self.best, self.best_W = loss, np.array(candidate)
                improved = True
        return improved

    def settle(self, W: Array) -> None:
        """Take W in place of the incumbent when it is feasible and costs no more; asked once, for a rule with wider margins."""
        if self._settled or self.best is None or not self.data.is_feasible(W) or self.data.loss(W) > self.best:
            return
        self.best, self.best_W, self._settled = self.data.loss(W), np.array(W), True

    def _best_offset(self, W: Array) -> Array | None:
        """W with the offset that costs least among those that keep the limits; None without a free offset."""
        data = self.data
        if not data.n or data.sides or data.margin or data.Z.shape[1] < 2 or not (np.abs(data.Z[:, -1]) == 1).all():
            return None
        labels = data.Z[:, -1]
        products = (data.Z[:, :-1] * labels[:, None]) @ W[:-1]
        order = np.argsort(products, kind="stable")
        values, t = products[order], labels[order]
        # Threshold above the first k points: those are called negative, the rest positive.
        weights = [data.costs.astype(np.float64), *(coefficients for coefficients, _ in data.limits)]
        totals = []
        for weight in weights:
            c = weight[order]
            lost_low = np.concatenate([[0.0], np.cumsum(np.where(t > 0, c, 0.0))])
            lost_high = np.concatenate([np.cumsum(np.where(t < 0, c, 0.0)[::-1])[::-1], [0.0]])
            totals.append(lost_low + lost_high)
        allowed = np.ones(len(values) + 1, dtype=bool)
        allowed[1:-1] = values[1:] > values[:-1]
        for total, (_, at_most) in zip(totals[1:], data.limits, strict=True):
            allowed &= total <= at_most
        if not allowed.any():
            return None
        k = int(np.argmin(np.where(allowed, totals[0], np.inf)))
        span = max(1.0, float(np.abs(values).max()))
        low = values[k - 1] if k > 0 else values[0] - span
        high = values[k] if k < len(values) else values[-1] + span
        return np.append(W[:-1], -(low + high) / 2)

    def advance(self, stop: Stop, on_progress: Callable[[], None] | None = None) -> None:
        """Process open nodes, lowest bound first, until the bound meets the incumbent or `stop()`."""
        while not self.finished:
            if stop():
                return
            _, _, node = self._open[0]
            settled = self._process(node, stop, on_progress)
            if on_progress is not None:
                on_progress()
            if not settled:
                return
            heapq.heappop(self._open)
            if self.best is not None and node.bound >= self.best:
                continue
            if node.point < 0:
                continue
            for wrong, right in (((*node.wrong, node.point), node.right), (node.wrong, (*node.right, node.point))):
                child = Node(wrong, right, self._inherit(node, wrong, right))
                node.children.append(child)
                self._order += 1
                heapq.heappush(self._open, (child.bound, self._order, child))
        if not self._open and not self._unresolved and self.best is None:
            self.infeasible = True

    def _inherit(self, node: Node, wrong: tuple[int, ...], right: tuple[int, ...]) -> LeafProof:
        """The parent's multipliers hold at a child as well."""
        proof = node.proof
        return self.sealed(proof.supports, proof.v, proof.mu, wrong, right)

    def _process(self, node: Node, stop: Stop, on_progress: Callable[[], None] | None) -> bool:
        """Cut at a node until it is pruned or cuts stop helping, then choose a branching point. False when stopped."""
        master = self.master
        self.nodes += 1
        master.fix(np.array(node.wrong, dtype=np.intp), np.array(node.right, dtype=np.intp))
        is_root = node is self.root
        if is_root and not self.cut_root(stop, on_progress):
            return False
        if self.best is not None and node.bound >= self.best:
            return True
        history: list[float] = []
        while True:
            relaxed = master.solve()
            if relaxed is None:
                return False
            self._record(node, relaxed)
            if relaxed.cover is None:
                return True
            if self.best is not None and node.bound >= self.best:
                return True
            cover = relaxed.cover
            history.append(relaxed.value)
            self.centre = cover.copy() if len(history) == 1 and is_root else 0.8 * self.centre + 0.2 * cover
            if on_progress is not None:
                on_progress()
            if stop():
                return False
            patience = 30 if is_root and self.data.n > MOST_POINTS else 6
            stalled = len(history) > patience and history[-1] - history[-1 - patience] < (0.02 if is_root else 0.05)
            added = 0 if stalled else self._cut(cover, node)
            if added == 0:
                whole = np.all((cover < 1e-6) | (cover > 1 - 1e-6))
                if whole:
                    supports, _, W = self.separator.minimise(np.round(cover), np.round(cover), 0.5)
                    for rule in [W, *widest_rules(self.data, cover < 0.5)]:
                        self.offer(rule)
                    if self.best is not None and node.bound >= self.best:
                        return True
                    if master.add(supports):
                        continue
                node.point = self._branching_point(cover, node)
                if node.point < 0:
                    self._unresolved.append(node)
                return True

    def cut_root(self, stop: Stop, on_progress: Callable[[], None] | None) -> bool:
        """All that cuts from the middle of the covers give at the root; False when stopped."""

        def enough(relaxed: Relaxation) -> bool:
            self._record(self.root, relaxed)
            if on_progress is not None:
                on_progress()
            return self.best is not None and self.root.bound >= self.best

        return self.root_cuts.advance(stop, enough, self._offer_some)

    def _offer_some(self, rules: list[Array]) -> None:
        for W in rules[: 1 + len(rules) // 4]:
            self.offer(W)

    def _cut(self, cover: Array, node: Node) -> int:
        """One round: rows of the pool, then new supports by the simplex; how many rows were added."""
        at_most = max(CUTS_A_ROUND, self.data.n // 2)
        recalled = self.master.recall(cover, at_most)
        if recalled >= at_most // 4:
            return recalled
        found, rules = self.separator.violated(cover, self.centre, self.rounds, enough=at_most * 3 // 2)
        self._offer_some(rules)
        kept = choose([s for s in found if s not in self.master.index], cover, self.data.n, at_most, 12)
        added = self.master.add(kept)
        self.rounds = min(256, self.rounds * 2) if added < 5 else max(8, self.rounds // 2)
        if added == 0 and recalled == 0 and self.rounds < 256 and not node.wrong and not node.right:
            return self._cut(cover, node)
        return added + recalled

    def _branching_point(self, cover: Array, node: Node) -> int:
        """The free point the cover leaves most open; -1 when all are fixed."""
        free = np.ones(self.data.n, dtype=bool)
        free[list(node.wrong)] = False
        free[list(node.right)] = False
        score = np.where(free, np.minimum(cover, 1 - cover) * self.data.costs + 1e-6 * cover, -1.0)
        return int(np.argmax(score)) if free.any() else -1

    # -- exact leaf bounds --------------------------------------------------------------------------------------------

    def _record(self, node: Node, relaxed: Relaxation) -> None:
        """Keep the LP's multipliers at the node when they prove more than what it has."""
        if relaxed.value <= node.bound:
            return
        factor = 1.0
        if relaxed.cover is None:
            gain = self._value(relaxed.supports, relaxed.multipliers, relaxed.limit_multipliers, node)
            goal = float(self.data.costs.sum()) + 1.0
            if gain <= 1e-9:
                return
            factor = min(2.0 * goal / gain, 2.0**20)
        v = np.floor(relaxed.multipliers * factor * self.scale).astype(np.int64)
        mu = np.ceil(relaxed.limit_multipliers * factor * self.scale).astype(np.int64)
        proof = self.sealed(relaxed.supports, v, mu, node.wrong, node.right)
        if proof.bound > node.bound:
            sound = np.array([self.exact(self.master.supports[s]) is not None for s in proof.supports], dtype=bool)
            if not sound.all():
                self.master.refuse(proof.supports[~sound])
                proof = self.sealed(proof.supports[sound], proof.v[sound], proof.mu, node.wrong, node.right)
        if proof.bound > node.bound:
            node.proof = proof

    def _value(self, supports: NDArray[np.intp], v: Array, mu: Array, node: Node) -> float:
        """What a ray adds for each unit of its length."""
        load = self.master.pool[supports].T @ v if len(supports) else np.zeros(self.data.n)
        room = sum((m * c for m, (c, _) in zip(mu, self.data.limits, strict=True)), np.zeros(self.data.n))
        wrong = list(node.wrong)
        ends = sum(m * k for m, (_, k) in zip(mu, self.data.limits, strict=True))
        return float(v.sum() + (room - load)[wrong].sum() - ends)

    def sealed(
        self,
        supports: NDArray[np.intp],
        v: NDArray[np.int64],
        mu: NDArray[np.int64],
        wrong: tuple[int, ...],
        right: tuple[int, ...],
    ) -> LeafProof:
        """Shrink v until the conditions hold exactly, and the bound that follows."""
        data = self.data
        room = data.costs.astype(object) * self.scale
        for m, (coefficients, _) in zip(mu.tolist(), data.limits, strict=True):
            if m:
                room = room + np.array([floor(m * Fraction(float(c))) for c in coefficients], dtype=object)
        load = self._load(supports, v)
        bound_by = np.ones(data.n, dtype=bool)
        bound_by[list(wrong)] = False
        bound_by[list(right)] = False
        over = np.flatnonzero(bound_by & (load > room))
        if len(over):
            shrink = min(float(room[i]) / float(load[i]) for i in over) * (1 - 1e-12)
            v = np.floor(v * max(shrink, 0.0)).astype(np.int64)
            load = self._load(supports, v)
            if (bound_by & (load > room)).any():
                v = np.zeros_like(v)
                load = self._load(supports, v)
        total = Fraction(int(v.sum()))
        for i in wrong:
            total += int(room[i]) - int(load[i])
        for m, (_, at_most) in zip(mu.tolist(), data.limits, strict=True):
            total -= m * Fraction(at_most)
        used = v > 0
        return LeafProof(supports[used], v[used], mu, max(0, ceil(total / self.scale)))

    def _load(self, supports: NDArray[np.intp], v: NDArray[np.int64]) -> NDArray[np.int64]:
        load = np.zeros(self.data.n, dtype=np.int64)
        members = self.master.pool[supports]
        np.add.at(load, members.indices, np.repeat(v, np.diff(members.indptr)))
        return load
