"""How far a set of features is extended before its proof: by the number of features that closes most sets per work."""

from __future__ import annotations

from ..plain import BOX_ALONE


class Reach:
    """By how many features a set is extended: by the number that has closed most sets per work so far.

    A number that was not tried yet is tried once the number below it has closed a set. An attempt may take as much work as the best
    number would take to close the same sets.
    """

    FIRST_WORK = 300_000
    """Work per set that is assumed at first: setting up a search over some hundred rows."""

    HOPE = 2
    """Sets per work of a number that was not tried yet, as a multiple of what the number below it has closed."""

    def __init__(self, d: int, size: int) -> None:
        self._closed, self._work = [1.0], [float(self.FIRST_WORK)]
        self._most = max(0, min(d, BOX_ALONE) - size)

    def _rate(self, by: int) -> float:
        return self._closed[by] / self._work[by]

    def next(self) -> int:
        """By how many features to extend the next set."""
        return max(range(len(self._closed)), key=self._rate)

    def most_work(self, gain: int) -> int:
        """The work that an attempt to close so many sets may take."""
        return int(gain / max(map(self._rate, range(len(self._closed)))))

    def tell(self, by: int, work: int, closed: int) -> None:
        """The work of an attempt and the number of sets that it closed."""
        self._closed[by] += closed
        self._work[by] += work
        if closed and by == len(self._closed) - 1 and by < self._most:
            self._closed.append(self.HOPE * self._closed[by] / self._work[by] * self.FIRST_WORK)
            self._work.append(float(self.FIRST_WORK))
