"""Tables of plain text with aligned columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 118
"""Characters of a line of a table; texts of the last column are wrapped to stay within it."""
LEAST_LAST = 30
"""Characters that the last column has at least, however wide the others are."""
GAP = "  "


def text_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """One line per row below the headings; `right` are the columns that are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    before = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
    lines = []
    for row in (headings, *rows):
        cells = [
            cell.rjust(width) if j in right else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row[:-1], widths, strict=False))
        ]
        last = row[-1].rjust(widths[-1]) if len(row) - 1 in right else row[-1]
        wrapped = textwrap.wrap(last, max(WIDTH - before, LEAST_LAST), drop_whitespace=False) or [""]
        lines.append(GAP.join([*cells, wrapped[0]]).rstrip())
        lines += [" " * before + more.strip() for more in wrapped[1:]]
    return "\n".join(lines)
