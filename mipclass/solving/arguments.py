"""The arguments of `solve`, checked before any work: limits, start values, and what counts as a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..checks import is_number, is_whole_number
from ..errors import InvalidInputError, UnsupportedProgramError
from ..modelling.model import Model
from ..modelling.problem import AsStated, Problem
from ..modelling.program import Program
from ..protocol.result import Result, Values

NAMES_SHOWN = 12
"""A message that lists the names of values shows this many."""

KERNEL_POINTS = "points"
"""The name of the value of a kernel rule that holds its training points."""


@dataclass(frozen=True)
class PlainProgram(AsStated):
    """A Program as a Problem: its values are its blocks, its objective is its own."""

    of: Program
    name: str = "program"

    def program(self) -> Program:
        return self.of

    def decode(self, x: Array) -> Values:
        return self.of.split(x)

    def encode(self, values: Mapping[str, Any]) -> Array:
        return self.of.join(dict(values))

    def recount(self, values: Mapping[str, Any]) -> float:
        return self.of.objective(self.of.join(dict(values)))


def as_problem(problem: Any) -> Problem:
    """Whatever `solve` accepts, as a Problem."""
    if isinstance(problem, Program):
        return PlainProgram(problem, problem.name)
    if isinstance(problem, Problem):
        return problem
    origin = type(problem).__module__.partition(".")[0]
    if origin == "pyomo":
        from ..bridges.pyomo import PyomoProblem

        return PyomoProblem(problem)
    if origin == "cvxpy":
        from ..bridges.cvxpy import CvxpyProblem

        return CvxpyProblem(problem)
    raise InvalidInputError(
        f"solve takes a mipclass Model or Program, a Pyomo ConcreteModel or a cvxpy Problem; got {type(problem).__name__}."
    )


def check_limits(time_limit: Any, gap: Any, seed: Any, threads: Any, callback: Any) -> None:
    """Refuse limits, seeds, numbers of threads and callbacks that make no sense."""
    if time_limit is not None and (not is_number(time_limit) or not time_limit > 0):
        raise InvalidInputError(f"time_limit must be a positive number of seconds or None; got {time_limit!r}.")
    if not is_number(gap) or not 0 <= gap < np.inf:
        raise InvalidInputError(f"gap must be a number >= 0; got {gap!r}.")
    if not is_whole_number(seed):
        raise InvalidInputError(f"seed must be a whole number; got {seed!r}.")
    if not is_whole_number(threads) or threads < 1:
        raise InvalidInputError(f"threads must be a whole number >= 1; got {threads!r}.")
    if callback is not None and not callable(callback):
        raise InvalidInputError(f"callback must be a function of an Event or None; got {type(callback).__name__}.")


def start_values(warm_start: Result | Mapping[str, Any] | None) -> Values | None:
    """The arrays by name of an earlier Result or of a mapping; None where there are none."""
    if warm_start is None:
        return None
    values = warm_start.values if isinstance(warm_start, Result) else warm_start
    if not isinstance(values, Mapping):
        raise InvalidInputError(f"warm_start takes a Result or values by name; got {type(warm_start).__name__}.")
    try:
        return {name: _numbers(name, value) for name, value in values.items()} or None
    except (TypeError, ValueError) as err:
        raise InvalidInputError(f"warm_start must hold arrays of numbers by name; {err}.") from err


def _numbers(name: str, value: Any) -> Any:
    """The value as float64 numbers; the training points of a kernel rule stay sparse where they are."""
    if name == KERNEL_POINTS and sp.issparse(value):
        return sp.csr_array(value, dtype=np.float64)
    return np.asarray(value, dtype=np.float64)


def check_start(problem: Problem, start: Values | None) -> None:
    """Refuse a start for a rule of another shape or with unknown names, whichever solver would read it."""
    if start is None:
        return
    _check_names(problem, start)
    if not isinstance(problem, Model):
        return
    for name, variables in problem.rule.variables(problem.data).items():
        given = start.get(name)
        if given is None:
            continue
        if given.size != variables.size:
            raise InvalidInputError(
                f"warm_start has {given.size} value(s) for {name!r}; this model's {name!r} has {variables.size}."
            )
        if not np.isfinite(given).all():
            raise InvalidInputError(f"warm_start holds NaN or infinity for {name!r}; leave out what is not known.")


def _check_names(problem: Problem, start: Values) -> None:
    """Refuse a name that is neither a value of the rule nor a block of the program, which is built only when one is in doubt."""
    own = problem.value_names() if isinstance(problem, Model | AsStated) else ()
    if set(start) <= set(own):
        return
    try:
        blocks = [block.name for block in problem.program().variables]
    except UnsupportedProgramError:  # solved by its own method alone
        blocks = []
    known = [*own, *(name for name in blocks if name not in own)]
    unknown = [name for name in start if name not in known]
    if unknown:
        near = get_close_matches(str(unknown[0]), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        shown = ", ".join(known[:NAMES_SHOWN]) + (" ..." if len(known) > NAMES_SHOWN else "")
        raise InvalidInputError(
            f"warm_start holds {unknown[0]!r}, which {problem.name!r} does not have; it has {shown}.{hint} "
            "Pass an earlier Result of the same kind of rule, or values by these names; what is not known may be left out."
        )
