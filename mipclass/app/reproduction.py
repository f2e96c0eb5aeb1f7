"""`mipclass reproduce`: the studies of benchmarks/ behind one command, here or on a Dask cluster.

A study keeps each finished cell on disk, so a run that was killed goes on where it stopped. The studies belong to the
repository, not to the installed package.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError


def root() -> Path:
    """The checkout that holds benchmarks/: the one this package is imported from, or the current folder."""
    for folder in (Path(__file__).resolve().parent.parent.parent, Path.cwd()):
        if (folder / "benchmarks" / "harness.py").is_file():
            return folder
    raise InvalidInputError(
        "the studies live in the repository's folder benchmarks/; run `mipclass reproduce` inside a checkout."
    )


def studies() -> dict[str, str]:
    """name -> first line of what it reproduces, read without importing anything."""
    found = {}
    for path in sorted((root() / "benchmarks").glob("*.py")):
        tree = ast.parse(path.read_text())
        assigned = {
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        if "study" in assigned:
            found[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


@dataclass(frozen=True)
class StudyRun:
    """What became of one study: cells wanted, found from earlier runs, computed now; what failed; where its table is."""

    study: str
    cells: int
    cached: int
    computed: int
    failures: tuple[str, ...]
    results_file: str | None
    section: str


def reproduce(
    names: Sequence[str],
    *,
    full: bool = False,
    jobs: int = 1,
    dask: str | None = None,
    fresh: bool = False,
    write: bool = True,
) -> list[StudyRun]:
    """Run studies one after the other; a study with failed cases does not keep the others from running."""
    known = studies()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidInputError(f"there is no study {unknown[0]!r}; there are {', '.join(known)}.")
    folder = str(root())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    arguments = ["--full" if full else "--quick", "--jobs", str(jobs if dask is None else -1)]
    arguments += ["--fresh"] * fresh + ["--no-write"] * (not write)
    done = []
    with _cluster(dask, folder):
        for name in names:
            study = import_module(f"benchmarks.{name}").study
            try:
                study.main(arguments)
            except SystemExit as stop:  # how a study ends when a case failed
                if not study.last.failures:
                    raise InvalidInputError(f"study {name!r} ended with {stop.code!r} before it ran.") from stop
            last = study.last
            file = str(study.results_file) if last.written else None
            done.append(StudyRun(name, last.cells, last.cached, last.computed, last.failures, file, last.section))
    return done


@contextmanager
def _cluster(address: str | None, folder: str) -> Iterator[None]:
    """Under a cluster's address, joblib sends cells to its workers, which learn where benchmarks/ is."""
    if address is None:
        yield
        return
    try:
        import joblib
        from distributed import Client, WorkerPlugin
    except ImportError as err:
        raise InvalidInputError("--dask needs dask.distributed: pip install 'mipclass[dask]'.") from err

    def find_studies() -> None:
        if folder not in sys.path:
            sys.path.insert(0, folder)

    class FindStudies(WorkerPlugin):  # type: ignore[misc]
        """Workers that join later, or replace a lost one, are told too."""

        def setup(self, worker: Any) -> None:
            find_studies()

    with Client(address) as client:
        client.run_on_scheduler(find_studies)  # the scheduler reads task graphs too
        client.register_plugin(FindStudies())
        with joblib.parallel_config("dask"):
            yield
