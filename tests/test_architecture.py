"""The plan of the house: which room may import which, what may be heavy, how large a file, folder or signature may be.

Every import counts: at the top of a file, inside a function, or made through a string such as "mipclass.solving.driver:solve".
Imports for type checkers alone do not, for they are never carried out.
"""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from tests.paths import ROOT

LEAVES = {"errors", "arrays", "checks", "replacing", "version"}
BASE = LEAVES | {"views", "protocol"}
COMPILED = LEAVES | {"kernels"}
STATED = BASE | {"modelling", "models"}
TOOLS = {"kernels", "numeric", "reductions", "backends", "tree", "certificates"}
SOLVED = STATED | TOOLS | {"methods", "checker", "files", "bridges", "solving"}

ALLOWED = {
    "errors": set(),
    "arrays": set(),
    "checks": {"errors"},
    "replacing": set(),
    "version": set(),
    "kernels": LEAVES,
    "views": LEAVES,
    "protocol": COMPILED | {"views"},
    "modelling": BASE,
    "models": STATED - {"models"},
    "numeric": COMPILED,
    "certificates": LEAVES,
    "reductions": BASE | {"modelling"},
    "backends": BASE | {"modelling", "numeric", "reductions"},
    "tree": BASE | {"modelling"},
    "files": BASE | {"modelling", "reductions"},
    "bridges": BASE | {"modelling", "reductions"},
    "methods": STATED | TOOLS,
    "checker": STATED | {"certificates", "kernels"},
    "solving": SOLVED - {"solving"},
    "analysis": SOLVED,
    "datasets": LEAVES,
    "estimators": SOLVED | {"analysis"},
    "plots": SOLVED | {"analysis"},
    "testing": SOLVED,
    "app": SOLVED | {"analysis", "datasets", "estimators", "plots"},
    "__main__": {"app"},
}
"""room -> the other rooms that its modules may import."""

FAMILIES = {"zero_one", "exact", "hard_margin", "polyhedral", "robust_svm", "outlier_svm", "tau_fpl", "logistic"}
NEIGHBOURS = {"exact": {"zero_one"}}
"""Families of methods import nothing of each other, but for these."""

LARGEST_FOLDER, LONGEST_MODULE, MEDIAN_MODULE, MOST_PARAMETERS = 20, 450, 150, 12


