"""The Python in the docs runs, links lead somewhere, and the README's ten lines work."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests.paths import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


# Pages whose Python is complete; the others show fragments.
RUNNABLE = [
    page
    for page in PAGES
    if page.name in ("README.md", "add_a_term.md", "add_a_method.md", "polyhedral.md", "outlier_path.md")
]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_python_in_docs_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "docs"}
    for code in blocks(page):
        exec(compile(code, page.name, "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_docs_parses(page: Path) -> None:
    for code in blocks(page):
        compile(code, page.name, "exec")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_readme_table_is_fresh() -> None:
    """The table of models and solvers says what the registry says; docs/make_tables.py rewrites it."""
    spec = importlib.util.spec_from_file_location("make_tables", ROOT / "docs" / "make_tables.py")
    assert spec is not None
    assert spec.loader is not None
    make_tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_tables)
    text = (ROOT / "README.md").read_text()
    assert make_tables.table() in text, "run: python docs/make_tables.py"
