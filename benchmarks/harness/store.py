"""Finished cells on disk: a line of JSON for each, appended to the file of its study.

A later line replaces an earlier one of the same cell. Lines are appended in one write, so that several runs of one study may share the file; a line that
a killed run has left unfinished is passed over.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import tempfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from .case import Case, Cell, plain

BENCHMARKS = Path(__file__).resolve().parent.parent
FINGERPRINT_LENGTH = 12
"""Hexadecimal digits of the source's fingerprint."""

ASIDE = ("app", "plots")
"""Rooms of the package that no other room imports and no case runs: the command line and the pictures."""


class CellStore:
    """The cells of one study, in one file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._records: dict[str, dict[str, Any]] = {}
        self._read = 0  # bytes of the file that are in the records

    def load(self, case: Case, repetition: int) -> Cell | None:
        """The stored cell, or None when there is none."""
        self._read_on()
        stored = self._records.get(case.key(repetition))
        if stored is None:
            return None
        return Cell(case, repetition, stored["measured"], when=stored["when"], code=stored["code"])

    def save(self, cell: Cell, versions: dict[str, str], code: str) -> None:
        """Store a finished cell with today's date, the source's fingerprint `code` and the packages' versions."""
        self._append(
            {
                "key": cell.case.key(cell.repetition),
                "case": str(cell.case),
                "repetition": cell.repetition,
                "measured": cell.measured,
                "when": today(),
                "code": code,
                "versions": versions,
            }
        )

    def forget(self, case: Case, repetition: int) -> None:
        """Forget the stored cell, if there is one."""
        if self.load(case, repetition) is not None:
            self._append({"key": case.key(repetition), "forgotten": today()})

    def _append(self, record: dict[str, Any]) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(record, default=plain, allow_nan=True).encode() + b"\n"
        with self.file.open("a+b", buffering=0) as stream:
            if stream.tell() > 0:
                stream.seek(-1, os.SEEK_END)
                line = line if stream.read(1) == b"\n" else b"\n" + line
            stream.write(line)

    def _read_on(self) -> None:
        """Take over the lines that were appended since the last look, by this run or another."""
        try:
            with self.file.open("rb") as stream:
                stream.seek(self._read)
                new = stream.read()
        except FileNotFoundError:
            self._records, self._read = {}, 0
            return
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:  # a killed run's last line
                continue
            if "forgotten" in record:
                self._records.pop(record["key"], None)
            else:
                self._records[record["key"]] = record


def today() -> str:
    """The date in UTC, as 2026-01-31."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


@cache
def fingerprint(families: tuple[str, ...] = ()) -> str:
    """A short hash of the package's source as this process found it, so that old cells can be told from new ones.

    families : of methods that count; none: all. Families do not import each other, so that another one's source changes nothing in a cell;
    nor does that of the rooms ASIDE.
    Comments, docstrings and layout do not count. Python 3.11 and 3.13 give the same hash; 3.12.1 reads a few f-strings in another way.
    """
    root = BENCHMARKS.parent
    package, methods = root / "mipclass", root / "mipclass" / "methods"
    digest = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), *(root / "models").rglob("*.py")]):
        if path.is_relative_to(package) and path.relative_to(package).parts[0] in ASIDE:
            continue
        within = path.relative_to(methods).parts if path.is_relative_to(methods) else ()
        if not families or len(within) < 2 or within[0] in families:
            digest.update(repr(meaning(ast.parse(path.read_bytes()))).encode())
    return digest.hexdigest()[:FINGERPRINT_LENGTH]


def meaning(node: Any) -> Any:
    """A syntax tree as nested tuples: without positions, texts that stand alone (docstrings) and empty fields, in which versions of Python differ."""
    if isinstance(node, list):
        return tuple(meaning(entry) for entry in node if not _is_text(entry))
    if not isinstance(node, ast.AST):
        return node
    fields = [(name, meaning(value)) for name, value in ast.iter_fields(node) if value not in (None, [])]
    return type(node).__name__, *fields


def _is_text(node: Any) -> bool:
    """Whether a statement is nothing but a text."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def fingerprint_of(case: Case, families: tuple[str, ...]) -> str:
    """The fingerprint of what the case runs: its own families of methods, or those of its study."""
    return fingerprint(families if case.families is None else case.families)


def write_atomically(path: Path, text: str) -> None:
    """Write the file under another name and rename it, so that a killed run leaves no half-written file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    os.replace(temporary, path)
