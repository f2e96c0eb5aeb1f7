"""Makes docs/api.md, the list of all public names, from the pages in docs/reference and the first line of each docstring.

Run from the repository's root: `python docs/tools/api.py`. A test keeps the list fresh and complete.
"""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name

DOCS = Path(__file__).resolve().parents[1]
PAGE = DOCS / "api.md"
ORDER = ("solving", "models", "estimators", "plots", "analysis", "datasets", "extending")
DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
HEAD = """# API

All public names, each with a link to its page. The pages have an example for every class; the Python on them is run by the tests.
"""


def summary(name: str) -> str:
    """The first sentence of the name's docstring, fit for a table; nothing for a plain constant."""
    found = resolve_name(name)
    if isinstance(found, dict):
        return "a table, by name"
    paragraph = " ".join((found.__doc__ or "").strip().split("\n\n")[0].split())
    sentence = re.split(r"(?<!et al\.)(?<=[.])\s", paragraph, maxsplit=1)[0]
    return "".join(_escaped(part) for part in re.split(r"(`+[^`]*`+)", sentence))


def _escaped(text: str) -> str:
    """Text of a table's cell; code keeps its characters but for the bar."""
    text = text.replace("|", "\\|")
    if text.startswith("`"):
        return text
    return text.replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;").replace("[", "\\[")


def content() -> str:
    """The page."""
    out = [HEAD]
    for page in ORDER:
        text = (DOCS / "reference" / f"{page}.md").read_text()
        title = text.split("\n", 1)[0].removeprefix("# ")
        out += [f"## [{title}](reference/{page}.md)", "", "| name | what it is |", "| --- | --- |"]
        out += [f"| [`{name}`](reference/{page}.md#{name}) | {summary(name)} |" for name in DIRECTIVE.findall(text)]
        out += [""]
    return "\n".join(out)


if __name__ == "__main__":
    PAGE.write_text(content())
