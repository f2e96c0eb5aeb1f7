"""What a method is: an algorithm that matches a model's normal form and returns an Outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ..options import Options
from ..result import Outcome
from ..run import Run


class Method(ABC):
    """A paper's algorithm, run by the driver exactly like a solver.

    Class attributes
    ----------------
    name : the solver name users write.
    promise : what its answer is worth, e.g. "proven: exact when it finishes".
    options : option name -> Option(default, doc, check); the driver validates and fills in defaults.
    """

    name: ClassVar[str]
    promise: ClassVar[str]
    options: ClassVar[Options] = {}

    @abstractmethod
    def refuses(self, problem: Any) -> str | None:
        """None when this method can solve `problem`; otherwise the reason, with the remedy."""

    def prefers(self, problem: Any) -> bool:
        """Whether solver="auto" should choose this method for a problem that it does not refuse."""
        return True

    @abstractmethod
    def solve(self, problem: Any, run: Run) -> Outcome:
        """Solve within `run`'s limits; return the incumbent with an honest status and claim."""
