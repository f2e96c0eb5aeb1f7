"""Who helps a proof: the workers of the run, and the folder in which it is kept."""

from __future__ import annotations

from ...certificates.certificate import data_digest
from ...protocol.checkpoint import CheckpointFolder
from ...protocol.run import Run
from .box.piece_pass import Help
from .form import ProofForm


def open_checkpoint(form: ProofForm, run: Run) -> None:
    """Open the folder of the option "checkpoint", if it is given; InvalidInputError if it belongs to another problem."""
    folder = run.options.get("checkpoint")
    if folder is None:
        return
    run.checkpoint = CheckpointFolder(
        folder, {"data": data_digest(form.X, form.y), "problem": form.statement.content()}
    )


def help_of(run: Run) -> Help | None:
    """The workers and the folder of a run; None when the caller works alone and keeps nothing: a tree is then grown in one piece."""
    crew, checkpoint = run.crew(), run.checkpoint
    if crew is None and checkpoint is None:
        return None
    here = None if crew is None or crew.sees_memory else run.own_threads()
    return Help(crew, run.seconds_left, checkpoint, here)
