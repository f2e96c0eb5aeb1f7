"""The state of a search over whole weights on disk: the proven tree, the trees of the pass under way, and the incumbent.

The state is one file, which is replaced from time to time. Nothing of it is believed without the checker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array
from ....protocol.checkpoint import CheckpointFolder, Pace

STATE = "state"


class LatticeSaver:
    """Writes and reads the states of one search."""

    def __init__(self, checkpoint: CheckpointFolder) -> None:
        self.store = checkpoint.part("lattice")
        self._pace = Pace()

    @property
    def is_due(self) -> bool:
        """Whether the last state is old."""
        return self._pace.is_due

    def save(self, proven: tuple[int, NDArray[np.uint8]], w: Array | None, under_way: Mapping[str, Any]) -> None:
        """Replace the state: (target, tree) of the last complete pass, the incumbent's weights, and the pass under way."""
        target, ops = proven
        with self._pace.writing():
            weights = np.zeros(0, np.int64) if w is None else w.astype(np.int64)
            self.store.write_arrays(STATE, {"target": np.array(target), "proven": ops, "weights": weights, **under_way})

    def load(self) -> dict[str, Any] | None:
        """The last state; None if there is none."""
        return self.store.read_arrays(STATE) if self.store.has(STATE) else None
