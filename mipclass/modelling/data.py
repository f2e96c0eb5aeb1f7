"""Data: the points, labels, weights and names of one problem, validated once.

Every later step (points.py, declaration.py, the methods) may rely on finite float64 numbers, labels -1 and +1, weights
>= 0 and distinct feature names.

Scales. Squares of numbers beyond 1e154 overflow and squares of numbers below 1e-154 vanish, so an algorithm that forms variances or Gram
matrices must not meet such numbers. Multiplying a column by a power of two is exact, and the scale-free 0-1 loss is the same problem
afterwards: its rules are w_j 2^-k for the column times 2^k. All other models depend on the units of X, so they refuse far ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, Mask
from ..checks import plain
from ..errors import InvalidInputError

NEAR = 2.0**100
"""Columns whose largest absolute value lies within [1/NEAR, NEAR] (about 1e-30 to 1e30) stay as they are: squares and products of
several of their entries are far from the ends of float64."""

WIDE = 1e250
"""With the scale-free 0-1 loss the largest absolute value of a column lies within [1/WIDE, WIDE]. The weight of such a column is
about its reciprocal, and this leaves a factor of 1e50 on either side for weights that are larger or smaller than that."""

NARROW = 1e75
"""In all other models the largest absolute value of a column lies within [1/NARROW, NARROW]: products of four entries, such as
squared entries of a Gram matrix, are finite."""

SPAN = 2.0**960
"""Largest ratio of two entries of one column beyond NEAR: divided by the column's scale, the smaller one is still a normal number
and loses no digit."""


@dataclass(frozen=True, eq=False)
class Data:
    """X (n x d, dense or CSR, float64), labels -1 and +1, weights (sample weight times class weight), and names.

    `classes[1]` is the positive class: the larger label in sort order, or `pos_label`. `class_weights` are the factors
    of the (negative, positive) class, which `weights` already contain; losses that are class means need them separately.
    """

    X: Any
    y_pm1: Array
    weights: Array
    feature_names: tuple[str, ...]
    classes: NDArray[Any]
    class_weights: tuple[float, float] = (1.0, 1.0)

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    @property
    def positive_is_larger(self) -> bool:
        """Whether the positive class is the larger label in sort order, as it is unless `pos_label` named the other."""
        return bool(self.classes[1] == np.unique(self.classes)[1])

    def side_of(self, label: Any, name: str) -> Literal["positive", "negative"]:
        """Which class a label names; `name` is the parameter that an error speaks of."""
        if label not in self.classes.tolist():
            raise InvalidInputError(
                f"{name} {plain(label)!r} is not a label of y; the labels are {self.classes.tolist()}."
            )
        return "positive" if label == self.classes[1] else "negative"

    @property
    def positive(self) -> Mask:
        """Which points belong to the positive class."""
        return self.y_pm1 > 0


def check_data(
    X: Any,
    y: Any,
    *,
    sample_weight: ArrayLike | None = None,
    class_weight: Mapping[Any, float] | str | None = None,
    feature_names: Sequence[str] | None = None,
    pos_label: Any = None,
) -> Data:
    """Validate X, y, weights and names; InvalidInputError says in one sentence what is wrong and what to do."""
    names = _feature_names(X, feature_names)
    matrix = _matrix(X)
    n, d = matrix.shape
    _check_names(names, d)
    y_pm1, classes = _labels(y, n, pos_label)
    weights = _sample_weights(sample_weight, n)
    by_class = class_factors(class_weight, y_pm1, classes, weights)
    weights = weights * np.where(y_pm1 > 0, by_class[1], by_class[0])
    for sign, label in ((-1.0, classes[0]), (1.0, classes[1])):
        if not weights[y_pm1 == sign].any():
            raise InvalidInputError(
                f"all points of class {plain(label)!r} have weight zero; both classes need a positive weight."
            )
    return Data(matrix, y_pm1, weights, names or tuple(f"x{j}" for j in range(d)), classes, by_class)


def check_one_class(
    X: Any, *, sample_weight: ArrayLike | None = None, feature_names: Sequence[str] | None = None
) -> Data:
    """Validate points of a single class, all labelled +1, with the same checks of X, weights and names."""
    names = _feature_names(X, feature_names)
    matrix = _matrix(X)
    n, d = matrix.shape
    _check_names(names, d)
    weights = _sample_weights(sample_weight, n)
    if not weights.any():
        raise InvalidInputError("all points have weight zero; at least one needs a positive weight.")
    return Data(matrix, np.ones(n), weights, names or tuple(f"x{j}" for j in range(d)), np.array([-1, 1]))


def _check_names(names: tuple[str, ...] | None, d: int) -> None:
    if names is not None and len(names) != d:
        raise InvalidInputError(
            f"feature_names has {len(names)} names but X has {d} columns; give one name per column."
        )
    if names is not None and len(set(names)) != d:
        raise InvalidInputError("feature_names repeats a name; every feature needs its own.")


def _feature_names(X: Any, given: Sequence[str] | None) -> tuple[str, ...] | None:
    if given is not None:
        return tuple(map(str, given))
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(map(str, columns))


def _matrix(X: Any) -> Any:
    if sp.issparse(X):
        matrix: Any = sp.csr_array(X, dtype=np.float64)
        numbers = matrix.data
    else:
        try:
            matrix = np.ascontiguousarray(X, dtype=np.float64)
        except (TypeError, ValueError) as err:
            raise InvalidInputError(
                f"X must hold numbers; converting it to float64 failed: {err}. Encode text columns first."
            ) from err
        numbers = matrix
    if matrix.ndim != 2:
        raise InvalidInputError(
            f"X must have two axes (points x features); got {matrix.ndim}. For one feature use X.reshape(-1, 1)."
        )
    if 0 in matrix.shape:
        raise InvalidInputError(
            f"X is empty: shape {tuple(matrix.shape)}; at least one point and one feature are needed."
        )
    if not np.isfinite(numbers).all():
        bad = int(np.size(numbers) - np.isfinite(numbers).sum())
        raise InvalidInputError(f"X holds {bad} NaN or infinite value(s); impute or drop them first.")
    return matrix


def distinct_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """The different labels in sort order; refused when they cannot be compared with each other."""
    try:
        return np.unique(labels)
    except (
        TypeError
    ) as err:  # such as None beside text, or a missing value of pandas, which is neither smaller nor larger
        first = {type(label).__name__: label for label in reversed(labels.tolist())}
        shown = ", ".join(f"{first[kind]!r} ({kind})" for kind in sorted(first))
        raise InvalidInputError(
            f"the labels of y must be comparable with each other, and these cannot be sorted: {shown}. Drop the points without a label, and "
            "write the others as labels of one kind, e.g. [str(label) for label in y]."
        ) from err


def check_comparable(y: Any) -> None:
    """Refuse labels of object dtype that cannot be compared with each other; a y of another form is for other checks to judge."""
    try:
        labels = np.asarray(y)
    except ValueError:  # rows of different lengths
        return
    if labels.ndim == 1 and labels.dtype.kind == "O":
        distinct_labels(labels)


def _labels(y: Any, n: int, pos_label: Any) -> tuple[Array, NDArray[Any]]:
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise InvalidInputError(f"y must hold one label for each of the {n} points; got shape {labels.shape}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InvalidInputError("y holds NaN or infinite labels; drop those points first.")
    classes = distinct_labels(labels)
    if len(classes) != 2:
        shown = ", ".join(map(repr, classes[:5].tolist())) + (" ..." if len(classes) > 5 else "")
        hint = (
            "Use scikit-learn's OneVsRestClassifier for more." if len(classes) > 2 else "Add points of a second class."
        )
        raise InvalidInputError(f"y must hold exactly two labels; got {len(classes)} ({shown}). {hint}")
    if pos_label is not None:
        if pos_label not in classes.tolist():
            raise InvalidInputError(
                f"pos_label {plain(pos_label)!r} is not a label of y; the labels are {classes.tolist()}."
            )
        if classes[0] == pos_label:
            classes = classes[::-1]
    return np.where(labels == classes[1], 1.0, -1.0), classes


def _sample_weights(weights: ArrayLike | None, n: int) -> Array:
    if weights is None:
        return np.ones(n)
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise InvalidInputError(f"sample_weight must hold numbers; {err}.") from err
    if array.shape != (n,):
        raise InvalidInputError(
            f"sample_weight must hold one weight for each of the {n} points; got shape {array.shape}."
        )
    if not np.isfinite(array).all() or (array < 0).any():
        raise InvalidInputError("sample_weight must be finite and >= 0; a negative or NaN weight was given.")
    return array


def class_factors(
    class_weight: Mapping[Any, float] | str | None, y_pm1: Array, classes: NDArray[Any], weights: Array
) -> tuple[float, float]:
    """Factors of the negative and of the positive class; "balanced" ones give both classes half of the sum of all weights."""
    if class_weight is None:
        return 1.0, 1.0
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise InvalidInputError(
                f"class_weight must be a mapping from label to weight, 'balanced' or None; got {class_weight!r}."
            )
        negative, positive = float(weights[y_pm1 < 0].sum()), float(weights[y_pm1 > 0].sum())
        if min(negative, positive) == 0.0:  # refused later, with a sentence about the class
            return 1.0, 1.0
        return (negative + positive) / (2.0 * negative), (negative + positive) / (2.0 * positive)
    if not isinstance(class_weight, Mapping):
        raise InvalidInputError(
            f"class_weight must be a mapping from label to weight, 'balanced' or None; got {type(class_weight).__name__}."
        )
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise InvalidInputError(
            f"class_weight names {plain(unknown[0])!r}, which is not a label; the labels are {classes.tolist()}."
        )
    given = {plain(label): plain(weight) for label, weight in class_weight.items()}
    try:
        factors = float(class_weight.get(classes[0], 1.0)), float(class_weight.get(classes[1], 1.0))
    except (TypeError, ValueError) as err:
        raise InvalidInputError(f"class_weight must hold numbers; got {given!r}.") from err
    if not all(0 <= factor < np.inf for factor in factors):
        raise InvalidInputError(f"class_weight must hold finite weights >= 0; got {given!r}.")
    return factors


def far_scales(X: Any, near: float = NEAR) -> Array:
    """A power of two for each column, so that the columns of X divided by them lie near one; 1 for those within [1/near, near]."""
    largest = largest_of_columns(X)
    far = (largest > near) | ((largest < 1.0 / near) & (largest > 0.0))
    return np.where(far, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)


def largest_of_columns(X: Any) -> Array:
    """The largest absolute value of each column of X, dense or sparse."""
    if sp.issparse(X):
        largest, smallest = (side.toarray().ravel() for side in (X.max(axis=0), X.min(axis=0)))
    else:
        largest, smallest = X.max(axis=0), X.min(axis=0)
    return np.asarray(np.maximum(largest, -smallest), dtype=np.float64)


def check_scales(X: Any, names: Sequence[str], *, free_units: bool) -> None:
    """Refuse columns outside the range of the model; `free_units` says that the units of X do not matter to it."""
    largest = largest_of_columns(X)
    check_largest(largest, names, free_units=free_units)
    for j in map(int, np.flatnonzero(largest > NEAR)):
        sizes = np.abs(X[:, [j]].data if sp.issparse(X) else X[:, j])
        smallest = float(sizes[sizes > 0.0].min())
        if smallest < largest[j] / SPAN:
            raise InvalidInputError(
                f"feature {names[j]!r} has values of size {smallest:.3g} and {largest[j]:.3g}; within one feature a ratio up to {SPAN:.0e} is "
                "allowed, beyond which float64 cannot hold both in one unit. Set the small values to 0, or take logarithms."
            )


def check_largest(largest: Array, names: Sequence[str], *, free_units: bool) -> None:
    """Refuse columns whose largest absolute value is outside the range of the model."""
    limit = WIDE if free_units else NARROW
    outside = np.flatnonzero((largest > limit) | ((largest < 1.0 / limit) & (largest > 0.0)))
    if len(outside):
        j = int(outside[0])
        why = "" if free_units else " This model depends on the units of X, so it is not rescaled here."
        raise InvalidInputError(
            f"feature {names[j]!r} has {largest[j]:.3g} as its largest absolute value ({len(outside)} such feature(s)); allowed are "
            f"0 and {1.0 / limit:.0e} to {limit:.0e}.{why} Express the feature in another unit, e.g. with sklearn's MaxAbsScaler."
        )
