"""Where compiled kernels are kept: a folder per version of the package and per state of the kernels' sources.

numba recompiles a kernel when its own source file changed. It does not notice that a named tuple which the kernel takes was
renamed, nor that a kernel of another file which it calls was changed; the code in its cache then fails or is out of date. So the
folder's name holds the package's version and a digest of all sources that the kernel may use: those of its family and of
`numeric`. pip leaves the folders of old versions behind, where nothing reads them.

The first of these folders that can be written is used: $NUMBA_CACHE_DIR, `__pycache__` of the package, the user's cache folder,
the folder of temporary files. Without any, kernels are compiled in every process.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ..errors import warn
from ..version import VERSION

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of the package."""

DIGEST_LETTERS = 12
"""Hexadecimal digits of the digest in a folder's name: 48 bits, so that no two states of the sources meet."""


def cache_folder(source: str) -> Path | None:
    """The folder for the kernels of a source file; None when no folder can be written."""
    root = writable_root()
    return None if root is None else root / f"{_family(Path(source).resolve())}-{_digest(_family_of_sources(source))}"


@cache
def writable_root() -> Path | None:
    """The folder that holds the folders of this version's kernels; warns once when it is temporary or missing."""
    for parent in _lasting():
        if _is_writable(parent):
            return parent
    temporary = _temporary()
    if temporary is not None:
        warn(
            f"neither the installation nor the user's cache folder can be written, so compiled kernels are kept in {temporary}, "
            "where the system may delete them. Set NUMBA_CACHE_DIR to a folder that can be written."
        )
        return temporary
    warn(
        "no folder can be written, so kernels are compiled anew in every process, which takes up to a minute. "
        "Set NUMBA_CACHE_DIR to a folder that can be written."
    )
    return None


def _lasting() -> Iterator[Path]:
    """Folders in which compiled kernels may stay, the best one first."""
    name = f"mipclass-{VERSION}"
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(os.environ["NUMBA_CACHE_DIR"]) / name
    yield PACKAGE / "__pycache__" / name
    home = {"win32": "LOCALAPPDATA"}.get(sys.platform, "XDG_CACHE_HOME")
    if os.environ.get(home):
        yield Path(os.environ[home]) / "mipclass" / name
    try:
        yield Path.home() / (Path("Library", "Caches") if sys.platform == "darwin" else ".cache") / "mipclass" / name
    except RuntimeError:  # a user without a home
        return


def _temporary() -> Path | None:
    """A folder for temporary files that belongs to this user alone: numba executes what it finds there."""
    try:
        user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
        folder = Path(tempfile.gettempdir()) / f"mipclass-{VERSION}-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:  # FileNotFoundError of gettempdir included
        return None
    if hasattr(os, "getuid") and (folder.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o022):
        return None
    return folder if _is_writable(folder) else None


def _is_writable(folder: Path) -> bool:
    """Whether files can be made in the folder, which is made if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _family(source: Path) -> str:
    """The room or the family of methods that a source file belongs to."""
    parts = source.relative_to(PACKAGE).parts if source.is_relative_to(PACKAGE) else (source.parent.name,)
    return parts[1] if parts[0] == "methods" and len(parts) > 2 else parts[0]


def _family_of_sources(source: str) -> tuple[Path, ...]:
    """All files of kernels that a kernel of this file may call or take its types from."""
    path = Path(source).resolve()
    family = _family(path)
    if not path.is_relative_to(PACKAGE):
        return (path,)
    if family in ("numeric", "checker"):
        own = PACKAGE.glob(f"{family}/*.py")
    else:
        own = PACKAGE.glob(f"methods/{family}/**/kernels/*.py")
    return tuple(sorted({*own, *PACKAGE.glob("numeric/*.py")}))


@cache
def _digest(sources: tuple[Path, ...]) -> str:
    content = hashlib.sha256()
    for path in sources:
        content.update(path.read_bytes())
    return content.hexdigest()[:DIGEST_LETTERS]
