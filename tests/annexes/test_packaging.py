"""A wheel, and a wheel made from the sdist, hold the whole package with models/ as mipclass.models."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.paths import ROOT


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


def test_a_checkout_that_is_not_installed_says_so(tmp_path: Path) -> None:
    """-S leaves out the links of editable installs, so that nothing but the checkout itself is on the path."""
    code = f"import sys; sys.path[:0] = [{str(ROOT)!r}]; from mipclass import models"
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "pip install -e ." in done.stderr.splitlines()[-1]


def test_the_package_does_not_contain_itself(tmp_path: Path) -> None:
    code = "import importlib.util, mipclass; assert importlib.util.find_spec('mipclass.mipclass') is None"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
