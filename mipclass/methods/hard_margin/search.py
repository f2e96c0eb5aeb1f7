"""Branch and bound over boxes of directions, for the hard-margin loss.

Minimise    a |w|^2 + C k,   k = number of points with y (w.x + b) < 1
Search      u = s w (s: a power of two per feature) on the faces of the cube |u|_max = 1, halved coordinate by coordinate. Neither the
            offset nor the norm of w is ever branched on, so that d features give boxes of d - 1 coordinates.
Bound       To prove B, each level k = 0, 1, ... with C k < B must be closed: no rule with exactly k errors has a |w|^2 < B - C k, that is
            |w| < rho_k. Some pairs of points conflict: no rule of the box with |w| < rho_k gets both right. A matching of more than k
            conflicts closes the level. A matching of exactly k leaves one error per pair, so unmatched points are right, points in
            conflict with them wrong, and so on; if the right points force |w| >= rho_k (nearest points of their hulls), the level is closed.
            At a single direction the matching is exact by Koenig's theorem; near the optimum the hulls are, so the search ends there.
Claim       proven up to TOLERANCE; the tree with its matchings and hulls is the certificate, checked in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...certificates.certificate import pack
from .form import HardMarginForm
from .incumbents import Rule, Stop, improved
from .proof import TOLERANCE, whole_weights

CHUNK, A_MOMENT = 256, 50_000_000
"""Boxes between two looks at the clock, and steps that they may take: pairs of points times features and levels, 5 ns each (measured)."""

PROBES = 64
"""Number of chunks after which no further incumbents are sought at the centres of boxes: new ones come early or never."""

DEPTH = 41
"""Halvings of one coordinate, at most (see `kernels.grow.THINNEST`)."""

BUFFER = 1 << 22
"""Whole numbers of evidence that are held before they are moved to the list of parts."""


@dataclass
class Evidence:
    """The tree in preorder and what closes its leaves, in parts."""

    ops: list[NDArray[np.uint8]] = field(default_factory=list)
    ints: list[NDArray[np.int32]] = field(default_factory=list)
    weights: list[Array] = field(default_factory=list)


class DirectionSearch:
    """A search for a proof that no rule costs less than `target`; `best` is the best rule known."""

    def __init__(self, form: HardMarginForm, best: Rule, share: float = 1.0, node_limit: int | None = None) -> None:
        """Prove a share of the cost of the rule `best`; with a node limit no more boxes than that are looked at."""
        self.form, self.best, self.node_limit = form, best, node_limit
        self.C = float(form.costs[0])
        self.target = share * best[0] * (1 - TOLERANCE)
        spread = form.X.std(axis=0)
        self.exponents = np.where(spread > 0, np.round(np.log2(np.where(spread > 0, spread, 1.0))), 0).astype(int)
        self.inverse = 2.0**-self.exponents
        self.nodes, self.lower, self.finished = 0, 0.0, False
        self.evidence = Evidence()

    def advance(self, stop: Stop, on_progress: Callable[[], None]) -> None:
        """Work until the target is proven, or until stopped or the boxes are too thin to halve."""
        self.target = min(self.target, self.best[0] * (1 - TOLERANCE))
        while self._attempt(stop, on_progress):
            self.target = min(self.target, self.best[0] * (1 - TOLERANCE))

    @property
    def size(self) -> int:
        """How many numbers the certificate has."""
        evidence = self.evidence
        return sum(len(part) for parts in (evidence.ops, evidence.ints, evidence.weights) for part in parts)

    def certified_part(self) -> dict[str, Any]:
        """What a certificate says of the bound."""
        evidence = self.evidence
        return {
            "kind": "directions",
            "exponents": [int(exponent) for exponent in self.exponents],
            "ops": pack(np.concatenate(evidence.ops)),
            "evidence": pack(np.concatenate(evidence.ints)),
            "weights": pack(whole_weights(np.concatenate(evidence.weights))),
        }

    def _attempt(self, stop: Stop, on_progress: Callable[[], None]) -> bool:
        """One search with a fixed target; True when a rule below the target was found, which asks for another search."""
        from .kernels.grow import FINISHED, STUCK, grow

        form, d = self.form, self.form.X.shape[1]
        points = (form.P, form.N)
        scaled = (form.P * self.inverse, form.N * self.inverse)
        rest = self.target - self.C * np.arange(np.ceil(self.target / self.C))
        rest = rest[rest > 0]
        rhos, rooms = np.sqrt(rest / form.a), rest / (4 * form.a)
        stack, hints, top = _faces(d)
        work = (
            np.zeros((len(form.P), len(form.N)), np.int16),
            np.zeros(len(form.P), np.int64),
            np.zeros(len(form.N), np.int64),
        )
        room = max(BUFFER, 4 * (len(rest) + 1) * (4 * len(form.X) + 2 * d + 8))
        ops, ints, weights = np.zeros(4 * CHUNK, np.uint8), np.zeros(room, np.int32), np.zeros(room)
        self.evidence = Evidence()
        chunk = 0
        while not stop() and (self.node_limit is None or self.nodes < self.node_limit):
            used = np.zeros(3, np.int64)
            limits, out = (rhos, rooms, self._budget(len(rest))), (ops, ints, weights, used)
            why, top, boxes = grow(stack, hints, top, points, scaled, self.inverse, limits, work, out)
            self.nodes += boxes
            self.evidence.ints.append(ints[: used[0]].copy())
            self.evidence.weights.append(weights[: used[1]].copy())
            self.evidence.ops.append(ops[: used[2]].copy())
            if why == FINISHED:
                self.lower, self.finished = self.target, True
                break
            self.lower = max(self.lower, min(self.target, self.C * max(0, int(hints[:top].min()))))
            on_progress()
            chunk += 1
            # A box that stays open however thin it is holds a better rule, unless rounding decides.
            if (chunk <= PROBES or why == STUCK) and self._probe(stack[top - 1, 0], stop):
                return True
            if why == STUCK:
                break
        return False

    def _budget(self, levels: int) -> int:
        """Boxes until the next look at the clock."""
        form = self.form
        chunk = max(1, min(CHUNK, A_MOMENT // (len(form.P) * len(form.N) * (form.X.shape[1] + levels))))
        return chunk if self.node_limit is None else max(0, min(chunk, self.node_limit - self.nodes))

    def _probe(self, centre: Array, stop: Stop) -> bool:
        """Whether a rule near a box's centre lies below the target; the best rule is kept."""
        rule = improved(self.form, centre * self.inverse, self.best[0], stop)
        self.best = min(self.best, rule, key=lambda found: found[0])
        return self.best[0] < self.target


def _faces(d: int) -> tuple[Array, NDArray[np.int64], int]:
    """A stack of boxes (centre, half widths) with the 2 d faces of the cube, and the levels that are known to be open (-1: none)."""
    stack, hints = np.zeros((2 * d + d * DEPTH + 2, 2, d)), np.full(2 * d + d * DEPTH + 2, -1)
    for face in range(2 * d):
        stack[face, 1] = 1.0
        stack[face, 1, face // 2] = 0.0
        stack[face, 0, face // 2] = 1.0 if face % 2 else -1.0
    return stack, hints, 2 * d
