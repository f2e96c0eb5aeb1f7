"""A wheel, and a wheel made from the sdist, hold the whole package with models/ as mipclass.models."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(*command: object, cwd: Path) -> None:
    done = subprocess.run([sys.executable, *map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def modules_of(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}


def expected() -> set[str]:
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "mipclass").rglob("*.py")}
    return package | {f"mipclass/{path.relative_to(ROOT)}" for path in (ROOT / "models").rglob("*.py")}


@pytest.mark.slow
def test_wheel_and_sdist_are_complete(tmp_path: Path) -> None:
    pytest.importorskip("build", reason="pip install build")
    run("-m", "build", "--outdir", tmp_path, ROOT, cwd=tmp_path)
    [wheel] = tmp_path.glob("*.whl")
    assert modules_of(wheel) == expected()
    assert "mipclass/py.typed" in zipfile.ZipFile(wheel).namelist()
    target = tmp_path / "site"
    run("-m", "pip", "install", "--no-deps", "--target", target, wheel, cwd=tmp_path)
    code = "import mipclass.models as m, mipclass; print(m.__file__); mipclass.models.zero_one([[0.0], [1.0]], [0, 1]).program()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(target / "mipclass" / "models") in done.stdout


def test_a_checkout_imports_without_installation(tmp_path: Path) -> None:
    """`python -S`-like isolation is not needed: the path alone decides which mipclass is found."""
    code = "import mipclass.models, mipclass; print(mipclass.models.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()) == ROOT / "models" / "__init__.py"
