"""Small pieces of HTML that need no style sheet and no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_CELL = "text-align:left;vertical-align:top;padding:.15em .8em .15em 0;"


def html_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a line of headings; all texts are escaped."""
    head = "".join(f'<th style="{_CELL}">{escape(heading)}</th>' for heading in headings)
    lines = ["".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values in two columns; the values are HTML already."""
    lines = (
        f'<tr><th style="{_CELL}font-weight:normal;opacity:.65">{escape(name)}</th><td style="{_CELL}">{value}</td></tr>'
        for name, value in pairs
    )
    return f"<table>{''.join(lines)}</table>"
