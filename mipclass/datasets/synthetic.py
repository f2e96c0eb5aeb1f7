"""The papers' synthetic recipes and their noise: every function takes `random_state`, an integer or a NumPy generator."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..errors import InvalidInputError

Labels = NDArray[np.int64]
Seed = int | np.random.Generator | None
Part = tuple[Any, Labels]  # X, y of a part of a data set


def nguyen_sanner(n_samples: int | tuple[int, int] = 500, n_features: int = 5, *, random_state: Seed = None) -> Part:
    """Two Gaussian classes (Nguyen & Sanner 2013, section 6).

    R is uniform on [5, 10], each class centre uniform on [-R/2, R/2]^d, each diagonal covariance uniform on [1, R^2], each
    class normal with its centre and covariance. `n_samples` is the total (halved between the classes) or the two class sizes
    (negative, positive).
    """
    rng = np.random.default_rng(random_state)
    sizes = _class_sizes(n_samples)
    _at_least("n_features", n_features, 1)
    R = rng.uniform(5.0, 10.0)
    centres = rng.uniform(-R / 2, R / 2, size=(2, n_features))
    deviations = np.sqrt(rng.uniform(1.0, R**2, size=(2, n_features)))
    X = np.vstack([rng.normal(centres[k], deviations[k], size=(sizes[k], n_features)) for k in (0, 1)])
    return X, np.repeat(np.array([-1, 1], dtype=np.int64), sizes)


def add_range_noise(
    X: ArrayLike, y: ArrayLike, fraction: float = 0.10, *, label: int = -1, random_state: Seed = None
) -> Part:
    """Append fraction * n rows of background noise and outliers, all with `label` (Nguyen & Sanner 2013, section 6).

    Each coordinate is uniform on [min - (max - min)/2, max + (max - min)/2] of its column. `Facts.noise_label` says which
    class the paper's table 2 most likely means for each of its sets.
    """
    rng = np.random.default_rng(random_state)
    data, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    _fraction("fraction", fraction)
    if label not in np.unique(labels):
        raise InvalidInputError(f"label {label} is not one of the classes {np.unique(labels).tolist()} of y.")
    low, high = data.min(axis=0), data.max(axis=0)
    half = 0.5 * (high - low)
    extra = rng.uniform(low - half, high + half, size=(round(fraction * len(data)), data.shape[1]))
    return np.vstack([data, extra]), np.concatenate([labels, np.full(len(extra), label, dtype=labels.dtype)])


def flip_labels(y: ArrayLike, fraction: float = 0.15, *, random_state: Seed = None) -> Labels:
    """y (-1/+1) with round(fraction * n) labels flipped, chosen at random (Suzumura et al. 2014, section 5)."""
    rng = np.random.default_rng(random_state)
    labels = np.array(y, dtype=np.int64)
    if not np.isin(labels, (-1, 1)).all():
        raise InvalidInputError(f"flip_labels needs labels -1 and +1; got {np.unique(labels)[:5].tolist()}.")
    _fraction("fraction", fraction)
    chosen = rng.choice(len(labels), size=round(fraction * len(labels)), replace=False)
    labels[chosen] *= -1
    return labels


class Split(NamedTuple):
    """Training, validation and test part, each (X, y)."""

    train: Part
    validation: Part
    test: Part


def split_with_flips(
    X: Any,
    y: ArrayLike,
    *,
    flipped: float = 0.15,
    sizes: tuple[float, float, float] = (0.4, 0.3, 0.3),
    random_state: Seed = None,
) -> Split:
    """The protocol of Suzumura et al. and of Ding & Xu: a random 40/30/30 split, then 15 % of the labels of the training and
    of the validation part flipped; the test part stays clean."""
    rng = np.random.default_rng(random_state)
    labels = np.asarray(y, dtype=np.int64)
    if min(sizes) < 0 or abs(sum(sizes) - 1.0) > 1e-9:
        raise InvalidInputError(f"sizes must be three fractions that sum to one; got {sizes}.")
    order = rng.permutation(len(labels))
    first, second = round(sizes[0] * len(order)), round((sizes[0] + sizes[1]) * len(order))
    train, validation, test = np.split(order, [first, second])
    return Split(
        (X[train], flip_labels(labels[train], flipped, random_state=rng)),
        (X[validation], flip_labels(labels[validation], flipped, random_state=rng)),
        (X[test], labels[test]),
    )


class OutlierProblem(NamedTuple):
    """Training data with flipped labels (`outliers` says which) and clean test data."""

    X: Array
    y: Labels
    outliers: NDArray[np.bool_]
    X_test: Array
    y_test: Labels


def ding_xu(
    outlier_fraction: float = 0.10,
    ratio: float = 10.0,
    *,
    n_train: int | tuple[int, int] | None = None,
    n_test: int | tuple[int, int] | None = None,
    n_features: int = 100,
    random_state: Seed = None,
) -> OutlierProblem:
    """Two Gaussian classes with outliers (Ding & Xu 2015, section 4).

    Class sizes are uniform on [1000, 3000] for training and [10^4, 3 * 10^4] for testing unless given. Each class has a
    random covariance whose largest diagonal element is ten times the smallest. `ratio` is D / rho: the classes are moved
    apart along a random direction until the gap between the clean training points in that direction is D / ratio, with D
    the larger diameter of the two classes; the widest margin rho is at least that gap. Outliers are training points with
    flipped labels (the paper: "caused by mislabeling").
    """
    rng = np.random.default_rng(random_state)
    _fraction("outlier_fraction", outlier_fraction)
    if not ratio > 0:
        raise InvalidInputError(f"ratio (D / rho) must be positive; got {ratio}.")
    train = _class_sizes(n_train) if n_train is not None else tuple(rng.integers(1_000, 3_001, size=2))
    test = _class_sizes(n_test) if n_test is not None else tuple(rng.integers(10_000, 30_001, size=2))
    factors = [_random_factor(n_features, rng) for _ in (0, 1)]
    clean = [rng.normal(size=(train[k], n_features)) @ factors[k] for k in (0, 1)]
    unseen = [rng.normal(size=(test[k], n_features)) @ factors[k] for k in (0, 1)]
    direction = rng.normal(size=n_features)
    direction /= np.linalg.norm(direction)
    diameter = max(_diameter(points) for points in clean)
    shift = (clean[0] @ direction).max() - (clean[1] @ direction).min() + diameter / ratio
    for part in (clean, unseen):
        part[1] = part[1] + shift * direction
    y = np.repeat(np.array([-1, 1], dtype=np.int64), train)
    noisy = flip_labels(y, outlier_fraction, random_state=rng)
    y_test = np.repeat(np.array([-1, 1], dtype=np.int64), test)
    return OutlierProblem(np.vstack(clean), noisy, noisy != y, np.vstack(unseen), y_test)


def _random_factor(d: int, rng: np.random.Generator) -> Array:
    """L with L'L a random covariance whose diagonal runs from exactly 1 to exactly 10."""
    columns = rng.normal(size=(d, d))
    columns /= np.linalg.norm(columns, axis=0)
    diagonal = np.concatenate([[1.0, 10.0], rng.uniform(1.0, 10.0, size=max(0, d - 2))])[:d]
    return np.asarray(columns * np.sqrt(rng.permutation(diagonal)))


