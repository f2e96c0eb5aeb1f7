"""Where compiled kernels are kept: by version and sources, and what happens where nothing can be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mipclass.errors import MipclassWarning
from mipclass.kernels import cache_folder as module
from mipclass.version import VERSION
from tests.paths import ROOT

HASH_A_ROW = """
import warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import numpy as np
    from mipclass.numeric.row_hash import mix
    from mipclass.numeric.vectors import inner, length
    assert inner(np.array([3.0, 4.0]), np.array([3.0, 4.0])) == 25.0
from mipclass.kernels.cache_folder import writable_root
print(writable_root())
for warning in seen:
    print(type(warning.message).__name__, warning.message)
"""


@pytest.fixture
def installation(tmp_path: Path) -> Path:
    """A copy of the package in which no cache can be written, even by root: a file stands where its folder would be."""
    copy = tmp_path / "site"
    shutil.copytree(ROOT / "mipclass", copy / "mipclass", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "models", copy / "mipclass" / "models", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "mipclass" / "__pycache__").write_text("not a folder")
    return copy


def run(installation: Path, **variables: str) -> list[str]:
    """The lines that the script prints where neither the installation nor the home can be written."""
    nowhere = str(installation / "mipclass" / "__pycache__" / "x")
    env = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA", "XDG"))}
    env |= {"PYTHONPATH": str(installation), "HOME": nowhere, "LOCALAPPDATA": nowhere, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", HASH_A_ROW], env=env | variables, capture_output=True, text=True, cwd=installation.parent
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_read_only_installation_without_a_home_uses_a_temporary_folder(installation: Path, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    folder, *warnings = run(installation, TMPDIR=str(tmp_path / "temporary"))
    assert Path(folder).parent == tmp_path / "temporary"
    assert list(Path(folder).rglob("*.nbc"))
    assert len(warnings) == 1
    assert "MipclassWarning" in warnings[0]
    assert "NUMBA_CACHE_DIR" in warnings[0]


def test_where_nothing_can_be_written_kernels_are_compiled_and_not_kept(installation: Path, tmp_path: Path) -> None:
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    (tmp_path / "temporary").mkdir()
    (tmp_path / "temporary" / f"mipclass-{VERSION}-{user}").write_text("in the way")
    folder, *warnings = run(installation, TMPDIR=str(tmp_path / "temporary"))
    assert folder == "None"
    assert len(warnings) == 1
    assert "every process" in warnings[0]


def test_numba_s_own_setting_comes_first(installation: Path, tmp_path: Path) -> None:
    folder, *warnings = run(installation, NUMBA_CACHE_DIR=str(tmp_path / "chosen"))
    assert Path(folder) == tmp_path / "chosen" / f"mipclass-{VERSION}"
    assert list(Path(folder).rglob("*.nbc"))
    assert not warnings


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners of files are numbers on POSIX systems")
def test_a_temporary_folder_that_others_may_write_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numba executes what it loads, so another user of the machine must not be able to put it there."""
    monkeypatch.setattr(module, "_lasting", lambda: iter([]))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / f"mipclass-{VERSION}-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    module.writable_root.cache_clear()
    try:
        with pytest.warns(MipclassWarning, match="every process"):
            assert module.writable_root() is None
    finally:
        module.writable_root.cache_clear()


def test_the_folder_changes_with_the_sources_of_the_family_alone() -> None:
    """A kernel's code depends on its own family and on numeric, whose named tuples and functions it uses."""

    def sources(path: str) -> set[str]:
        return {str(p.relative_to(module.PACKAGE)) for p in module._family_of_sources(str(module.PACKAGE / path))}

    pencil = sources("methods/zero_one/kernels/pencil.py")
    assert {"methods/zero_one/kernels/sla.py", "numeric/vectors.py"} <= pencil
    assert not any("robust_svm" in path for path in pencil)
    assert {"methods/exact/box/kernels/state.py", "methods/exact/iis/kernels/packing.py"} <= sources(
        "methods/exact/box/kernels/grow.py"
    )


def test_a_renamed_named_tuple_does_not_meet_old_code(tmp_path: Path) -> None:
    """numba keeps the class of a named tuple by name; a digest of the sources keeps old and new code apart."""
    copy = tmp_path / "mipclass"
    shutil.copytree(ROOT / "mipclass", copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "models", copy / "models", ignore=shutil.ignore_patterns("__pycache__"))
    use = (
        "import numpy as np\n"
        "from mipclass.methods.robust_svm.kernels import rows\n"
        "from mipclass.methods.robust_svm.kernels import partition\n"
        "from mipclass.methods.robust_svm.kernels.user import first\n"
        "print(first(partition.{name}(np.array([7.0]))))\n"
    )
    (copy / "methods/robust_svm/kernels/user.py").write_text(
        "from ....kernels.decorator import njit\n\n@njit(cache=True)\ndef first(pair):\n    return pair.values[0]\n"
    )
    source = copy / "methods/robust_svm/kernels/partition.py"
    text = source.read_text()
    for name in ("Before", "After"):
        source.write_text(
            f"{text}\n\nfrom typing import NamedTuple\nimport numpy as np\n\nclass {name}(NamedTuple):\n    values: np.ndarray\n"
        )
        env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", use.format(name=name)], env=env, capture_output=True, text=True, cwd=tmp_path
        )
        assert done.stdout.strip() == "7.0", done.stderr
