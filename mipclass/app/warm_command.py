"""The command that compiles all kernels beforehand: warm."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from ..kernels.cache_folder import writable_root
from .options import JsonOption
from .output import out


def warm(
    jobs: Annotated[int, typer.Option(min=1, help="Processes that compile side by side.")] = 2,
    as_json_: JsonOption = False,
) -> None:
    """Compile the kernels of all methods, once for an installation, so that no later call waits for the compiler."""
    from ..solving.warm import REHEARSALS

    groups = list(REHEARSALS)
    seconds = compile_groups(groups, jobs)
    folder = writable_root()
    if as_json_:
        print(json.dumps({"groups": groups, "folder": None if folder is None else str(folder), "seconds": seconds}))
        return
    where = "are not kept: no folder can be written" if folder is None else f"are kept in {folder}"
    out.print(f"the kernels of {len(groups)} groups of methods {where} ({seconds:.0f} s)")


def compile_groups(groups: Iterable[str], jobs: int) -> float:
    """Compile these groups of methods in so many processes, with a progress bar on stderr; the seconds that it took."""
    from joblib import Parallel, delayed

    from ..solving.warm import warm as compile_group

    began = time.perf_counter()
    groups = list(groups)
    # The compiler's memory makes joblib replace a process between two groups, which it announces although nothing is lost.
    with warnings.catch_warnings(), Progress(console=Console(stderr=True), transient=True) as bar:
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
        task = bar.add_task("compiling", total=len(groups))
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
        for _ in parallel(delayed(compile_group)(group) for group in groups):
            bar.advance(task)
    return time.perf_counter() - began
