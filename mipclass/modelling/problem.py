"""Problem: what the driver needs of anything that can be solved, and the base of problems that are bare programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import scipy.sparse as sp

from ..arrays import Array
from ..protocol.result import Values
from .program import Program


@runtime_checkable
class Problem(Protocol):
    """Anything that can be solved: a Model, a Program, a projection, a model of Pyomo or CVXPY."""

    @property
    def name(self) -> str:
        """How messages call the problem."""
        ...

    def program(self) -> Program:
        """The canonical form."""
        ...

    def decode(self, x: Array) -> Values:
        """The values a user asked for ("w", "b", ...) from a solution of `program()`."""
        ...

    def encode(self, values: Mapping[str, Any]) -> Array:
        """A full or partial start for `program()` (NaN for unknown columns) from decoded values."""
        ...

    def recount(self, values: Mapping[str, Any]) -> float:
        """The true objective of decoded values, from the data."""
        ...

    def violations(self, values: Mapping[str, Any]) -> dict[str, float]:
        """By how much decoded values break each constraint, from the data; empty when none is broken."""
        ...

    def basis(self) -> sp.csr_array | None:
        """T with x = T x', in which `program()` is better conditioned; None to solve it as it stands."""
        ...

    def scope(self) -> str:
        """Within which limits an optimum of `program()` is an optimum of the problem; empty when there are none."""
        ...


class AsStated:
    """Defaults of a Problem whose program is the problem itself: nothing to rescale, no limits, no further checks."""

    def violations(self, values: Mapping[str, Any]) -> dict[str, float]:
        """None: the program's own rows are checked where it is solved."""
        return {}

    def basis(self) -> sp.csr_array | None:
        """None: the program is solved as it stands."""
        return None

    def scope(self) -> str:
        """Empty: an optimum of the program is an optimum of the problem."""
        return ""
