"""Reads MPS files in free or fixed format.

Known sections: NAME, OBJSENSE, ROWS, COLUMNS with integer markers, RHS, RANGES, BOUNDS, QUADOBJ, QSECTION of the objective, QMATRIX,
INDICATORS. An integer column without any bound is binary. A negative UP without a lower bound leaves the lower bound at zero, as
HiGHS, SCIP and GLPK read it. Of several right-hand sides, ranges or sets of bounds the first counts, as the format's inventors had it.
Our own files say everything explicitly.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import ReadError
from .mps_content import SENSES, MpsContent
from .mps_lines import fixed_words, free_words
from .parsed import Parsed

Words = Callable[[str, str], list[str]]
"""How a line of a section falls into words."""


class _Sections:
    """Hands each line to the reader of its section."""

    def __init__(self, reader: MpsContent, words: Words) -> None:
        self.reader, self.words = reader, words
        self.section = ""
        self.handlers: dict[str, Callable[[list[str]], None]] = {
            "OBJSENSE": reader.objsense,
            "ROWS": reader.rows,
            "COLUMNS": reader.columns,
            "RHS": reader.rhs_,
            "RANGES": reader.ranges_,
            "BOUNDS": reader.bounds_,
            "QUADOBJ": reader.quadobj,
            "QSECTION": reader.quadobj,
            "QMATRIX": reader.qmatrix,
            "INDICATORS": reader.indicators_,
        }

    def title(self, words: list[str]) -> None:
        """A line that begins in the first column: the title of a section, or the word after OBJSENSE."""
        section, rest = words[0].upper(), words[1:]
        if section == "NAME":
            self.reader.name = " ".join(word for word in rest if word != "FREE") or "program"
        elif self.section == "OBJSENSE" and section in SENSES:
            self.reader.objsense(words)
        elif section in ("QCMATRIX", "QSECTION") and rest != [self.reader.objective]:
            row = " ".join(rest)
            raise ReadError(
                f"section {section} makes row {row!r} quadratic; rows must be linear, the objective alone may be quadratic."
                if row in self.reader.row_at
                else f"section {section} needs the name of a row; got {row!r}."
            )
        elif section not in self.handlers:
            raise ReadError(f"section {words[0]!r} is not supported; known are NAME, {', '.join(self.handlers)}.")
        elif rest and section not in ("OBJSENSE", "QSECTION"):
            raise ReadError(
                f"{' '.join(words)!r} begins in the first column like a title, but {section} stands alone as a title."
            )
        else:
            self.section = section
            if section == "OBJSENSE" and rest:
                self.reader.objsense(rest)

    def data(self, line: str) -> None:
        """An indented line: data of the section."""
        if not self.section:
            raise ReadError("data before the first section.")
        words = self.words(line, self.section)
        if words:
            self.handlers[self.section](words)


def read_mps(text: str) -> Parsed:
    """The content of an MPS file, in free format or, where that makes no sense, in fixed format."""
    try:
        return _read(text, free_words)
    except ReadError as as_free:
        try:
            return _read(text, fixed_words)
        except ReadError as as_fixed:
            # The format in which more of the file makes sense is the one that was meant.
            raise (as_fixed if (as_fixed.line or 0) > (as_free.line or 0) else as_free) from None


def _read(text: str, words: Words) -> Parsed:
    reader = MpsContent()
    sections = _Sections(reader, words)
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if not line or line.isspace() or line[0] in "*$":
            continue
        try:
            if line[0] in " \t":
                sections.data(line)
            elif line.split()[0].upper() == "ENDATA":
                return _finished(reader)
            else:
                sections.title(line.split())
        except ReadError as err:
            raise ReadError(str(err), number) from None
    raise ReadError("the file ends without ENDATA; it is cut off or not an MPS file.", max(1, len(lines)))


def _finished(reader: MpsContent) -> Parsed:
    if reader.objective is None:
        raise ReadError("the file has no objective (no row of type N).")
    reader.check_symmetry()
    return reader.parsed()
