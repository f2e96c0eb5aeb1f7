"""box at array level: proven optimum of the 0-1 loss by branch and bound in the space of weights.

Data        signed rows z_i of rank r, whole weights c_i
Minimise    sum_i c_i [z_i.W <= 0]   over W, a tie being an error
Search      W = M V, V on the faces of the cube; each face is halved coordinate by coordinate. On a box some points are surely
            wrong, some pairs conflict (one of the two is wrong wherever V is), and disjoint conflicts add up to a bound.
Claim       proven: every decision is made in exact integers (`kernels.box`), and the tree is the certificate.

The target rises from pass to pass; each pass replays the tree of the last one and grows only leaves that fall short, so there is a
proven bound at any time. A box whose uncertain points all touch one vertex of the arrangement (lattices, binary features) never
empties by halving; its points span a smaller space, where the same search proves what they must cost: a lemma.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certificate import floats, pack
from .exact_rows import exact_product, integer_matrix, rank, round_rows
from .zero_one_data import whitening

Array = NDArray[np.float64]
Stop = Callable[[], object]
MAX_RANK = 16  # sums of products stay below 2^53 up to here
CHUNK = 3_000_000  # point visits between two looks at the clock, about 0.1 s


@dataclass(frozen=True)
class BoxTree:
    """A preorder stream of nodes (see `kernels.box`) and the conflicts and lemmas it refers to, in order of appearance."""

    ops: NDArray[np.uint8]
    counts: NDArray[np.uint8]
    pairs: NDArray[np.int32]
    lemmas: NDArray[np.int32]

    @classmethod
    def empty(cls) -> BoxTree:
        return cls(np.zeros(0, np.uint8), np.zeros(0, np.uint8), np.zeros((0, 3), np.int32), np.zeros(0, np.int32))


@dataclass(frozen=True)
class BoxProof:
    """Rows `rows` of the parent cost at least `bound` whatever W is: the map M, the tree over its cube, lemmas it uses."""

    rows: NDArray[np.intp]
    M: Array
    bound: int
    tree: BoxTree
    lemmas: tuple[BoxProof, ...]

    def content(self, columns: NDArray[np.intp], n_features: int) -> dict[str, Any]:
        """As a certificate holds it: the map has a row for each of the user's features (zero where dropped) and the offset."""
        full = np.zeros((n_features + 1, self.M.shape[1]))
        full[columns], full[-1] = self.M[:-1], self.M[-1]
        return {
            "rows": self.rows.tolist(),
            "columns": self.M.shape[1],
            "map": floats(full),
            "bound": self.bound,
            "tree": {
                "ops": pack(self.tree.ops),
                "counts": pack(self.tree.counts),
                "first": pack(self.tree.pairs[:, 0]),
                "second": pack(self.tree.pairs[:, 1]),
                "mix": pack(self.tree.pairs[:, 2].astype(np.uint8)),
                "lemmas": pack(self.tree.lemmas),
            },
            "lemmas": [lemma.content(columns, n_features) for lemma in self.lemmas],
        }


def _generic(M: Array) -> Array:
    """M with its axes shaken a little, so that vertices of lattice data do not fall on the boundaries of boxes.

    A vertex inside a box can be settled by a lemma about its points; one on the boundary would need half of the lemma.
    """
    r = M.shape[1]
    return np.asarray(M @ (np.eye(r) + 0.1 / np.sqrt(r) * np.random.default_rng(r).standard_normal((r, r))))


