"""Program: the canonical form that every model becomes and every backend reads.

    minimise    1/2 x'Qx + c'x + constant
    subject to  row_lower <= A x <= row_upper
                lower <= x <= upper,   x_j integer where integer_j
                x[column_k] = value_k  implies  row_k holds          (indicator rows)

A row with an indicator has to hold only when its binary column has the stated value; every other row always has to hold.
Columns and rows come in named blocks (blocks.py). Indicator rows are described in indicators.py, the form of the arrays
in canonical.py; builder.py assembles a Program from expressions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from math import ceil, gcd
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..arrays import Array, Mask
from ..errors import InvalidInputError
from .blocks import Block
from .canonical import canonical_hessian, canonical_rows, frozen, same_entries
from .conversions import conversion
from .convexity import is_semidefinite
from .indicators import Indicators

BOUND_ROUNDING = 1e-6
"""A lower bound above an attainable objective by this fraction of the least cost is still rounded down to it: solvers report bounds
within their own tolerances, commonly 1e-6."""

LEAST_STEP = 1e-3
"""Objectives count as multiples of a step only when it is at least this fraction of the least cost; a finer one says nothing."""

MOST_COSTS = 1000
"""Different costs up to which their common step is looked for."""


class Feature(StrEnum):
    """What a program needs and a backend declares: its class of programs, rows with indicators, objectives that are not convex."""

    LP = "LP"
    QP = "QP"
    MIP = "MIP"
    MIQP = "MIQP"
    INDICATOR = "indicator"
    NONCONVEX = "non-convex"


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise 1/2 x'Qx + c'x + constant subject to rows, bounds, integrality and indicators (see the module).

    The arrays given are brought into canonical form on construction and are read-only from then on; `replace_with`
    returns a changed copy. Without `variables` or `rows`, columns form one block "x" and rows one block "row".
    """

    c: Array
    A: sp.csr_array
    row_lower: Array
    row_upper: Array
    lower: Array
    upper: Array
    integer: Mask
    Q: sp.csc_array | None = None
    constant: float = 0.0
    indicators: Indicators = field(default_factory=Indicators.none)
    variables: tuple[Block, ...] = ()
    rows: tuple[Block, ...] = ()
    name: str = "program"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        for attribute in ("c", "row_lower", "row_upper", "lower", "upper"):
            set_(self, attribute, frozen(np.asarray(getattr(self, attribute), dtype=np.float64)))
        set_(self, "integer", frozen(np.asarray(self.integer, dtype=np.bool_)))
        set_(self, "A", canonical_rows(self.A))
        if self.Q is not None:
            set_(self, "Q", canonical_hessian(self.Q))
        if not self.variables and len(self.c):
            set_(self, "variables", (Block("x", 0, (len(self.c),), (None,)),))
        if not self.rows and len(self.row_lower):
            set_(self, "rows", (Block("row", 0, (len(self.row_lower),), (None,)),))
        self._check()

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """A copy or an unpickled Program: NumPy does not pass on that an array is read-only, so it is said again."""
        self.__dict__.update(state)
        self.__post_init__()

    def _check(self) -> None:
        self._check_shapes()
        self._check_numbers()
        for what, blocks, size in (("variable", self.variables, self.n_columns), ("row", self.rows, self.n_rows)):
            covered = sum(block.size for block in blocks)
            if covered != size:
                raise InvalidInputError(f"program {self.name!r}: {what} blocks cover {covered} of {size}.")
        if len(self.indicators):
            if np.bincount(self.indicators.row).max() > 1:
                raise InvalidInputError(
                    f"program {self.name!r}: a row has more than one indicator; give each its own row."
                )
            if not self.binary[self.indicators.column].all():
                raise InvalidInputError(
                    f"program {self.name!r}: an indicator's column is not binary (integer within [0, 1])."
                )

    def _check_shapes(self) -> None:
        n, m = self.n_columns, self.n_rows
        shapes = {
            "A": (self.A.shape, (m, n)),
            "row_upper": (self.row_upper.shape, (m,)),
            "lower": (self.lower.shape, (n,)),
            "upper": (self.upper.shape, (n,)),
            "integer": (self.integer.shape, (n,)),
        }
        if self.Q is not None:
            shapes["Q"] = (self.Q.shape, (n, n))
        for what, (got, expected) in shapes.items():
            if tuple(got) != expected:
                raise InvalidInputError(
                    f"program {self.name!r}: {what} has shape {tuple(got)} but {n} columns and {m} rows need {expected}."
                )

    def _check_numbers(self) -> None:
        coefficients = {"c": self.c, "A": self.A.data, "Q": self.Q.data if self.Q is not None else self.c[:0]}
        for what, numbers in coefficients.items():
            if not np.isfinite(numbers).all():
                raise InvalidInputError(
                    f"program {self.name!r}: {what} holds NaN or infinity; every coefficient must be finite."
                )
        for what, sides in {"row bounds": (self.row_lower, self.row_upper), "bounds": (self.lower, self.upper)}.items():
            if any(np.isnan(side).any() for side in sides):
                raise InvalidInputError(f"program {self.name!r}: {what} hold NaN; use -inf and inf for 'no bound'.")
            if (sides[0] == np.inf).any() or (sides[1] == -np.inf).any():
                raise InvalidInputError(
                    f"program {self.name!r}: {what} hold inf as a lower or -inf as an upper side, which no number satisfies; "
                    f"use -inf and inf for 'no bound'."
                )

    # -- sizes and kind ---------------------------------------------------------------------------------------------

    @property
    def n_columns(self) -> int:
        """The number of variables."""
        return len(self.c)

    @property
    def n_rows(self) -> int:
        """The number of rows, those with an indicator included."""
        return len(self.row_lower)

    @property
    def is_integer(self) -> bool:
        """Some variable must be integer."""
        return bool(self.integer.any())

    @property
    def binary(self) -> Mask:
        """Which variables are integer within [0, 1]."""
        return self.integer & (self.lower >= 0) & (self.upper <= 1)

    @property
    def kind(self) -> Feature:
        """The class of the program: LP, QP, MIP or MIQP."""
        if self.Q is None:
            return Feature.MIP if self.is_integer else Feature.LP
        return Feature.MIQP if self.is_integer else Feature.QP

    @cached_property
    def is_convex(self) -> bool:
        """Whether the objective is convex, decided once by a factorisation of Q and accepting semidefinite to rounding."""
        return self.Q is None or is_semidefinite(self.Q)

    @property
    def needs(self) -> frozenset[Feature]:
        """The features that a backend must declare to solve this program as it stands."""
        needed = {self.kind}
        if len(self.indicators):
            needed.add(Feature.INDICATOR)
        if not self.is_convex:
            needed.add(Feature.NONCONVEX)
        return frozenset(needed)

    @property
    def counts_whole_columns(self) -> bool:
        """The objective is a linear function of integer columns alone."""
        return bool(self.Q is None and self.integer[self.c != 0].all())

    def objective_step(self) -> Fraction | None:
        """The largest number of which every feasible objective is a multiple, less the constant; None when there is no useful one."""
        costs = np.unique(np.abs(self.c[self.c != 0]))
        if not self.counts_whole_columns or not 0 < len(costs) <= MOST_COSTS:
            return None
        exact = [Fraction(cost) for cost in costs.tolist()]
        scale = max(cost.denominator for cost in exact)  # a power of two, as all of them are
        step = Fraction(gcd(*(int(cost * scale) for cost in exact)), scale)
        return step if step >= LEAST_STEP * exact[0] else None

    def round_bound(self, bound: float) -> float:
        """The least attainable objective >= `bound`, to rounding, when objectives are multiples of a step; else `bound` itself."""
        step = self.objective_step()
        if step is None or not np.isfinite(bound):
            return bound
        least = float(np.abs(self.c[self.c != 0]).min())
        steps = ceil((Fraction(bound) - Fraction(self.constant) - Fraction(BOUND_ROUNDING * least)) / step)
        return float(Fraction(self.constant) + step * steps)

    # -- names ------------------------------------------------------------------------------------------------------

    def column_names(self) -> list[str]:
        """The name of every column, such as `w[age]`, in order."""
        return [name for block in self.variables for name in block.names()]

    def row_names(self) -> list[str]:
        """The name of every row, such as `margin[17]`, in order."""
        return [name for block in self.rows for name in block.names()]

    def block(self, name: str) -> Block:
        """The block of variables of that name."""
        for block in self.variables:
            if block.name == name:
                return block
        known = ", ".join(block.name for block in self.variables)
        raise InvalidInputError(f"program {self.name!r} has no variable block {name!r}; it has {known}.")

    def split(self, x: Array) -> dict[str, Array]:
        """The vector x as arrays by block name, each in its block's shape."""
        return {
            block.name: np.asarray(x[block.slice], dtype=np.float64).reshape(block.shape) for block in self.variables
        }

    def join(self, values: Mapping[str, Any]) -> Array:
        """The inverse of `split`; columns of blocks that `values` lacks are NaN."""
        x = np.full(self.n_columns, np.nan)
        for block in self.variables:
            if block.name in values:
                given = np.asarray(values[block.name], dtype=np.float64)
                if given.size != block.size:
                    raise InvalidInputError(
                        f"values for {block.name!r} have {given.size} entries; the block has {block.size}."
                    )
                x[block.slice] = given.ravel()
        return x

    # -- evaluation -------------------------------------------------------------------------------------------------

    def objective(self, x: ArrayLike) -> float:
        """1/2 x'Qx + c'x + constant at x."""
        x = np.asarray(x, dtype=np.float64)
        quadratic = 0.0 if self.Q is None else 0.5 * float(x @ (self.Q @ x))
        return quadratic + float(self.c @ x) + self.constant

    def violation(self, x: ArrayLike) -> float:
        """The largest violation of a bound, a row that must hold, or integrality at x; 0 when x is feasible."""
        x = np.asarray(x, dtype=np.float64)
        if np.isnan(x).any():
            return float("inf")
        activity = self.A @ x
        row_violation = np.maximum(self.row_lower - activity, activity - self.row_upper)
        off = np.round(x[self.indicators.column]) != self.indicators.value
        row_violation[self.indicators.row[off]] = 0.0
        worst = [0.0, *(v.max() for v in (row_violation, self.lower - x, x - self.upper) if v.size)]
        if self.is_integer:
            worst.append(np.abs(x[self.integer] - np.round(x[self.integer])).max())
        return float(max(worst))

    # -- copies, comparison, printing -------------------------------------------------------------------------------

    def replace_with(self, **changes: Any) -> Program:
        """A copy with some fields changed, such as `c` or `row_upper`."""
        copy = replace(self, **changes)
        if "Q" not in changes and "is_convex" in self.__dict__:
            copy.__dict__["is_convex"] = self.is_convex  # known of the same Q
        return copy

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        vectors = ("c", "row_lower", "row_upper", "lower", "upper", "integer")
        return (
            self.A.shape == other.A.shape
            and self.constant == other.constant
            and self.variables == other.variables
            and self.rows == other.rows
            and all(np.array_equal(getattr(self, v), getattr(other, v)) for v in vectors)
            and same_entries(self.A, other.A)
            and (self.Q is None) == (other.Q is None)
            and (self.Q is None or other.Q is None or same_entries(self.Q, other.Q))
            and self.indicators == other.indicators
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, so not hashable

    def __str__(self) -> str:
        binaries = int(self.binary.sum())
        integers = int(self.integer.sum()) - binaries
        counts = [f"{self.n_columns} columns"]
        counts += [f"{binaries} binary"] if binaries else []
        counts += [f"{integers} integer"] if integers else []
        rows = f"{self.n_rows} rows" + (f" ({len(self.indicators)} with an indicator)" if len(self.indicators) else "")
        nonzeros = f"{self.A.nnz} nonzeros" + (f", {self.Q.nnz} in Q" if self.Q is not None else "")
        lines = [f"{self.name}: {self.kind} with {', '.join(counts)}, {rows}, {nonzeros}"]
        lines += [f"  variables {block}" for block in self.variables]
        lines += [f"  rows      {block}" for block in self.rows]
        return "\n".join(lines)

    __repr__ = __str__

    # -- conversions, each imported when it is called -----------------------------------------------------------------

    def write(self, path: str | Path, *, indicators: str = "bigm") -> None:
        """Write an .lp or .mps file (by the ending) and, next to it, the .names.json that maps names back."""
        conversion("write")(self, path, indicators=indicators)

    def to_pyomo(self, *, indicators: str = "bigm") -> Any:
        """The program as a Pyomo ConcreteModel."""
        return conversion("to_pyomo")(self, indicators=indicators)

    @classmethod
    def from_pyomo(cls, model: Any) -> Program:
        """The program of a Pyomo ConcreteModel."""
        program: Program = conversion("from_pyomo")(model)
        return program

    def to_cvxpy(self) -> Any:
        """The program as a cvxpy Problem."""
        return conversion("to_cvxpy")(self)

    @classmethod
    def from_cvxpy(cls, problem: Any) -> Program:
        """The program of a cvxpy Problem."""
        program: Program = conversion("from_cvxpy")(problem)
        return program
