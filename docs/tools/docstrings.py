"""A griffe extension: the package's docstrings as Markdown, for the API reference.

The docstrings list parameters as `name : what it means`, types being in the signature. numpydoc parsers take the meaning for a type, so
the sections become Markdown lists here, and an indented display a block of code.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import griffe

HEADING = re.compile(r"^-{3,}$")
ITEM = re.compile(r"^(\*{0,2}[A-Za-z_]\w*(?:, *\*{0,2}[A-Za-z_]\w*)*) ?: (?=\S)")
SECOND_ITEM = re.compile(r"(?m)(?<=\S) {2,}([A-Za-z_]\w*) : (?=\S)")
"""A second parameter on one line, two or more spaces after the first."""
PROMPT = ">>>"


def as_markdown(text: str) -> str:
    """A docstring in this project's form as Markdown."""
    lines = SECOND_ITEM.sub(r"\n\1 : ", inspect.cleandoc(text)).split("\n")
    out: list[str] = []
    in_list = False
    k = 0
    while k < len(lines):
        line = lines[k]
        if k + 1 < len(lines) and line.strip() and HEADING.match(lines[k + 1].strip()):
            out += ["", f"**{line.strip()}**", ""]
            in_list = False
            k += 2
            continue
        item = ITEM.match(line)
        if item:
            out += [*([] if in_list else [""]), f"- `{item.group(1)}`: {line[item.end() :]}"]
            in_list = True
        elif line.startswith(PROMPT):
            block = _until_blank(lines, k)
            out += ["", "```pycon", *block, "```", ""]
            in_list = False
            k += len(block)
            continue
        elif line.startswith("    ") and not in_list:
            block = _display(lines, k)
            out += [
                "",
                "```python" if _is_python(block) else "```text",
                *inspect.cleandoc("\n".join(block)).split("\n"),
                "```",
                "",
            ]
            k += len(block)
            continue
        else:
            in_list = in_list and line.startswith(" ")
            out.append(re.sub(r"::$", ":", line))
        k += 1
    return "\n".join(out)


def _until_blank(lines: list[str], start: int) -> list[str]:
    end = start
    while end < len(lines) and lines[end].strip():
        end += 1
    return lines[start:end]


def _display(lines: list[str], start: int) -> list[str]:
    """The indented lines from `start` on, blank lines between them included."""
    end = start
    while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return lines[start:end]


def _is_python(block: list[str]) -> bool:
    try:
        compile(inspect.cleandoc("\n".join(block)), "docstring", "exec")
    except SyntaxError:
        return False
    return True


class Docstrings(griffe.Extension):
    """Rewrites each docstring as it is loaded."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for each module, class, function and attribute that griffe has loaded."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
