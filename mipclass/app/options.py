"""Options that several commands share, alone and in groups.

A command takes a group as one parameter whose type is a dataclass of options; `with_groups` spreads it into the single
options that typer reads from a signature.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ..errors import InvalidInputError, ReadError

if TYPE_CHECKING:
    from .tables import Table

DataArgument = Annotated[Path, typer.Argument(help="A CSV, Parquet or LIBSVM file.")]
TargetOption = Annotated[str | None, typer.Option(help="The label column.")]
PositiveOption = Annotated[str | None, typer.Option(help="The positive label; the larger in sort order if left out.")]
OneHotOption = Annotated[
    bool, typer.Option("--one-hot", help="Turn text columns into columns of 0 and 1, one for each value but the first.")
]
ModelOption = Annotated[str, typer.Option(help="zero-one, risk-score, polyhedral, robust-svm, outlier-svm or tau-fpl.")]
ExportedModelOption = Annotated[
    str,
    typer.Option(
        help="zero-one, risk-score, polyhedral, robust-svm, outlier-svm, tau-fpl, hinge, hinge-l1 or logistic."
    ),
]
ForOption = Annotated[
    str | None,
    typer.Option(
        "--for",
        help="The problem it has to be about: a model's name, with --fpr and the like as in `fit`, or a file that `fit --out` saved.",
    ),
]
SolverOption = Annotated[str, typer.Option(help="A name from `mipclass solvers`, or auto.")]
DEFAULT_SECONDS = 60.0
"""For a proof on the command line when no --time-limit is given; the incumbent and its bound come back then."""
TimeOption = Annotated[float | None, typer.Option(help="Seconds over building and solving.")]
FitTimeOption = Annotated[
    float | None,
    typer.Option(help=f"Seconds over building and solving; a proof gets {DEFAULT_SECONDS:g} when none are given."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
ProofOption = Annotated[bool, typer.Option("--require-proof", help="Exit with code 3 unless the answer is proven.")]
FprOption = Annotated[float | None, typer.Option(help="Largest false-positive rate.")]
FeaturesOption = Annotated[int | None, typer.Option(help="Most features used.")]
IgnoreOption = Annotated[
    list[str] | None, typer.Option(help="A column to leave out, such as an identifier or a name; may be repeated.")
]
IntegerOption = Annotated[bool, typer.Option("--integer", help="Whole-number weights in -5..5 (a scorecard).")]

PointsOption = Annotated[
    int | None, typer.Option(help="Largest number of points of a condition (risk-score); 5 if left out.")
]


@dataclass(frozen=True)
class LabelledData:
    """A data file, its label column, the positive label, and what becomes of text columns."""

    data: DataArgument
    target: TargetOption = None
    positive: PositiveOption = None
    one_hot: OneHotOption = False
    ignore: IgnoreOption = None

    def words(self) -> str:
        """The file and its options as they were typed, for a command that goes on with them."""
        words = [str(self.data)]
        words += [] if self.target is None else ["--target", self.target]
        words += [] if self.positive is None else ["--positive", self.positive]
        words += ["--one-hot"] if self.one_hot else []
        words += [word for column in self.ignore or () for word in ("--ignore", column)]
        return shlex.join(words)

    def table(self) -> Table:
        """The file as a table whose positive class is the one that was asked for."""
        from .tables import read_table

        if self.target is None:
            self._check_target()
        table = read_table(self.data, self.target, ignore=self.ignore or (), one_hot=self.one_hot)
        return table.with_positive(self.positive)

    def _check_target(self) -> None:
        """Name the columns that could be the target, unless the file carries its labels."""
        from .tables import label_candidates, read_table

        try:
            candidates = label_candidates(self.data)
        except ReadError:
            candidates = []
        if candidates:
            raise InvalidInputError(
                f"name the label column of {self.data.name} with --target. Columns with exactly two values: {', '.join(candidates)}; "
                f"e.g. --target {shlex.quote(candidates[-1])}."
            )
        if read_table(self.data, one_hot=True).y is None:
            raise InvalidInputError(
                f"name the label column of {self.data.name} with --target; no column holds exactly two values, which a target needs."
            )

    def labelled_table(self) -> Table:
        """The table; InvalidInputError when it has no labels."""
        table = self.table()
        if table.y is None:
            raise InvalidInputError("name the label column with --target.")
        return table


@dataclass(frozen=True)
class SideConstraints:
    """The side constraints that a 0-1 model or a risk score may have."""

    fpr: FprOption = None
    max_features: FeaturesOption = None
    integer: IntegerOption = False
    points: PointsOption = None


@dataclass(frozen=True)
class FittedFiles:
    """What a fit writes."""

    to: Annotated[Path | None, typer.Option("--out", help="Where to save the classifier (.json).")] = None
    certificate: Annotated[Path | None, typer.Option(help="Where to save the proof (zero-one; .json).")] = None
    report: Annotated[Path | None, typer.Option(help="Where to write the scorecard as one HTML page.")] = None


@dataclass(frozen=True)
class Workers:
    """Who works on a proof, and where it is kept."""

    threads: Annotated[int, typer.Option(min=1, help="Threads that a proof may use.")] = 1
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers carry out the tasks of a proof.")
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A folder that keeps a proof (zero-one); the same command goes on from it."),
    ] = None


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter that is a group of options spread into these options."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {p.name: p.annotation for p in signature.parameters.values() if is_dataclass(p.annotation)}
    options: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name in groups:
            options += _options_of(groups[parameter.name])
        else:
            options.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def call(**given: Any) -> None:
        grouped = {
            name: group(**{option.name: given.pop(option.name) for option in fields(group)})
            for name, group in groups.items()
        }
        command(**grouped, **given)

    call.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]  # what inspect.signature reads
    return call


def _options_of(group: Any) -> list[inspect.Parameter]:
    """The fields of a group as parameters of a signature."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if option.default is MISSING else option.default,
            annotation=hints[option.name],
        )
        for option in fields(group)
    ]
