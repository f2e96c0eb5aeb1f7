"""Who helps a proof: the workers of the run."""

from __future__ import annotations

from ...protocol.run import Run
from .box.piece_pass import Help


def help_of(run: Run) -> Help | None:
    """The workers of a run; None when the caller works alone, and then a tree is grown in one piece."""
    crew = run.crew()
    return None if crew is None else Help(crew, run.seconds_left)
