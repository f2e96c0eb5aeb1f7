"""The Python in the docs runs, links and references lead somewhere, and the folders are all described."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.annexes.doc_tools import tool
from tests.breadth import mostly_slow
from tests.paths import ROOT

DOCS = ROOT / "docs"
TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")]
REFERENCE = sorted((DOCS / "reference").glob("*.md"))
TUTORIAL = sorted(DOCS.glob("tutorial_*.md"))
PAGES = [*TOP, *sorted(DOCS.glob("*.md")), *REFERENCE]


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


# Pages whose Python is complete; the others show fragments.
COMPLETE = (
    "README.md",
    "add_a_method.md",
    "add_a_term.md",
    "for_modellers.md",
    "for_scikit_learn_users.md",
    "how_it_works.md",
    "index.md",
    "outlier_path.md",
    "polyhedral.md",
)
RUNNABLE = [page for page in PAGES if page.name in COMPLETE or page in REFERENCE or page in TUTORIAL]
LONG = (
    "models.md",
    "for_scikit_learn_users.md",
    "tutorial_2_compose.md",
    "tutorial_3_solvers.md",
    "tutorial_4_false_positives.md",
)
"""Pages whose Python takes several seconds."""


@pytest.mark.parametrize(
    "page", mostly_slow(RUNNABLE, [page for page in RUNNABLE if page.name not in LONG]), ids=lambda page: page.name
)
def test_python_in_docs_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "docs"}
    for code in blocks(page):
        exec(compile(code, page.name, "exec"), namespace)


def test_records_page_verifies_from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    namespace: dict[str, object] = {}
    for code in blocks(DOCS / "records.md"):
        exec(compile(code, "records.md", "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_docs_parses(page: Path) -> None:
    for code in blocks(page):
        compile(code, page.name, "exec")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def references(page: Path) -> list[str]:
    """The dotted names that the page asks mkdocstrings to document."""
    return re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", [name for page in PAGES for name in references(page)])
def test_documented_names_exist_and_have_docstrings(name: str) -> None:
    assert resolve_name(name).__doc__


def test_contributing_describes_every_folder() -> None:
    """One line for each folder of the package, and for each top-level folder and its rooms in the annexes."""
    described = set(re.findall(r"^\| `([\w/]+)/` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
    packages = {path.parent for top in ("mipclass", "models") for path in (ROOT / top).rglob("__init__.py")}
    annexes = {path.parent for top in ("tests", "benchmarks") for path in (ROOT / top).glob("*/__init__.py")}
    mirrors = {
        folder for folder in annexes if folder.parent.name == "tests" and folder.name not in ("truth", "annexes")
    }
    wanted = packages | annexes - mirrors | {ROOT / top for top in ("tests", "benchmarks", "docs", "examples")}
    assert described == {folder.relative_to(ROOT).as_posix() for folder in wanted}


def test_tests_mirror_the_package() -> None:
    """A folder of tests bears the name of the folder that it tests."""
    tested = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    packages = {path.parent.relative_to(ROOT / "mipclass") for path in (ROOT / "mipclass").rglob("__init__.py")}
    assert tested - {Path("annexes"), Path(".")} <= packages | {Path("models")}


def test_readme_table_is_fresh() -> None:
    """The table of models and solvers says what the registry says; docs/make_tables.py rewrites it."""
    text = (ROOT / "README.md").read_text()
    assert tool("make_tables.py").table() in text, "run: python docs/make_tables.py"
