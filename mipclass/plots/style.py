"""One look for all pictures: colours, fonts, spines. `styled` gives it to a function that draws."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

TINTS = ("#f3d9c4", "#cfe0f1")
"""Colours of the regions of the negative and the positive class."""
INKS = ("#b3541e", "#1f5f9e")
"""Colours of the points of the negative and the positive class."""
COLOURS = (INKS[1], INKS[0], "#4a8c5c", "#7a5aa6", "#8a8a2d", "#5b6b7a")
"""The cycle of line colours; the first two are those of the positive and the negative class."""

STYLE: dict[str, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "font.size": 10,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "savefig.dpi": 110,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}
"""matplotlib's parameters, but for the cycle of colours."""

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def style() -> Any:
    """A context in which new axes, legends and titles have the package's look."""
    import matplotlib.pyplot as plt

    return plt.rc_context({**STYLE, "axes.prop_cycle": plt.cycler(color=COLOURS)})


def styled(draw: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """The function, drawing in the package's look.

    Example
    -------
    >>> from mipclass.plots.style import styled
    >>> @styled
    ... def picture():
    ...     import matplotlib.pyplot as plt
    ...     return plt.rcParams["legend.frameon"]
    >>> picture()
    False
    """

    @wraps(draw)
    def drawn(*arguments: Arguments.args, **options: Arguments.kwargs) -> Answer:
        with style():
            return draw(*arguments, **options)

    return drawn
