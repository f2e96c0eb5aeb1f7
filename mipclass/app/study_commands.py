"""The command on the studies of the repository: reproduce."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from dataclasses import asdict
from typing import Annotated

import typer

from ..errors import InvalidInputError
from .output import EXIT_ERROR, as_json, only_answers_on_stdout, out


def reproduce(
    name: Annotated[list[str] | None, typer.Argument(help="Studies by name.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="Run every study.")] = False,
    counts: Annotated[
        bool, typer.Option("--counts", help="Print how the stored figures compare with the papers'; run nothing.")
    ] = False,
    full: Annotated[bool, typer.Option("--full/--quick", help="All cases, or the small list.")] = False,
    jobs: Annotated[int, typer.Option(help="Cells at a time, through joblib.")] = 1,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler to run on.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget finished cells first.")] = False,
    write: Annotated[bool, typer.Option(help="Put the tables into benchmarks/RESULTS.md.")] = True,
    as_json_: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for machines, tables on stderr.")
    ] = False,
) -> None:
    """Re-make the papers' tables and figures; a run that was killed goes on where it stopped.

    It ends with the number of cells that are better than in the paper, within two standard errors, or worse.
    """
    from .reproduction import in_words, stored_counts, studies
    from .reproduction import reproduce as run_studies

    known = studies()
    if list_ and as_json_:
        print(json.dumps(known))
        return
    if list_:
        width = max(map(len, known))
        out.print("\n".join(f"{study:<{width}}  {what}" for study, what in known.items()))
        return
    if counts:
        found = stored_counts()
        print(json.dumps(found) if as_json_ else "\n".join(map(in_words, found)))
        return
    if not all_ and not name:
        raise InvalidInputError("name a study, or use --all; --list shows them, --counts what the last full runs gave.")
    names = list(known) if all_ else list(name or ())
    with only_answers_on_stdout() if as_json_ else nullcontext():
        done = run_studies(names, full=full, jobs=jobs, dask=dask, fresh=fresh, write=write)
    failed = [run.study for run in done if run.failures]
    if as_json_:
        print(json.dumps([as_json(asdict(run)) for run in done]))
    elif any(run.beside_paper for run in done):
        lines = [in_words(table) for run in done for table in run.beside_paper]
        out.print("\n".join(["", "Beside the papers:", *lines]))
    if failed:
        print(f"mipclass: cases failed in {', '.join(failed)}", file=sys.stderr)
        raise typer.Exit(EXIT_ERROR)
