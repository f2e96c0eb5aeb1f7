"""box at array level: proven optimum of the 0-1 loss by branch and bound in the space of weights.

Data        signed rows z_i of rank r, whole weights c_i
Minimise    sum_i c_i [z_i.W <= 0]   over W, a tie being an error
Search      W = M V, V on the faces of the cube; each face is halved coordinate by coordinate. On a box some points are surely
            wrong, some pairs conflict (one of the two is wrong wherever V is), and disjoint conflicts add up to a bound.
Claim       proven: every decision is made in exact integers (`kernels.box`), and the tree is the certificate.

The target rises from pass to pass; each pass replays the tree of the last one and grows only leaves that fall short, so there is a
proven bound at any time. Boxes that halving does not empty are settled by lemmas about their points (`box_lemmas`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ...zero_one.prepared import whitening
from ..rational import exact_product, integer_matrix, rank, round_rows, surely_positive
from .lemmas import Lemmas
from .proof import BoxProof, BoxTree

Stop = Callable[[], object]
MAX_RANK = 16  # sums of products stay below 2^53 up to here
NUDGES = (-6, -10, -14, -18)  # powers of two: shares of a rule's length, down to the grid of the boxes
CHUNK = 3_000_000  # point visits between two looks at the clock, about 0.1 s


def _generic(M: Array) -> Array:
    """M with its axes shaken a little, so that vertices of lattice data do not fall on the boundaries of boxes.

    A vertex inside a box can be settled by a lemma about its points; one on the boundary would need half of the lemma.
    """
    r = M.shape[1]
    return np.asarray(M @ (np.eye(r) + 0.1 / np.sqrt(r) * np.random.default_rng(r).standard_normal((r, r))))


class BoxSearch:
    """An anytime search over Z with whole weights; `lower` is proven, `best_W` costs at most `best`."""

    def __init__(
        self,
        Z: Array,
        weights: NDArray[np.int64],
        W: Array | None = None,
        *,
        few: int | None = None,
        M: Array | None = None,
    ) -> None:
        """`few`: up to so many dependent points are settled by their infeasible subsystems (default: the kernel's FEW).
        `M`: the whitening of Z, when it is known already."""
        self.Z, self.weights = np.ascontiguousarray(Z), weights
        self.total = int(weights.sum())
        self.M = _generic(whitening(Z) if M is None else M)
        self.n, self.r = len(Z), self.M.shape[1]
        if self.r > MAX_RANK:
            raise ValueError(f"box takes at most {MAX_RANK} dimensions; got {self.r}")
        from .kernels import grow as kernel

        self.kernel = kernel
        self.Q, self.err = round_rows(exact_product(self.Z, self.M), kernel.QBITS)
        self.few = kernel.FEW if few is None else few
        self.lemmas = Lemmas(self.Z, weights, self.few, self._own_space)
        self.tree = self.proven_tree = BoxTree.empty()
        self.lower, self.nodes = 0, 0
        self.best, self.best_W = self.total, self.M[:, 0].copy()
        if W is not None:
            self.offer(W)
        self._history: list[tuple[int, int]] = []
        self._pass: _Pass | None = None

    @property
    def finished(self) -> bool:
        return self.lower >= self.best

    def offer(self, W: Array) -> bool:
        """Take W as incumbent when it is better; what it gets right only by what rounding could have done counts as wrong."""
        loss = int(self.weights[~surely_positive(self.Z, W)].sum())
        if loss < self.best:
            self.best, self.best_W = loss, np.array(W, dtype=np.float64)
            return True
        return False

    def offer_near(self, W: Array, direction: Array) -> None:
        """Take a rule a little way from W as incumbent when it is better: at a vertex the direction decides the points that touch it."""
        step = direction * (np.linalg.norm(W) / np.linalg.norm(direction))
        for power in NUDGES:
            self.offer(W + 2.0**power * step)

    def advance(self, stop: Stop, goal: int | None = None, on_progress: Callable[[], None] | None = None) -> bool:
        """Work until the goal (default: the incumbent's loss) is proven, an incumbent below it is found, or nothing more can be
        done; False when stopped before."""
        while True:
            wanted = self.best if goal is None else min(goal, self.best)
            if self.lower >= wanted:
                return True
            if self._pass is None:
                self._pass = _Pass(self, self._next_target(wanted, steps=goal is None))
            if not self._pass.advance(stop, on_progress):
                return False
            proven = min(self._pass.target, self.best)
            if self._pass.holes:  # boxes at the end of the grid that no lemma settles
                if self._pass.target == proven:
                    if proven - self.lower <= max(1, wanted // 500):
                        return True
                    self._history.clear()
                    proven = (self.lower + proven) // 2
                self._pass = _Pass(self, proven)  # with a better incumbent, or a lower target
                continue
            self._history.append((proven, len(self.tree.ops)))
            self.lower, self.proven_tree = proven, self.tree
            self._pass = None
            if on_progress is not None:
                on_progress()

    def _next_target(self, wanted: int, steps: bool) -> int:
        """The next target: far enough to be worth a replay, near enough to be reached (about three times the nodes)."""
        if not steps:
            return wanted
        if not self._history:
            return max(self.lower + 1, ceil(wanted * 0.2))
        step = max(1, wanted // 12)
        if len(self._history) > 1:
            (t0, n0), (t1, n1) = self._history[-2:]
            growth = max(log(max(n1, 2) / max(n0, 1)) / max(t1 - t0, 1), log(3.0) / wanted)
            step = min(max(1, wanted // 200, int(log(3.0) / growth)), ceil(wanted * 0.15))
        target = self.lower + step
        return wanted if target + step // 2 >= wanted else target

    def proof(self, rows: NDArray[np.intp] | None = None) -> BoxProof:
        """The proof of `lower`, about the given rows of a larger matrix (default: its own)."""
        rows = np.arange(self.n) if rows is None else rows
        return BoxProof(rows, self.M, self.lower, self.proven_tree, tuple(self.lemmas.proofs))

    def _own_space(self, Z: Array, weights: NDArray[np.int64], W: Array) -> BoxSearch | None:
        """A search over some of the rows, when they span a smaller space than these (exactly)."""
        sub = BoxSearch(Z, weights, W, few=self.few)
        return sub if sub.r < self.r and rank(integer_matrix(Z)) == sub.r else None


@dataclass
class _Pass:
    """One replay-and-grow of the tree towards a target."""

    search: BoxSearch
    target: int

    @property
    def holes(self) -> int:
        """Boxes at the end of the grid that nothing settles."""
        return int(self.reg[self.search.kernel.HOLES])

    def __post_init__(self) -> None:
        search, kernel = self.search, self.search.kernel
        n, r = search.n, search.r
        levels = (r - 1) * kernel.KBITS + 2
        reg = np.zeros(kernel.N_REGISTERS, np.int64)
        reg[kernel.DEPTH] = reg[kernel.FACE] = -1
        reg[kernel.TARGET] = self.target
        self.reg = reg
        self.path = (
            np.zeros((levels, r)),  # centre
            np.zeros((levels, r)),  # half-widths
            np.zeros(levels, np.int8),  # stage: which child is next
            np.zeros(levels, np.int64),  # axis halved
            np.zeros(levels, np.int64),  # stale: halvings that decided no point
            np.zeros(levels, np.int8),  # whether the old tree has this box
            np.zeros(levels, np.int64),  # weight of the points wrong all over
            np.zeros((levels, n), np.int32),  # uncertain points
            np.zeros(levels, np.int64),  # their number
            np.zeros((levels, r, n)),  # their coordinates
            np.zeros((levels, 2 * n + 256, 4), np.int64),  # conflicts; replay keeps dissolved ones for a while
            np.zeros(levels, np.int64),  # their number
            np.zeros(n, np.bool_),  # points wrong all over the present box
            np.zeros(levels, np.int64),  # halvings since paths were tried
        )
        room = max(1 << 12, len(search.tree.ops) * 2)
        self.out: list[NDArray[Any]] = [
            np.zeros(room, np.uint8),
            np.zeros(room, np.uint8),
            np.zeros((2 * room, 3), np.int32),
            np.zeros(1 << 10, np.int32),
        ]
        self.best_centre = np.zeros(r)
        self.asked = np.zeros(n, np.int32)

    def advance(self, stop: Stop, on_progress: Callable[[], None] | None) -> bool:
        """True when the pass is through (`holes` says how many boxes it could not settle), False when stopped."""
        search, kernel, reg = self.search, self.search.kernel, self.reg
        tree, lemmas = search.tree, search.lemmas
        while True:
            reg[kernel.BEST] = search.best
            before = int(reg[kernel.NODES])
            status = kernel.grow(
                search.Q,
                search.err,
                search.weights,
                reg,
                *self.path,
                self.best_centre,
                self.asked,
                tree.ops,
                tree.counts,
                tree.pairs,
                *lemmas.table,
                search.few,
                *self.out,
                CHUNK,
            )
            search.nodes += int(reg[kernel.NODES]) - before
            if status == kernel.BETTER:
                search.offer(search.M @ self.best_centre)
                continue
            if status == kernel.FINISHED:
                search.tree = self._collect()
                return True
            if status == kernel.FULL:
                self.out = [np.concatenate([block, np.zeros_like(block)]) for block in self.out]
            elif status == kernel.ASKING:
                found = lemmas.find(self.asked[: reg[kernel.ASKED]], int(reg[kernel.NEED]), stop)
                if found is None:
                    return False
                reg[kernel.REFUSED] = not found
                if lemmas.counterexample is not None:
                    search.offer_near(search.M @ self.path[0][reg[kernel.DEPTH]], lemmas.counterexample)
            if on_progress is not None:
                on_progress()
            if stop():
                return False

    def _collect(self) -> BoxTree:
        kernel, reg = self.search.kernel, self.reg
        return BoxTree(
            self.out[0][: reg[kernel.OUT_NODE]].copy(),
            self.out[1][: reg[kernel.OUT_NODE]].copy(),
            self.out[2][: reg[kernel.OUT_PAIR]].copy(),
            self.out[3][: reg[kernel.OUT_OPEN]].copy(),
        )
