"""Files that are replaced whole: written under another name in the same folder, then renamed, so that no reader sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """The temporary path of a file that takes the place of `path` when the block ends without an error."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_safely(path: Path, content: bytes) -> None:
    """Write to a temporary file in the same folder, then rename it over `path`."""
    with replaced(path) as temporary:
        temporary.write_bytes(content)
