"""Multipliers along an outlier path."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Mask
from ..errors import InvalidInputError
from .axes import axes_of

VISIBLE = 1e-9  # a jump of a multiplier is marked from this share of its largest value (at least 1); less is rounding
SAME = 1e-6  # multipliers that differ by less than this share of the largest value (at least 1) are drawn as one line
MOST_LINES = 6  # drawn when the points are not given


class OutlierPathDisplay:
    """Multipliers of some points along an outlier path, with the jumps marked (Figure 4 of Suzumura et al. 2014).

    Parameters
    ----------
    values : (breakpoints,) the moving parameter.   multipliers : (breakpoints, points).   jumps : (breakpoints,) mask.
    points : the points' numbers.   parameter : "theta" or "s".
    unit : what the numbers count in the legend, "point" or "row".

    Attributes
    ----------
    ax_, figure_ : after `plot`.
    """

    def __init__(
        self,
        values: Array,
        multipliers: Array,
        jumps: Mask,
        *,
        points: NDArray[Any],
        parameter: str,
        unit: str = "point",
    ) -> None:
        self.values, self.multipliers, self.jumps = values, multipliers, jumps
        self.points, self.parameter, self.unit = points, parameter, unit

    @classmethod
    def from_path(cls, path: Any, *, points: Any = None, rows: Any = None, ax: Any = None) -> OutlierPathDisplay:
        """Draw the given points, or the MOST_LINES whose multipliers change most.

        rows : the data row of each point, counted from 0; the legend then names rows, counted from 1 as in a file.
        """
        if points is None:
            points = np.sort(np.argsort(-path.travelled(), kind="stable")[:MOST_LINES])
        chosen = np.atleast_1d(np.asarray(points))
        multipliers = path.multipliers(chosen)
        shown, unit = (chosen, "point") if rows is None else (np.asarray(rows)[chosen] + 1, "row")
        display = cls(path.values, multipliers, path.jumps, points=shown, parameter=path.parameter, unit=unit)
        return display.plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, points: Any = None, by_row: bool = False, ax: Any = None
    ) -> OutlierPathDisplay:
        """Draw the path of a fitted OutlierPathSVC; points count along its `path_rows_`.

        by_row : whether the legend names rows of the training data, counted from 1 as in a file, instead of points of the path.
        """
        path = getattr(estimator, "path_", None)
        if path is None:
            raise InvalidInputError("from_estimator takes a fitted OutlierPathSVC; call fit first.")
        rows = estimator.path_rows_ if by_row else None
        return cls.from_path(path, points=points, rows=rows, ax=ax)

    def plot(self, *, ax: Any = None) -> OutlierPathDisplay:
        """Draw one line per point, with open circles at both ends of each jump; points with the same multipliers share a line."""
        self.ax_, self.figure_ = axes_of(ax)
        at = np.flatnonzero(self.jumps)
        for column, label in self._lines():
            alpha = self.multipliers[:, column]
            if self.parameter == "s":
                (line,) = self.ax_.step(self.values, alpha, where="post", label=label)
            else:
                (line,) = self.ax_.plot(np.insert(self.values, at, np.nan), np.insert(alpha, at, np.nan), label=label)
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

    def _lines(self) -> list[tuple[int, str]]:
        """(column, label) of each line to draw: of columns that coincide the first, with the numbers of all its points."""
        same = SAME * max(1.0, float(np.abs(self.multipliers).max(initial=0.0)))
        groups: list[list[int]] = []
        for column in range(len(self.points)):
            alike = [g for g in groups if np.abs(self.multipliers[:, column] - self.multipliers[:, g[0]]).max() <= same]
            if alike:
                alike[0].append(column)
            else:
                groups.append([column])
        return [
            (
                group[0],
                f"{self.unit}{'s' if len(group) > 1 else ''} {', '.join(map(str, sorted(self.points[k] for k in group)))}",
            )
            for group in groups
        ]
