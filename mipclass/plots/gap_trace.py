"""Incumbent and bound over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InvalidInputError
from ..protocol.result import Result, Trace
from .axes import axes_of

WIDEST, THINNEST = 4.0, 1.4
"""Line widths in points of the first and the last of several results."""


class GapTraceDisplay:
    """Incumbent and bound over time: how fast a search found its answer, and how fast it proved it.

    Parameters
    ----------
    traces : label -> list of (seconds, objective, bound), as in `Result.trace`.

    Attributes
    ----------
    ax_, figure_ : after `plot`.
    """

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self.traces = {label: list(trace) for label, trace in traces.items()}

    @classmethod
    def from_results(cls, results: Result | Mapping[str, Result], *, ax: Any = None) -> GapTraceDisplay:
        """Draw one Result or several by label."""
        named = {results.solver: results} if isinstance(results, Result) else dict(results)
        if not named:
            raise InvalidInputError("there is no result to draw; give a Result or a mapping from label to Result.")
        traces = {
            label: [*result.trace, (result.seconds, result.objective, result.bound)] for label, result in named.items()
        }
        return cls(traces).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> GapTraceDisplay:
        """Draw incumbents as solid steps, bounds as dashed ones, and shade the gap between them."""
        self.ax_, self.figure_ = axes_of(ax)
        for k, (label, trace) in enumerate(self.traces.items()):
            colour = f"C{k}"
            seconds = np.array([point[0] for point in trace])
            objective = np.array([np.nan if point[1] is None else point[1] for point in trace])
            bound = np.array([np.nan if point[2] is None else point[2] for point in trace])
            # Later results are drawn thinner above the wider lines of earlier ones, so that coinciding curves are all seen.
            width = WIDEST - (WIDEST - THINNEST) * k / max(1, len(self.traces) - 1) if len(self.traces) > 1 else None
            if np.isfinite(objective).any():
                self.ax_.step(seconds, objective, where="post", color=colour, lw=width, label=f"{label}: incumbent")
            if np.isfinite(bound).any():
                self.ax_.step(seconds, bound, where="post", color=colour, lw=width, ls="--", label=f"{label}: bound")
            both = np.isfinite(objective) & np.isfinite(bound)
            if both.any():
                self.ax_.fill_between(seconds, objective, bound, where=both, step="post", color=colour, alpha=0.12)
        self.ax_.set(xlabel="seconds", ylabel="objective")
        self.ax_.legend()
        return self
