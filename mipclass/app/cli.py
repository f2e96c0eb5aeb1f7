"""The command line: `mipclass demo | fit | predict | compare | export | solve | verify | solvers | reproduce`.

Exit codes: 0 did what was asked, 1 error, 2 usage, 3 not proven although --require-proof was given, 4 infeasible.
"""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import nullcontext
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table as Grid

from ..errors import InvalidInputError, MipclassError
from ..protocol.result import Result
from .output import EXIT_ERROR, as_json, check_writable, exit_code, only_answers_on_stdout, result_as_json

app = typer.Typer(
    name="mipclass",
    help="Binary classification as mathematical programming.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
out = Console(highlight=False, soft_wrap=True, markup=False, width=None if sys.stdout.isatty() else 160)

DataArgument = Annotated[Path, typer.Argument(help="A CSV, Parquet or LIBSVM file.")]
TargetOption = Annotated[str | None, typer.Option(help="The label column.")]
PositiveOption = Annotated[str | None, typer.Option(help="The positive label; the larger in sort order if left out.")]
OneHotOption = Annotated[
    bool, typer.Option("--one-hot", help="Turn text columns into columns of 0 and 1, one for each value but the first.")
]
ModelOption = Annotated[
    str, typer.Option(help="zero-one, polyhedral, robust-svm, outlier-svm, tau-fpl, hinge or hinge-l1.")
]
SolverOption = Annotated[str, typer.Option(help="A name from `mipclass solvers`, or auto.")]
TimeOption = Annotated[float | None, typer.Option(help="Seconds over building and solving.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
ProofOption = Annotated[bool, typer.Option("--require-proof", help="Exit with code 3 unless the answer is proven.")]
FprOption = Annotated[float | None, typer.Option(help="Largest false-positive rate.")]
FeaturesOption = Annotated[int | None, typer.Option(help="Most features used.")]
IntegerOption = Annotated[bool, typer.Option("--integer", help="Whole-number weights in -5..5 (a scorecard).")]


@app.command()
def demo(
    to: Annotated[Path, typer.Option(help="Where to write the model.")] = Path("demo.lp"),
    solver: SolverOption = "highs",
    as_json_: JsonOption = False,
) -> None:
    """Declare a 0-1 problem with side constraints, solve it to proof, write the LP file and the data as CSV."""
    from sklearn.datasets import load_iris

    from .. import models
    from ..solving.driver import solve as run_solve
    from .saving import write_safely

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
    weights = ", ".join(f"{name} {w:+.4g}" for name, w in zip(names, result.values["w"], strict=True) if w)
    errors = int(np.sum(problem.predict(result.values) != species))
    out.print(f"  rule        {weights}, offset {float(result.values['b']):+.4g}")
    out.print(f"  predict     {errors} of {len(problem.y_pm1)} points wrong, recounted with the rule above")
    out.print(f"  scope       {result.extra.get('scope', '')}")
    problem.write(to)
    out.print(f"  model       written to {to} (names in {to.with_suffix('.names.json')})")
    out.print(f"  data        written to {data}, to go on with: mipclass fit {data} --target species")


@app.command()
def fit(
    data: DataArgument,
    target: TargetOption = None,
    positive: PositiveOption = None,
    one_hot: OneHotOption = False,
    model: ModelOption = "zero-one",
    solver: SolverOption = "auto",
    time_limit: TimeOption = None,
    fpr: FprOption = None,
    max_features: FeaturesOption = None,
    integer: IntegerOption = False,
    scale: Annotated[bool, typer.Option(help="Standardise columns (never needed for zero-one).")] = True,
    require_proof: ProofOption = False,
    to: Annotated[Path | None, typer.Option("--out", help="Where to save the classifier (.json).")] = None,
    certificate: Annotated[Path | None, typer.Option(help="Where to save the proof (zero-one; .json).")] = None,
    as_json_: JsonOption = False,
) -> None:
    """Fit a classifier to a data file, say what is proven of it, and save it."""
    from .commands import estimator_for
    from .fitted_table import FittedTable
    from .saving import save, write_safely
    from .tables import read_table

    check_writable(to, certificate)
    if to is not None and to.suffix != ".json":
        raise InvalidInputError(f"--out must end in .json; got {to.name!r}.")
    table = read_table(data, target, one_hot=one_hot).with_positive(positive)
    progress = sys.stderr.isatty() and not as_json_
    estimator = estimator_for(model, solver, time_limit, fpr, max_features, integer, progress)
    fitted = FittedTable.fit(estimator, table, scaled=scale and model != "zero-one")
    result = fitted.estimator.result_
    errors = int(np.sum(fitted.predict(table) != table.labels))
    if certificate is not None and result.certificate is None:
        raise InvalidInputError(
            f"solver {result.solver!r} gives no certificate for this model; --solver exact does for plain and rate-limited zero-one."
        )
    if to is not None:
        save(fitted, to)
    if certificate is not None:
        write_safely(certificate, result.certificate.to_json().encode())
    if as_json_:
        more = {"training_errors": errors, "positive": fitted.positive, "rule": fitted.rule()}
        print(json.dumps({**result_as_json(result), **as_json(more)}))
    else:
        _print_fit(fitted, result, errors, table.X.shape[0], to)
    raise typer.Exit(exit_code(result, require_proof))


def _print_fit(fitted: Any, result: Result, errors: int, n: int, to: Path | None) -> None:
    out.print(str(result))
    out.print(f"  training    {errors} of {n} rows wrong")
    if getattr(fitted.estimator, "guarantee_", None):
        out.print(f"  guarantee   {fitted.estimator.guarantee_}")
    rule = fitted.rule()
    if rule is not None:
        shown = [f"{name} {weight:+.5g}" for name, weight in rule.items() if weight]
        out.print(
            f"  rule        {', '.join(shown[:12])}{' ...' if len(shown) > 12 else ''} > 0 says {fitted.positive}"
        )
    if to is not None:
        out.print(f"  saved       {to}")


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A .json file that `fit` saved.")],
    data: DataArgument,
    scores: Annotated[bool, typer.Option("--scores", help="Print the score beside each label.")] = False,
    as_json_: JsonOption = False,
) -> None:
    """Print a label for each row of a data file, one a line."""
    from .fitted_table import FittedTable
    from .saving import load
    from .tables import read_table

    fitted = load(model)
    if not isinstance(fitted, FittedTable):
        raise InvalidInputError(
            f"{model.name} holds a {type(fitted).__name__}; predict takes what `mipclass fit --out` saved."
        )
    table = read_table(data, ignore=fitted.target, categories=fitted.categories)
    labels = fitted.predict(table)
    if as_json_:
        print(json.dumps({"labels": as_json(labels), "scores": as_json(fitted.scores(table))}))
        return
    if not scores:
        print("\n".join(map(str, labels.tolist())))
        return
    values = fitted.scores(table)
    print("\n".join(f"{label},{score!r}" for label, score in zip(labels.tolist(), values.tolist(), strict=True)))


@app.command()
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


@app.command()
def solve(
    file: Annotated[Path, typer.Argument(help="An .lp or .mps file.")],
    solver: SolverOption = "auto",
    time_limit: TimeOption = None,
    require_proof: ProofOption = False,
    as_json_: JsonOption = False,
) -> None:
    """Solve an LP or MPS file."""
    from ..files import read
    from ..solving.driver import solve as run_solve

    program = read(file)
    result = run_solve(program, solver, time_limit=time_limit, progress=sys.stderr.isatty() and not as_json_)
    print(json.dumps(result_as_json(result)) if as_json_ else f"{program}\n{result}")
    raise typer.Exit(exit_code(result, require_proof))


@app.command()
def export(
    data: DataArgument,
    to: Annotated[Path, typer.Option(help="The .lp or .mps file to write.")],
    target: TargetOption = None,
    positive: PositiveOption = None,
    one_hot: OneHotOption = False,
    model: ModelOption = "zero-one",
    fpr: FprOption = None,
    max_features: FeaturesOption = None,
    integer: IntegerOption = False,
    C: Annotated[float, typer.Option("--c", help="Weight of the loss in hinge, hinge-l1 and robust-svm.")] = 1.0,
    indicators: Annotated[str, typer.Option(help="bigm or native.")] = "bigm",
    as_json_: JsonOption = False,
) -> None:
    """Write the model of a data file as an LP or MPS file."""
    from .commands import declared
    from .tables import read_table

    check_writable(to)
    problem = declared(
        read_table(data, target, one_hot=one_hot).with_positive(positive), model, fpr, max_features, integer, C
    )
    problem.write(to, indicators=indicators)
    program = problem.program()
    if as_json_:
        sizes = {"kind": program.kind, "columns": program.n_columns, "rows": program.n_rows, "nonzeros": program.A.nnz}
        print(json.dumps(as_json({**sizes, "integers": program.integer.sum(), "written": str(to)})))
        return
    out.print(f"{program}\nwritten to {to}")


@app.command()
def compare(
    data: DataArgument,
    target: TargetOption = None,
    positive: PositiveOption = None,
    one_hot: OneHotOption = False,
    report: Annotated[Path | None, typer.Option(help="Write one self-contained HTML page.")] = None,
    fpr: Annotated[float, typer.Option(help="The false-positive limit of tau-FPL.")] = 0.05,
    folds: Annotated[int, typer.Option(help="Outer folds.")] = 5,
    only: Annotated[list[str] | None, typer.Option(help="A method by name; may be repeated.")] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds for the bound on the errors of any linear rule.")] = 10.0,
    jobs: Annotated[int, typer.Option(help="Folds at a time, through joblib.")] = 1,
    as_json_: JsonOption = False,
) -> None:
    """Compare the package's methods with scikit-learn's under nested cross-validation."""
    from .compare import compare as run_compare
    from .report import HEADINGS, cells, render
    from .saving import write_safely
    from .tables import read_table

    check_writable(report)
    if report is not None and find_spec("matplotlib") is None:
        raise InvalidInputError(
            "the report has pictures, which need matplotlib: pip install 'mipclass[plot]', or leave --report out."
        )
    table = read_table(data, target, one_hot=one_hot).with_positive(positive)
    if table.y is None:
        raise InvalidInputError("name the label column with --target.")
    tell = (lambda name: print(f"{name} ...", file=sys.stderr)) if sys.stderr.isatty() else None
    found = run_compare(
        table.X,
        table.labels,
        feature_names=table.feature_names,
        positive=None if table.classes is None else table.classes[1],
        fpr=fpr,
        folds=folds,
        only=only,
        time_limit=time_limit,
        n_jobs=jobs,
        tell=tell,
    )
    if report is not None:
        write_safely(report, render(found, f"{data.name}: classifiers compared").encode())
    if as_json_:
        rows = [dict(zip(HEADINGS, cells(row), strict=True)) for row in found.rows]
        answer = {"rows": rows, "positive": as_json(found.classes[1]), "fewest_errors": result_as_json(found.bound)}
        print(json.dumps(answer))
        return
    grid = Grid(box=None, pad_edge=False)
    for heading in HEADINGS:
        grid.add_column(heading, justify="left" if heading == "method" else "right")
    for row in found.rows:
        grid.add_row(*cells(row))
    out.print(grid)
    bound = "no bound" if found.bound.bound is None else f"at least {found.bound.bound:g}"
    out.print(f"\nerrors of a linear rule: {found.bound.objective:g} found ({found.bound.claim}), {bound}")
    if report is not None:
        out.print(f"report written to {report}")


@app.command()
def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate (.json).")],
    data: DataArgument,
    target: TargetOption = None,
    positive: PositiveOption = None,
    one_hot: OneHotOption = False,
    as_json_: JsonOption = False,
) -> None:
    """Check a certificate against the data, in exact arithmetic."""
    from ..checker import verify as check
    from .tables import read_table

    if not certificate.is_file():
        raise InvalidInputError(f"there is no file {str(certificate)!r}.")
    table = read_table(data, target, one_hot=one_hot).with_positive(positive)
    if table.y is None:
        raise InvalidInputError("name the label column with --target.")
    verdict = check(certificate, table.X, table.y)
    print(json.dumps(as_json(vars(verdict))) if as_json_ else str(verdict))
    raise typer.Exit(0 if verdict.accepted else EXIT_ERROR)


@app.command()
def reproduce(
    name: Annotated[list[str] | None, typer.Argument(help="Studies by name.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="Run every study.")] = False,
    full: Annotated[bool, typer.Option("--full/--quick", help="All cases, or the small list.")] = False,
    jobs: Annotated[int, typer.Option(help="Cells at a time, through joblib.")] = 1,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler to run on.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget finished cells first.")] = False,
    write: Annotated[bool, typer.Option(help="Put the tables into benchmarks/RESULTS.md.")] = True,
    as_json_: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for machines, tables on stderr.")
    ] = False,
) -> None:
    """Re-make the papers' tables and figures; a run that was killed goes on where it stopped."""
    from .reproduction import reproduce as run_studies
    from .reproduction import studies

    known = studies()
    if list_ and as_json_:
        print(json.dumps(known))
        return
    if list_:
        width = max(map(len, known))
        out.print("\n".join(f"{study:<{width}}  {what}" for study, what in known.items()))
        return
    if not all_ and not name:
        raise InvalidInputError("name a study, or use --all; --list shows them.")
    names = list(known) if all_ else list(name or ())
    with only_answers_on_stdout() if as_json_ else nullcontext():
        done = run_studies(names, full=full, jobs=jobs, dask=dask, fresh=fresh, write=write)
    failed = [run.study for run in done if run.failures]
    if as_json_:
        print(json.dumps([as_json(asdict(run)) for run in done]))
    if failed:
        print(f"mipclass: cases failed in {', '.join(failed)}", file=sys.stderr)
        raise typer.Exit(EXIT_ERROR)


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    print(f"mipclass: warning: {message}", file=sys.stderr)


def main() -> None:
    """Entry point: package errors become one line on stderr and exit code 1, warnings one line each."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app()
    except MipclassError as err:
        print(f"mipclass: {err}", file=sys.stderr)
        sys.exit(EXIT_ERROR)
    except OSError as err:
        print(f"mipclass: {err}", file=sys.stderr)
        sys.exit(EXIT_ERROR)


if __name__ == "__main__":
    main()
