"""Lemmas of a box search: sets of points that cost something whatever W is, proven without reference to any box.

Where many points meet in one vertex of the arrangement (lattices, binary features), halving never decides them: the box round the
vertex keeps them uncertain at every size. If they span a smaller space than all points, the same search in that space proves what
they cost. A few points that are dependent in the full space (r + 1 points round a simplex, for example) could be decided by halving,
but only in a number of boxes that is exponential in r; infeasible subsystems of these points prove it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array, Index, Positions
from ...zero_one.prepared import WeightedRows, whitening
from ..iis.cover import CoverData, scaling
from ..iis.proof import cover_proof
from ..iis.tree import IISSearch
from ..rational import surely_positive
from .kernels.state import LemmaTable
from .proof import BoxProof, CoverProof

Stop = Callable[[], object]

FEW = 20  # lemmas about up to so many points are proven by infeasible subsystems, about more points by boxes in a smaller space
MOST_WITNESSES = 8  # points beside the members of a box that a lemma about a last box may speak of; one is enough for points round a vertex
_LAST_BOX = -1  # marks the members of a box that cannot be halved: more may be proven there than of the members alone
LOCAL_STEPS = 400  # steps of the local search for a rule that costs less than a lemma would claim


class Walls(NamedTuple):
    """The rows of a cone, as side rows of covers, and how many of them are the last rows of a search, as points (`cone`)."""

    sides: tuple[tuple[Array, float], ...]
    behind: int


NO_WALLS = Walls((), 0)
"""Every rule counts."""


class SubspaceSearch(Protocol):
    """A search over some rows in the space that they span."""

    lower: int
    best: int
    best_W: Array

    def advance(self, stop: Stop, goal: int) -> bool:
        """Work until the goal is proven or refuted; False when stopped before."""
        ...

    def proof(self, rows: Positions) -> BoxProof:
        """The proof of `lower`, about the given rows of a larger matrix."""
        ...


class Lemmas:
    """Lemmas about rows of Z with integer weights; each is proven once and serves every box where its points are not lost."""

    def __init__(
        self,
        Z: Array,
        weights: Index,
        scales: Array,
        few: int,
        own_space: Callable[[Positions, Array], SubspaceSearch | None],
        walls: Walls = NO_WALLS,
        known: LemmaTable | None = None,
        refused: dict[frozenset[int], int] | None = None,
    ) -> None:
        """`few`: see FEW; `scales` are those of the relative margin (`zero_one.scope`). `own_space(rows, W)` begins a search over rows
        that span a smaller space, or returns None. `walls` are the rows of a cone, if the rules of one alone count. `known` are lemmas
        whose proofs someone else has; they come first. `refused` holds points and a cost that could not be proven of them."""
        self.Z, self.weights, self.scales, self.few, self.walls = Z, weights, scales, few, walls
        self._own_space = own_space
        self.proofs: list[BoxProof | CoverProof] = []
        self.counterexample: Array | None = None  # a rule that refuted the lemma last asked for
        self._known = LemmaTable(*(np.zeros(k, np.int64) for k in (1, 0, 0))) if known is None else known
        self._refused = {} if refused is None else refused
        self._begun: dict[frozenset[int], SubspaceSearch] = {}  # points -> a search that was stopped
        self.table = self._tabulate()

    def _tabulate(self) -> LemmaTable:
        """The lemmas as the kernel reads them."""
        starts, rows, bounds = self._known
        ends = starts[-1] + np.cumsum([len(proof.rows) for proof in self.proofs], dtype=np.int64)
        return LemmaTable(
            np.concatenate([starts, ends]),
            np.concatenate([rows, *(proof.rows for proof in self.proofs)]).astype(np.int64),
            np.concatenate([bounds, np.array([proof.bound for proof in self.proofs], dtype=np.int64)]),
        )

    def add(self, proof: BoxProof | CoverProof) -> int:
        """Take over a lemma that was proven elsewhere, unless it is here already; its number."""
        for number, own in enumerate(self.proofs):
            if own.bound == proof.bound and np.array_equal(own.rows, proof.rows):
                return len(self._known.bounds) + number
        self.proofs.append(proof)
        self.table = self._tabulate()
        return len(self.table.bounds) - 1

    def find(self, points: NDArray[np.int32], need: int, stop: Stop, at: Array | None = None) -> bool | None:
        """Prove a lemma that some of the points cost at least `need`, and say whether it exists now; None when stopped: a later call
        with the same points goes on.

        at : the rule at the centre of a box that cannot be halved any more. The lemma may then speak of points that are right there too.
        """
        self.counterexample = None
        here = frozenset(points.tolist()) | (frozenset() if at is None else {_LAST_BOX})
        if need > int(self.weights[points].sum()) or need >= self._refused.get(here, need + 1):
            return False
        rows = np.sort(points).astype(np.intp)
        if len(rows) > self.few:
            proof: BoxProof | CoverProof | None = self._by_boxes(here, rows, need, stop)
        else:
            proof = self._by_cover(rows, need) if at is None else self._with_witnesses(rows, need, at)
        if proof is not None:
            self.proofs.append(proof)
            self.table = self._tabulate()
            return True
        if here in self._begun:
            return None
        self._refused[here] = need
        return False

    def _rule(self, rows: Positions, need: int) -> Array | None:
        """A good rule for the rows; None if it costs less than `need`, and then it is kept as the counterexample."""
        from ...zero_one.local import local_search

        Z, weights = self.Z[rows], self.weights[rows]
        W = local_search(WeightedRows(Z, weights.astype(np.float64)), None, 0, steps=LOCAL_STEPS).w
        if int(weights[~surely_positive(Z, W)].sum()) >= need:
            return W
        self.counterexample = W
        return None

    def _with_witnesses(self, rows: Positions, need: int, at: Array) -> CoverProof | None:
        """A proof about the rows and some that are right at the rule `at`; None if there is none.

        Points that meet almost in one vertex may be right together nowhere near it and yet on the opposite side of the sphere. A point
        that is right at the vertex and wrong over there makes the set infeasible. One such witness is added per counterexample. Where
        no proof is found, the counterexample is that of the rows alone.
        """
        proof = self._by_cover(rows, need)
        first = self.counterexample
        scores, lengths = self.Z @ at, np.linalg.norm(self.Z, axis=1) ** 2
        is_right = surely_positive(self.Z, at)
        is_right[len(self.Z) - self.walls.behind :] = False
        for _ in range(MOST_WITNESSES):
            if proof is not None or self.counterexample is None:
                break
            worth = np.where(is_right, -scores * (self.Z @ self.counterexample) / lengths, 0.0)
            worth[rows] = 0.0
            witness = int(np.argmax(worth))
            if worth[witness] <= 0:
                break
            self.counterexample = None
            rows = np.append(rows, witness)
            proof = self._by_cover(rows, need)
        self.counterexample = first if proof is None else None
        return proof

    def _by_cover(self, rows: Positions, need: int) -> CoverProof | None:
        """A proof by infeasible subsystems, about only those of the rows that it uses; None if there is none."""
        W = self._rule(rows, need)
        rows = rows[rows < len(self.Z) - self.walls.behind]
        if W is None or not len(rows):
            return None
        Z, costs, sides = self.Z[rows], self.weights[rows], self.walls.sides
        M = scaling(self.Z) if sides else whitening(Z, self.scales)
        search = IISSearch(CoverData(Z, rows, costs, Fraction(1), Fraction(0), (), sides, 0, M, self.scales), W)
        search.advance(lambda: search.lower >= need)
        if search.best is not None and search.best < need:
            self.counterexample = search.best_W
            return None
        proof = cover_proof(search)
        if proof.bound < need:
            return None
        return CoverProof(rows[proof.rows], proof.bound, proof.content, proof.relative_margin)

    def _by_boxes(self, here: frozenset[int], rows: Positions, need: int, stop: Stop) -> BoxProof | None:
        """A proof by boxes in the space that the rows span; None if there is none, or if stopped, and then the search is kept."""
        search = self._begun.pop(here, None)
        if search is None:
            W = self._rule(rows, need)
            search = None if W is None else self._own_space(rows, W)
            if search is None:
                return None
        if not search.advance(stop, goal=need):
            self._begun[here] = search
        if search.lower >= need:
            self._begun.pop(here, None)
            return search.proof(rows)
        if search.best < need:
            self.counterexample = search.best_W
        return None
