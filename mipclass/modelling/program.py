"""The canonical form that every model becomes and every backend reads.

    minimise    1/2 x'Qx + c'x + constant
    subject to  row_lower <= A x <= row_upper
                lower <= x <= upper,   x_j integer where integer_j
                x[column_k] = value_k  implies  row_k holds          (indicator rows)

Rows named by an indicator hold only when their binary column has the stated value; all other rows always hold.
Columns and rows come in named blocks with labels (feature names, row numbers), so that values, files and explanations
speak the user's words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..errors import InvalidInputError
from .conversions import conversion


class Feature(StrEnum):
    """What a program may need and a backend may declare."""

    LP = "LP"
    QP = "QP"
    MIP = "MIP"
    MIQP = "MIQP"
    INDICATOR = "indicator"


@dataclass(frozen=True)
class Block:
    """A named run of columns or rows: `w` with one label a feature, `margin` with one label a data row.

    `labels` has one entry an axis: a tuple of strings, or None for plain positions.
    """

    name: str
    start: int
    shape: tuple[int, ...]
    labels: tuple[tuple[str, ...] | None, ...] = ()

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def stop(self) -> int:
        return self.start + self.size

    @property
    def slice(self) -> slice:
        return slice(self.start, self.stop)

    def names(self) -> Iterator[str]:
        """`w[age]`, `w[sex]`, ... in order; the bare name for a scalar block."""
        if not self.shape:
            yield self.name
            return
        axes = [
            labels if labels is not None else tuple(map(str, range(length)))
            for length, labels in zip(self.shape, self.labels or (None,) * len(self.shape), strict=True)
        ]
        for parts in product(*axes):
            yield f"{self.name}[{','.join(parts)}]"


@dataclass(frozen=True, eq=False)
class Indicators:
    """x[column[k]] = value[k] implies that row row[k] holds. A row appears at most once.

    `big_m[k]` is a proven limit on how far row k can be violated by a point that satisfies everything else, or inf when
    the model knows none; then the big-M reduction derives one from the bounds.
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    value: NDArray[np.int8]
    big_m: Array = field(default_factory=lambda: np.zeros(0))  # filled with inf when left out

    def __post_init__(self) -> None:
        if len(self.big_m) != len(self.row):
            object.__setattr__(self, "big_m", np.full(len(self.row), np.inf))

    @classmethod
    def none(cls) -> Indicators:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int8))

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, eq=False)
class Program:
    """See the module's docstring. Arrays are read-only; use `replace_with` for a changed copy."""

    c: Array
    A: sp.csr_array
    row_lower: Array
    row_upper: Array
    lower: Array
    upper: Array
    integer: NDArray[np.bool_]
    Q: sp.csc_array | None = None
    constant: float = 0.0
    indicators: Indicators = field(default_factory=Indicators.none)
    variables: tuple[Block, ...] = ()
    rows: tuple[Block, ...] = ()
    name: str = "program"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        for attribute in ("c", "row_lower", "row_upper", "lower", "upper"):
            set_(self, attribute, _frozen(np.asarray(getattr(self, attribute), dtype=np.float64)))
        set_(self, "integer", _frozen(np.asarray(self.integer, dtype=np.bool_)))
        set_(self, "A", _canonical_csr(self.A))
        if self.Q is not None:
            set_(self, "Q", _canonical_hessian(self.Q))
        if not self.variables and len(self.c):
            set_(self, "variables", (Block("x", 0, (len(self.c),), (None,)),))
        if not self.rows and len(self.row_lower):
            set_(self, "rows", (Block("row", 0, (len(self.row_lower),), (None,)),))
        self._check()

    def _check(self) -> None:
        n, m = len(self.c), len(self.row_lower)
        sizes = {
            "A": (self.A.shape, (m, n)),
            "row_upper": (self.row_upper.shape, (m,)),
            "lower": (self.lower.shape, (n,)),
            "upper": (self.upper.shape, (n,)),
            "integer": (self.integer.shape, (n,)),
        }
        if self.Q is not None:
            sizes["Q"] = (self.Q.shape, (n, n))
        for what, (got, expected) in sizes.items():
            if tuple(got) != expected:
                raise InvalidInputError(
                    f"program {self.name!r}: {what} has shape {tuple(got)} but {n} columns and {m} rows need {expected}."
                )
        numbers = {"c": self.c, "A": self.A.data, "Q": self.Q.data if self.Q is not None else self.c[:0]}
        for what, data in numbers.items():
            if not np.isfinite(data).all():
                raise InvalidInputError(
                    f"program {self.name!r}: {what} holds NaN or infinity; every coefficient must be finite."
                )
        for what, data in {"row bounds": (self.row_lower, self.row_upper), "bounds": (self.lower, self.upper)}.items():
            if np.isnan(data[0]).any() or np.isnan(data[1]).any():
                raise InvalidInputError(f"program {self.name!r}: {what} hold NaN; use -inf and inf for 'no bound'.")
        for what, blocks, size in (("variable", self.variables, n), ("row", self.rows, m)):
            if sum(block.size for block in blocks) != size:
                raise InvalidInputError(
                    f"program {self.name!r}: {what} blocks cover {sum(b.size for b in blocks)} of {size}."
                )
        if len(self.indicators):
            if np.bincount(self.indicators.row).max() > 1:
                raise InvalidInputError(
                    f"program {self.name!r}: a row has more than one indicator; give each its own row."
                )
            z = self.indicators.column
            if not (self.integer[z] & (self.lower[z] >= 0) & (self.upper[z] <= 1)).all():
                raise InvalidInputError(
                    f"program {self.name!r}: an indicator's column is not binary (integer within [0, 1])."
                )

    # -- sizes and kind ---------------------------------------------------------------------------------------------

    @property
    def n_columns(self) -> int:
        return len(self.c)

    @property
    def n_rows(self) -> int:
        return len(self.row_lower)

    @property
    def is_integer(self) -> bool:
        return bool(self.integer.any())

    @property
    def binary(self) -> NDArray[np.bool_]:
        return self.integer & (self.lower >= 0) & (self.upper <= 1)

    @property
    def kind(self) -> Feature:
        if self.Q is None:
            return Feature.MIP if self.is_integer else Feature.LP
        return Feature.MIQP if self.is_integer else Feature.QP

    @property
    def needs(self) -> frozenset[Feature]:
        """What a backend must declare to take this program as it stands."""
        return frozenset({self.kind} | ({Feature.INDICATOR} if len(self.indicators) else set()))

    @property
    def has_integral_objective(self) -> bool:
        """Every feasible objective is `constant` plus an integer, so a bound may be rounded up to one."""
        used = self.c != 0
        return bool(self.Q is None and self.integer[used].all() and (self.c[used] == np.round(self.c[used])).all())

    def round_bound(self, bound: float, tolerance: float = 1e-6) -> float:
        """The smallest attainable objective >= `bound` when objectives are integral; else `bound`."""
        if not self.has_integral_objective or not np.isfinite(bound):
            return bound
        return float(np.ceil(bound - self.constant - tolerance) + self.constant)

    # -- names ------------------------------------------------------------------------------------------------------

    def column_names(self) -> list[str]:
        return [name for block in self.variables for name in block.names()]

    def row_names(self) -> list[str]:
        return [name for block in self.rows for name in block.names()]

    def block(self, name: str) -> Block:
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

    def join(self, values: dict[str, Any]) -> Array:
        """The inverse of `split`; columns of blocks that `values` lacks are NaN."""
        x = np.full(self.n_columns, np.nan)
        for block in self.variables:
            if block.name in values:
                given = np.asarray(values[block.name], dtype=np.float64)
                if given.size != block.size:
                    raise InvalidInputError(
                        f"values for {block.name!r} have {given.size} entries; it has {block.size}."
                    )
                x[block.slice] = given.ravel()
        return x

    # -- evaluation -------------------------------------------------------------------------------------------------

    def objective(self, x: ArrayLike) -> float:
        x = np.asarray(x, dtype=np.float64)
        quadratic = 0.0 if self.Q is None else 0.5 * float(x @ (self.Q @ x))
        return quadratic + float(self.c @ x) + self.constant

    def violation(self, x: ArrayLike) -> float:
        """Largest violation of a bound, an active row or integrality at x (0 when feasible)."""
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
        return replace(self, **changes)

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
            and _same_sparse(self.A, other.A)
            and (self.Q is None) == (other.Q is None)
            and (self.Q is None or other.Q is None or _same_sparse(self.Q, other.Q))
            and all(
                np.array_equal(getattr(self.indicators, v), getattr(other.indicators, v))
                for v in ("row", "column", "value", "big_m")
            )
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
        lines += [f"  variables {block.name}{_shape(block)}" for block in self.variables]
        lines += [f"  rows      {block.name}{_shape(block)}" for block in self.rows]
        return "\n".join(lines)

    __repr__ = __str__

    # -- ways out and in (each imports its room when called) ----------------------------------------------------------

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


