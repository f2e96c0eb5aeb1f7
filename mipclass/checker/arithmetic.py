"""Exact numbers for the checker: floats as fractions and integers, packed arrays, ranks, attainable sums."""

from __future__ import annotations

import base64
import binascii
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .patience import look

MOST_SUMS = 1 << 16
"""Sums of one half, at most; with more, a bound is not rounded up."""


NUMBERS_A_LOOK = 1 << 10
"""Numbers of a list between two looks at the clock: about a millisecond."""

MOST_KEPT = 1 << 12
"""Numbers that are remembered as one object each."""


class Rejected(Exception):
    """The certificate does not prove what it claims; `place` says where, the message why."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(reason)
        self.place, self.reason = place, reason


def field(content: Any, name: str, place: str) -> Any:
    """The entry of that name; Rejected when it is missing."""
    if not isinstance(content, dict) or name not in content:
        raise Rejected(place, f"the entry {name!r} is missing")
    return content[name]


def whole(value: Any, place: str) -> int:
    """A whole number, which a boolean is not; Rejected otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Rejected(place, f"expected a whole number, got {value!r}")
    return value


@lru_cache(maxsize=MOST_KEPT)
def _one_object(numerator: int, denominator: int) -> Fraction:
    return Fraction(numerator, denominator)


@lru_cache(maxsize=MOST_KEPT, typed=True)
def exact(value: Any) -> Fraction:
    """A fraction from "p/q", a hexadecimal float, or a number. Equal ones are one object as a rule, so that long lists of few different
    values are compared and added up quickly (`tally`)."""
    if isinstance(value, str) and "0x" in value:
        value = float.fromhex(value)
    return _one_object(*Fraction(value).as_integer_ratio())


ONE = exact(1)


def tally(values: Iterable[Fraction]) -> list[tuple[Fraction, int]]:
    """Each different object among the values and how often it is there; equal values may be several objects."""
    objects = list(values)
    times = Counter(map(id, objects))
    return [(value, times[key]) for key, value in {id(value): value for value in objects}.items()]


def nearest_float(value: Fraction) -> float:
    """The nearest float64; 0 for what is beyond them."""
    try:
        return float(value)
    except OverflowError:
        return 0.0


def rational(text: Any, place: str) -> Fraction:
    """A fraction from "p/q", a whole number or a hexadecimal float."""
    try:
        return exact(text)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError) as err:
        raise Rejected(place, f"expected a number, got {text!r}") from err


def rationals(values: Any, length: int, place: str) -> list[Fraction]:
    """A list of so many numbers as fractions; Rejected otherwise."""
    if not isinstance(values, list) or len(values) != length:
        raise Rejected(place, f"expected a list of {length} numbers")
    found = []
    for number, value in enumerate(values):
        if number % NUMBERS_A_LOOK == 0:
            look()
        found.append(rational(value, place))
    return found


def whole_list(values: Any, place: str) -> list[int]:
    """A list of whole numbers; Rejected otherwise."""
    if not isinstance(values, list):
        raise Rejected(place, "expected a list of whole numbers")
    for value in values:
        if type(value) is not int:
            whole(value, place)
    return list(values)


def unpack(text: Any, kind: str, place: str) -> NDArray[Any]:
    """The inverse of deflated, base64-written little-endian integers."""
    try:
        raw = zlib.decompress(base64.b64decode(text, validate=True))
        return np.frombuffer(raw, dtype=np.dtype(kind).newbyteorder("<")).astype(kind)
    except (binascii.Error, zlib.error, ValueError, TypeError) as err:
        raise Rejected(place, f"a packed array cannot be read ({err})") from err


def unpack_hex(text: Any, place: str) -> list[int]:
    """Whole numbers in hexadecimal, separated by blanks, deflated."""
    try:
        words = zlib.decompress(base64.b64decode(text, validate=True)).decode("ascii").split()
        return [int(word, 16) for word in words]
    except (binascii.Error, zlib.error, ValueError, TypeError) as err:
        raise Rejected(place, f"packed numbers cannot be read ({err})") from err


def integer_rows(rows: Sequence[Sequence[Fraction]]) -> list[list[int]]:
    """All rows times one positive number that makes every entry whole."""
    scale = 1
    for row in rows:
        look()
        for value in row:
            if scale % value.denominator:
                scale = lcm(scale, value.denominator)
    return [[int(value * scale) for value in row] for row in rows]


def whole_row(row: Sequence[Fraction]) -> list[int]:
    """The row times the least positive number that makes every entry whole."""
    scale = lcm(*(value.denominator for value in row))
    return [value.numerator * (scale // value.denominator) for value in row]


def exact_rank(rows: Iterable[Sequence[int]], width: int) -> int:
    """Rank over the rationals of rows of `width` whole numbers; they are read until it is `width`.

    The vectors k with row.k = 0 for every row so far form a space of dimension width - rank, of which `across` is a basis. A further row
    either is orthogonal to the whole basis, and the rank stays, or there is p in the basis with row.p != 0. Then the vectors
    (row.p) k - (row.k) p, one for each other k in the basis, are orthogonal to the row, and they are independent since (row.p) k occurs
    in one of them alone: they are a basis of what is left, and the rank is one higher. Dividing such a vector by the common divisor of its
    entries keeps the numbers small.
    """
    across = [[int(i == j) for j in range(width)] for i in range(width)]
    for row in rows:
        if not across:
            break
        look()
        met = [sum(value * entry for value, entry in zip(row, k, strict=True)) for k in across]
        at = next((i for i, value in enumerate(met) if value), None)
        if at is None:
            continue
        p, p_met = across.pop(at), met.pop(at)
        for i, (k, k_met) in enumerate(zip(across, met, strict=True)):
            turned = [p_met * a - k_met * b for a, b in zip(k, p, strict=True)]
            common = gcd(*turned)
            across[i] = [entry // common for entry in turned]
    return width - len(across)


def least_sum(values: Iterable[Fraction | int], bound: Fraction | int) -> Fraction:
    """The least sum of some of the values >= 0 that is at least `bound`; the bound itself when there are too many sums or none.

    Every sum of some of the values is a + b, where a is a sum of values of one half and b of the other (meet in the middle).
    """
    halves: tuple[set[Fraction], set[Fraction]] = ({Fraction(0)}, {Fraction(0)})
    for value, times in Counter(Fraction(value) for value in values if value > 0).most_common():
        half = min(halves, key=len)
        if len(half) * (times + 1) > MOST_SUMS:
            return Fraction(bound)
        half |= {done + k * value for done in half for k in range(1, times + 1)}
    first, second = halves[0], sorted(halves[1])
    found: Fraction | None = None
    for a in first:
        place = bisect_left(second, bound - a)
        if place < len(second) and (found is None or a + second[place] < found):
            found = a + second[place]
    return Fraction(bound) if found is None else found
