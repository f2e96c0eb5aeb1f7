"""The import arrows of the design, and what importing the package may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from mipclass import _PUBLIC

ROOT = Path(__file__).resolve().parent.parent

BASE = {"errors", "options", "result", "run", "data", "registry", "__init__"}
PROGRAM = BASE | {"program", "expression", "builder"}
MODEL = PROGRAM | {"model", "parts", "points"}
MODELS = MODEL | {"models"}
TOOLS = {"projections", "reductions", "backends", "kernels", "tree", "files", "bridges"}
METHODS = MODELS | TOOLS | {"methods", "certificate"}
DRIVER = METHODS | {"driver", "verify"}
FRONT = {
    "__main__",
    "cli",
    "cli_output",
    "commands",
    "compare",
    "estimators",
    "infeasibility",
    "metrics",
    "outlier_curve",
    "plots",
    "report",
    "reproduction",
    "testing",
    "thresholds",
}
"""Rooms at the front door: they may import every other, and no room behind the door imports them."""

# room -> what its modules may import from the package; imports inside functions count like all others.
ALLOWED = {
    "errors": set(),
    "options": {"errors"},
    "result": {"errors"},
    "run": {"errors", "result"},
    "data": {"errors"},
    "registry": BASE | {"backends", "methods"},  # only names for type checking and tables of strings
    "program": BASE | {"files", "bridges"},  # Program.write, to_pyomo ...: each opens its room when called
    "expression": PROGRAM,
    "builder": PROGRAM,
    "points": PROGRAM,
    "parts": MODEL,
    "model": MODEL,
    "models": MODELS,
    "kernels": {"kernels"},
    "reductions": PROGRAM | {"reductions"},
    "backends": MODEL | TOOLS,
    "tree": MODEL | TOOLS,
    "files": MODEL | TOOLS,
    "bridges": MODEL | TOOLS,
    "methods": METHODS,
    "certificate": MODELS | {"certificate"},  # reads what a Model states; writes and reads documents
    "verify": {"errors", "certificate", "verify"},
    "datasets": BASE | {"datasets", "synthetic"},
    "synthetic": BASE,
    "tables": BASE,
    "fitted": BASE | {"tables"},
    "saving": MODELS | {"certificate", "estimators", "fitted", "saving"},
    "projections": BASE | {"kernels"},
    "driver": DRIVER,
}


def modules() -> list[tuple[str, Path]]:
    """(room, file) of every module of the package."""
    found = []
    for path in sorted((ROOT / "mipclass").rglob("*.py")):
        found.append((path.relative_to(ROOT / "mipclass").parts[0].removesuffix(".py"), path))
    found += [("models", path) for path in sorted((ROOT / "models").rglob("*.py"))]
    return found


def imported_rooms(path: Path, package: tuple[str, ...]) -> set[str]:
    """First part below `mipclass` of everything the file imports from the package."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            stem = ".".join(part for part in (base, node.module or "") if part)
            names = [f"{stem}.{alias.name}" for alias in node.names] if stem == "mipclass" else [stem]
        else:
            continue
        rooms |= {name.split(".")[1] for name in names if name.startswith("mipclass.")}
    return {_PUBLIC[room].split(":")[0].split(".")[1] if room in _PUBLIC else room for room in rooms}


@pytest.mark.parametrize(
    ("room", "path"), modules(), ids=lambda value: value.stem if isinstance(value, Path) else value
)
def test_import_arrows_go_one_way(room: str, path: Path) -> None:
    if room == "__init__":
        return
    inside = path.relative_to(ROOT / "mipclass" if "mipclass" in path.relative_to(ROOT).parts[0] else ROOT)
    package = ("mipclass", *inside.parts[:-1])
    assert room in ALLOWED or room in FRONT, f"{room} is a new room: say in this file what it may import"
    allowed = ALLOWED.get(room, {*ALLOWED, *FRONT})
    stray = {name for name in imported_rooms(path, package) if not name.startswith("_")} - allowed
    assert not stray, f"{path.relative_to(ROOT)} imports {sorted(stray)}; {room} may import {sorted(allowed)}"


def test_importing_the_package_is_light() -> None:
    """No solver, no numba, no matplotlib before they are used."""
    heavy = ["highspy", "osqp", "cvxpy", "pyomo", "pyscipopt", "piqp", "numba", "matplotlib", "sklearn", "networkx"]
    code = f"import sys, mipclass, mipclass.models; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_every_package_is_shipped() -> None:
    """A room that pyproject.toml forgets would be missing from the wheel."""
    import tomllib

    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    folders = {p.parent for p in (ROOT / "mipclass").rglob("__init__.py")}
    expected = {".".join(folder.relative_to(ROOT).parts) for folder in folders} | {"mipclass.models"}
    assert listed == expected
