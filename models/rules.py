"""Rules: the form of the classifier's score. Polyhedra and kernels; the linear rule is in modelling/linear.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ..arrays import Array
from ..checks import is_whole_number
from ..errors import InvalidInputError
from ..modelling.algebra import Rule
from ..modelling.data import Data
from ..modelling.declaration import Declaration
from ..modelling.expression import Affine, Variables
from ..modelling.linear import Linear
from ..modelling.model import Model
from ..modelling.readable_rule import readable
from ..protocol.result import Values

__all__ = ["Kernel", "Linear", "Polyhedron"]

KERNEL_TOLERANCE = 1e-8
"""Asymmetry and negative eigenvalues of a kernel matrix up to this fraction of its largest diagonal entry or eigenvalue
are taken for rounding errors, which in double precision are far smaller."""

DIAGONAL_TOLERANCE = 1e-10
"""A diagonal entry k(x, x) may be negative by this fraction of the largest one, by rounding of |x|^2."""

SMALLEST = 1e-300
"""A positive scale for a kernel matrix of zeros."""

BLOCK = 1 << 20
"""Entries of a block of rows, 8 MB: so large that a loop over the blocks costs nothing, and small beside the matrix."""

RANK_TOLERANCE = 1e-12
"""Eigenvalues of the kernel matrix up to this fraction of the largest are zero: directions that no score depends on."""

IDLE = 1e-6
"""Training points whose coefficient is below this fraction of the largest are not counted as part of a rule in words: interior-point
methods leave such remainders at points that are no support vectors."""

HEAVIEST_SHOWN = 4
"""Training points that the words of a rule name."""


@dataclass(frozen=True)
class Polyhedron(Rule):
    """A point is inside when v_j.x < g_j for all j = 1..h. With h = 1 this is a half-space.

    inside : the class that is to lie inside, "positive" (default) or "negative".
    box : |v_jc| <= box in the exact model, whose optimum is then an optimum within the box. Without it the exact model
        needs an L1 penalty, which implies a box, or a solver with native indicators.

    score = min_j (g_j - v_j.x) when the positive class is inside, else max_j (v_j.x - g_j).
    """

    h: int
    inside: Literal["positive", "negative"] = "positive"
    box: float | None = None

    def __post_init__(self) -> None:
        if not is_whole_number(self.h) or self.h < 1:
            raise InvalidInputError(f"the number of hyperplanes h must be a whole number >= 1; got {self.h!r}.")
        if self.inside not in ("positive", "negative"):
            raise InvalidInputError(f"Polyhedron(inside=...) must be 'positive' or 'negative'; got {self.inside!r}.")
        if self.box is not None and not 0 < self.box < np.inf:
            raise InvalidInputError(f"Polyhedron(box=...) must be a positive number or None; got {self.box!r}.")

    def variables(self, data: Data) -> dict[str, Affine]:
        return {"v": Variables("v", (self.h, data.d), (None, data.feature_names)), "g": Variables("g", (self.h,))}

    def value_names(self, data: Data) -> tuple[str, ...]:
        """The hyperplanes; a single one may also be given as the w and b of a linear rule."""
        return ("v", "g", "w", "b") if self.h == 1 else ("v", "g")

    def declare(self, d: Declaration) -> None:
        limit = np.inf if self.box is None else self.box
        d.builder.variables("v", (self.h, d.data.d), labels=[None, d.data.feature_names], lower=-limit, upper=limit)
        d.builder.variables("g", self.h)
        if self.box is not None:
            d.notes.append(f"|v| <= {self.box:g}")

    def scores(self, values: Mapping[str, Any], X: Any) -> Array:
        v, g = np.asarray(values["v"], dtype=np.float64), np.asarray(values["g"], dtype=np.float64)
        beyond = np.asarray(X @ v.T, dtype=np.float64) - g
        farthest = np.asarray(beyond.max(axis=1), dtype=np.float64)
        return -farthest if self.inside == "positive" else farthest

    @property
    def penalised(self) -> tuple[str, ...]:
        return ("v",)

    def formula(self) -> str:
        return "min_j (g_j - v_j.x)" if self.inside == "positive" else "max_j (v_j.x - g_j)"

    def latex(self) -> str:
        return r"\min_j (g_j - v_j^T x)" if self.inside == "positive" else r"\max_j (v_j^T x - g_j)"

    def sentence(self, values: Mapping[str, Any], data: Data) -> str:
        """Every face with as few weights and digits as keep each training point on its side of it."""
        faces = [
            readable(-v, float(g), data.X, data.feature_names).condition()
            for v, g in zip(np.asarray(values["v"]), np.asarray(values["g"]), strict=True)
        ]
        faces = [face for face in dict.fromkeys(faces) if face != "always"]
        within, beyond = data.classes[::-1] if self.inside == "positive" else data.classes
        if "never" in faces:
            return f"always {beyond}"
        return f"{within} if {' and '.join(faces)}, else {beyond}" if faces else f"always {within}"


@dataclass(frozen=True, eq=False)
class Kernel(Rule):
    """score = sum_j c_j (k(x_j, x) + offset) over the training points x_j.

    kernel : "rbf" exp(-gamma |x - x'|^2), "poly" (gamma x.x' + coef0)^degree, "linear" x.x', "precomputed" (X is then the
        matrix of k between its points and the training points), or a function of two matrices of points.
    gamma : a number, or None for 1 / number of features.
    offset : a constant added to the kernel, which is an offset penalised like a weight; 0 for none.

    In a program the rule is w.F_i, where the rows of F are the points' coordinates in the span of the training points
    (F F' = the kernel matrix), so that L2() is c'Kc and every loss that needs an affine score applies.
    """

    scores_are_costly: ClassVar[bool] = True

    kernel: str | Callable[[Any, Any], Any] = "rbf"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not callable(self.kernel) and self.kernel not in ("rbf", "poly", "linear", "precomputed"):
            raise InvalidInputError(
                f"kernel must be 'rbf', 'poly', 'linear', 'precomputed' or a function of two matrices; got {self.kernel!r}."
            )
        if self.gamma is not None and not 0 < self.gamma < np.inf:
            raise InvalidInputError(f"Kernel(gamma=...) must be a positive number or None for 1/d; got {self.gamma!r}.")
        if not 0 <= self.offset < np.inf:
            raise InvalidInputError(f"Kernel(offset=...) must be a number >= 0; got {self.offset!r}.")

    def gram(self, X: Any, points: Any) -> Array:
        """k(x, x_j) + offset for the rows x of X and x_j of points; X + offset when the kernel is precomputed."""
        if self.kernel == "precomputed":
            K = np.array(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        elif callable(self.kernel):
            K = np.array(self.kernel(X, points), dtype=np.float64)
            if K.shape != (X.shape[0], points.shape[0]):
                raise InvalidInputError(
                    f"the kernel function must return shape {(X.shape[0], points.shape[0])}; got {K.shape}."
                )
        else:
            K = np.asarray((X @ points.T).toarray() if hasattr(X, "toarray") else X @ points.T, dtype=np.float64)
            gamma = 1.0 / X.shape[1] if self.gamma is None else self.gamma
            if self.kernel == "poly":
                K = (gamma * K + self.coef0) ** self.degree
            elif self.kernel == "rbf":
                K *= -2.0
                K += _squared_norms(X)[:, None]
                K += _squared_norms(points)
                np.maximum(K, 0.0, out=K)
                K *= -gamma
                np.exp(K, out=K)
        if self.offset:
            K += self.offset
        return K

    def training_gram(self, X: Any, rows: Any) -> Array:
        """The kernel matrix of the training rows `rows`, exactly symmetric; refused when it is not positive semidefinite."""
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise InvalidInputError(f"a precomputed kernel matrix must be square; got shape {tuple(X.shape)}.")
            K = _symmetrised(self.gram(X, X)[np.ix_(rows, rows)])
        elif callable(self.kernel):
            K = _symmetrised(self.gram(X[rows], X[rows]))
        else:
            points = X[rows]
            K = _symmetric_matrix(points.shape[0], lambda part, rest: self.gram(points[part], points[rest]))
        if self.kernel not in ("rbf", "linear") and not _may_be_semidefinite(K):
            raise not_positive_semidefinite()
        return K

    def _factor(self, X: Any, rows: Any) -> tuple[Array, Array]:
        """(V, root) such that F = V diag(root) are the coordinates of the training points, F F' = K."""
        K = self.training_gram(X, rows)
        values, vectors = np.linalg.eigh(K)
        if values[0] < -KERNEL_TOLERANCE * max(values[-1], 0.0):
            raise not_positive_semidefinite(float(values[0]))
        keep = values > RANK_TOLERANCE * values[-1]
        return vectors[:, keep], np.sqrt(values[keep])

    def variables(self, data: Data) -> dict[str, Affine]:
        return {}

    def value_names(self, data: Data) -> tuple[str, ...]:
        return ("c", "points")

    def declare(self, d: Declaration) -> None:
        V, root = self._factor(d.data.X, d.points.first)
        w = d.builder.variables("w", len(root))
        d.scores = (V * root) @ w

    def decode(self, d: Declaration, values: Values) -> Values:
        V, root = self._factor(d.data.X, d.points.first)
        c = np.zeros(d.data.n)
        c[d.points.first] = V @ (values["w"] / root)
        return self.values(c, d.data.X)

    def values(self, c: Array, X: Any) -> Values:
        """The decoded values of a rule: its coefficients and, unless the kernel is precomputed, the training points."""
        return {"c": c} if self.kernel == "precomputed" else {"c": c, "points": X}

    def scores(self, values: Mapping[str, Any], X: Any) -> Array:
        c = np.asarray(values["c"], dtype=np.float64)
        used = np.flatnonzero(c)
        if self.kernel == "precomputed":
            return np.asarray(self.gram(X[:, used], X) @ c[used])
        points, n = values["points"][used], X.shape[0]
        if callable(self.kernel):
            return np.asarray(self.gram(X, points) @ c[used])
        out = np.empty(n)
        for part in _rows(n, len(used)):
            out[part] = self.gram(X[part], points) @ c[used]
        return out

    def squared_norm(self, model: Model, values: Mapping[str, Any]) -> float:
        return float(np.asarray(values["c"]) @ model.scores(values))

    def formula(self) -> str:
        return f"sum_j c_j k(x_j, x) with the {self._name()} kernel" + (f" + {self.offset:g}" if self.offset else "")

    def latex(self) -> str:
        return r"\sum_j c_j k(x_j, x)"

    def sentence(self, values: Mapping[str, Any], data: Data) -> str:
        """What is summed, over how many training points, and which of them weigh most."""
        c = np.asarray(values["c"], dtype=np.float64)
        size = np.abs(c)
        used = np.flatnonzero(size > IDLE * size.max(initial=0.0))
        if len(used) == 0:
            return f"always {data.classes[0]}"
        heaviest = used[np.argsort(-size[used], kind="stable")][:HEAVIEST_SHOWN]
        shown = ", ".join(f"{c[j]:+.3g} at row {j}" for j in heaviest)
        gamma = 1.0 / data.d if self.gamma is None else self.gamma
        kernels = {"rbf": f"exp(-{gamma:.4g} |x - x_j|^2)", "linear": "x.x_j"}
        kernel = kernels.get(str(self.kernel), f"k(x_j, x) with the {self._name()} kernel")
        offset = f" + {self.offset:g}" if self.offset else ""
        return (
            f"{data.classes[1]} if the sum of c_j ({kernel}{offset}) over {len(used)} training points is > 0, else {data.classes[0]}; "
            f"the largest c_j: {shown}"
        )

    def _name(self) -> str:
        return self.kernel if isinstance(self.kernel, str) else "own"


def not_positive_semidefinite(eigenvalue: float | None = None) -> InvalidInputError:
    """The error for a kernel matrix with a negative eigenvalue."""
    found = "" if eigenvalue is None else f" (smallest eigenvalue {eigenvalue:.3g})"
    return InvalidInputError(
        f"the kernel matrix is not positive semidefinite{found}, so it is not a matrix of inner products and the problem has no minimum in w. "
        "Use a valid kernel, or clip the negative eigenvalues first."
    )


def _squared_norms(X: Any) -> Array:
    """|x|^2 for each row x of X, dense or sparse."""
    squares = X.multiply(X).sum(axis=1) if hasattr(X, "multiply") else np.einsum("ij,ij->i", X, X)
    return np.asarray(squares, dtype=np.float64).ravel()


def _rows(n: int, columns: int) -> Iterator[slice]:
    """Consecutive blocks of the rows of an (n, columns) matrix."""
    size = max(1, BLOCK // max(1, columns))
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))


