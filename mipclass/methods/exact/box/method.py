"""Solver "box": the plain 0-1 loss proven by branch and bound over boxes of weights (see `box_search`)."""

from __future__ import annotations

from typing import Any, ClassVar

from ....modelling.model import Model
from ....protocol.options import Options
from ....protocol.result import Outcome
from ....protocol.run import Run
from ...base import Method
from ..answer import PROOF_OPTIONS, Task, refuse
from ..exact import prove_plain


class Box(Method):
    """Best for few features (up to about eight); the number of boxes grows exponentially with them."""

    name: ClassVar[str] = "box"
    promise: ClassVar[str] = "proven: exact with a checkable certificate when it finishes, a proven bound at any time"
    options: ClassVar[Options] = PROOF_OPTIONS

    def refuses(self, problem: Any) -> str | None:
        from .search import MAX_RANK

        reason = refuse(problem, plain=True)
        if reason is None and problem.X.shape[1] + 1 > MAX_RANK:
            return f"boxes go up to {MAX_RANK - 1} features, X has {problem.X.shape[1]}; use solver='iis'."
        return reason

    def solve(self, problem: Model, run: Run) -> Outcome:
        return prove_plain(Task.of(problem, run), ("box",))
