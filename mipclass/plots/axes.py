"""The axes that a display draws on, and the colours of the two classes."""

from __future__ import annotations

from typing import Any

TINTS = ("#f3d9c4", "#cfe0f1")
"""Colours of the regions of the negative and the positive class."""
INKS = ("#b3541e", "#1f5f9e")
"""Colours of the points of the negative and the positive class."""


def axes_of(ax: Any) -> tuple[Any, Any]:
    """The given Axes, or new ones, with their figure."""
    if ax is None:
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots(layout="constrained")
        return ax, figure
    return ax, ax.figure
