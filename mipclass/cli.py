"""The command line: `mipclass demo | solve | export | solvers`.

Exit codes: 0 did what was asked, 1 error, 2 usage, 3 not proven although --require-proof was given, 4 infeasible.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table as Grid

from .errors import MipclassError
from .result import Result, Status

EXIT_ERROR, EXIT_NOT_PROVEN, EXIT_INFEASIBLE = 1, 3, 4

app = typer.Typer(
    name="mipclass",
    help="Binary classification as mathematical programming.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
out = Console(highlight=False, soft_wrap=True)

SolverOption = Annotated[str, typer.Option(help="A name from `mipclass solvers`, or auto.")]
TimeOption = Annotated[float | None, typer.Option(help="Seconds over building and solving.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
ProofOption = Annotated[bool, typer.Option(help="Exit with code 3 unless the answer is proven.")]


def as_json(value: Any) -> Any:
    """Arrays as lists, infinities as null: what JSON can hold."""
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return as_json(value.tolist())
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, np.generic):
        return as_json(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)


def result_as_json(result: Result) -> dict[str, Any]:
    why = ["status", "claim", "objective", "bound", "gap", "recounted", "certified"]
    names = [*why, "seconds", "nodes", "iterations", "solver", "version", "raw_status", "values"]
    return {name: as_json(getattr(result, name)) for name in names}


def exit_code(result: Result, require_proof: bool) -> int:
    if result.status is Status.INFEASIBLE:
        return EXIT_INFEASIBLE
    if require_proof and result.claim != "proven":
        return EXIT_NOT_PROVEN
    return 0 if result.has_point else EXIT_ERROR


@app.command()
def demo(
    to: Annotated[Path, typer.Option(help="Where to write the model.")] = Path("demo.lp"),
    solver: SolverOption = "highs",
) -> None:
    """Declare a 0-1 problem with side constraints, solve it to proof, write the LP file."""
    from sklearn.datasets import load_iris

    from . import models, solve

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
    out.print("Iris, versicolor against virginica, from scikit-learn:\n")
    out.print(str(problem), markup=False)
    result = solve(problem, solver, progress=sys.stderr.isatty())
    out.print(f"\n{result}", markup=False)
    weights = ", ".join(f"{name} {w:+.4g}" for name, w in zip(names, result.values["w"], strict=True) if w)
    errors = int(np.sum(problem.predict(result.values) != iris.target_names[iris.target[two]]))
    out.print(f"  rule        {weights}, offset {float(result.values['b']):+.4g}", markup=False)
    out.print(f"  predict     {errors} of {len(problem.y_pm1)} points wrong, recounted with the rule above")
    out.print(f"  scope       {result.extra.get('scope', '')}", markup=False)
    problem.write(to)
    out.print(f"  model       written to {to} (names in {to.with_suffix('.names.json')})", markup=False)


@app.command()
def solvers(as_json_: JsonOption = False) -> None:
    """List solvers and methods, what they take and what they promise."""
    from .driver import solvers as list_solvers

    rows = list_solvers()
    if as_json_:
        print(json.dumps([as_json(vars(row)) for row in rows]))
        return
    grid = Grid(box=None, pad_edge=False)
    for heading in ("solver", "kind", "installed", "takes", "promise"):
        grid.add_column(heading)
    for row in rows:
        grid.add_row(
            row.name, row.kind, "yes" if row.installed else "no", ", ".join(row.features), row.promise or row.reason
        )
    out.print(grid)


@app.command()
def solve(
    file: Annotated[Path, typer.Argument(help="An .lp or .mps file.")],
    solver: SolverOption = "auto",
    time_limit: TimeOption = None,
    require_proof: ProofOption = False,
    as_json_: JsonOption = False,
) -> None:
    """Solve an LP or MPS file."""
    from . import solve as run_solve
    from .files import read

    program = read(file)
    result = run_solve(program, solver, time_limit=time_limit, progress=sys.stderr.isatty())
    print(json.dumps(result_as_json(result)) if as_json_ else f"{program}\n{result}")
    raise typer.Exit(exit_code(result, require_proof))


@app.command()
def export(
    data: Annotated[Path, typer.Argument(help="A CSV, Parquet or LIBSVM file.")],
    to: Annotated[Path, typer.Option(help="The .lp or .mps file to write.")],
    target: Annotated[str | None, typer.Option(help="The label column.")] = None,
    model: Annotated[str, typer.Option(help="zero-one, hinge or hinge-l1.")] = "zero-one",
    fpr: Annotated[float | None, typer.Option(help="Largest false-positive rate.")] = None,
    max_features: Annotated[int | None, typer.Option(help="Most features used.")] = None,
    C: Annotated[float, typer.Option("--c", help="Weight of the hinge loss.")] = 1.0,
    indicators: Annotated[str, typer.Option(help="bigm or native.")] = "bigm",
) -> None:
    """Write the model of a data file as an LP or MPS file."""
    problem = declare(data, target, model, fpr, max_features, C)
    problem.write(to, indicators=indicators)
    out.print(f"{problem.program()}\nwritten to {to}", markup=False)


def declare(data: Path, target: str | None, model: str, fpr: float | None, max_features: int | None, C: float) -> Any:
    """The Model that the command line's options describe."""
    from . import models
    from .errors import InvalidInputError
    from .tables import read_table

    table = read_table(data, target)
    if table.y is None:
        raise InvalidInputError("name the label column with --target.")
    constraints: list[Any] = []
    if fpr is not None:
        constraints.append(models.FalsePositiveRate(at_most=fpr))
    if max_features is not None:
        constraints.append(models.MaxFeatures(max_features))
    objectives = {
        "zero-one": 1.0 * models.ZeroOne(),
        "hinge": 0.5 * models.L2() + C * models.Hinge(),
        "hinge-l1": models.L1() + C * models.Hinge(),
    }
    if model not in objectives:
        raise InvalidInputError(f"--model must be one of {', '.join(objectives)}; got {model!r}.")
    return models.Model(
        table.X, table.y, minimize=objectives[model], subject_to=constraints, feature_names=table.feature_names
    )


def main() -> None:
    """Entry point: package errors become one line on stderr and exit code 1."""
    try:
        app()
    except MipclassError as err:
        print(f"mipclass: {err}", file=sys.stderr)
        sys.exit(EXIT_ERROR)
    except OSError as err:
        print(f"mipclass: {err}", file=sys.stderr)
        sys.exit(EXIT_ERROR)


if __name__ == "__main__":
    main()
