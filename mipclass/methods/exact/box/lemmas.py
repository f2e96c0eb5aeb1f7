"""Lemmas of a box search: sets of points that cost something whatever W is, proven apart from any box.

A box whose uncertain points all touch one vertex of the arrangement (lattices, binary features) never empties by halving: its points
span a smaller space, where the same search proves what they must cost. Few points that are dependent in the full space (r + 1 of them
round a simplex, say) are decided by halving, but only in about as many boxes as the cube has grains; the infeasible subsystems among
them prove it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ...zero_one.prepared import WeightedRows, whitening
from ..iis.cover import CoverData
from ..iis.proof import cover_proof
from ..iis.tree import IISSearch
from .proof import BoxProof, CoverProof

Weights = NDArray[np.int64]
Rows = NDArray[np.intp]
Stop = Callable[[], object]


class Search(Protocol):
    """A search over the rows' own space."""

    lower: int
    best: int
    best_W: Array

    def advance(self, stop: Stop, goal: int) -> bool: ...
    def proof(self, rows: Rows) -> BoxProof: ...


class Lemmas:
    """Lemmas about rows of Z with whole weights, found once and used wherever their points are uncertain."""

    def __init__(
        self, Z: Array, weights: Weights, few: int, own_space: Callable[[Array, Weights, Array], Search | None]
    ) -> None:
        """`few`: most points asked for subsystems; `own_space` begins a search in a space smaller than Z's, or declines."""
        self.Z, self.weights, self.few = Z, weights, few
        self._own_space = own_space
        self.proofs: list[BoxProof | CoverProof] = []
        self.counterexample: Array | None = (
            None  # a rule for which the points last asked about cost less than they would have to
        )
        self._refused: dict[frozenset[int], int] = {}  # a cost that was not proven of the points
        self._begun: dict[frozenset[int], Search] = {}  # stopped on the way
        self._tabulate()

    def _tabulate(self) -> None:
        """(where each lemma's rows start, the rows, the bounds), as the kernel reads them."""
        rows = [proof.rows for proof in self.proofs]
        starts = np.cumsum([0, *(len(part) for part in rows)])
        members = np.concatenate([np.zeros(0, np.intp), *rows])
        self.table = (starts, members, np.array([proof.bound for proof in self.proofs], dtype=np.int64))

    def find(self, points: NDArray[np.int32], need: int, stop: Stop) -> bool | None:
        """Whether there is now a lemma that some of the points cost at least `need`; None when stopped: ask again to go on."""
        self.counterexample = None
        here = frozenset(points.tolist())
        if need > int(self.weights[points].sum()) or need >= self._refused.get(here, need + 1):
            return False
        rows = np.sort(points).astype(np.intp)
        proof = self._by_cover(rows, need) if len(rows) <= self.few else self._by_boxes(here, rows, need, stop)
        if proof is not None:
            self.proofs.append(proof)
            self._tabulate()
            return True
        if here in self._begun:
            return None
        self._refused[here] = need
        return False

    def _rule(self, rows: Rows, need: int) -> Array | None:
        """A good rule for the rows, or None, and kept as counterexample, when it costs less than the need."""
        from ...zero_one.local import local_search

        Z, weights = self.Z[rows], self.weights[rows]
        W = local_search(WeightedRows(Z, weights.astype(np.float64)), None, 0, steps=400).w
        if int(weights[Z @ W <= 0].sum()) >= need:
            return W
        self.counterexample = W
        return None

    def _by_cover(self, rows: Rows, need: int) -> CoverProof | None:
        """A proof by infeasible subsystems, about those of the rows that it takes."""
        W = self._rule(rows, need)
        if W is None:
            return None
        Z = self.Z[rows]
        search = IISSearch(CoverData(Z, rows, self.weights[rows], Fraction(1), Fraction(0), (), (), 0, whitening(Z)), W)
        search.advance(lambda: search.lower >= need)
        if search.best is not None and search.best < need:
            self.counterexample = search.best_W
            return None
        proof = cover_proof(search)
        if proof.bound < need:
            return None
        return CoverProof(rows[proof.rows], proof.bound, proof.content)

    def _by_boxes(self, here: frozenset[int], rows: Rows, need: int, stop: Stop) -> BoxProof | None:
        """A proof by boxes in the space the rows span; when stopped, the search is kept."""
        search = self._begun.pop(here, None)
        if search is None:
            W = self._rule(rows, need)
            search = None if W is None else self._own_space(self.Z[rows], self.weights[rows], W)
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
