"""`mipclass reproduce`: the studies of benchmarks/ behind one command, here or on a Dask cluster.

A study keeps each finished cell on disk, so a run that was killed goes on where it stopped. The studies belong to the
repository, not to the installed package.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError

STUDY_TABLE = "benchmarks.studies"
"""The repository's module whose STUDIES names every study, the module that holds it, and what it reproduces."""

COMPARISON = "benchmarks.harness.comparison"
"""The repository's module that judges the studies' figures beside the papers'."""


def root() -> Path:
    """The checkout that holds benchmarks/: the one this package is imported from, or the current folder."""
    for folder in (Path(__file__).resolve().parent.parent.parent, Path.cwd()):
        if (folder / "benchmarks" / "studies" / "__init__.py").is_file():
            return folder
    raise InvalidInputError(
        "the studies live in the repository's folder benchmarks/; run `mipclass reproduce` inside a checkout."
    )


def studies() -> dict[str, str]:
    """name -> one line about what the study reproduces, in the order of names; no study is imported."""
    return {name: entry.reproduces for name, entry in sorted(_study_table().items())}


def _study_table() -> dict[str, Any]:
    """The repository's table of studies; from then on its folder is on the path of this process."""
    _find_benchmarks(str(root()))
    found: dict[str, Any] = import_module(STUDY_TABLE).STUDIES
    return found


def _find_benchmarks(folder: str) -> None:
    """Make `import benchmarks` work in this process."""
    if folder not in sys.path:
        sys.path.insert(0, folder)


@dataclass(frozen=True)
class StudyRun:
    """What became of one study: cells wanted, found from earlier runs, computed now; what failed; where its table is.

    `beside_paper` has for each table of the paper how many cells are better, within error, worse with a cause, and open.
    """

    study: str
    cells: int
    cached: int
    computed: int
    failures: tuple[str, ...]
    results_file: str | None
    section: str
    beside_paper: tuple[dict[str, Any], ...] = ()


def stored_counts() -> list[dict[str, Any]]:
    """The counts of all studies that were stored by their last full runs; nothing is run."""
    names = sorted(_study_table())
    load = import_module(COMPARISON).load
    found = [load(name, root() / "benchmarks" / "comparisons") for name in names]
    return [counts for comparisons in found if comparisons is not None for counts in comparisons.counts()]


def in_words(counts: dict[str, Any]) -> str:
    """The counts of one table as a line of text."""
    line: str = import_module(COMPARISON).count_in_words(counts)
    return line


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
    known = _study_table()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidInputError(f"there is no study {unknown[0]!r}; there are {', '.join(sorted(known))}.")
    arguments = ["--full" if full else "--quick", "--jobs", str(jobs if dask is None else -1)]
    arguments += ["--fresh"] * fresh + ["--no-write"] * (not write)
    done = []
    with _cluster(dask, str(root())):
        for name in names:
            study = import_module(known[name].module).study
            try:
                study.main(arguments)
            except SystemExit as stop:  # how a study ends when a case failed
                if not study.last.failures:
                    raise InvalidInputError(f"study {name!r} ended with {stop.code!r} before it ran.") from stop
            last = study.last
            file = str(study.results_file) if last.written else None
            counts = () if last.compared is None else tuple(last.compared.counts())
            done.append(
                StudyRun(name, last.cells, last.cached, last.computed, last.failures, file, last.section, counts)
            )
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

    class FindBenchmarks(WorkerPlugin):  # type: ignore[misc]  # distributed has no types
        """Workers that join later, or replace a lost one, are told too."""

        def setup(self, worker: Any) -> None:
            """Runs on a worker when it joins the cluster."""
            _find_benchmarks(folder)

    with Client(address) as client:
        client.run_on_scheduler(_find_benchmarks, folder)  # the scheduler reads task graphs too
        client.register_plugin(FindBenchmarks())
        with joblib.parallel_config("dask"):
            yield