@cache
def modules() -> dict[str, Path]:
    """Dotted name -> file, of every module of the package; models/ is mipclass.models."""
    found = {}
    for folder, prefix in ((ROOT / "mipclass", ("mipclass",)), (ROOT / "models", ("mipclass", "models"))):
        for path in sorted(folder.rglob("*.py")):
            parts = (*prefix, *path.relative_to(folder).with_suffix("").parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree_of(name: str) -> ast.Module:
    """The module's syntax tree."""
    return ast.parse(modules()[name].read_text())


@cache
def imports(name: str) -> set[str]:
    """Modules of the package that the module imports, now, later or through a string."""
    path = modules()[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in _carried_out(tree_of(name)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{stem}.{a.name}" if f"{stem}.{a.name}" in modules() else stem for a in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {m[1] for m in [re.fullmatch(r"(mipclass(?:\.\w+)+)(?::\w+)?", node.value)] if m}
    return {module for module in found if module in modules() and module != name}


def _carried_out(tree: ast.AST) -> list[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING:` and docstrings."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            skipped |= {inner for statement in node.body for inner in ast.walk(statement)}
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
    return [node for node in ast.walk(tree) if node not in skipped]


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "mipclass"


def family(module: str) -> str | None:
    parts = module.split(".")
    return parts[2] if parts[1:2] == ["methods"] and len(parts) > 2 and parts[2] in FAMILIES else None


INSIDE = [name for name in modules() if name != "mipclass"]


@pytest.mark.parametrize("name", INSIDE)
def test_import_arrows_go_one_way(name: str) -> None:
    here = room(name)
    assert here in ALLOWED, f"{here} is a new room: say in this file what it may import"
    stray = {other for other in imports(name) if room(other) not in ALLOWED[here] | {here}}
    assert not stray, f"{name} imports {sorted(stray)}; {here} may import {sorted(ALLOWED[here])}"


@pytest.mark.parametrize("name", [name for name in INSIDE if family(name)])
def test_families_of_methods_have_walls(name: str) -> None:
    own = family(name)
    assert own is not None
    stray = {other for other in imports(name) if family(other) not in {None, own} | NEIGHBOURS.get(own, set())}
    assert not stray, f"{name} imports {sorted(stray)}"


def test_there_are_no_import_cycles() -> None:
    """The package's own __init__ is the front door: it names everything and nothing inside imports it."""
    graph = nx.DiGraph([(name, other) for name in INSIDE for other in imports(name)])
    assert "mipclass" not in graph
    cycles = [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert not cycles


CHECKERS_KERNELS = {"mipclass.checker.box_kernel", "mipclass.checker.lattice_kernel"}


def test_numba_is_imported_only_by_kernels() -> None:
    """Files of kernels: all of numeric/, the folders `kernels`, and the checker's own. They share one decorator."""
    for name, path in modules().items():
        if re.search(r"^\s*(import|from) (numba|\.+kernels\.decorator)\b", path.read_text(), re.MULTILINE):
            assert room(name) == "numeric" or ".kernels." in name or name in CHECKERS_KERNELS, name
        assert "from numba import njit" not in path.read_text(), (
            f"{name} must take njit from mipclass.kernels.decorator"
        )


def test_no_two_classes_share_a_name() -> None:
    """A reader who searches for a class finds one. The checker names its own things without looking at the search."""
    homes: dict[str, list[str]] = {}
    for name in modules():
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and room(name) != "checker":
                homes.setdefault(node.name, []).append(name)
    assert not {name: where for name, where in homes.items() if len(where) > 1}


def test_rooms_files_and_signatures_stay_small() -> None:
    folders: dict[Path, int] = {}
    lengths = []
    for name, path in modules().items():
        folders[path.parent] = folders.get(path.parent, 0) + 1
        text = path.read_text()
        lengths.append(text.count("\n"))
        assert lengths[-1] <= LONGEST_MODULE, f"{name} has {lengths[-1]} lines"
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.FunctionDef) and node.name != "__init__":
                count = len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs])
                assert count <= MOST_PARAMETERS, f"{name}.{node.name} takes {count} parameters"
    assert statistics.median(lengths) <= MEDIAN_MODULE
    assert not {str(folder): count for folder, count in folders.items() if count > LARGEST_FOLDER + 1}  # and __init__


def _public(tree: ast.Module | ast.ClassDef, prefix: str) -> list[tuple[str, bool]]:
    """(dotted name, has a docstring) of public functions, public classes, and the public methods and properties of these.

    A method whose name a documented method of a base class in the package bears inherits its docstring.
    """
    inherited = _documented_above(tree) if isinstance(tree, ast.ClassDef) else frozenset()
    found = []
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_") or _is_setter(node):
            continue
        found.append((f"{prefix}.{node.name}", ast.get_docstring(node) is not None or node.name in inherited))
        if isinstance(node, ast.ClassDef):
            found += _public(node, f"{prefix}.{node.name}")
    return found


def _is_setter(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Whether this is the second half of a property, whose getter has the docstring."""
    return any(isinstance(d, ast.Attribute) and d.attr in ("setter", "deleter") for d in node.decorator_list)


@cache
def _classes() -> dict[str, list[ast.ClassDef]]:
    """Name -> the package's classes of that name."""
    found: dict[str, list[ast.ClassDef]] = {}
    for name in modules():
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


def _documented_above(node: ast.ClassDef) -> frozenset[str]:
    """Names of the methods that a base class in the package documents; bases are found by name."""
    names: set[str] = set()
    for base in node.bases:
        stem = base.value if isinstance(base, ast.Subscript) else base
        name = stem.attr if isinstance(stem, ast.Attribute) else getattr(stem, "id", "")
        for above in _classes().get(name, []):
            if above is not node and above.name != node.name:
                names |= {m.name for m in above.body if isinstance(m, ast.FunctionDef) and ast.get_docstring(m)}
                names |= _documented_above(above)
    return frozenset(names)


def test_public_functions_classes_and_methods_are_documented() -> None:
    missing = []
    for name in modules():
        tree = tree_of(name)
        missing += [name] if ast.get_docstring(tree) is None else []
        missing += [full for full, documented in _public(tree, name) if not documented]
    assert not missing, f"{len(missing)} without a docstring: {missing[:20]}"


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
