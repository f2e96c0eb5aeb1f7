"""Maps rows into the space of a box proof and rounds their images.

A box proof searches over V with W = M V, so that a row z becomes the point q = z M. Each q is scaled to a largest entry of 2^bits, which
changes no sign, and rounded to whole numbers (half up). Both are decided in float64 where the error of the product leaves one
answer, and in whole numbers otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import Rejected, exact_rank, field, integer_rows, nearest_float, rational, rationals, whole, whole_row
from ..patience import look
from ..scope import Scope
from .vectors import UNIT, Floats, Vectors, products, steps

MOST_COLUMNS = 16
"""Dimensions of a box, at most: the kernel's sums stay inside 64 bits up to here (see `box_kernel`)."""

ROWS_AT_A_TIME = 64
"""Rows in doubt that are mapped with one common denominator."""

Wholes = list[list[int]]


class Map:
    """The matrix M of a proof, as fractions and, where these are float64 numbers, as such."""

    def __init__(self, proof: Any, width: int, place: str) -> None:
        """Rejected unless it has `width` rows and 1 to MOST_COLUMNS columns."""
        self.columns = whole(field(proof, "columns", place), place)
        entries = field(proof, "map", place)
        if (
            not 1 <= self.columns <= MOST_COLUMNS
            or not isinstance(entries, list)
            or len(entries) != width * self.columns
        ):
            raise Rejected(place, f"the map must have {width} rows and 1 to {MOST_COLUMNS} columns")
        flat = [rational(value, f"{place}, map") for value in entries]
        self.rows = [flat[k * self.columns : (k + 1) * self.columns] for k in range(width)]
        near = np.array([nearest_float(value) for value in flat]).reshape(width, self.columns)
        self.values = near if all(Fraction(x) == value for x, value in zip(near.ravel(), flat, strict=True)) else None

    def images(self, rows: Sequence[Sequence[Fraction]]) -> tuple[Wholes, Wholes, int, int]:
        """(Rows, images), each as integers up to one factor, and these factors: of the rows, and of M."""
        # A last row of one entry, 1, becomes the common factor of the others.
        *M, [m_factor] = integer_rows([*self.rows, [Fraction(1)]])
        *Z, [z_factor] = integer_rows([*rows, [Fraction(1)]])
        across = list(zip(*M, strict=True))
        found = []
        for row in Z:
            look()
            found.append([sum(z * m for z, m in zip(row, column, strict=True)) for column in across])
        return Z, found, z_factor, m_factor


def check_reach(proof: Any, rows: Vectors, scope: Scope, place: str) -> None:
    """Rejected unless every rule of the scope has its V: W = M V reaches every pattern of signs, or the proof gives an inverse."""
    M = Map(proof, rows.width, place)
    if "inverse" in proof:
        Z, images, z_factor, m_factor = M.images(rows)
        _check_inverse(proof["inverse"], Z, images, m_factor, [z_factor * room for room in scope.allowances], place)
        return
    across = list(zip(*integer_rows(M.rows), strict=True))
    mapped = (
        [sum(z * m for z, m in zip(row, column, strict=True)) for column in across] for row in map(whole_row, rows)
    )
    if exact_rank(mapped, M.columns) != M.columns:
        raise Rejected(place, f"the map's image of the rows does not have rank {M.columns}")
    if M.columns < rows.width and exact_rank(map(whole_row, rows), rows.width) != M.columns:
        raise Rejected(place, f"the rows do not have rank {M.columns}, so the map misses rules")


def _check_inverse(entries: Any, Z: Wholes, images: Wholes, factor: int, room: list[Fraction], place: str) -> None:
    """Rejected unless the matrix L of the entries has |Z - images L / factor|_ij <= room_j."""
    columns, width = len(images[0]), len(Z[0])
    flat = rationals(entries, columns * width, f"{place}, inverse")
    *L, [l_factor] = integer_rows([*(flat[k * width : (k + 1) * width] for k in range(columns)), [Fraction(1)]])
    across = list(zip(*L, strict=True))
    both = factor * l_factor
    limits = [both * value for value in room]
    for i, (row, image) in enumerate(zip(Z, images, strict=True)):
        look()
        for j, (value, column) in enumerate(zip(row, across, strict=True)):
            if abs(both * value - sum(q * entry for q, entry in zip(image, column, strict=True))) > limits[j]:
                raise Rejected(place, f"the map loses more of row {i}, coordinate {j}, than the relative margin allows")


def rounded_images(proof: Any, rows: Vectors, bits: int, place: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each row's image scaled to largest entry 2^bits and rounded to whole numbers (half up), and whether (1) or not (0) that lost
    anything; Rejected when an image is zero."""
    M = Map(proof, rows.width, place)
    points = np.zeros((len(rows), M.columns), np.int64)
    lost = np.ones(len(rows), np.int64)
    is_sure = np.zeros(len(rows), np.bool_)
    if M.values is not None:
        for part in steps(len(rows.values)):
            points[part], is_sure[part] = _rounded_in_floats(rows.values[part], M.values, bits)
    doubtful = np.flatnonzero(~is_sure).tolist()
    for start in range(0, len(doubtful), ROWS_AT_A_TIME):
        some = doubtful[start : start + ROWS_AT_A_TIME]
        for i, image in zip(some, M.images([rows[i] for i in some])[1], strict=True):
            top = max(map(abs, image))
            if top == 0:
                raise Rejected(place, f"the map sends row {i} to zero")
            exact = [Fraction(value << bits, top) for value in image]
            nearest = [(2 * x.numerator + x.denominator) // (2 * x.denominator) for x in exact]
            points[i], lost[i] = nearest, nearest != exact
    return points, lost


def _rounded_in_floats(values: Floats, M: Floats, bits: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The rounded images, and where they are sure: no other numbers within the error round differently, one entry is surely not
    whole, and one entry surely has the largest magnitude."""
    images, doubt = products(values, M)
    sizes, every = np.abs(images), np.arange(len(images))
    at_top = sizes.argmax(axis=1)
    top, top_doubt = sizes[every, at_top], doubt[every, at_top]
    highest = sizes + doubt
    highest[every, at_top] = 0.0
    is_sure = np.isfinite(doubt).all(axis=1) & (highest.max(axis=1) < top - top_doubt)
    with np.errstate(all="ignore"):
        scaled = images * (2.0**bits / top)[:, None]
        # Each entry is at most 2^bits. Four roundings, and the error of the product and of its top, doubled to cover their own roundings.
        room = 2.0**bits * (2.0 * (doubt + top_doubt[:, None]) / (top - top_doubt)[:, None] + 8.0 * UNIT)
        up = np.floor(scaled + 0.5)
        from_half = np.abs(scaled - np.floor(scaled) - 0.5)
        from_whole = np.abs(scaled - np.rint(scaled))
    others = np.ones(images.shape, np.bool_)
    others[every, at_top] = False
    is_sure &= (~others | (from_half > room)).all(axis=1) & (others & (from_whole > room)).any(axis=1)
    up[every, at_top] = np.copysign(2.0**bits, images[every, at_top])
    return np.where(is_sure[:, None], up, 0.0).astype(np.int64), is_sure
