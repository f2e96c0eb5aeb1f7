"""How long a box search may still take: the tree's growth from pass to pass, extrapolated to the cost of the incumbent.

The number of nodes grows about exponentially with the target. With the nodes N1 and N2 of the last two passes at the targets t1 < t2, a
tree that proves T has about N2 (N2 / N1)^((T - t2) / (t2 - t1)) nodes. Passes before the last one take half of its time in all, as each
enlarges the tree about threefold (`search.NODE_GROWTH`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

EARLIER_PASSES = 1.5
"""Nodes of all passes that are still to come, in multiples of the nodes of the last one: 1 + 1/3 + 1/9 + ..."""

MOST_GROWTH = 50.0
"""Logarithm of the largest growth that is extrapolated: beyond it the answer is "too long", whatever the number."""


def nodes_to_come(history: Sequence[tuple[int, int]], wanted: int, target: int, share: float) -> float | None:
    """Nodes until `wanted` is proven, when this share of the pass towards `target` is done; None before two passes are known.

    history : (target, nodes) of the passes so far.
    """
    if len(history) < 2:
        return None
    (t1, n1), (t2, n2) = history[-2:]
    rate = max(0.0, log(max(n2, 2) / max(n1, 1)) / max(t2 - t1, 1))

    def size(goal: int) -> float:
        return n2 * exp(min(MOST_GROWTH, rate * max(0, goal - t2)))

    now = (1.0 - min(1.0, share)) * size(target)
    return now if target >= wanted else now + EARLIER_PASSES * size(wanted)
