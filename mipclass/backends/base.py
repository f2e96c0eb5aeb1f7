"""What a backend is: a solver with declared features that turns a Program into a Solution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array
from ..modelling.program import Feature, Program
from ..protocol.options import Options
from ..protocol.result import Status
from ..protocol.run import Run


@dataclass(frozen=True)
class Solution:
    """What a backend says about a Program. `x` is None unless `status` allows a point to be trusted as feasible.

    Signs: at an optimum  Qx + c = A' row_duals + column_duals,  with row_duals >= 0 at an active lower side and <= 0
    at an active upper side (likewise column_duals for bounds). `ray` is a Farkas proof over the rows of an infeasible
    LP. `bound` is a lower bound on the optimal objective, constant included.
    """

    status: Status
    raw_status: str
    x: Array | None = None
    objective: float | None = None
    bound: float | None = None
    nodes: int | None = None
    iterations: int | None = None
    row_duals: Array | None = None
    column_duals: Array | None = None
    ray: Array | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


class Backend(ABC):
    """A solver. Stateless: everything about one call is in the Program and the Run.

    Class attributes
    ----------------
    name : the solver name users write.
    features : what kinds of Program it takes as they stand; checked before any work.
    module : what is imported when used, and asked for with find_spec when not.
    distribution : the name pip knows.
    extra : the optional dependency of mipclass that brings it, or None when it is a default dependency.
    promise : what its answer is worth.
    options : option name -> Option; anything else is refused.
    hooks : which Hooks it honours.
    without_presolve : the options that switch its presolve off, empty where there are none; see second_look.
    """

    name: ClassVar[str]
    features: ClassVar[frozenset[Feature]]
    module: ClassVar[str]
    distribution: ClassVar[str]
    extra: ClassVar[str | None] = None
    promise: ClassVar[str] = "proven within the solver's tolerances"
    options: ClassVar[Options] = {}
    hooks: ClassVar[frozenset[str]] = frozenset()
    without_presolve: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def is_installed(cls) -> bool:
        """Whether the solver's package can be imported; it is not imported to find out."""
        return find_spec(cls.module) is not None

    def version(self) -> str:
        """The version of the installed distribution, or "unknown"."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return "unknown"

    def hears(self, program: Program) -> bool:
        """Whether it looks at the clock and hears Ctrl-C within its longest step on such a program; see solving.own_process."""
        return True

    @abstractmethod
    def solve(self, program: Program, run: Run, start: Array | None = None) -> Solution:
        """Solve within `run`'s limits. Never raises for a limit; returns the incumbent if there is one.

        start : a full or partial point of the program to begin from, NaN where it is not known. A start that is wrong or
            infeasible may cost time and nothing else; a solver without starts leaves it out.
        """


def without_columns(program: Program) -> Solution:
    """The answer for a program without variables: its constant, or infeasible where a row does not allow 0."""
    if ((program.row_lower > 0) | (program.row_upper < 0)).any():
        return Solution(Status.INFEASIBLE, "a row without entries cannot hold", bound=float("inf"))
    return Solution(Status.OPTIMAL, "empty", np.zeros(0), program.constant, program.constant)


def infeasible_or_unbounded(
    solve: Callable[[Program, Run], Solution], program: Program, run: Run, otherwise: Status, **options: Any
) -> Solution:
    """Which of the two a program is, where a solver that found a direction of unbounded descent first cannot tell.

    The program without its objective is never unbounded, and infeasible exactly when the program is. When a limit ends its
    solve, that limit is the answer; when its solve ends without a point for another reason, `otherwise` is.

    solve : the solver.   options : its options for the solve without the objective.
    """
    if program.Q is None and not program.c.any():
        return Solution(Status.INFEASIBLE, "there is nothing to minimise", bound=float("inf"))
    bare = solve(program.replace_with(c=np.zeros(program.n_columns), Q=None), run.inner(**options))
    words = f"without the objective: {bare.raw_status}"
    if bare.status is Status.INFEASIBLE:
        return Solution(Status.INFEASIBLE, words, bound=float("inf"), ray=bare.ray)
    return Solution(Status.UNBOUNDED if bare.x is not None else run.stop() or otherwise, words)


ROWS_BETWEEN_LOOKS = 1000
"""Rows built between two looks at the clock: a look costs less than a row, and a thousand rows take milliseconds."""


class StoppedBuilding(Exception):
    """A limit was reached while a model was built row by row; the backend that raises it answers with `status`."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


def keep_building(run: Run, row: int) -> None:
    """Ask now and then whether to go on; for backends that must build a model row by row in Python."""
    if row % ROWS_BETWEEN_LOOKS == 0:
        status = run.stop()
        if status is not None:
            raise StoppedBuilding(status)


class Family(ABC):
    """Solvers reached through another package: `cvxpy:CLARABEL`, `pyomo:cbc`. One object per package.

    Class attributes
    ----------------
    prefix : what stands before the colon.
    module, distribution, extra : as for a Backend, of the package that brings the solvers.
    """

    prefix: ClassVar[str]
    module: ClassVar[str]
    distribution: ClassVar[str]
    extra: ClassVar[str | None] = None

    @classmethod
    def is_installed(cls) -> bool:
        """Whether the package that brings the solvers can be imported."""
        return find_spec(cls.module) is not None

    @abstractmethod
    def members(self) -> list[str]:
        """The solvers that the package finds on this machine, by the name after the colon. Imports the package."""

    @abstractmethod
    def member(self, solver: str) -> Backend:
        """The backend for one of them, by the name after the colon; SolverNotFoundError when it is not there."""
