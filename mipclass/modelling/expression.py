"""Vectorised affine expressions over named variable blocks.

    w = Variables("w", (d,), labels=feature_names);  b = Variables("b")
    X @ w + b >= 1                      one row of the constraint per row of X
    w["age"] >= 0,  c @ w <= 3,  sum([w[0], w[1]]) == 1

An expression is  sum_k M_k v_k + constant  with one matrix M_k (dense or CSR) per block v_k. It belongs to no program:
blocks are found by name when a Builder assembles rows. `bool(expression)` raises, so that a chained comparison
`0 <= w <= 1`, of which Python would drop the first half, is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..errors import InvalidInputError
from .blocks import Block

Matrix = Any
"""A float64 array with two axes, or a csr_array."""

Labels = tuple[tuple[str, ...] | None, ...]

NAMES_SHOWN = 12
"""A message that lists the entries of a block names this many."""


class Affine:
    """sum_k M_k v_k + constant, with `shape` () or (m,) or (h, d); rows are in C order."""

    __array_ufunc__ = None  # NumPy then leaves `X @ w`, `y * e` and `1 - e` to the reflected methods below
    __slots__ = ("constant", "shape", "terms")
    __hash__ = None  # type: ignore[assignment]  # == builds a constraint

    def __init__(
        self,
        terms: Mapping[Variables, Matrix] | dict[Any, Matrix],
        constant: Array,
        shape: tuple[int, ...],
    ):
        self.terms = dict(terms)
        self.constant = constant
        self.shape = shape

    @property
    def size(self) -> int:
        """The number of rows of the expression."""
        return prod(self.shape)

    # -- linear algebra ---------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Affine:
        if isinstance(other, Affine):
            return _add(self, other)
        array = _numbers(other)
        if array.shape != () and array.shape != self.shape:
            if self.shape == ():
                return _add(self, Affine({}, array.ravel(), array.shape))
            raise _mismatch("add", array.shape, self.shape)
        return Affine(self.terms, self.constant + array.ravel(), self.shape)

    __radd__ = __add__

    def __neg__(self) -> Affine:
        return self.__mul__(-1.0)

    def __sub__(self, other: Any) -> Affine:
        return self + (-other if isinstance(other, Affine) else np.negative(_numbers(other)))

    def __rsub__(self, other: Any) -> Affine:
        return self.__neg__().__add__(other)

    def __mul__(self, factor: Any) -> Affine:
        if isinstance(factor, Affine):
            raise InvalidInputError(
                "a product of two expressions is not affine; for squares in the objective use Builder.add_square or a penalty such as L2()."
            )
        scale = _numbers(factor)
        if scale.shape == ():
            terms = {block: matrix * float(scale) for block, matrix in self.terms.items()}
            return Affine(terms, self.constant * float(scale), self.shape)
        if self.shape == ():
            return _broadcast(self, scale.shape) * scale
        if scale.shape != self.shape:
            raise _mismatch("multiply", scale.shape, self.shape)
        column = scale.reshape(-1, 1)
        terms = {
            block: sp.csr_array(matrix.multiply(column)) if sp.issparse(matrix) else matrix * column
            for block, matrix in self.terms.items()
        }
        return Affine(terms, self.constant * scale.ravel(), self.shape)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Affine:
        if isinstance(divisor, Affine):
            raise InvalidInputError("an expression cannot be divided by an expression; only by numbers.")
        return self * (1.0 / _numbers(divisor))

    def __rmatmul__(self, left: Any) -> Affine:
        """`X @ expr` for a NumPy or SciPy matrix, `c @ expr` for a vector."""
        if sp.issparse(left):
            matrix: Any = sp.csr_array(left)
        else:
            matrix = _numbers(left)
        if len(self.shape) != 1 or matrix.ndim not in (1, 2) or matrix.shape[-1] != self.shape[0]:
            raise _mismatch("matrix-multiply", matrix.shape, self.shape)
        flat = matrix.reshape(1, -1) if matrix.ndim == 1 else matrix
        terms = {block: _product(flat, inner) for block, inner in self.terms.items()}
        constant = np.asarray(flat @ self.constant).ravel() if self.constant.any() else np.zeros(flat.shape[0])
        return Affine(terms, constant, () if matrix.ndim == 1 else (flat.shape[0],))

    def __matmul__(self, right: Any) -> Affine:
        vector = _numbers(right)
        if vector.ndim != 1:
            raise _mismatch("matrix-multiply", self.shape, vector.shape)
        return self.__rmatmul__(vector)

    def sum(self) -> Affine:
        """The scalar expression that adds up all rows."""
        terms = {block: _product(np.ones((1, self.size)), matrix) for block, matrix in self.terms.items()}
        return Affine(terms, np.array([self.constant.sum()]), ())

    def __getitem__(self, index: Any) -> Affine:
        positions = np.arange(self.size).reshape(self.shape)[self._positions(index)]
        rows = np.atleast_1d(positions).ravel()
        return Affine({b: m[rows] for b, m in self.terms.items()}, self.constant[rows], np.shape(positions))

    def __iter__(self) -> NoReturn:
        raise TypeError("expressions are vectorised and cannot be iterated; index them or use whole-array operations.")

    def _positions(self, index: Any) -> Any:
        return index

    # -- comparisons build rows ---------------------------------------------------------------------------------------

    def __ge__(self, other: Any) -> Rows:
        return Rows(self - other, lower=0.0, upper=np.inf)

    def __le__(self, other: Any) -> Rows:
        return Rows(self - other, lower=-np.inf, upper=0.0)

    def __eq__(self, other: Any) -> Rows:  # type: ignore[override]  # builds a constraint
        return Rows(self - other, lower=0.0, upper=0.0)

    def __gt__(self, other: Any) -> NoReturn:
        raise _strict(">")

    def __lt__(self, other: Any) -> NoReturn:
        raise _strict("<")

    def __ne__(self, other: Any) -> Any:
        raise InvalidInputError(
            "`!=` is not a linear constraint: it cuts a hole into the set of solutions. State the side that is meant, "
            "e.g. w >= 0.001 or w <= -0.001."
        )

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "an expression has no truth value. Write two constraints instead of a chained comparison "
            "(0 <= w and w <= 1 become [w >= 0, w <= 1]), and do not use `and`, `or`, `not` on expressions."
        )

    def evaluate(self, values: Mapping[str, Any]) -> Array:
        """The value of the expression where its variables have `values`, arrays by block name."""
        total = self.constant.copy()
        for block, matrix in self.terms.items():
            total = total + matrix @ np.asarray(values[block.name], dtype=np.float64).ravel()
        return total.reshape(self.shape)

    def __repr__(self) -> str:
        blocks = " + ".join(block.name for block in self.terms) or "constant"
        return f"<affine expression in {blocks}, shape {self.shape}>"


class Variables(Affine):
    """A named block of variables, which is also the expression `I v`. Blocks of equal name and shape are the same."""

    __slots__ = ("labels", "name")

    def __init__(self, name: str, shape: tuple[int, ...] = (), labels: Labels | None = None) -> None:
        self.name = name
        self.labels: Labels = labels if labels is not None else (None,) * len(shape)
        size = prod(shape)
        super().__init__({}, np.zeros(size), shape)
        self.terms = {self: sp.eye_array(size, format="csr") if size != 1 else np.ones((1, 1))}

    def __hash__(self) -> int:  # type: ignore[override]  # variables are keys of terms
        return hash(self.name)

    def __eq__(self, other: Any) -> Any:
        # Dictionaries of terms compare blocks with blocks; compared with anything else, a block builds a constraint.
        if isinstance(other, Variables):
            return self is other or (self.name == other.name and self.shape == other.shape)
        return Affine.__eq__(self, other)

    def __ne__(self, other: Any) -> Any:
        return not self == other if isinstance(other, Variables) else Affine.__ne__(self, other)

    def __reduce__(self) -> tuple[Any, ...]:
        # The terms hold the block itself as a key, and a dictionary hashes its keys as soon as it is unpickled or deep-copied:
        # the name must be there by then, so a copy is made from what made the block.
        return type(self), (self.name, self.shape, self.labels)

    def names(self) -> Iterator[str]:
        """`w[age]`, `w[dose]`, ...; the bare name for a scalar."""
        return Block(self.name, 0, self.shape, self.labels).names()

    def _positions(self, index: Any) -> Any:
        if isinstance(index, str) or (isinstance(index, list) and index and isinstance(index[0], str)):
            return self._by_name(index, 0)
        if isinstance(index, tuple):
            return tuple(self._by_name(i, axis) if isinstance(i, str) else i for axis, i in enumerate(index))
        return index

    def _by_name(self, index: Any, axis: int) -> Any:
        labels = self.labels[axis] if axis < len(self.labels) else None
        if labels is None:
            raise InvalidInputError(f"{self.name!r} has no names along axis {axis}; index it by position.")
        table = {label: position for position, label in enumerate(labels)}
        wanted = [index] if isinstance(index, str) else list(index)
        missing = [name for name in wanted if name not in table]
        if missing:
            shown = ", ".join(labels[:NAMES_SHOWN]) + (" ..." if len(labels) > NAMES_SHOWN else "")
            raise InvalidInputError(f"{self.name!r} has no entry named {missing[0]!r}; it has {shown}.")
        return table[index] if isinstance(index, str) else [table[name] for name in wanted]

    def __repr__(self) -> str:
        return f"<variables {self.name}, shape {self.shape}>"


@dataclass(frozen=True, eq=False)
class Rows:
    """lower <= expression <= upper, row by row."""

    expression: Affine
    lower: Any
    upper: Any

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a constraint has no truth value. Write two constraints instead of a chained comparison "
            "(0 <= w <= 1 becomes [w >= 0, w <= 1])."
        )

    def __repr__(self) -> str:
        return f"<constraint rows over {self.expression!r}>"

    def text(self, row: int) -> str:
        """One row in plain text with names, e.g. `w[age] - 2 w[dose] >= 1`."""
        return self._words(row, Variables.names, ("==", "<=", ">="))

    def latex(self, row: int) -> str:
        r"""One row in LaTeX, e.g. `w_{\text{age}} - 2 w_{\text{dose}} \ge 1`."""
        return self._words(row, _latex_names, ("=", r"\le", r"\ge"))

    def _words(self, row: int, named: Callable[[Variables], Iterator[str]], signs: tuple[str, str, str]) -> str:
        expression = self.expression
        equal, at_most, at_least = signs
        parts = []
        for block, matrix in expression.terms.items():
            names = list(named(block))
            numbers = np.ravel(matrix[[row]].toarray() if sp.issparse(matrix) else matrix[row])
            parts += [(float(numbers[j]), names[j]) for j in np.flatnonzero(numbers)]
        words = " ".join(f"{'-' if a < 0 else '+'} {'' if abs(a) == 1 else f'{abs(a):g} '}{name}" for a, name in parts)
        words = words.removeprefix("+ ").replace("- ", "-", 1) if words.startswith("-") else words.removeprefix("+ ")
        constant = float(expression.constant[row])
        lower = float(np.broadcast_to(self.lower, expression.shape).ravel()[row]) - constant
        upper = float(np.broadcast_to(self.upper, expression.shape).ravel()[row]) - constant
        if lower == upper:
            return f"{words or 0} {equal} {lower:g}"
        if np.isfinite(lower) and np.isfinite(upper):
            return f"{lower:g} {at_most} {words or 0} {at_most} {upper:g}"
        return f"{words or 0} {at_least} {lower:g}" if np.isfinite(lower) else f"{words or 0} {at_most} {upper:g}"

    def violation(self, values: Mapping[str, Any]) -> float:
        """The largest violation of a row at `values`; 0 when all rows hold."""
        activity = self.expression.evaluate(values)
        return float(max(0.0, np.max(self.lower - activity), np.max(activity - self.upper)))


def _latex_names(block: Variables) -> Iterator[str]:
    r"""`w_{\text{age}}`, ...; the bare name for a scalar."""
    for name in block.names():
        stem, bracket, label = name.partition("[")
        words = re.sub(r"([{}_%#&$])", r"\\\1", label[:-1].replace("\\", " ").replace("^", " "))
        yield rf"{stem}_{{\text{{{words}}}}}" if bracket else stem


def ranged(expression: Affine, lower: Any, upper: Any) -> Rows:
    """lower <= expression <= upper with numbers on both sides."""
    return Rows(expression, lower=_numbers(lower), upper=_numbers(upper))


def _numbers(value: Any) -> Array:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise InvalidInputError(f"expected numbers or an expression, got {type(value).__name__}.") from err


def _strict(sign: str) -> InvalidInputError:
    return InvalidInputError(
        f"a constraint cannot be strict: with `{sign}` the best value may be approached but never reached. Write `{sign}=`; to keep "
        f"a distance from the limit, name it, e.g. w {sign}= {'0.001' if sign == '>' else '-0.001'} for w {sign} 0."
    )


def _mismatch(verb: str, left: Any, right: Any) -> InvalidInputError:
    return InvalidInputError(
        f"cannot {verb} shapes {tuple(left)} and {tuple(right)}; expressions broadcast only from scalars."
    )


def _add(left: Affine, right: Affine) -> Affine:
    if left.shape != right.shape:
        if left.shape == ():
            left = _broadcast(left, right.shape)
        elif right.shape == ():
            right = _broadcast(right, left.shape)
        else:
            raise _mismatch("add", left.shape, right.shape)
    terms = dict(left.terms)
    for block, matrix in right.terms.items():
        terms[block] = _plus(terms[block], matrix) if block in terms else matrix
    return Affine(terms, left.constant + right.constant, left.shape)


def _plus(a: Matrix, b: Matrix) -> Matrix:
    if sp.issparse(a) and sp.issparse(b):
        return sp.csr_array(a + b)
    return np.asarray(a.toarray() if sp.issparse(a) else a) + np.asarray(b.toarray() if sp.issparse(b) else b)


def _broadcast(scalar: Affine, shape: tuple[int, ...]) -> Affine:
    rows = prod(shape)
    terms: dict[Any, Matrix] = {}
    for block, matrix in scalar.terms.items():
        if sp.issparse(matrix):
            terms[block] = sp.csr_array(sp.kron(np.ones((rows, 1)), matrix, format="csr"))
        else:
            terms[block] = np.broadcast_to(matrix, (rows, matrix.shape[1]))
    return Affine(terms, np.repeat(scalar.constant, rows), shape)


def _product(left: Matrix, right: Matrix) -> Matrix:
    """left @ right; for the identity on the right, which is the common case `X @ w`, left itself without a copy."""
    if sp.issparse(right) and _is_identity(right):
        return left
    if sp.issparse(left) or sp.issparse(right):
        result = left @ right
        return sp.csr_array(result) if sp.issparse(result) else np.asarray(result)
    return left @ right


def _is_identity(matrix: Any) -> bool:
    n = matrix.shape[0]
    return bool(
        matrix.shape == (n, n)
        and matrix.nnz == n
        and (matrix.data == 1.0).all()
        and (matrix.indices == np.arange(n)).all()
        and (np.diff(matrix.indptr) == 1).all()
    )
