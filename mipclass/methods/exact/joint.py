"""Joint lemmas: what some points cost while the limits leave so much room for their errors, whatever W is.

Where many points meet in one vertex, halving decides none of them, and neither the objective nor a limit alone may close the boxes round
it: some rules there cost too much, the others exceed a limit. Infeasible subsystems of the few points that are left open prove both at
once (`iis`, with the limits as rows of the covering LP):

    every rule with  l_k(S) <= room_k  for all limits has  c(S) >= bound                        S some points, counted where they are wrong

On a box where no point of S is wrong all over it, and where the points that are leave no more room than that, every rule that keeps the
limits then costs at least  c(lost) + bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from ...arrays import Array, Index, Mask, Positions
from ...certificates.certificate import fraction
from ..zero_one.costs import ExactCosts
from .box.kernels.state import KBITS, QBITS, Boxes
from .box.lemmas import Stop
from .iis.cover import CoverData
from .iis.proof import CoverBound, cover_proof
from .iis.tree import IISSearch
from .prices import RulePool
from .rational import StoppedError, rounded_product, rounded_up

FEW = 20
"""Points of a joint lemma, at most: more take branch and cut too long."""

MOST_STEPS = 200
"""Looks of branch and cut at its limits, at most, for one lemma: some tenths of a second."""


@dataclass(frozen=True, eq=False)
class JointLemma:
    """Rows of the cover, the room that limits leave for their errors, and what they cost at least then."""

    rows: Positions
    rooms: tuple[Fraction, ...]
    proof: CoverBound
    is_impossible: bool
    """The rows cost less than the bound in all: no rule leaves the limits as much room as they need."""

    def content(self) -> dict[str, Any]:
        """The lemma as a certificate holds it."""
        rooms = [fraction(room) for room in self.rooms]
        return {"rows": self.rows.tolist(), "rooms": rooms, "bound": self.proof.bound, **self.proof.content}


class JointLemmas:
    """Lemmas about the rows of a cover, and which of them close a box."""

    def __init__(self, pool: RulePool, M: Array) -> None:
        """M : the map W = M V over all features."""
        self._pool, self._cover = pool, pool.cover
        self._Q, err = rounded_product(self._cover.Z, M, QBITS)
        self._slack = err * (M.shape[1] * float(1 << KBITS))
        self.lemmas: list[JointLemma] = []
        self.lowest: int | None = None
        """The least cost that a box was closed with, in counts; None while none was."""
        self._refused: set[tuple[frozenset[int], int, tuple[Fraction, ...]]] = set()

    def close(self, boxes: Boxes, stop: Stop) -> Index:
        """For each box the number of a lemma that closes it, or -1. StoppedError once `stop()`."""
        found = np.full(len(boxes.centre), -1, dtype=np.int64)
        for k, (centre, half) in enumerate(zip(boxes.centre, boxes.half, strict=True)):
            if stop():
                raise StoppedError
            a, s = self._Q @ centre, np.abs(self._Q) @ half
            lost = a + s + self._slack <= 0
            found[k] = self._one(lost, ~lost & (a - s < 0), stop)
        return found

    def _one(self, lost: Mask, is_open: Mask, stop: Stop) -> int:
        cover = self._cover
        cost = int(cover.costs[lost].sum())
        rooms = tuple(-excess for excess in cover.excesses(lost))
        need = floor(self._pool.to_exceed() * self._pool.unit / cover.unit) + 1 - cost
        number = self._known(lost, need, rooms)
        if number < 0:
            number = self._proven(np.flatnonzero(is_open), need, rooms, stop)
        if number >= 0 and not self.lemmas[number].is_impossible:
            reached = cost + self.lemmas[number].proof.bound
            self.lowest = reached if self.lowest is None else min(self.lowest, reached)
        return number

    def _known(self, lost: Mask, need: int, rooms: tuple[Fraction, ...]) -> int:
        """A lemma that holds already and closes the box, or -1."""
        for number, lemma in enumerate(self.lemmas):
            is_enough = lemma.is_impossible or lemma.proof.bound >= need
            has_room = all(mine >= room for mine, room in zip(lemma.rooms, rooms, strict=True))
            if is_enough and has_room and not lost[lemma.rows].any():
                return number
        return -1

    def _proven(self, rows: Positions, need: int, rooms: tuple[Fraction, ...], stop: Stop) -> int:
        """A new lemma that the rows cost at least `need`, or -1."""
        asked = (frozenset(rows.tolist()), need, rooms)
        if not 0 < len(rows) <= FEW or asked in self._refused or any(room < 0 for room in rooms):
            return -1
        wider = tuple(rounded_up(room) for room in rooms)
        part = _restricted(self._cover, rows, wider)
        search = IISSearch(part)
        left = MOST_STEPS

        def enough() -> bool:
            nonlocal left
            left -= 1
            return left < 0 or bool(stop()) or search.lower >= need or (search.best is not None and search.best < need)

        search.advance(enough)
        proof = cover_proof(search)
        is_impossible = proof.bound > int(part.costs[proof.rows].sum())
        if proof.bound < need and not is_impossible:
            self._refused.add(asked)
            return -1
        stated = tuple(Fraction(room) for room in wider)
        self.lemmas.append(JointLemma(rows[proof.rows], stated, proof, is_impossible))
        return len(self.lemmas) - 1


def _restricted(cover: CoverData, rows: Positions, rooms: tuple[float, ...]) -> CoverData:
    """The cover of some rows, with so much room left by each limit."""
    limits = tuple((c[rows], room) for (c, _), room in zip(cover.limits, rooms, strict=True))
    exact = tuple(ExactCosts(limit.whole[rows], limit.exponent) for limit in cover.exact_limits)
    return replace(
        cover, Z=cover.Z[rows], points=cover.points[rows], costs=cover.costs[rows], limits=limits, exact_limits=exact
    )
