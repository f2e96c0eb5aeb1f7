"""Makes docs/gallery.md and the pictures in docs/images/gallery from the scripts in examples/.

Run from the repository's root: `python docs/tools/gallery.py` draws every example anew (some minutes), with `--page` only the page is
written. A test keeps page and pictures complete.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "images" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"
COLUMNS = 3
HEAD = """# Gallery

Each picture makes one point and leads to the script that draws it. To run one: `python examples/plot_zero_one.py picture.png`
(needs the extra `plot`).
"""


def scripts() -> list[Path]:
    """The examples, in the order of their names."""
    return sorted((ROOT / "examples").glob("plot_*.py"))


def point(script: Path) -> str:
    """The first paragraph of the script's docstring: what the picture shows."""
    return " ".join((ast.get_docstring(ast.parse(script.read_text())) or script.stem).split("\n\n")[0].split())


def page() -> str:
    """The page: a table of pictures, with the point of each below it."""
    cells = [
        f"[![{script.stem}](images/gallery/{script.stem}.png)](../examples/{script.name}) {point(script)}"
        for script in scripts()
    ]
    cells += [""] * (-len(cells) % COLUMNS)
    rows = [f"| {' | '.join(cells[k : k + COLUMNS])} |" for k in range(0, len(cells), COLUMNS)]
    table = [f"|{' |' * COLUMNS}", f"|{' --- |' * COLUMNS}", *rows]
    return "\n".join([HEAD, *table, ""])


def draw(script: Path) -> None:
    """Run one example and keep its picture."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(str(PICTURES / f"{script.stem}.png"))


def main() -> None:
    """Draw the pictures, unless --page is given, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page only")
    if not parser.parse_args().page:
        import matplotlib

        matplotlib.use("Agg")
        PICTURES.mkdir(parents=True, exist_ok=True)
        for script in scripts():
            print(script.name, flush=True)
            draw(script)
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