def _blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of the rows of an (n, n) matrix, each with its columns from the diagonal on."""
    return ((rows, slice(rows.start, n)) for rows in _rows(n, n))


def _symmetric_matrix(n: int, entries: Callable[[slice, slice], Array]) -> Array:
    """(n, n) matrix of a symmetric kernel; `entries` gives those of some rows and columns and is asked for half of them."""
    K = np.empty((n, n))
    for rows, columns in _blocks(n):
        part = entries(rows, columns)
        corner = part[:, : part.shape[0]]
        corner[:] = 0.5 * (corner + corner.T)
        _refuse_infinite(part)
        K[rows, columns] = part
        K[columns, rows] = part.T
    return K


def _symmetrised(K: Array) -> Array:
    """K, which is changed in place, with both triangles replaced by their mean; refused when they differ."""
    _refuse_infinite(np.diagonal(K))
    scale = _scale(K)
    for rows, columns in _blocks(len(K)):
        part, mirrored = K[rows, columns], K[columns, rows].T.copy()
        _refuse_infinite(part)
        _refuse_infinite(mirrored)
        if float(np.abs(part - mirrored).max()) > KERNEL_TOLERANCE * scale:
            raise InvalidInputError("the kernel matrix is not symmetric; a kernel must satisfy k(x, x') = k(x', x).")
        mirrored += part
        mirrored *= 0.5
        K[rows, columns] = mirrored
        K[columns, rows] = mirrored.T
    return K


def _may_be_semidefinite(K: Array) -> bool:
    """Whether K_ii >= 0 and |K_ij| <= sqrt(K_ii K_jj), which a positive semidefinite matrix satisfies and which is cheap to test."""
    scale, diagonal = _scale(K), np.diagonal(K)
    if float(diagonal.min(initial=0.0)) < -DIAGONAL_TOLERANCE * scale:
        return False
    root = np.sqrt(np.maximum(diagonal, 0.0))
    return all(
        bool((np.abs(K[rows, columns]) <= np.outer(root[rows], root[columns]) + KERNEL_TOLERANCE * scale).all())
        for rows, columns in _blocks(len(K))
    )


def _scale(K: Array) -> float:
    """The largest |K_ii|."""
    return max(float(np.abs(np.diagonal(K)).max(initial=0.0)), SMALLEST)


def _refuse_infinite(part: Array) -> None:
    if not np.isfinite(part).all():
        raise InvalidInputError("the kernel matrix holds NaN or infinite values; scale the data or lower the degree.")
