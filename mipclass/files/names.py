"""Legal, readable, unique names for LP and MPS files: w[age] becomes w_age, error[17] becomes error_17.

Names match [A-Za-z_][A-Za-z0-9_.]*, have at most 96 characters, and are no word of the LP language. A letter e before a
digit is never first (`3 e1` would read as thirty), nor are the letters inf and nan in any case: HiGHS reads `info` as infinity
followed by `o`, and `nanx` as not-a-number. Letters outside ASCII lose their accents; other signs become `_`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from itertools import product

from ..modelling.blocks import Block

LONGEST = 96
OBJECTIVE = "obj"
NO_ROWS = "no_rows"  # the row that stands for none
# Words that some reader of LP or MPS files takes for something else, in any case of letters.
_WORDS = """
bin binaries binary bound bounds e end free gen general generals inf infinity int integer integers lazy marker max maximise
maximize maximum min minimise minimize minimum nan obj rhs semi semis sin sos sos1 sos2 st subject such that to user
"""
KEYWORDS = frozenset(_WORDS.split())
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.]+")
_BAD_START = re.compile(r"[0-9.]|e[0-9]|inf|nan", re.IGNORECASE)


def legal_names(blocks: Sequence[Block], taken: Collection[str] = ()) -> list[str]:
    """One name for each column or row of `blocks`, in order, different from each other and from those `taken`."""
    names: list[str] = []
    for block in blocks:
        names.extend(_block_names(block))
    return _unique(names, taken)


def legal(text: str) -> str:
    """The nearest legal name for `text` by itself."""
    name = _started(_cleaned(text))
    if name.lower() in KEYWORDS:
        name = f"_{name}"
    return name[:LONGEST]


def _block_names(block: Block) -> Iterable[str]:
    if not block.shape:
        return [legal(block.name)]
    base = _started(_cleaned(block.name))
    axes: list[Iterable[str]] = []
    for length, labels in zip(block.shape, block.labels or (None,) * len(block.shape), strict=True):
        axes.append(map(str, range(length)) if labels is None else map(_cleaned, labels))
    if len(axes) == 1:
        names = [f"{base}_{label}" for label in axes[0]]
    else:
        names = [f"{base}_{'_'.join(labels)}" for labels in product(*axes)]
    return names if max(map(len, names), default=0) <= LONGEST else [name[:LONGEST] for name in names]


def _cleaned(text: str) -> str:
    if text.isalnum() and text.isascii():
        return text
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _ILLEGAL.sub("_", plain if plain.strip() else "_").strip("_") or "_"


def _started(name: str) -> str:
    return f"_{name}" if _BAD_START.match(name) else name


def _unique(names: list[str], taken: Collection[str]) -> list[str]:
    """Later twins get _2, _3, ...; a name nobody else asked for is never changed."""
    wanted = set(names)
    if len(wanted) == len(names) and wanted.isdisjoint(taken):
        return names
    used, count, result = set(taken), dict.fromkeys(wanted, 1), []
    for name in names:
        new = name
        while new in used or (new is not name and new in wanted):
            count[name] += 1
            suffix = f"_{count[name]}"
            new = name[: LONGEST - len(suffix)] + suffix
        used.add(new)
        result.append(new)
    return result
