"""What a method is: an algorithm that matches a problem's normal form and solves the form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from ..modelling.problem import Problem
from ..protocol.options import Options
from ..protocol.result import Outcome
from ..protocol.run import Run

Form = TypeVar("Form")
"""A method's own normal form of a problem: what it solves, with what is dear computed at most once."""


ROUNDING_HIDES = (
    "rounding in float64 hides whether the nodes that are left hold a better rule. Features whose sizes differ by a factor of 10^6 or more are the usual "
    "cause: bring them to similar sizes, for example with StandardScaler, and choose C for the scaled features, because the penalty depends on their units."
)
"""Why a proof with a penalty on |w| ended in numerical_error, and what to do."""


@dataclass(frozen=True)
class Refusal:
    """Why a method does not take a problem, and what to use instead."""

    reason: str


class Method(ABC, Generic[Form]):
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
    def match(self, problem: Problem) -> Form | Refusal:
        """The problem in this method's normal form, or the reason why it has none.

        Matching is cheap: a form computes what is dear (dense, merged or whitened data) when it is first asked for it.
        """

    @abstractmethod
    def solve(self, form: Form, run: Run) -> Outcome:
        """Solve the form within `run`'s limits; return the incumbent with an honest status and claim."""
