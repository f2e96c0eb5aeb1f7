"""Commands on declared models and their files: demo, solvers, solve, export."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table as Grid

from ..arrays import Array
from ..errors import InvalidInputError
from ..modelling.model import Model
from ..modelling.program import Program
from ..protocol.result import Status
from ..views.text_table import text_table
from .options import (
    ExportedModelOption,
    JsonOption,
    LabelledData,
    ProofOption,
    SideConstraints,
    SolverOption,
    TimeOption,
)
from .output import as_json, check_writable, exit_code, out, result_as_json

TANGENT_SECONDS = 10.0
"""Seconds in which tangents of a smooth loss are collected before its outer approximation is written."""

DEMO_JOBS = 2
"""Processes that compile after the demo: most machines have as many cores."""

EXPLAIN_SECONDS = 10.0
"""Seconds for the search for the rows behind an infeasible file."""
ZERO = 1e-9
"""Values up to this size are zero within the tolerances of every solver, and are not printed."""
MOST_SHOWN = 60
"""Columns that `solve` prints: about a screen or two."""


def demo(
    to: Annotated[Path, typer.Option(help="Where to write the model.")] = Path("demo.lp"),
    solver: SolverOption = "highs",
    as_json_: JsonOption = False,
    compile_kernels: Annotated[
        bool, typer.Option("--warm/--no-warm", help="Compile the kernels of all methods at the end, once.")
    ] = True,
) -> None:
    """Declare a 0-1 problem with side constraints, solve it to proof, write the LP file and the data as CSV.

    At the end the kernels of all methods are compiled, as by `mipclass warm`, so that no later call waits for the compiler.
    """
    from sklearn.datasets import load_iris

    from .. import models
    from ..replacing import write_safely
    from ..solving.driver import solve as run_solve

    data = to.with_suffix(".csv")
    check_writable(to, data)
    iris = load_iris()
    two = iris.target > 0
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in iris.feature_names]
    problem = models.Model(
        iris.data[two],
        iris.target_names[iris.target[two]],
        minimize=models.ZeroOne(),
        subject_to=[models.FalsePositiveRate(at_most=0.02), models.MaxFeatures(2)],
        feature_names=names,
    )
    species = iris.target_names[iris.target[two]]
    rows = [",".join([*map(str, x), label]) for x, label in zip(iris.data[two].tolist(), species, strict=True)]
    write_safely(data, "\n".join([",".join([*names, "species"]), *rows, ""]).encode())
    if as_json_:
        problem.write(to)
        print(json.dumps({**result_as_json(run_solve(problem, solver)), "written": str(to), "data": str(data)}))
        return
    out.print("Iris, versicolor against virginica, from scikit-learn:\n")
    out.print(str(problem))
    result = run_solve(problem, solver, progress=sys.stderr.isatty())
    out.print(f"\n{result}")
    errors = int(np.sum(problem.predict(result.values) != species))
    out.print(f"  predict     {errors} of {len(problem.y_pm1)} points wrong, recounted with the rule above")
    out.print(f"  scope       {result.extra.get('scope', '')}")
    problem.write(to)
    out.print(f"  model       written to {to} (names in {to.with_suffix('.names.json')})")
    out.print(f"  data        written to {data}, to go on with: mipclass fit {data} --target species")
    if compile_kernels:
        _compile_for_next_commands()


def _compile_for_next_commands() -> None:
    """Compile the kernels of all methods; Ctrl-C leaves that to the methods, and what is compiled stays."""
    from ..solving.warm import REHEARSALS
    from .warm_command import compile_groups

    print("compiling the kernels of all methods, once, for two or three minutes (Ctrl-C: later)", file=sys.stderr)
    try:
        seconds = compile_groups(REHEARSALS, DEMO_JOBS)
    except KeyboardInterrupt:
        out.print("  kernels     compiled when a method is first called, or by: mipclass warm")
        return
    out.print(f"  kernels     compiled in {seconds:.0f} s")


def solvers(as_json_: JsonOption = False) -> None:
    """List solvers and methods, what they take and what they promise."""
    from ..solving.capabilities import solvers as list_solvers

    rows = list_solvers()
    if as_json_:
        print(json.dumps([as_json(vars(row)) for row in rows]))
        return
    grid = Grid(box=None, pad_edge=False)
    for heading in ("solver", "kind", "installed", "takes", "promise"):
        grid.add_column(heading)
    for row in rows:
        takes = ", ".join(row.features)
        grid.add_row(row.name, row.kind, "yes" if row.installed else "no", takes, row.promise or row.reason)
    out.print(grid)


def solve(
    file: Annotated[Path, typer.Argument(help="An .lp or .mps file.")],
    solver: SolverOption = "auto",
    time_limit: TimeOption = None,
    require_proof: ProofOption = False,
    as_json_: JsonOption = False,
) -> None:
    """Solve an LP or MPS file."""
    from ..files import read_with_names
    from ..solving.driver import solve as run_solve

    if not file.is_file():
        raise InvalidInputError(f"there is no file {str(file)!r}.")
    program, names = read_with_names(file)
    result = run_solve(program, solver, time_limit=time_limit, progress=sys.stderr.isatty() and not as_json_)
    if as_json_:
        print(json.dumps(result_as_json(result)))
    else:
        print(f"{program}\n{result}")
        if result.has_point:
            print(f"\n{nonzeros(names, program.join(result.values))}")
        if result.status is Status.INFEASIBLE:
            print(f"\n{conflict(program)}")
    raise typer.Exit(exit_code(result, require_proof))


def conflict(program: Program) -> str:
    """The rows and bounds that cannot hold together, or how to look for them longer."""
    from ..analysis.explain import explain

    try:
        return str(explain(program, time_limit=EXPLAIN_SECONDS))
    except InvalidInputError:
        return "the rows in conflict were not found in time; in Python, mipclass.explain(program, time_limit=600) looks for longer."


def nonzeros(names: list[str], x: Array) -> str:
    """The columns that are not zero at the point x, by name, aligned; the first of them when there are many."""
    found = np.flatnonzero(np.abs(x) > ZERO)
    if not len(found):
        return "all columns are zero"
    lines = [[names[j], f"{x[j]:.10g}"] for j in found[:MOST_SHOWN]]
    more = f"\n... and {len(found) - MOST_SHOWN} more; --json has all" if len(found) > MOST_SHOWN else ""
    return text_table([f"{len(found)} of {len(x)} columns are not zero", "value"], lines, right=[1]) + more


def export(
    *,
    to: Annotated[Path, typer.Option(help="The .lp or .mps file to write.")],
    source: LabelledData,
    model: ExportedModelOption = "zero-one",
    limits: SideConstraints,
    C: Annotated[
        float, typer.Option("--c", help="Weight of the loss in hinge, hinge-l1, logistic and robust-svm.")
    ] = 1.0,
    indicators: Annotated[str, typer.Option(help="bigm or native.")] = "bigm",
    as_json_: JsonOption = False,
) -> None:
    """Write the model of a data file as an LP or MPS file."""
    from .commands import declared

    check_writable(to)
    problem = declared(source.table(), model, limits, C)
    program = exported_program(problem)
    program.write(to, indicators=indicators)
    if as_json_:
        sizes = {"kind": program.kind, "columns": program.n_columns, "rows": program.n_rows, "nonzeros": program.A.nnz}
        print(json.dumps(as_json({**sizes, "integers": program.integer.sum(), "written": str(to)})))
        return
    out.print(f"{program}\nwritten to {to}")


def exported_program(problem: Model) -> Program:
    """The model's program; of a smooth loss the outer approximation after some rounds of cutting planes, not the first tangent alone."""
    from ..solving.driver import solve as run_solve

    if not any(c > 0 and term.is_relaxed_by_program for c, term in problem.terms):
        return problem.program()
    program: Program = run_solve(problem, "cutting-plane", time_limit=TANGENT_SECONDS).extra["outer_approximation"]
    return program
