"""The tokens of an LP file: names, labels, numbers and signs, with the line that each stands on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import ReadError

# Gurobi and others write x[1,a]; a bracket inside a name is never after a blank, unlike that of a quadratic part.
_NAME = r"[A-Za-z_!\"#$%&(),;?@'`{}|~](?:[A-Za-z0-9_!\"#$%&(),.;?@'`{}|~]|\[[A-Za-z0-9_,.]*\])*"
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_IS_NAME = re.compile(_NAME)
_TOKEN = re.compile(rf"{_NUMBER}|{_NAME}\s*:|{_NAME}|->|[<>=]=|=[<>]|\S")
_SECTION = re.compile(
    r"^[ \t]*(minimi[sz]e|minimum|min|maximi[sz]e|maximum|max|subject[ \t]+to|such[ \t]+that|s\.t\.|st\.|st|bounds?|binary|binaries"
    r"|bin|general[ \t]+constraints|generals?|gen|integers?|int|semi-continuous|semis?|sos[12]?|lazy[ \t]+constraints|user[ \t]+cuts"
    r"|end)(?=[\s]|$)(?![ \t]*:)",
    re.IGNORECASE | re.MULTILINE,
)
_RELATIONS = {"<": "<", "<=": "<", "=<": "<", ">": ">", ">=": ">", "=>": ">", "=": "="}
_INFINITE_WORDS = {"inf", "infinity"}
NUMBER_WORDS = _INFINITE_WORDS | {"nan"}
"""Words that are no names of columns, for they stand for numbers."""


@dataclass(frozen=True)
class Section:
    """A section of the file: its title in small letters, the text after it, and the line on which that begins."""

    title: str
    text: str
    line: int


def sections(text: str) -> Iterator[Section]:
    """The sections up to End, without comments."""
    text = re.sub(r"\\.*", "", text)
    found = list(_SECTION.finditer(text))
    if not found or not found[0].group(1).lower().startswith(("mi", "ma")):
        raise ReadError("an LP file begins with Minimize or Maximize.", 1)
    before = text[: found[0].start()].strip()
    if before:
        raise ReadError(f"text before the objective: {before[:40]!r}.", 1)
    line, at = 1, 0
    for header, following in zip(found, [*found[1:], None], strict=True):
        line, at = line + text.count("\n", at, header.end()), header.end()
        title = " ".join(header.group(1).lower().split())
        if header is not found[0] and title.startswith(("mi", "ma")):
            raise ReadError(f"{title!r} begins a second objective.", line)
        yield Section(title, text[at : following.start() if following else None], line)
        if title == "end":
            return
    raise ReadError("the file ends without End; it is cut off or not an LP file.", line + text.count("\n", at))


class Tokens:
    """The tokens of a section with a place to look at."""

    def __init__(self, section: Section) -> None:
        self.section = section
        self.all = _TOKEN.findall(section.text)
        self.at = 0

    @property
    def now(self) -> str:
        """The token at the place, or "" at the end."""
        return self.all[self.at] if self.at < len(self.all) else ""

    def take(self) -> str:
        """The token at the place, which moves on."""
        token = self.now
        self.at += 1
        return token

    def expect(self, *allowed: str) -> str:
        """Take a token that must be one of those allowed."""
        if self.now not in allowed:
            raise self.fault(f"expected {' or '.join(map(repr, allowed))}")
        return self.take()

    def fault(self, what: str) -> ReadError:
        """An error about the token at the place, with its line and neighbours."""
        words = " ".join(self.all[max(0, self.at - 5) : self.at + 3])
        text, place = self.section.text, 0
        for k, found in enumerate(_TOKEN.finditer(text)):
            place = found.start()
            if k >= self.at:
                break
        line = self.section.line + text.count("\n", 0, place)
        return ReadError(f"{what} near {words!r}." if words else f"{what}.", line)

    # -- what a token may be ----------------------------------------------------------------------------------------------

    def name(self) -> str:
        """Take the name of a column."""
        if not is_name(self.now):
            raise self.fault("expected the name of a column")
        return self.take()

    def at_infinity(self) -> bool:
        """Whether `inf` or `infinity` stands here, with or without a sign."""
        ahead = self.all[self.at : self.at + 2]
        return any(word.lower() in _INFINITE_WORDS for word in ahead[: 2 if self.now in "+-" else 1])

    def number(self) -> float:
        """Take a number with its signs; it may be infinite."""
        sign = 1.0
        while self.now in ("+", "-"):
            sign = -sign if self.take() == "-" else sign
        if self.now.lower() in _INFINITE_WORDS:
            self.take()
            return sign * np.inf
        if self.now[:1] not in ".0123456789" or self.now in ("", "."):
            raise self.fault("expected a number")
        return sign * float(self.take())

    def at_relation(self) -> bool:
        """Whether a relation stands here."""
        return self.now in _RELATIONS

    def relation(self) -> str:
        """Take a relation as `<`, `>` or `=`."""
        return _RELATIONS[self.expect(*_RELATIONS)]


def is_name(word: str) -> bool:
    """Whether a word can be the name of a column."""
    return word.lower() not in _INFINITE_WORDS and _IS_NAME.fullmatch(word) is not None
