"""Finished cells on disk: one JSON file for each, written under another name and renamed."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from .case import Case, Cell, plain

BENCHMARKS = Path(__file__).resolve().parent.parent
FINGERPRINT_LENGTH = 12
"""Hexadecimal digits of the source's fingerprint."""


class CellStore:
    """The cells of one study, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, case: Case, repetition: int) -> Cell | None:
        """The stored cell, or None when there is none."""
        try:
            stored = json.loads(self._path(case, repetition).read_text())
        except FileNotFoundError:
            return None
        return Cell(case, repetition, stored["measured"], when=stored.get("when", ""), code=stored.get("code", ""))

    def save(self, cell: Cell, versions: dict[str, str]) -> None:
        """Store a finished cell with today's date, the source's fingerprint and the packages' versions."""
        record = {
            "case": str(cell.case),
            "repetition": cell.repetition,
            "measured": cell.measured,
            "when": today(),
            "code": fingerprint(),
            "versions": versions,
        }
        text = json.dumps(record, default=plain, indent=1, allow_nan=True)
        write_atomically(self._path(cell.case, cell.repetition), text)

    def forget(self, case: Case, repetition: int) -> None:
        """Delete the stored cell, if there is one."""
        self._path(case, repetition).unlink(missing_ok=True)

    def _path(self, case: Case, repetition: int) -> Path:
        return self.folder / f"{case.key(repetition)}.json"


def today() -> str:
    """The date in UTC, as 2026-01-31."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


@cache
def fingerprint() -> str:
    """A short hash of the package's source as this process found it, so that old cells can be told from new ones."""
    root = BENCHMARKS.parent
    digest = hashlib.sha256()
    for path in sorted([*(root / "mipclass").rglob("*.py"), *(root / "models").rglob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:FINGERPRINT_LENGTH]


def write_atomically(path: Path, text: str) -> None:
    """Write the file under another name and rename it, so that a killed run leaves no half-written file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    os.replace(temporary, path)
