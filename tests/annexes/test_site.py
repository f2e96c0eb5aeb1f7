"""The site: reference and gallery are complete, made pages are fresh, notebooks run, and it builds without a warning where MkDocs is."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.annexes.doc_tools import tool
from tests.paths import ROOT

DOCS = ROOT / "docs"
REFERENCE = sorted((DOCS / "reference").glob("*.md"))
DOCUMENTED = {name for page in REFERENCE for name in re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE)}
MODULES = ("mipclass", "mipclass.models", "mipclass.plots", "mipclass.datasets", "mipclass.testing", "mipclass.checker")


def public(module: str) -> dict[str, object]:
    """The public names of a module and what they are, modules and the version apart."""
    found = {name: getattr(import_module(module), name) for name in import_module(module).__all__}
    return {name: value for name, value in found.items() if not inspect.ismodule(value) and name != "__version__"}


@pytest.mark.parametrize("module", MODULES)
def test_reference_has_every_public_name(module: str) -> None:
    documented = {name.rpartition(".")[2] for name in DOCUMENTED if name.startswith(("mipclass.checker", f"{module}."))}
    documented |= {"verify"}  # of mipclass itself; mipclass.checker lends it
    assert set(public(module)) <= documented


@pytest.mark.parametrize("module", MODULES)
def test_every_public_class_has_an_example(module: str) -> None:
    """In its docstring, or in Python on a page of the reference, which another test runs."""
    shown = "\n".join(
        code for page in REFERENCE for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    )
    prose = "\n".join(page.read_text() for page in REFERENCE)
    bases = {"Constraint", "Rule", "Term"}  # pages docs/add_a_*.md derive from them
    for name, value in public(module).items():
        if inspect.isclass(value) and name not in bases and not issubclass(value, (Exception, Warning)):
            assert ">>>" in (value.__doc__ or "") or re.search(rf"\b{name}\b", shown), f"{module}.{name} has no example"
        assert re.search(rf"\b{name}\b", prose)


def test_list_of_names_is_fresh() -> None:
    assert (DOCS / "api.md").read_text() == tool("tools/api.py").content(), "run: python docs/tools/api.py"


def test_page_of_the_reproduction_is_fresh() -> None:
    made = tool("tools/reproduction.py").content()
    assert (DOCS / "reproduction.md").read_text() == made, "run: python docs/tools/reproduction.py"


def test_gallery_is_complete() -> None:
    gallery = tool("tools/gallery.py")
    assert gallery.page() == (DOCS / "gallery.md").read_text(), "run: python docs/tools/gallery.py"
    drawn = {path.stem for path in (DOCS / "images" / "gallery").glob("*.png")}
    assert drawn == {path.stem for path in gallery.scripts()}


NOTEBOOKS = tool("tools/notebooks.py")


@pytest.mark.parametrize("chapter", NOTEBOOKS.chapters(), ids=lambda page: page.stem)
def test_notebook_is_fresh_and_its_cells_are_the_chapter(chapter: Path) -> None:
    """The chapter's Python is run by test_docs; the notebook has the same cells, and is a notebook."""
    text = NOTEBOOKS.target(chapter).read_text()
    assert text == NOTEBOOKS.notebook(chapter), "run: python docs/tools/notebooks.py"
    content = json.loads(text)
    code = ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]
    assert code == [block.strip() for block in re.findall(r"```python\n(.*?)```", chapter.read_text(), re.DOTALL)]
    assert content["nbformat"] == 4


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    for page in [*DOCS.glob("*.md"), *REFERENCE]:
        assert page.relative_to(DOCS).as_posix() in nav, f"mkdocs.yml does not list {page.name}"


@pytest.mark.skipif(importlib.util.find_spec("griffe") is None, reason="griffe comes with the extra docs")
def test_docstrings_become_lists_and_code() -> None:
    text = """Do it.

        Minimise   x
        Subject to x >= 0

    Parameters
    ----------
    X : the points.   y : their labels,
        two kinds.

    >>> 1 + 1
    2
    """
    got = tool("tools/docstrings.py").as_markdown(text)
    assert "- `X`: the points.\n- `y`: their labels,\n" in got
    assert "```pycon\n>>> 1 + 1\n2\n```" in got
    assert "```text\nMinimise   x" in got


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="the site needs the extra docs")
def test_site_builds_without_warnings(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
