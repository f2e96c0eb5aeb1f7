"""Regions of a two-dimensional classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import InvalidInputError
from .axes import axes_of
from .style import INKS, TINTS

_MARKERS = ("s", "o")


class DecisionRegionDisplay:
    """A two-dimensional classifier: its regions, its hyperplanes, the points, and those on the wrong side.

    Parameters
    ----------
    xx0, xx1, scores : a grid and the decision function on it; positive scores are `classes[1]`'s region.
    X, y, predicted : the points, their labels and the classifier's labels for them.
    classes : the two labels, the positive one second.
    hyperplanes, offsets : normals v_j and offsets g_j of lines to draw, or None.
    names : names of the two features.

    Attributes
    ----------
    ax_, figure_ : after `plot`.   errors : the number of misclassified points.
    """

    def __init__(
        self,
        xx0: Array,
        xx1: Array,
        scores: Array,
        *,
        X: Array,
        y: NDArray[Any],
        predicted: NDArray[Any],
        classes: NDArray[Any],
        hyperplanes: Array | None = None,
        offsets: Array | None = None,
        names: tuple[str, str] = ("x0", "x1"),
    ) -> None:
        self.xx0, self.xx1, self.scores = xx0, xx1, scores
        self.X, self.y, self.predicted, self.classes = X, y, predicted, classes
        self.hyperplanes, self.offsets, self.names = hyperplanes, offsets, names
        self.errors = int((y != predicted).sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        grid_resolution: int = 300,
        margin: float = 0.08,
        names: tuple[str, str] | None = None,
        ax: Any = None,
    ) -> DecisionRegionDisplay:
        """Draw a fitted classifier with a decision function over two features, with the points (X, y).

        names : of the two axes; by default those of the columns of X.
        """
        known = list(map(str, getattr(X, "columns", ("x0", "x1"))))
        points, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
        if points.ndim != 2 or points.shape[1] != 2:
            raise InvalidInputError(
                f"regions can be drawn for exactly two features; X has shape {points.shape}. Fit on two columns, or plot scores."
            )
        if labels.shape != (len(points),):
            raise InvalidInputError(f"y must hold one label for each of the {len(points)} points; got {labels.shape}.")
        low, high = points.min(axis=0), points.max(axis=0)
        pad = margin * np.where(high > low, high - low, 1.0)
        axes = [np.linspace(low[c] - pad[c], high[c] + pad[c], grid_resolution) for c in (0, 1)]
        xx0, xx1 = np.meshgrid(*axes)
        grid: Any = np.column_stack([xx0.ravel(), xx1.ravel()])
        grid, shown = (_framed(X, grid), X) if hasattr(X, "columns") else (grid, points)
        hyperplanes, offsets = _lines(estimator)
        display = cls(
            xx0,
            xx1,
            np.asarray(estimator.decision_function(grid)).reshape(xx0.shape),
            X=points,
            y=labels,
            predicted=np.asarray(estimator.predict(shown)),
            classes=np.asarray(estimator.classes_),
            hyperplanes=hyperplanes,
            offsets=offsets,
            names=names or (known[0], known[1]),
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> DecisionRegionDisplay:
        """Draw into `ax`, or into new axes."""
        ax, figure = axes_of(ax)
        limits = self.xx0.min(), self.xx0.max(), self.xx1.min(), self.xx1.max()
        positive = (self.scores > 0).astype(float)
        ax.contourf(self.xx0, self.xx1, positive, levels=[-0.5, 0.5, 1.5], colors=TINTS, zorder=0)
        if self.hyperplanes is not None and self.offsets is not None:
            for k, (v, g) in enumerate(zip(self.hyperplanes, self.offsets, strict=True)):
                self._line(ax, v, g, limits, label="hyperplane" if k == 0 else None)
        for k, label in enumerate(self.classes):
            mine = self.y == label
            ax.scatter(*self.X[mine].T, s=18, c=INKS[k], marker=_MARKERS[k], linewidths=0, label=str(label), zorder=3)
        wrong = self.y != self.predicted
        if wrong.any():
            ax.scatter(*self.X[wrong].T, s=70, facecolors="none", edgecolors="black", label="misclassified", zorder=4)
        ax.set(xlim=limits[:2], ylim=limits[2:], xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=4, fontsize="small", frameon=False)
        self.ax_, self.figure_ = ax, figure
        return self

    @staticmethod
    def _line(ax: Any, v: Array, g: float, limits: tuple[float, float, float, float], label: str | None) -> None:
        """v.x = g across the axes' box; nothing for v = 0."""
        if not np.any(v):
            return
        foot = g * v / (v @ v)
        along = np.array([-v[1], v[0]]) / np.linalg.norm(v)
        ax.axline(foot, foot + along, color="black", linestyle="--", linewidth=1.0, label=label, zorder=2)


def _framed(X: Any, grid: Array) -> Any:
    """The grid in X's own kind of frame, so that feature names are kept."""
    return type(X)(dict(zip(X.columns, grid.T, strict=True)))


def _lines(estimator: Any) -> tuple[Array | None, Array | None]:
    """Hyperplanes of a polyhedral classifier, or the line of a linear one, as (normals, offsets)."""
    if hasattr(estimator, "hyperplanes_"):
        return np.asarray(estimator.hyperplanes_), np.asarray(estimator.offsets_)
    if hasattr(estimator, "coef_") and np.shape(estimator.coef_) == (1, 2):
        return np.asarray(estimator.coef_), -np.ravel(estimator.intercept_)
    return None, None