def _diameter(points: Array) -> float:
    """Largest distance between two points, by blocks of rows so that memory stays linear."""
    squares = (points**2).sum(axis=1)
    largest = 0.0
    for start in range(0, len(points), 256):
        block = slice(start, start + 256)
        distances = squares[block, None] + squares[None, :] - 2.0 * points[block] @ points.T
        largest = max(largest, float(distances.max()))
    return float(np.sqrt(max(largest, 0.0)))


def astorino_gaudioso(
    h: int = 2, n_inside: int = 40, n_outside: int = 80, *, margin: float = 0.2, random_state: Seed = None
) -> Part:
    """Planar sets that h half-planes separate and one cannot (Astorino & Gaudioso 2002, figures 5 to 7).

    The paper's points are not printed, only their properties. Inside (A, label +1) is uniform on a strip (h = 2) or a regular
    h-gon of inradius 1; outside (B, label -1) is uniform on the square [-3, 3]^2 without the same figure of
    inradius 1 + margin, with points beyond every side. For even h both sets come in pairs x, -x, so that they share their barycentre, where the linear program
    for one hyperplane (RLP) has only a trivial answer: figure 7 is h = 4.
    """
    rng = np.random.default_rng(random_state)
    _at_least("h", h, 2)
    _at_least("n_inside", n_inside, 2)
    _at_least("n_outside", n_outside, 2 * h)
    angles = 2.0 * np.pi * np.arange(h) / h
    normals = np.column_stack([np.cos(angles), np.sin(angles)])
    symmetric = h % 2 == 0
    if symmetric and (n_inside % 2 or n_outside % 2):
        raise InvalidInputError(f"for even h the points come in pairs; got n_inside={n_inside}, n_outside={n_outside}.")

    def inside(points: Array, radius: float) -> NDArray[np.bool_]:
        return np.asarray((points @ normals.T <= radius).all(axis=1))

    def draw(count: int, keep: Any) -> Array:
        found = np.empty((0, 2))
        while len(found) < count:
            candidates = rng.uniform(-3.0, 3.0, size=(8 * count, 2))
            found = np.vstack([found, candidates[keep(candidates)]])
        return found[:count]

    def beyond(side: int) -> Any:
        return lambda points: points @ normals[side] > 1.0 + margin

    halves = 2 if symmetric else 1
    A = draw(n_inside // halves, lambda points: inside(points, 1.0))
    each = [draw(1, beyond(side)) for side in range(h // halves)]
    rest = draw(n_outside // halves - len(each), lambda points: ~inside(points, 1.0 + margin))
    B = np.vstack([*each, rest])
    if symmetric:
        A, B = np.vstack([A, -A]), np.vstack([B, -B])
    return np.vstack([A, B]), np.repeat(np.array([1, -1], dtype=np.int64), [len(A), len(B)])


# -- checks -----------------------------------------------------------------------------------------------------------------


def _class_sizes(n_samples: int | tuple[int, int]) -> tuple[int, int]:
    sizes = (n_samples // 2, n_samples - n_samples // 2) if isinstance(n_samples, int) else tuple(n_samples)
    if len(sizes) != 2 or min(sizes) < 1:
        raise InvalidInputError(f"both classes need at least one point; got class sizes {sizes}.")
    return sizes


def _fraction(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise InvalidInputError(f"{name} must lie in [0, 1]; got {value}.")


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise InvalidInputError(f"{name} must be at least {least}; got {value}.")
