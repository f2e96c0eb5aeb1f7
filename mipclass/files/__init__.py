"""LP and MPS files: our own writers and readers, with a sidecar that maps names back to features and data rows."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import IO, Literal

from ..errors import InvalidInputError, ReadError, warn
from ..modelling.program import Program
from ..replacing import replaced, write_safely

__all__ = ["read", "write"]

ENDINGS = (".lp", ".mps", ".lp.gz", ".mps.gz")


def write(program: Program, path: str | Path, *, indicators: str = "bigm", sidecar: bool = True) -> None:
    """Write `program` to an .lp or .mps file (also .gz) and, next to it, a .names.json with what the names stand for.

    Parameters
    ----------
    indicators : "bigm" rewrites indicator rows with the smallest M the bounds justify, which every reader understands;
        "native" writes them as they are, for SCIP, CPLEX and Gurobi.
    sidecar : False leaves the .names.json out, and removes one that is there, which would speak of another program.
    """
    from .lp_writer import write_lp
    from .mps_writer import write_mps
    from .portable import portable
    from .sidecar import describe, sidecar_path

    path = Path(path)
    kind = _kind(path)
    content = portable(program, indicators)
    # The old sidecar goes first: whenever writing is cut off, no file stands beside the names of another.
    sidecar_path(path).unlink(missing_ok=True)
    with replaced(path) as temporary, _opened(temporary, "wt", packed=_is_packed(path)) as stream:
        (write_lp if kind == "lp" else write_mps)(content, stream)
    if sidecar:
        names = json.dumps(describe(content), indent=None, separators=(", ", ": ")) + "\n"
        write_safely(sidecar_path(path), names.encode())


def read(path: str | Path) -> Program:
    """The program of an .lp or .mps file (also .gz), minimising; with blocks and labels when its .names.json is there.

    A file written by `Program.write` comes back bit for bit (in big-M form if that was written). A file that maximises is
    negated. What a Program cannot hold is refused with a ReadError that names it.
    """
    return read_with_names(path)[0]


def read_with_names(path: str | Path) -> tuple[Program, list[str]]:
    """The program, and the name of each column: the one in the file, or block and label where the .names.json says them."""
    from .lp_reader import read_lp
    from .mps_reader import read_mps
    from .parsed import to_program
    from .sidecar import restore, sidecar_path

    path = Path(path)
    kind = _kind(path)
    text = _text(path)
    try:
        parsed = (read_lp if kind == "lp" else read_mps)(text)
        program = to_program(parsed)
    except ReadError as err:
        located = ReadError(f"{path}: {err}")
        located.line = err.line
        raise located from err
    except InvalidInputError as err:
        raise ReadError(f"{path} holds no valid program: {err}") from err
    for remark in parsed.remarks:
        warn(f"{path.name}: {remark}")
    in_file = parsed.columns[: program.n_columns]
    restored = restore(program, in_file, parsed.rows, sidecar_path(path))
    return restored, list(in_file) if restored is program else list(restored.column_names())


def _kind(path: Path) -> str:
    for ending in ENDINGS:
        if path.name.lower().endswith(ending):
            return ending.split(".")[1]
    raise InvalidInputError(f"the ending of {path.name!r} says nothing; it must be one of {', '.join(ENDINGS)}.")


def _text(path: Path) -> str:
    try:
        with _opened(path, "rt", packed=_is_packed(path)) as stream:
            return stream.read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as err:
        raise ReadError(f"{path} cannot be unpacked, it is cut off or no gzip file: {err}") from err


def _opened(path: Path, mode: Literal["rt", "wt"], *, packed: bool) -> IO[str]:
    # What we write is ASCII; the comments and names of others may be in any encoding.
    return (gzip.open if packed else open)(path, mode, encoding="utf-8", errors="surrogateescape")


def _is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")
