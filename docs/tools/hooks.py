"""MkDocs hooks: examples and benchmark results become pages of the site, links to them stay inside it, formulas become MathML.

The pages are written for GitHub as well, where a link to ../examples/plot_zero_one.py shows the script and $x$ is typeset. On the site
such a link leads to a page with the script's picture and source, and formulas are converted when the site is built, so that no
script of another server is needed to read them.
"""

from __future__ import annotations

import ast
import html
import posixpath
import re
import shutil
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code_of_conduct.md",
    "benchmarks/RESULTS.md": "results.md",
    "examples": "gallery.md",
}
"""File or folder outside docs/ -> the page of the site that a link to it leads to."""
COPIED = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "benchmarks/RESULTS.md")
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
MATHS = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


@event_priority(100)
def on_config(config: Any) -> Any:
    """Copy mipclass/ and models/ into one folder, as they stand when installed, before mkdocstrings looks for the package there."""
    package = ROOT / "build" / "site_package" / "mipclass"
    shutil.rmtree(package, ignore_errors=True)
    for source, target in ((ROOT / "mipclass", package), (ROOT / "models", package / "models")):
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    return config


def example_page(script: Path) -> str:
    """The page of one example: its point, its picture, its source."""
    source = script.read_text()
    point = ast.get_docstring(ast.parse(source)) or ""
    return "\n".join(
        [
            f"# {title(script)}",
            "",
            point,
            "",
            f"![{point}](../images/gallery/{script.stem}.png)",
            "",
            f'```python title="examples/{script.name}"',
            source.rstrip(),
            "```",
            "",
        ]
    )


def title(script: Path) -> str:
    """plot_gap_trace.py -> Gap trace."""
    return script.stem.removeprefix("plot_").replace("_", " ").capitalize()


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made from files outside docs/."""
    for script in sorted((ROOT / "examples").glob("plot_*.py")):
        files.append(File.generated(config, f"examples/{script.stem}.md", content=example_page(script)))
    for name in COPIED:
        text = rewritten((ROOT / name).read_text(), name)
        files.append(File.generated(config, OUTSIDE[name], content=text))
    return files


def rewritten(text: str, source: str) -> str:
    """Links of a file at `source`, a path from the root, led to pages of the site, for a page at the top of the site."""
    return LINK.sub(lambda m: _target(m, source, "docs/x.md"), text)


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Lead links that leave docs/ to pages of the site."""
    source = f"docs/{page.file.src_uri}"
    return LINK.sub(lambda m: _target(m, source, source), markdown)


def _target(match: re.Match[str], source: str, page: str) -> str:
    link, anchor = match.group(1), match.group(2) or ""
    if re.match(r"[a-z]+:", link):
        return match.group(0)
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    if path.startswith("docs/"):
        inside = path.removeprefix("docs/")
    elif re.fullmatch(r"examples/plot_\w+\.py", path):
        inside = f"{path.removesuffix('.py')}.md"
    elif path in OUTSIDE:
        inside = OUTSIDE[path]
    else:
        return match.group(0)
    return posixpath.relpath(f"docs/{inside}", posixpath.dirname(page)) + anchor


def on_page_content(content: str, **kwargs: Any) -> str:
    """Formulas as MathML."""
    return MATHS.sub(_mathml, content)


def _mathml(match: re.Match[str]) -> str:
    display = "block" if match.group(2) == "[" else "inline"
    return convert(html.unescape(match.group(3)).strip(), display=display)
