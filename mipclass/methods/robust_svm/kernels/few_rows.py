"""Which data are few, and the active set of their rows without compiled code (see few_points)."""

from __future__ import annotations

import numpy as np

from ....arrays import Array
from .active_set import DEPENDENT, ActiveSet
from .nearness import FEWEST

FEW_POINTS = FEWEST  # fewer points are few: no list of those near is made
FEW_FEATURES = 25  # up to so many features: beyond, the plain loops of few_points are slower


def are_few(Z: Array) -> bool:
    """Whether these rows are few."""
    return Z.shape[0] < FEW_POINTS and Z.shape[1] <= FEW_FEATURES


def join_few(Z: Array, diagonal: Array, active_set: ActiveSet, j: int) -> float:
    """Put point j at the end of the active set; returns |part of Z_j outside the span|^2 / |Z_j|^2, found by projecting twice.

    A row of zeros lies in every span: it has 0.
    """
    k, U, rows = int(active_set.size[0]), active_set.U, Z[active_set.members]
    outside, total = Z[j].copy(), np.zeros(k)
    for _ in range(2):
        step = (rows * outside).sum(axis=1)
        for c in range(k):
            step[c] /= U[c, c]
            step[c + 1 :] -= step[c] * U[c, c + 1 : k]
        total += step
        for c in range(k - 1, -1, -1):
            step[c] /= U[c, c]
            step[:c] -= step[c] * U[:c, c]
        outside -= (step[:, None] * rows).sum(axis=0)
    complement = float((outside * outside).sum())
    U[:k, k] = total
    U[k, k] = np.sqrt(max(complement, DEPENDENT * diagonal[j]))
    active_set.active[k] = j
    active_set.position[j] = k
    active_set.size[0] = k + 1
    return complement / float(diagonal[j]) if diagonal[j] > 0.0 else 0.0


def leave_few(active_set: ActiveSet, j: int) -> None:
    """Take point j out of the active set: later rows of U move up, and plane rotations fold its row into them."""
    active, position, U, k = active_set.active, active_set.position, active_set.U, int(active_set.size[0])
    place = int(position[j])
    folded = U[place, place + 1 : k].copy()
    U[:place, place : k - 1] = U[:place, place + 1 : k].copy()
    for c in range(place, k - 1):
        row, rest = U[c + 1, c + 1 : k].copy(), folded[c - place :]
        radius = np.sqrt(row[0] ** 2 + rest[0] ** 2)
        cosine, sine = row[0] / radius, rest[0] / radius
        U[c, c : k - 1] = cosine * row + sine * rest
        rest[:] = cosine * rest - sine * row
    active[place : k - 1] = active[place + 1 : k].copy()
    position[active[place : k - 1]] -= 1
    position[j] = -1
    active_set.size[0] = k - 1
