"""Solver "box": the plain 0-1 loss proven by branch and bound over boxes of weights (see `box.search`)."""

from __future__ import annotations

from typing import ClassVar

from ....modelling.problem import Problem
from ....protocol.options import Options
from ....protocol.result import Outcome
from ....protocol.run import Run
from ...base import Method, Refusal
from ..answer import KEPT_OPTIONS
from ..form import ProofForm, match_proof
from ..helping import open_checkpoint
from ..plain import prove_plain
from .search import MAX_RANK


class Box(Method[ProofForm]):
    """Best for few features (up to about eight); the number of boxes grows exponentially with them."""

    name: ClassVar[str] = "box"
    promise: ClassVar[str] = "proven: exact with a checkable certificate when it finishes, a proven bound at any time"
    options: ClassVar[Options] = KEPT_OPTIONS

    def match(self, problem: Problem) -> ProofForm | Refusal:
        """The plain 0-1 loss of few features, or why the problem is not of that form."""
        form = match_proof(problem, plain=True)
        if isinstance(form, ProofForm) and form.problem.data.d + 1 > MAX_RANK:
            return Refusal(f"boxes go up to {MAX_RANK - 1} features, X has {form.problem.data.d}; use solver='iis'.")
        return form

    def solve(self, form: ProofForm, run: Run) -> Outcome:
        """The plain problem by boxes alone."""
        open_checkpoint(form, run)
        return prove_plain(form, run, ("box",))
