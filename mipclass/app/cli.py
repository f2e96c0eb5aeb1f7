"""The command line: `mipclass demo | fit | predict | compare | export | solve | verify | solvers | reproduce | warm`.

Exit codes: 0 did what was asked, 1 error, 2 usage, 3 not proven although --require-proof was given, 4 infeasible.
Here are the commands on data files; model_commands.py, study_commands.py and warm_command.py hold the others.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as Grid

from ..errors import InvalidInputError, MipclassError
from ..version import VERSION
from .model_commands import demo, export, solve, solvers
from .options import (
    DataArgument,
    FeaturesOption,
    FittedFiles,
    FitTimeOption,
    ForOption,
    IntegerOption,
    JsonOption,
    LabelledData,
    ModelOption,
    ProofOption,
    SideConstraints,
    SolverOption,
    Workers,
    with_groups,
)
from .output import EXIT_ERROR, as_json, check_writable, exit_code, out, result_as_json
from .study_commands import reproduce
from .warm_command import warm

app = typer.Typer(
    name="mipclass",
    help="Binary classification as mathematical programming.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)


def fit(
    *,
    source: LabelledData,
    model: ModelOption = "zero-one",
    solver: SolverOption = "auto",
    time_limit: FitTimeOption = None,
    limits: SideConstraints,
    workers: Workers,
    scale: Annotated[bool, typer.Option(help="Standardise columns (never needed for zero-one).")] = True,
    require_proof: ProofOption = False,
    files: FittedFiles,
    folds: Annotated[int | None, typer.Option(help="Also measure the accuracy on so many held-out folds.")] = None,
    as_json_: JsonOption = False,
) -> None:
    """Fit a classifier to a data file, say what is proven of it, and save it."""
    from ..replacing import write_safely
    from .commands import estimator_for
    from .fit_words import NextSteps, confusion, cross_validated, print_fit
    from .fitted_table import FittedTable
    from .saving import save
    from .workers import at_work

    to, certificate, report = files.to, files.certificate, files.report
    check_writable(to, certificate, report)
    if to is not None and to.suffix != ".json":
        raise InvalidInputError(f"--out must end in .json; got {to.name!r}.")
    table = source.table()
    progress = sys.stderr.isatty() and not as_json_
    estimator = estimator_for(model, solver, time_limit, limits, progress)
    if workers.checkpoint is not None:
        if model != "zero-one":
            raise InvalidInputError(f"--checkpoint keeps proofs of --model zero-one; --model {model} has none to keep.")
        estimator.set_params(options={"checkpoint": workers.checkpoint})
    with at_work(workers):
        fitted = FittedTable.fit(estimator, table, scaled=scale and model not in ("zero-one", "risk-score"))
    result = fitted.estimator.result_
    counts = confusion(fitted, table)
    accuracy = None if folds is None else cross_validated(fitted, table, folds)
    if certificate is not None and result.certificate is None:
        raise InvalidInputError(
            f"solver {result.solver!r} gives no certificate for this model; --solver exact does for plain and rate-limited zero-one."
        )
    if report is not None:
        from .card_page import card_page

        write_safely(report, card_page(fitted, source.data.name).encode())
    if to is not None:
        save(fitted, to)
    if certificate is not None:
        write_safely(certificate, result.certificate.to_json().encode())
    if as_json_:
        more = {"training_errors": counts[0, 1] + counts[1, 0], "confusion": counts, "positive": fitted.positive}
        more |= {"rule": fitted.rule()} | ({} if accuracy is None else {"held_out_accuracy": accuracy})
        print(json.dumps({**result_as_json(result), **as_json(more)}))
    else:
        steps = NextSteps(source.words(), to, certificate)
        for line in print_fit(fitted, table, counts, accuracy, steps):
            out.print(line, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(exit_code(result, require_proof))


def predict(
    model: Annotated[Path, typer.Argument(help="A .json file that `fit` saved.")],
    data: DataArgument,
    scores: Annotated[bool, typer.Option("--scores", help="Print the score beside each label.")] = False,
    as_json_: JsonOption = False,
) -> None:
    """Print a label for each row of a data file, one per line; of a risk score also total points and probability."""
    from .fitted_table import FittedTable
    from .saving import load
    from .tables import read_table

    fitted = load(model)
    if not isinstance(fitted, FittedTable):
        raise InvalidInputError(
            f"{model.name} holds a {type(fitted).__name__}; predict takes what `mipclass fit --out` saved."
        )
    table = read_table(data, only=fitted.used_columns(), categories=fitted.categories)
    labels = fitted.predict(table)
    risks = fitted.risks(table)
    if as_json_:
        more = {} if risks is None else {"totals": as_json(risks[0]), "probabilities": as_json(risks[1])}
        print(json.dumps({"labels": as_json(labels), "scores": as_json(fitted.scores(table)), **more}))
        return
    if risks is not None:
        print("total,probability,label")
        rows = zip(*(column.tolist() for column in (*risks, labels)), strict=True)
        print("\n".join(f"{total:g},{probability:.6g},{label}" for total, probability, label in rows))
        return
    if not scores:
        print("\n".join(map(str, labels.tolist())))
        return
    values = fitted.scores(table)
    print("\n".join(f"{label},{score!r}" for label, score in zip(labels.tolist(), values.tolist(), strict=True)))


def compare(
    *,
    source: LabelledData,
    report: Annotated[Path | None, typer.Option(help="Write one self-contained HTML page.")] = None,
    fpr: Annotated[
        float | None,
        typer.Option(help="Largest false-positive rate: of the 0-1 loss, and of tau-FPL (0.05 if left out)."),
    ] = None,
    max_features: FeaturesOption = None,
    integer: IntegerOption = False,
    folds: Annotated[int, typer.Option(help="Outer folds.")] = 5,
    only: Annotated[list[str] | None, typer.Option(help="A method by name; may be repeated.")] = None,
    time_limit: Annotated[
        float,
        typer.Option(
            help="Seconds for the bound on the errors of any linear rule, and for each fit with side constraints."
        ),
    ] = 10.0,
    jobs: Annotated[int, typer.Option(help="Folds at a time, through joblib.")] = 1,
    as_json_: JsonOption = False,
) -> None:
    """Compare the package's methods with scikit-learn's under nested cross-validation.

    With --fpr, --max-features or --integer the 0-1 loss under these constraints is compared too.
    """
    from ..replacing import write_safely
    from .compare import compare as run_compare
    from .compositions import compositions_for
    from .recommendation import recommend
    from .report import HEADINGS, cells, render

    check_writable(report)
    if report is not None and find_spec("matplotlib") is None:
        raise InvalidInputError(
            "the report has pictures, which need matplotlib: pip install 'mipclass[plot]', or leave --report out."
        )
    table = source.labelled_table()
    tell = (lambda name: print(f"{name} ...", file=sys.stderr)) if sys.stderr.isatty() else None
    found = run_compare(
        table.X,
        table.labels,
        feature_names=table.feature_names,
        positive=None if table.classes is None else table.classes[1],
        fpr=0.05 if fpr is None else fpr,
        compositions=compositions_for(fpr, max_features, integer),
        folds=folds,
        only=only,
        time_limit=time_limit,
        n_jobs=jobs,
        tell=tell,
    )
    advice = recommend(found)
    if report is not None:
        write_safely(report, render(found, f"{source.data.name}: classifiers compared", source.words()).encode())
    if as_json_:
        rows = [dict(zip(HEADINGS, cells(row), strict=True)) for row in found.rows]
        answer = {"rows": rows, "positive": as_json(found.classes[1]), "fewest_errors": result_as_json(found.bound)}
        answer |= {"recommended": None if advice is None else advice.row.name}
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
    if advice is not None:
        out.print(f"\n{advice.text}\nnext  {advice.command(source.words())}")
    if report is not None:
        out.print(f"report written to {report}")


def verify(
    *,
    certificate: Annotated[Path, typer.Argument(help="A certificate (.json).")],
    source: LabelledData,
    model: ForOption = None,
    limits: SideConstraints,
    threads: Annotated[int, typer.Option(min=1, help="Pieces of a large proof that are checked at a time.")] = 1,
    as_json_: JsonOption = False,
) -> None:
    """Check a certificate against the data, in exact arithmetic, and say which problem it is about."""
    from ..checker import verify as check
    from .commands import asked_about

    if not certificate.is_file():
        raise InvalidInputError(f"there is no file {str(certificate)!r}.")
    table = source.labelled_table()
    problem = asked_about(table, model, limits)
    verdict = check(certificate, table.X, table.y, problem=problem, threads=threads)
    print(json.dumps(as_json(verdict.as_dict())) if as_json_ else verdict.in_words(table.feature_names))
    raise typer.Exit(0 if verdict.accepted else EXIT_ERROR)


@app.callback()
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        print(f"mipclass {VERSION}")
        raise typer.Exit


for command in (demo, fit, predict, solvers, solve, export, compare, verify, reproduce, warm):
    app.command()(with_groups(command))


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
