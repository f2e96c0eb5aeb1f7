"""What both searches of the hard-margin loss prove and how: a series of rising targets, and the certificate of the highest one that was proven.

A search for a proof of the incumbent's cost has no bound before its end. When it is long, smaller targets are proven first, each by a search of
its own, which costs a fraction of the last; `mipclass.checker.hard_margin` checks the certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...certificates.certificate import FORMAT, VERSION, Certificate, data_digest, floats
from .form import HardMarginForm
from .incumbents import Rule, Stop

TOLERANCE = 1e-9
"""Relative distance below the incumbent's cost at which a bound counts as meeting it; room for rounding in every decision."""

ROOM = Fraction(1, 10**12)
"""Relative distance of the claimed bound below the searched one, for roundings in the search."""

WEIGHT_BITS = 50
"""Convex weights are written as whole multiples of 2^-WEIGHT_BITS; the checker divides by their sum."""

WRITTEN_PER_SECOND = 2_000_000
"""Numbers of a certificate that are packed in a second. A certificate that would take longer than the time left is not written."""

SHORTEST_WRITING = 0.3
"""Seconds that a certificate may take in any case."""

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85)
"""Shares of the incumbent's cost that are proven, one after the other, when the whole is not proven by a short search. The nodes grow
exponentially with the share, so that all but the last few cost little."""

SHORT, SHORT_SHARE = 5_000, 0.1
"""Nodes, and part of the time left, after which smaller targets are proven first: what fewer nodes prove, in seconds, needs no bound on the way."""


class Search(Protocol):
    """A search for a proof that no rule costs less than `target`."""

    best: Rule
    target: float
    lower: float
    nodes: int
    node_limit: int | None

    @property
    def finished(self) -> bool:
        """Whether the target is proven."""

    def advance(self, stop: Stop, on_progress: Callable[[], None]) -> None:
        """Work until the target is proven, a limit is reached or nothing more can be done; another call goes on."""

    @property
    def size(self) -> int:
        """How many numbers the certificate has."""

    def certified_part(self) -> dict[str, Any]:
        """What a certificate says of the bound."""


Starter = Callable[[Rule, float, int | None], Search]
"""A new search from the best rule, the share of its cost to prove, and a node limit."""


def rising(start: Starter, best: Rule, node_limit: int | None) -> Iterator[Search]:
    """The searches to go on with, one after the other: the whole for a while, then rising shares, then the whole again."""

    def at_most(nodes: int | None) -> int | None:
        left = None if node_limit is None else node_limit - used
        return min((most for most in (nodes, left) if most is not None), default=None)

    used = 0
    whole = start(best, 1.0, at_most(SHORT))
    yield whole
    best, used = whole.best, whole.nodes
    for share in SHARES:
        part = start(best, share, at_most(None))
        yield part
        best, used = part.best, used + part.nodes
    whole.best = min(best, whole.best, key=lambda found: found[0])
    left = at_most(None)
    whole.node_limit = None if left is None else whole.nodes + left
    yield whole


def whole_weights(weights: Array) -> NDArray[np.int64]:
    """Convex weights as a certificate has them."""
    return np.round(weights * 2.0**WEIGHT_BITS).astype(np.int64)


def hard_margin_certificate(form: HardMarginForm, search: Search, w: Array, b: float, cost: Fraction) -> Certificate:
    """The certificate of a finished search, with a rule and its exact cost."""
    positive = "larger" if form.model.data.positive_is_larger else "smaller"
    positive = "only" if form.positive.all() else positive
    bound = str(Fraction(search.lower) * (1 - ROOM))
    return Certificate(
        {
            "format": FORMAT,
            "version": VERSION,
            "data": {**data_digest(form.X, form.model.y_pm1), "positive": positive},
            "problem": form.statement.content(),
            "upper": {"w": floats(w), "b": float(b).hex(), "loss": str(cost)},
            "lower": {**search.certified_part(), "bound": bound},
        }
    )
