"""Multipliers along an outlier path."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Mask
from ..errors import InvalidInputError
from .axes import axes_of

VISIBLE = 1e-9  # a jump of a multiplier is marked from this share of its largest value (at least 1); less is rounding
MOST_LINES = 6  # drawn when the points are not given


class OutlierPathDisplay:
    """Multipliers of some points along an outlier path, with the jumps marked (Figure 4 of Suzumura et al. 2014).

    Parameters
    ----------
    values : (breakpoints,) the moving parameter.   multipliers : (breakpoints, points).   jumps : (breakpoints,) mask.
    points : the points' numbers.   parameter : "theta" or "s".

    Attributes
    ----------
    ax_, figure_ : after `plot`.
    """

    def __init__(self, values: Array, multipliers: Array, jumps: Mask, *, points: NDArray[Any], parameter: str) -> None:
        self.values, self.multipliers, self.jumps = values, multipliers, jumps
        self.points, self.parameter = points, parameter

    @classmethod
    def from_path(cls, path: Any, *, points: Any = None, ax: Any = None) -> OutlierPathDisplay:
        """Draw the given points, or the MOST_LINES whose multipliers change most."""
        if points is None:
            everything = path.multipliers(np.arange(len(path.y)))
            travelled = np.abs(np.diff(everything, axis=0)).sum(axis=0)
            points = np.sort(np.argsort(-travelled)[:MOST_LINES])
        chosen = np.atleast_1d(np.asarray(points))
        display = cls(path.values, path.multipliers(chosen), path.jumps, points=chosen, parameter=path.parameter)
        return display.plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, points: Any = None, ax: Any = None) -> OutlierPathDisplay:
        """Draw the path of a fitted OutlierPathSVC; points count along its `path_rows_`."""
        path = getattr(estimator, "path_", None)
        if path is None:
            raise InvalidInputError("from_estimator takes a fitted OutlierPathSVC; call fit first.")
        return cls.from_path(path, points=points, ax=ax)

    def plot(self, *, ax: Any = None) -> OutlierPathDisplay:
        """Draw one line per point, with open circles at both ends of each jump."""
        self.ax_, self.figure_ = axes_of(ax)
        at = np.flatnonzero(self.jumps)
        for column, point in enumerate(self.points):
            alpha = self.multipliers[:, column]
            if self.parameter == "s":
                (line,) = self.ax_.step(self.values, alpha, where="post", label=f"point {point}")
            else:
                (line,) = self.ax_.plot(
                    np.insert(self.values, at, np.nan), np.insert(alpha, at, np.nan), label=f"point {point}"
                )
            moved = at[np.abs(alpha[at] - alpha[at - 1]) > VISIBLE * max(1.0, float(np.abs(alpha).max()))]
            for k in moved:
                ends = [alpha[k - 1], alpha[k]]
                self.ax_.plot([self.values[k]] * 2, ends, "o", color=line.get_color(), mfc="white", ms=4)
        name = r"$\theta$" if self.parameter == "theta" else "$s$"
        self.ax_.set(xlabel=name, ylabel="multiplier")
        if self.parameter == "theta":
            self.ax_.invert_xaxis()
        self.ax_.legend(fontsize=8)
        return self
