"""Chooses the working sets of a linear rule (see ball); their size follows from what the last batches cost."""

from __future__ import annotations

from dataclasses import dataclass

from .ball import BallBatch
from .batches import Batch
from .solution_path import OutlierPath
from .state import OutlierState

FIRST_SIZE, FIRST_SHARE = 2000, 10  # points of the first working set: so many, or n / FIRST_SHARE if these are more
SMALLEST = 500  # points of a working set besides the active ones
WHOLE = 0.6  # a working set of more than this share of the points gains nothing: all are taken
# Choosing a working set costs, per point of the state, as much as so many events do per point of the working set.
A_CHOICE = 90
MORE, FAR_MORE = 1.25, 2.0  # factors by which the size adapts
FIRST_JUMPS, MOST_JUMPS = 16, 1024
FIRST_RISES, FEWEST_RISES = 64, 8  # inliers that the cut-off may pass in a batch along s


@dataclass
class BallSets:
    """The size of the working set and, along s, the number of inliers that the cut-off may pass; both adapt.

    jumps : that the next batch may make; progress is reported between two batches.
    restrict : whether the path may be followed on a working set.
    """

    state: OutlierState
    path: OutlierPath
    restrict: bool = True
    size: float = 0.0
    rises: float = FIRST_RISES
    jumps: int = FIRST_JUMPS

    def __post_init__(self) -> None:
        """The first size."""
        self.size = max(FIRST_SIZE, len(self.state.a) / FIRST_SHARE)

    def next(self) -> BallBatch:
        """A batch on the next working set."""
        n = len(self.state.a)
        rises = min(int(self.rises), n // 4) if self.path.parameter == "s" else 0
        size = int(max(self.size, SMALLEST + len(self.state.A) + 2 * rises))
        jumps, self.jumps = self.jumps, min(2 * self.jumps, MOST_JUMPS)
        return BallBatch(self.state, n if size > WHOLE * n or not self.restrict else size, jumps, rises)

    def take(self, batch: Batch) -> bool:
        """Add the breakpoints of a batch to the path; true, for they all hold."""
        assert isinstance(batch, BallBatch)
        size, events = len(batch.names), batch.part.events
        found = batch.commit()
        if found is not None:
            self.path.add(*found)
        if batch.is_whole:
            return True
        if batch.left_ball:
            self.rises = max(self.rises / MORE, FEWEST_RISES)
            if found is None:
                self.size = size * FAR_MORE
            else:
                self.size = size * MORE if events * size < A_CHOICE * len(self.state.a) else size / MORE
        else:
            self.rises *= MORE
        return True

    def widen(self) -> None:
        """A batch stalled: the next working set is larger."""
        self.size *= FAR_MORE
