"""The backend pages tell the truth: their code runs and conforms, and every registered solver has its lines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import mipclass
from mipclass.backends import registry
from mipclass.backends.base import Backend
from mipclass.testing import TOLERANCES, check_backend
from tests.backends.test_conformance import SOLVERS
from tests.paths import ROOT


def code_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


def test_the_backend_of_the_recipe_conforms() -> None:
    space: dict[str, Any] = {"__name__": "recipe"}
    exec(code_blocks("add_a_backend.md")[0], space)
    passed = check_backend(space["ScipyBackend"]())
    assert {"lp-random_against_vertices", "mip-random_against_enumeration"} <= set(passed)
    assert not any(name.startswith(("qp", "miqp", "indicator")) for name in passed)


def test_a_third_party_adds_the_recipe_by_an_entry_point(tmp_path: Path) -> None:
    """A distribution with one module and one entry point, in a fresh process: found, listed and used by name."""
    (tmp_path / "my_solver.py").write_text(code_blocks("add_a_backend.md")[0])
    about = tmp_path / "my_solver-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-solver\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[mipclass.backends]\nscipy = my_solver:ScipyBackend\n")
    script = """
import mipclass
from mipclass.errors import UnsupportedProgramError
from mipclass.testing import random_box_qp, random_lp
rows = {row.name: row for row in mipclass.solvers(random_lp(0))}
assert rows["scipy"].accepts and "LP" in rows["scipy"].features
ours, theirs = mipclass.solve(random_lp(0), "highs"), mipclass.solve(random_lp(0), "scipy")
assert theirs.solver == "scipy" and abs(ours.objective - theirs.objective) < 1e-9
try:
    mipclass.solve(random_box_qp(0), "scipy")
except UnsupportedProgramError as refused:
    assert "highs" in str(refused)
else:
    raise AssertionError("a QP was not refused")
"""
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_code_of_the_solvers_page_runs() -> None:
    space: dict[str, Any] = {}
    for block in code_blocks("solvers.md"):
        exec(block, space)
    pytest.importorskip("pyscipopt")
    result = mipclass.solve(space["program"], "scip", options={"hooks": space["hooks"]})
    assert result.objective == pytest.approx(1.0)


@pytest.mark.parametrize("name", [*registry.BACKENDS, *(f"{prefix}:NAME" for prefix in registry.FAMILIES)])
def test_every_registered_solver_has_its_lines(name: str) -> None:
    rows = [
        line for line in (ROOT / "docs" / "solvers.md").read_text().splitlines() if line.startswith(f"| `{name}` |")
    ]
    assert len(rows) == 2, "a row in each table of docs/solvers.md"
    prefix = name.partition(":")[0]
    assert any(solver.partition(":")[0] == prefix for solver in SOLVERS), "a line in tests/backends/test_conformance.py"
    assert any(solver.partition(":")[0] == prefix for solver in TOLERANCES), "a line in mipclass.testing.TOLERANCES"
    if name in registry.BACKENDS:
        backend = registry.load(registry.BACKENDS[name])
        assert issubclass(backend, Backend)
        for feature in backend.features:
            assert feature.value in rows[0]
        for hook in backend.hooks:
            assert hook in rows[0]
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        assert backend.extra is None or any(backend.distribution in line for line in extras[backend.extra])
