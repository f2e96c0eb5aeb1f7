"""The lines of MPS files as words, in free or fixed format, and their numbers.

In free format words stand between blanks. In fixed format six fields stand at set places of a line (columns 2-3, 5-12, 15-22,
25-36, 40-47 and 50-61), so that names may hold blanks. A `$` at the beginning of a word opens a comment.
"""

from __future__ import annotations

import re

from ..errors import ReadError

_FIELDS = (slice(1, 3), slice(4, 12), slice(14, 22), slice(24, 36), slice(39, 47), slice(49, 61))
_GAPS = (slice(0, 1), slice(3, 4), slice(12, 14), slice(22, 24), slice(36, 39), slice(47, 49))
_WITH_FIRST_FIELD = {"ROWS", "BOUNDS", "INDICATORS"}
"""Sections whose lines use the first field, for a type; those of the others begin with the second."""
_FORTRAN = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))[dD]([+-]?\d+)")
_LARGEST = 1.7976931348623157e308  # the largest float64: a number beyond it is infinite


def free_words(line: str, section: str) -> list[str]:
    """The words between blanks."""
    return line.split()


def fixed_words(line: str, section: str) -> list[str]:
    """The six fields of a line in fixed format, without those that the section does not use."""
    if "\t" in line:
        raise ReadError("fixed format has no tabs.")
    line = _without_comment(line)
    if any(line[gap].strip() for gap in _GAPS) or line[61:].strip():
        raise ReadError(f"{line.strip()!r} does not keep to the columns of fixed format.")
    words = [line[field].strip() for field in _FIELDS]
    if section not in _WITH_FIRST_FIELD:
        if words.pop(0):
            raise ReadError(f"section {section} does not use columns 2 and 3; got {line.strip()!r}.")
        if "'MARKER'" in words:
            words = [word for word in words if word]
    while words and not words[-1]:
        words.pop()
    return words


def _without_comment(line: str) -> str:
    """The line up to a `$` that begins field 3 or 5, or that stands behind two blanks after the names of fields 1 and 2."""
    at = line.find("$", _FIELDS[2].start)
    while at >= 0:
        if at in (_FIELDS[2].start, _FIELDS[4].start) or line[at - 2 : at] == "  ":
            return line[:at]
        at = line.find("$", at + 1)
    return line


def number(text: str) -> float:
    """A finite number; an exponent may be written with D, as Fortran does."""
    value = number_or_infinity(text)
    if not -_LARGEST <= value <= _LARGEST:
        raise ReadError(f"{text!r} is infinite; a finite number must stand here.")
    return value


def number_or_infinity(text: str) -> float:
    """A number, or "inf" and "infinity" with a sign."""
    try:
        value = float(text)
    except ValueError:
        fortran = _FORTRAN.fullmatch(text)
        if fortran is None:
            raise ReadError(f"{text!r} is not a number.") from None
        value = float(f"{fortran[1]}e{fortran[2]}")
    if value != value or "_" in text:
        raise ReadError(f"{text!r} is not a number.")
    return value
