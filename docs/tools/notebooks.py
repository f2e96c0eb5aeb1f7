"""Makes docs/notebooks/*.ipynb from the chapters of the tutorial: text becomes text cells, Python blocks become code cells.

Run from the repository's root: `python docs/tools/notebooks.py`. A test keeps the notebooks fresh and runs their cells.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
FOLDER = DOCS / "notebooks"
BLOCK = re.compile(r"```python\n(.*?)\n```", re.DOTALL)
LINK = re.compile(r"(?<=\]\()([\w/]+\.md)")


def chapters() -> list[Path]:
    """The tutorial's pages, in order."""
    return sorted(DOCS.glob("tutorial_*.md"))


def notebook(page: Path) -> str:
    """The page as a notebook without outputs."""
    cells: list[dict[str, Any]] = []
    for k, part in enumerate(BLOCK.split(page.read_text())):
        text = part.strip()
        if not text:
            continue
        cell: dict[str, Any] = {"id": f"cell-{len(cells)}", "metadata": {}}
        if k % 2:
            cell |= {"cell_type": "code", "execution_count": None, "outputs": [], "source": _lines(text)}
        else:
            own = re.sub(r" *\(\[As a notebook\]\([^)]*\)\.\)", "", text)
            cell |= {"cell_type": "markdown", "source": _lines(LINK.sub(r"../\1", own))}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def target(page: Path) -> Path:
    """Where a page's notebook stands."""
    return FOLDER / f"{page.stem}.ipynb"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for chapter in chapters():
        target(chapter).write_text(notebook(chapter))
