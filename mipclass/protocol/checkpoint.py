"""Checkpoints: a folder in which a long solve keeps what it has finished, so that it goes on after it was killed.

A folder belongs to one problem: its first file, problem.json, holds a digest of data and statement. Every file is written whole under
another name and then renamed, and begins with the SHA-256 of what follows, so that a damaged one is noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from ..replacing import write_safely

FORMAT, VERSION = "mipclass checkpoint", 1
HEADER = "problem.json"
_DIGEST_BYTES = 32

SAVE_SECONDS = 10.0
"""Seconds between two states on disk: what is lost with a killed process, besides the tasks under way."""

SAVE_SHARE = 0.05
"""Fraction of the time that writing may take; states that take long to write become rarer."""

MOST_SECONDS = 45.0
"""Seconds between two states at most, however long one took to write: a process that is suspended in the middle of it counts the whole pause."""


class CheckpointFolder:
    """A folder for the problem that `about` states; another problem's folder, or one with other files, is refused."""

    def __init__(self, folder: str | Path, about: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        text = json.dumps({"format": FORMAT, "version": VERSION, **about}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()
        header = self.folder / HEADER
        if header.exists():
            self._compare(header, digest)
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            is_empty = not any(self.folder.iterdir())
        except OSError as err:
            raise InvalidInputError(
                f"checkpoint {str(folder)!r} must be a folder that can be written ({err})."
            ) from err
        if not is_empty:
            raise InvalidInputError(
                f"checkpoint {str(folder)!r} has files but no {HEADER}, so it is no checkpoint; name a new or an empty folder."
            )
        content = {"format": FORMAT, "version": VERSION, "problem": digest}
        write_safely(header, json.dumps(content).encode())

    def _compare(self, header: Path, digest: str) -> None:
        try:
            content = json.loads(header.read_bytes())
            found = (content["format"], content["version"], content["problem"])
        except (ValueError, KeyError, TypeError) as err:
            raise damaged(header) from err
        if found[:2] != (FORMAT, VERSION):
            raise InvalidInputError(
                f"checkpoint {str(self.folder)!r} has format {found[0]!r}, version {found[1]!r}; this version reads {FORMAT!r}, "
                f"{VERSION}. Name another folder."
            )
        if found[2] != digest:
            raise InvalidInputError(
                f"checkpoint {str(self.folder)!r} belongs to another problem: other data, weights or constraints. Name another "
                "folder, or delete this one to begin anew."
            )

    def part(self, name: str) -> Store:
        """The files of one search of the solve."""
        return Store(self.folder / name)


def damaged(path: Path) -> InvalidInputError:
    """The error for a file that cannot be read back."""
    return InvalidInputError(
        f"the file {path.name} of checkpoint {str(path.parent)!r} is missing or damaged. Restore it, or delete the folder to begin anew."
    )


def name_for(arrays: Iterable[NDArray[Any]], rest: object) -> str:
    """A name of a search for a folder: a digest of its arrays and of what else it depends on."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    found.update(repr(rest).encode())
    return found.hexdigest()[:32]


class Pace:
    """When the next state of a search should be on disk."""

    def __init__(self) -> None:
        self._next = time.monotonic() + SAVE_SECONDS

    @property
    def is_due(self) -> bool:
        """Whether the last state is old."""
        return time.monotonic() >= self._next

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around the writing of a state."""
        began = time.monotonic()
        yield
        now = time.monotonic()
        self._next = now + max(SAVE_SECONDS, min(MOST_SECONDS, (now - began) / SAVE_SHARE))


class Store:
    """Files of arrays and of JSON in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, name: str) -> bool:
        """Whether the file was written."""
        return (self.folder / name).exists()

    def write(self, name: str, content: bytes) -> None:
        """Replace a file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_safely(self.folder / name, hashlib.sha256(content).digest() + content)

    def read(self, name: str) -> bytes:
        """What was written; InvalidInputError if it is not that any more."""
        path = self.folder / name
        try:
            raw = path.read_bytes()
        except OSError as err:
            raise damaged(path) from err
        content = raw[_DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != raw[:_DIGEST_BYTES]:
            raise damaged(path)
        return content

    def write_json(self, name: str, content: Any) -> None:
        """Replace a file of JSON."""
        self.write(name, json.dumps(content, separators=(",", ":")).encode())

    def read_json(self, name: str) -> Any:
        """The content of a file of JSON."""
        return json.loads(self.read(name))

    def write_arrays(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace a file of arrays."""
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        self.write(name, buffer.getvalue())

    def read_arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays of a file."""
        with np.load(io.BytesIO(self.read(name)), allow_pickle=False) as found:
            return {key: found[key] for key in found.files}

    def drop_others(self, kept: Collection[str]) -> None:
        """Delete the files that are no longer needed."""
        for path in self.folder.iterdir():
            if path.name not in kept:
                path.unlink(missing_ok=True)