def _shape(block: Block) -> str:
    return f"[{' x '.join(map(str, block.shape))}]" if block.shape else ""


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.setflags(write=False)
    return view


def _frozen_sparse(matrix: Any) -> Any:
    for part in ("data", "indices", "indptr"):
        setattr(matrix, part, _frozen(getattr(matrix, part)))
    return matrix


def _canonical_csr(A: Any) -> sp.csr_array:
    """Sorted, without duplicates: solvers and comparisons rely on it. Explicit zeros go too."""
    known = isinstance(A, sp.csr_array) and A.dtype == np.float64 and A.has_canonical_format
    A = sp.csr_array(A, dtype=np.float64)
    if known:
        A.has_canonical_format = True  # a new container of the same arrays would look through them again
    else:
        A.sum_duplicates()
    if A.nnz and not A.data.all():
        A = A.copy()
        A.eliminate_zeros()
    return _frozen_sparse(A)


def _canonical_hessian(Q: Any) -> sp.csc_array | None:
    """Sorted, without zeros, and symmetric: x'Qx sees only (Q + Q')/2, and some solvers read only one triangle."""
    Q = sp.csc_array(Q, dtype=np.float64, copy=not Q.has_canonical_format if sp.issparse(Q) else False)
    Q.sum_duplicates()
    if Q.nnz and not Q.data.all():
        Q = Q.copy()
        Q.eliminate_zeros()
    if Q.nnz and Q.shape[0] == Q.shape[1]:
        transposed = sp.csc_array(Q.T)
        transposed.sum_duplicates()
        if not _same_sparse(Q, transposed):
            Q = sp.csc_array((Q + transposed) / 2)
            Q.sum_duplicates()
    return _frozen_sparse(Q) if Q.nnz else None


def _same_sparse(a: Any, b: Any) -> bool:
    return a.shape == b.shape and all(
        np.array_equal(getattr(a, v), getattr(b, v)) for v in ("indptr", "indices", "data")
    )
