"""Problem: what the driver needs of anything that can be solved, and the base of problems that are bare programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import scipy.sparse as sp

from ..arrays import Array
from ..protocol.result import Reading, Values
from .program import Program


@runtime_checkable
class Problem(Protocol):
    """Anything that can be solved: a Model, a Program, a projection, a model of Pyomo or CVXPY."""

    @property
    def name(self) -> str:
        """The problem's name in messages and files."""
        ...

    def program(self) -> Program:
        """The canonical form."""
        ...

    def decode(self, x: Array) -> Values:
        """The values that the user sees ("w", "b", ...) at a solution x of `program()`."""
        ...

    def encode(self, values: Mapping[str, Any]) -> Array:
        """A start for `program()` from decoded values, with NaN in the columns that they do not determine."""
        ...

    def recount(self, values: Mapping[str, Any]) -> float:
        """The objective at decoded values, computed from the data."""
        ...

    def violations(self, values: Mapping[str, Any]) -> dict[str, float]:
        """The violation of each violated constraint at decoded values, computed from the data."""
        ...

    def basis(self) -> sp.csr_array | None:
        """T with x = T x', in which `program()` is better conditioned; None to solve it as it stands."""
        ...

    def scope(self) -> str:
        """The limits within which an optimum of `program()` is an optimum of the problem; empty when there are none."""
        ...

    def reading(self, values: Values) -> Reading | None:
        """The classifier that decoded values stand for; None when the problem is not about one."""
        ...


class AsStated(Problem):
    """Base of a Problem whose program is the problem itself: no change of variables, no limits, no further checks.

    It inherits from the protocol, so that type checkers compare the signatures of every subclass with it.
    """

    def value_names(self) -> tuple[str, ...]:
        """Names of values that `decode` gives and that are no blocks of the program; a warm start may hold them as well."""
        return ()

    def violations(self, values: Mapping[str, Any]) -> dict[str, float]:
        """No violations beyond those of the program's rows, which the driver checks."""
        return {}

    def basis(self) -> sp.csr_array | None:
        """No change of variables: the program is solved as it stands."""
        return None

    def scope(self) -> str:
        """No limits: an optimum of the program is an optimum of the problem."""
        return ""

    def reading(self, values: Values) -> Reading | None:
        """No classifier: the problem is a program."""
        return None
