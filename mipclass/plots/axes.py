"""The axes that a display draws on."""

from __future__ import annotations

from typing import Any

from .style import style


def axes_of(ax: Any) -> tuple[Any, Any]:
    """The given Axes, or new ones in the package's look, with their figure."""
    if ax is None:
        import matplotlib.pyplot as plt

        with style():
            figure, ax = plt.subplots(layout="constrained")
        return ax, figure
    return ax, ax.figure