class BoxSearch:
    """An anytime search over Z with whole weights; `lower` is proven, `best` is the loss of `best_W`."""

    def __init__(self, Z: Array, weights: NDArray[np.int64], W: Array | None = None, *, depth: int = 0) -> None:
        self.Z, self.weights = np.ascontiguousarray(Z), weights
        self.total = int(weights.sum())
        self.M = _generic(whitening(Z))
        self.n, self.r = len(Z), self.M.shape[1]
        if self.r > MAX_RANK:
            raise ValueError(f"box takes at most {MAX_RANK} dimensions; got {self.r}")
        from ..kernels import box as kernel

        self.kernel = kernel
        self.Q, self.err = round_rows(exact_product(self.Z, self.M), kernel.QBITS)
        self.depth = depth
        self.tree = self.proven_tree = BoxTree.empty()
        self.lemmas: list[BoxProof] = []
        self.lemma_sets: list[frozenset[int]] = []
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
        """Take W as incumbent when it is better; its loss is counted on Z."""
        loss = int(self.weights[self.Z @ W <= 0].sum())
        if loss < self.best:
            self.best, self.best_W = loss, np.array(W, dtype=np.float64)
            return True
        return False

    def advance(self, stop: Stop, goal: int | None = None, on_progress: Callable[[], None] | None = None) -> None:
        """Work until the goal (default: the incumbent's loss) is proven, an incumbent below it is found, or `stop()`."""
        while True:
            wanted = self.best if goal is None else min(goal, self.best)
            if self.lower >= wanted:
                return
            if self._pass is None:
                self._pass = _Pass(self, self._next_target(wanted, steps=goal is None))
            if not self._pass.advance(stop, on_progress):
                return
            proven = min(self._pass.target, self.best)
            if self._pass.holes:  # boxes at the end of the grid that no lemma settles
                if proven - self.lower <= max(1, wanted // 500):
                    return
                self._history.clear()
                self._pass = _Pass(self, (self.lower + proven) // 2)
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
            return max(self.lower + 1, ceil(wanted * 0.6))
        step = max(1, wanted // 12)
        if len(self._history) > 1:
            (t0, n0), (t1, n1) = self._history[-2:]
            growth = max(log(max(n1, 2) / max(n0, 1)) / max(t1 - t0, 1), log(3.0) / wanted)
            step = max(1, wanted // 200, int(log(3.0) / growth))
        target = self.lower + step
        return wanted if target + step // 2 >= wanted else target

    def proof(self, rows: NDArray[np.intp] | None = None) -> BoxProof:
        """The proof of `lower`, about the given rows of a larger matrix (default: its own)."""
        rows = np.arange(self.n) if rows is None else rows
        return BoxProof(rows, self.M, self.lower, self.proven_tree, tuple(self.lemmas))

    def find_lemma(self, points: NDArray[np.int32], need: int, stop: Stop) -> int:
        """Index of a lemma that the points cost at least `need`, or -2 when there is none to be had."""
        here = frozenset(points.tolist())
        for index, (lemma, members) in enumerate(zip(self.lemmas, self.lemma_sets, strict=True)):
            if lemma.bound >= need and members <= here:
                return index
        if self.depth >= MAX_RANK or need > int(self.weights[points].sum()):
            return -2
        rows = np.sort(points).astype(np.intp)
        Z = self.Z[rows]
        sub = BoxSearch(Z, self.weights[rows], depth=self.depth + 1)
        if sub.r >= self.r or rank(integer_matrix(Z)) != sub.r:
            return -2
        from .local import local_search

        sub.offer(local_search(Z, self.weights[rows].astype(np.float64), None, 0, steps=400, stop=stop).w)
        if sub.best >= need:
            sub.advance(stop, goal=need)
        if sub.lower < need:
            return -2
        self.lemmas.append(sub.proof(rows))
        self.lemma_sets.append(here)
        return len(self.lemmas) - 1


@dataclass
class _Pass:
    """One replay-and-grow of the tree towards a target."""

    search: BoxSearch
    target: int
    holes: int = 0

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        search, kernel = self.search, self.search.kernel
        n, r = search.n, search.r
        levels = (r - 1) * kernel.KBITS + 2
        reg = np.zeros(kernel.N_REGISTERS, np.int64)
        reg[kernel.DEPTH] = reg[kernel.FACE] = -1
        reg[kernel.TARGET] = self.target
        self.reg = reg
        self.path = (
            np.zeros((levels, r)),
            np.zeros((levels, r)),
            np.zeros(levels, np.int8),
            np.zeros(levels, np.int64),
            np.zeros(levels, np.int64),
            np.zeros(levels, np.int8),
            np.zeros(levels, np.int64),
            np.zeros((levels, n), np.int32),
            np.zeros(levels, np.int64),
            np.zeros((levels, r, n)),
            np.zeros((levels, 2 * n, 4), np.int64),
            np.zeros(levels, np.int64),
        )
        room = max(1 << 12, len(search.tree.ops) * 2)
        self.out: list[NDArray[Any]] = [
            np.zeros(room, np.uint8),
            np.zeros(room, np.uint8),
            np.zeros((2 * room, 3), np.int32),
            np.zeros(1 << 10, np.int32),
            np.zeros(1 << 10, np.int64),
            np.zeros((1 << 10) + 1, np.int64),
            np.zeros((1 << 12) + 2 * n, np.int32),
        ]
        self.best_centre = np.zeros(r)
        self._grown: BoxTree | None = None
        self._unsettled = np.zeros(0, np.intp)

    def advance(self, stop: Stop, on_progress: Callable[[], None] | None) -> bool:
        """True when the pass is through (`holes` says how many boxes it could not settle), False when stopped.

        The kernel leaves degenerate boxes open. Each gets a lemma or is marked as failed; the next replay keeps the former and
        halves the latter. When a replay adds nothing, what is still open is too small to be halved: a hole.
        """
        search = self.search
        while True:
            if self._grown is None:
                if not self._run(stop, on_progress):
                    return False
                self._grown = self._collect()
                self._unsettled = np.flatnonzero(self._grown.lemmas == -1)
            grown = self._grown
            if not self._settle(grown, stop):
                return False
            size_before, search.tree = len(search.tree.ops), grown
            failed = int((grown.lemmas == -2).sum())
            if not len(self._unsettled) or (failed and len(grown.ops) == size_before):
                self.holes = failed
                return True
            self._begin()

    def _settle(self, grown: BoxTree, stop: Stop) -> bool:
        """Find lemmas for the open boxes; False when stopped on the way, to go on from there."""
        search = self.search
        _, _, _, _, wrong, start, points = self.out
        for at in self._unsettled[grown.lemmas[self._unsettled] == -1]:
            need = min(self.target, search.best) - int(wrong[at])
            grown.lemmas[at] = search.find_lemma(points[start[at] : start[at + 1]], need, stop)
            if stop():
                return not (grown.lemmas[self._unsettled] == -1).any()
        return True

    def _run(self, stop: Stop, on_progress: Callable[[], None] | None) -> bool:
        """Let the kernel work to the end of the pass (True) or until stopped."""
        search, kernel = self.search, self.search.kernel
        tree = search.tree
        values = np.array([lemma.bound for lemma in search.lemmas] or [0], dtype=np.int64)
        while True:
            self.reg[kernel.BEST] = search.best
            before = int(self.reg[kernel.NODES])
            status = kernel.grow(
                search.Q,
                search.err,
                search.weights,
                self.reg,
                *self.path,
                self.best_centre,
                tree.ops,
                tree.counts,
                tree.pairs,
                tree.lemmas,
                values,
                *self.out,
                CHUNK,
            )
            search.nodes += int(self.reg[kernel.NODES]) - before
            if self.reg[kernel.BEST] < search.best:
                search.offer(search.M @ self.best_centre)
            if status == kernel.FINISHED:
                return True
            if status == kernel.FULL:
                self.out = [np.concatenate([block, np.zeros_like(block)]) for block in self.out]
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
