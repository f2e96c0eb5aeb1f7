"""Builder: declare blocks of variables, add vectorised rows and costs, get a Program.

Rows are added as whole blocks of expressions (expression.py) and become one CSR matrix without a loop over rows
(row_assembly.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, Index, Mask
from ..errors import InvalidInputError
from .blocks import Block
from .expression import Affine, Rows, Variables
from .indicators import Indicators
from .program import Program
from .row_assembly import assemble, concatenate, stack

Labels = Sequence[Any] | NDArray[Any] | None


class Builder:
    """Collects variables, rows and the objective of one Program.

    >>> import numpy as np
    >>> from mipclass.modelling.builder import Builder
    >>> build = Builder("toy")
    >>> w = build.variables("w", labels=["age", "dose"], lower=-1, upper=1)
    >>> build.subject_to("margin", np.array([[1.0, 2.0], [3.0, 4.0]]) @ w >= 1)
    >>> build.minimize(w["age"] + 2 * w["dose"])
    >>> print(build.build())
    toy: LP with 2 columns, 2 rows, 4 nonzeros
      variables w[2]
      rows      margin[2]
    """

    def __init__(self, name: str = "program") -> None:
        self.name = name
        self._blocks: list[Block] = []
        self._declared: dict[str, tuple[Variables, Block]] = {}
        self._lower: list[Array] = []
        self._upper: list[Array] = []
        self._integer: list[Mask] = []
        self._rows: list[tuple[Block, Rows, tuple[Affine, int] | None]] = []
        self._big_m: list[Array] = []
        self._n_columns = 0
        self._n_rows = 0
        self._objective: list[Affine] = []
        self._constant = 0.0
        self._quadratic: list[tuple[Block, Block, Any]] = []

    # -- variables ----------------------------------------------------------------------------------------------------

    def variables(
        self,
        name: str,
        shape: int | tuple[int, ...] | None = None,
        *,
        labels: Labels = None,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        integer: bool = False,
        note: str = "",
    ) -> Variables:
        """Declare a block of columns. `shape` may be left out when `labels` are given (one axis) and for a scalar.

        For two axes give `labels` as a pair (row labels or None, column labels or None). `note` says what the columns are, in files.
        """
        if name in self._declared:
            raise InvalidInputError(f"builder {self.name!r} already has a variable block {name!r}; names must differ.")
        if shape is None:
            shape = () if labels is None else (len(labels),)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        variables = Variables(name, shape, _axis_labels(labels, shape))
        block = Block(name, self._n_columns, shape, variables.labels, note)
        self._declared[name] = (variables, block)
        self._blocks.append(block)
        self._lower.append(np.broadcast_to(np.asarray(lower, np.float64), shape).ravel())
        self._upper.append(np.broadcast_to(np.asarray(upper, np.float64), shape).ravel())
        self._integer.append(np.full(block.size, integer))
        self._n_columns += block.size
        return variables

    def binaries(
        self, name: str, shape: int | tuple[int, ...] | None = None, *, labels: Labels = None, note: str = ""
    ) -> Variables:
        """Declare a block of binary columns."""
        return self.variables(name, shape, labels=labels, lower=0.0, upper=1.0, integer=True, note=note)

    def has(self, name: str) -> bool:
        """A block of variables of that name is declared."""
        return name in self._declared

    def __getitem__(self, name: str) -> Variables:
        if name not in self._declared:
            raise InvalidInputError(
                f"builder {self.name!r} has no variables {name!r}; it has {', '.join(self._declared)}."
            )
        return self._declared[name][0]

    def tighten(self, name: str, *, lower: ArrayLike = -np.inf, upper: ArrayLike = np.inf) -> None:
        """Intersect the bounds of a declared block with [lower, upper]."""
        block = self._declared[name][1]
        k = self._blocks.index(block)
        self._lower[k] = np.maximum(self._lower[k], np.broadcast_to(np.asarray(lower, np.float64), block.shape).ravel())
        self._upper[k] = np.minimum(self._upper[k], np.broadcast_to(np.asarray(upper, np.float64), block.shape).ravel())

    def make_integer(self, name: str) -> None:
        """Require integer values of a declared block."""
        self._integer[self._blocks.index(self._declared[name][1])][:] = True

    def is_integer(self, name: str) -> bool:
        """All variables of a declared block must be integers."""
        return bool(self._integer[self._blocks.index(self._declared[name][1])].all())

    def bounds(self, name: str) -> tuple[Array, Array]:
        """The present (lower, upper) bounds of a declared block."""
        k = self._blocks.index(self._declared[name][1])
        return self._lower[k], self._upper[k]

    # -- rows ---------------------------------------------------------------------------------------------------------

    def subject_to(
        self,
        name: str,
        rows: Rows,
        *,
        when: tuple[Affine, int] | None = None,
        big_m: ArrayLike = np.inf,
        labels: Labels = None,
        note: str = "",
    ) -> None:
        """Add rows. With `when=(z, value)` a row has to hold only where its binary z has that value.

        `big_m` is a proven limit on the violation of each such row, when one is known; otherwise the big-M reduction
        derives one from the bounds. `note` says what the rows are, in files.
        """
        if not isinstance(rows, Rows):
            raise InvalidInputError(
                f"row block {name!r} needs a comparison of expressions such as X @ w + b >= 1; got {type(rows).__name__}."
            )
        shape = rows.expression.shape
        block = Block(name, self._n_rows, shape, _axis_labels(labels, shape), note)
        if when is not None and when[0].shape != shape:
            raise InvalidInputError(f"rows {name!r} have shape {shape} but their indicator has shape {when[0].shape}.")
        self._rows.append((block, rows, when))
        self._big_m.append(np.broadcast_to(np.asarray(big_m, np.float64), (block.size,)))
        self._n_rows += block.size

    # -- objective ----------------------------------------------------------------------------------------------------

    def minimize(self, expression: Affine | float) -> None:
        """Add a scalar expression or a constant to the objective."""
        if not isinstance(expression, Affine):
            self._constant += float(expression)
            return
        if expression.shape != ():
            raise InvalidInputError(
                f"the objective must be a scalar; got shape {expression.shape}. Use c @ expr or expr.sum()."
            )
        self._objective.append(expression)

    def add_square(self, expression: Affine, weight: ArrayLike = 1.0) -> None:
        """Add sum_i weight_i expression_i^2 with weights >= 0 to the objective."""
        weights = np.broadcast_to(np.asarray(weight, np.float64), (expression.size,))
        if (weights < 0).any():
            raise InvalidInputError("squares need weights >= 0; a negative weight makes the objective non-convex.")
        for left, M in expression.terms.items():
            scaled = sp.csr_array(M).multiply(weights.reshape(-1, 1))
            for right, N in expression.terms.items():
                self._add_product(left, right, 2.0 * (scaled.T @ sp.csr_array(N)))
            if expression.constant.any():
                row = 2.0 * (weights * expression.constant) @ M
                self.minimize(Affine({left: np.asarray(row).reshape(1, -1)}, np.zeros(1), ()))
        self._constant += float(weights @ expression.constant**2)

    def add_quadratic(self, variables: Variables, Q: Any) -> None:
        """Add 1/2 v'Qv with a symmetric Q to the objective."""
        self._add_product(variables, variables, Q)

    def _add_product(self, left: Variables, right: Variables, matrix: Any) -> None:
        self._quadratic.append((self._declared[left.name][1], self._declared[right.name][1], sp.coo_array(matrix)))

    # -- assembly -----------------------------------------------------------------------------------------------------

    def build(self) -> Program:
        """The Program of everything declared so far; the Builder may be used further."""
        n, m = self._n_columns, self._n_rows
        c = np.zeros(n)
        constant = self._constant
        for expression in self._objective:
            constant += float(expression.constant[0])
            for variables, matrix in expression.terms.items():
                c[self._place(variables).slice] += matrix.toarray().ravel() if sp.issparse(matrix) else np.ravel(matrix)
        parts = [assemble(self._placed(rows.expression), rows.expression.size, n) for _, rows, _ in self._rows]
        row_lower, row_upper = np.empty(m), np.empty(m)
        for block, rows, _ in self._rows:
            row_lower[block.slice] = np.ravel(rows.lower) - rows.expression.constant
            row_upper[block.slice] = np.ravel(rows.upper) - rows.expression.constant
        return Program(
            c=c,
            A=stack(parts, n),
            row_lower=row_lower,
            row_upper=row_upper,
            lower=concatenate(self._lower, np.float64),
            upper=concatenate(self._upper, np.float64),
            integer=concatenate(self._integer, np.bool_),
            Q=self._hessian(),
            constant=constant,
            indicators=self._indicators(),
            variables=tuple(self._blocks),
            rows=tuple(block for block, _, _ in self._rows),
            name=self.name,
        )

    def _place(self, variables: Variables) -> Block:
        """The block of columns that holds the variables."""
        if variables.name not in self._declared:
            known = ", ".join(self._declared) or "none"
            raise InvalidInputError(
                f"an expression uses variables {variables.name!r}; program {self.name!r} has {known}."
            )
        block = self._declared[variables.name][1]
        if block.shape != variables.shape:
            raise InvalidInputError(
                f"variables {variables.name!r} have shape {block.shape} here, not {variables.shape}."
            )
        return block

    def _placed(self, expression: Affine) -> list[tuple[int, Any]]:
        """(first column, matrix) of each term, in the order of columns."""
        terms = ((self._place(variables).start, matrix) for variables, matrix in expression.terms.items())
        return sorted(terms, key=lambda term: term[0])

    def _hessian(self) -> sp.csc_array | None:
        if not self._quadratic:
            return None
        rows = np.concatenate([left.start + M.coords[0] for left, _, M in self._quadratic])
        columns = np.concatenate([right.start + M.coords[1] for _, right, M in self._quadratic])
        data = np.concatenate([M.data for _, _, M in self._quadratic]).astype(np.float64)
        return sp.csc_array(sp.coo_array((data, (rows, columns)), shape=(self._n_columns, self._n_columns)))

    def _indicators(self) -> Indicators:
        found = [
            (block, when, big_m)
            for (block, _, when), big_m in zip(self._rows, self._big_m, strict=True)
            if when is not None
        ]
        if not found:
            return Indicators.none()
        rows = [np.arange(block.start, block.stop) for block, _, _ in found]
        columns = [self._single_columns(z) for _, (z, _), _ in found]
        values = [np.full(block.size, value) for block, (_, value), _ in found]
        big_m = np.concatenate([limit for _, _, limit in found])
        return Indicators(np.concatenate(rows), np.concatenate(columns), np.concatenate(values).astype(np.int8), big_m)

    def _single_columns(self, z: Affine) -> Index:
        """The column of each row of z, where z must be a block of variables or a selection from one."""
        if len(z.terms) == 1 and not z.constant.any():
            [(variables, M)] = z.terms.items()
            M = sp.csr_array(M)
            if (np.diff(M.indptr) == 1).all() and (M.data == 1.0).all():
                columns: Index = self._place(variables).start + M.indices.astype(np.int64)
                return columns
        raise InvalidInputError(
            "an indicator must be a binary variable itself (z or z[rows]), not a combination of variables."
        )


def _axis_labels(labels: Labels, shape: tuple[int, ...]) -> tuple[tuple[str, ...] | None, ...]:
    """One tuple of strings per axis, or None for an axis without labels."""
    if labels is None:
        return (None,) * len(shape)
    axes = [labels] if len(shape) == 1 else list(labels)
    named = tuple(None if axis is None else tuple(map(str, axis)) for axis in axes)
    if len(named) != len(shape) or any(
        axis is not None and len(axis) != k for axis, k in zip(named, shape, strict=True)
    ):
        raise InvalidInputError(f"labels do not fit a block of shape {shape}; give one label per entry of each axis.")
    return named
