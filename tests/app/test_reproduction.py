"""Studies run from one command, survive kill -9 without recomputing, and give the same table on a Dask cluster."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from mipclass.app.reproduction import reproduce, studies
from mipclass.errors import InvalidInputError
from tests.paths import ROOT

TOY = '''"""A toy study: squares, slowly."""

import os
import time
from pathlib import Path

from benchmarks.harness import Case, Study, table

LOG = Path(__file__).with_name("log.txt")


def square(k):
    time.sleep(0.15)
    os.write(1, b"a solver's own words\\\\n")
    if k == 5 and os.environ.get("KILL_ONCE") and not LOG.with_name("killed").exists():
        LOG.with_name("killed").touch()
        os._exit(9)
    with LOG.open("a") as log:
        log.write(f"{k}\\\\n")
    return {"square": k * k, "seconds": 0.0}


def report(results):
    return table(["k", "square"], [(c["k"], results.where(**c).median("square")) for c in results.settings])


study = Study("toy", "Toy", lambda full: [Case("square", square, {"k": k}) for k in range(12)], report)
'''
RUN = """
import sys
from pathlib import Path
import mipclass.app.reproduction as reproduction
reproduction.root = lambda: Path(sys.argv[1])
if sys.argv[2] == "dask":
    from distributed import LocalCluster
    if __name__ == "__main__":
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
            (done,) = reproduction.reproduce(["toy"], dask=cluster.scheduler_address)
else:
    (done,) = reproduction.reproduce(["toy"])
if __name__ == "__main__":
    sys.exit(len(done.failures))
"""


def checkout(folder: Path) -> Path:
    """A folder with the repository's harness and a table of studies that holds the toy alone."""
    target = folder / "benchmarks"
    shutil.copytree(ROOT / "benchmarks" / "harness", target / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "benchmarks" / "__init__.py", target)
    (target / "toy.py").write_text(TOY.replace("\\\\n", "\\n"))
    table = (ROOT / "benchmarks" / "studies" / "__init__.py").read_text()
    (target / "studies").mkdir()
    (target / "studies" / "__init__.py").write_text(
        f'{table}\nSTUDIES = {{"toy": StudyEntry("benchmarks.toy", "A toy study: squares, slowly.")}}\n'
    )
    return folder


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of a child that imports from `folder` and keeps its cells there, whatever cache the caller has set."""
    kept = {name: value for name, value in os.environ.items() if name != "MIPCLASS_BENCH_CACHE"}
    return {**kept, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


def start(folder: Path, dask: str = "") -> subprocess.Popen[bytes]:
    # The toy's checkout comes first, so that its `benchmarks` is the one that is found.
    environment = surroundings(folder)
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder), dask], cwd=folder, env=environment, stderr=subprocess.DEVNULL
    )


def squares(folder: Path) -> list[str]:
    text = (folder / "benchmarks" / "RESULTS.md").read_text()
    return [line for line in text.splitlines() if line.startswith("|")]


def log(folder: Path) -> Counter[str]:
    path = folder / "benchmarks" / "log.txt"
    return Counter(path.read_text().split()) if path.exists() else Counter()


def test_killed_and_started_again(tmp_path: Path) -> None:
    whole, cut = checkout(tmp_path / "whole"), checkout(tmp_path / "cut")
    assert start(whole).wait(timeout=120) == 0
    process = start(cut)
    give_up = time.monotonic() + 60
    while len(log(cut)) < 4 and time.monotonic() < give_up:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = log(cut)
    assert 4 <= len(before) < 12
    assert start(cut).wait(timeout=120) == 0
    after = log(cut)
    assert len(after) == 12
    assert sum(after.values()) <= 13  # only a cell that was under way may have run twice
    assert squares(cut) == squares(whole)


@pytest.mark.slow
def test_on_a_cluster_with_a_worker_killed_half_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="pip install 'mipclass[dask]'")
    whole, spread = checkout(tmp_path / "whole"), checkout(tmp_path / "spread")
    assert start(whole).wait(timeout=120) == 0
    monkeypatch.setenv("KILL_ONCE", "1")
    assert start(spread, "dask").wait(timeout=120) == 0
    assert (spread / "benchmarks" / "killed").exists()
    assert squares(spread) == squares(whole)


def test_unknown_studies_are_named() -> None:
    assert "model_building" in studies()
    with pytest.raises(InvalidInputError, match="no study 'nonsense'; there are"):
        reproduce(["nonsense"])


def test_a_run_as_json_for_machines(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "toy")
    code = "import mipclass.app.cli, mipclass.app.reproduction as reproduction; from pathlib import Path; "
    code += f"reproduction.root = lambda: Path({str(folder)!r}); mipclass.app.cli.main()"
    environment = surroundings(folder)
    for computed in (12, 0):
        done = subprocess.run(
            [sys.executable, "-c", code, "reproduce", "toy", "--json"],
            cwd=folder, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        (run,) = json.loads(done.stdout)
        assert (run["study"], run["cells"], run["computed"], run["cached"]) == ("toy", 12, computed, 12 - computed)
        assert run["failures"] == []
        assert Path(run["results_file"]).read_text().count(run["section"]) == 1
        assert "| 11 | 121 |" in done.stderr
