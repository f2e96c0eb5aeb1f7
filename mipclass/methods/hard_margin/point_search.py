"""Branch and bound over points, for the hard-margin loss with many features or few errors.

Minimise    a |w|^2 + sum of the costs of the wrong points
Search      Points are free, right or wrong; the root leaves all of them free.
Bound       To prove B at a node that has paid c for its wrong points: a subsystem, some of the points that are not wrong, conflicts when no rule
            with a |w|^2 < B - c gets all of them right, shown by the nearest points of their hulls (|w| >= 2 / |v|). Then one of its free
            points is wrong too, and c grows by the least of their costs. Further subsystems, with other free points, are sought with what is
            left. The node is closed when nothing is left, or when a conflicting subsystem has no free point.
Branch      on the free points of the first subsystem: the t-th wrong and those before it right.
Limits      With a limit on the number of errors instead of a price, all of B is left for a |w|^2, and a node that pays more than the limit is closed.
            With limits for each class, a class that has as many wrong points as are allowed has no free point any more.
Claim       proven up to TOLERANCE; the tree and its subsystems are the certificate, checked in exact arithmetic.
One node costs a few nearest-point problems, O(n d^2) each; the number of nodes grows with the number of errors, hardly with d.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...certificates.certificate import pack
from .form import HardMarginForm
from .incumbents import Rule, Stop, improved
from .proof import TOLERANCE, whole_weights

A_MOMENT = 20_000_000
"""Points times features squared times subsystems of a node (at most n / d or so), between two looks at the clock: half a second or less."""

FIRST_ROOM = 1 << 10
"""Rows of the stack and of the pool of subsystems at first; both double when they are full."""

BUFFER = 1 << 20
"""Whole numbers of evidence that are held before they are moved to the list of parts."""


class PointSearch:
    """A search for a proof that no rule costs less than `target`; `best` is the best rule known."""

    def __init__(self, form: HardMarginForm, best: Rule, share: float = 1.0, node_limit: int | None = None) -> None:
        """Prove a share of the cost of the rule `best`; with a node limit no more nodes than that are looked at."""
        from .kernels.branching import use_up

        self.form, self.best, self.node_limit = form, best, node_limit
        self.target = share * best[0] * (1 - TOLERANCE)
        self.n, self.d = len(form.P) + len(form.N), form.X.shape[1]
        self.costs = np.concatenate(form.cloud_costs)
        self._stack = (
            np.zeros((FIRST_ROOM, self.n), np.int8),
            np.full(FIRST_ROOM, -1),
            np.zeros(FIRST_ROOM),
            np.full(FIRST_ROOM, -1),
        )
        self._stack[0][0] = np.isinf(self.costs)  # RIGHT: the origin
        if max(form.class_most) < np.inf:
            use_up(self._stack[0][0], len(form.P), *map(float, form.class_most))
        self._pool = (
            np.zeros((FIRST_ROOM, 2 * (self.d + 2)), np.int32),
            np.zeros((FIRST_ROOM, self.d + 2)),
            np.zeros(1, np.int64),
        )
        self._top, self.nodes, self.lower = 1, 0, 0.0
        self.evidence: list[NDArray[np.int32]] = []

    @property
    def finished(self) -> bool:
        """Whether the target is proven."""
        return self._top == 0

    def advance(self, stop: Stop, on_progress: Callable[[], None]) -> None:
        """Work until the target is proven, or until stopped or rounding hides what is right."""
        from .kernels.branching import BETTER, branch

        form = self.form
        self.target = min(self.target, self.best[0] * (1 - TOLERANCE))
        ints = np.zeros(max(BUFFER, 4 * self.n), np.int32)
        while self._top and not stop() and (self.node_limit is None or self.nodes < self.node_limit):
            self._make_room()
            written = np.zeros(1, np.int64)
            terms, clouds, out = (form.scaled_a, self.target, *form.terms[1:]), (form.P, form.N), (ints, written)
            why, self._top, done, v = branch(
                self._stack, self._top, self._budget(), clouds, self.costs, terms, self._pool, out
            )
            self.nodes += done
            self.evidence.append(ints[: written[0]].copy())
            on_progress()
            if why == BETTER and not self._lowered(v, stop):
                return
        self.lower = self.target if self.finished else 0.0

    @property
    def size(self) -> int:
        """How many numbers the certificate has."""
        return int(3 * (self.d + 2) * self._pool[2][0]) + sum(map(len, self.evidence))

    def certified_part(self) -> dict[str, Any]:
        """What a certificate says of the bound."""
        members, weights, used = self._pool
        return {
            "kind": "subsystems",
            "members": pack(members[: used[0]]),
            "weights": pack(whole_weights(weights[: used[0]])),
            "tree": pack(np.concatenate(self.evidence)),
        }

    def _budget(self) -> int:
        """Nodes until the next look at the clock."""
        chunk = max(1, A_MOMENT // (self.n * self.d**2 * (1 + self.n // self.d)))
        return chunk if self.node_limit is None else max(0, min(chunk, self.node_limit - self.nodes))

    def _lowered(self, v: Array, stop: Stop) -> bool:
        """Whether the rule in direction v lies below the target, which is then lowered: what is proven of the old target holds for it."""
        rule = improved(self.form, v, self.best[0], stop)
        self.best = min(self.best, rule, key=lambda found: found[0])
        lower = self.best[0] * (1 - TOLERANCE)
        self.target, was = min(self.target, lower), self.target
        return self.target < was

    def _make_room(self) -> None:
        """Double the stack or the pool when the next nodes may not fit."""
        if self._top + 4 * (self.d + 2) > len(self._stack[0]):
            states, before, paids, known = self._stack
            self._stack = (_doubled(states), _doubled(before), _doubled(paids), _doubled(known))
        members, weights, used = self._pool
        if used[0] + 2 * self.n > len(members):
            self._pool = (_doubled(members), _doubled(weights), used)


def _doubled(rows: NDArray[Any]) -> NDArray[Any]:
    """Twice as many rows, the new ones zero."""
    return np.concatenate([rows, np.zeros_like(rows)])
