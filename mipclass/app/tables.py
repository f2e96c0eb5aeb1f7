"""Reading a person's data file: CSV, Parquet or LIBSVM, with a target column; clear refusals."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ReadError

MAX_BYTES = 2**31
"""Larger files are refused before they are read: parsed as text they would need several times their size in memory."""
MOST_CATEGORIES = 100
"""Different texts that a column to be one-hot encoded may hold; a column with more is usually an identifier."""
MOST_LABELS_SHOWN = 5
"""Labels that an error message lists."""
_SEPARATORS = ",;\t|"

Categories = Mapping[str, tuple[str, ...]]
"""The values of each text column, in order; all but the first become a column of 0 and 1 named `column=value`."""


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers, names and, when a target was asked for, labels.

    classes : (negative, positive) labels when the positive one was named; y then holds 0 and 1.
    absent_is_zero : whether a column that the file does not mention holds zeros (LIBSVM).
    categories : how text columns became numbers.
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: tuple[str, ...]
    target: str | None
    classes: tuple[Any, Any] | None = None
    absent_is_zero: bool = False
    categories: Categories = field(default_factory=dict)

    @property
    def labels(self) -> NDArray[Any] | None:
        """The labels as the file has them."""
        return self.y if self.y is None or self.classes is None else np.array(self.classes)[self.y]

    def of_rows(self, rows: NDArray[Any]) -> Table:
        """The table of these rows alone."""
        return replace(self, X=self.X[rows], y=None if self.y is None else self.y[rows])

    def with_positive(self, label: str | None) -> Table:
        """The same table with y = 1 for the rows of that label and 0 for the others; None changes nothing."""
        if label is None or self.y is None:
            return self
        present = np.unique(self.y).tolist()
        same = [one for one in present if str(one) == label or (_is_number(label) and one == float(label))]
        if not same:
            shown = ", ".join(map(str, present[:MOST_LABELS_SHOWN])) + (
                " ..." if len(present) > MOST_LABELS_SHOWN else ""
            )
            raise ReadError(f"--positive {label}: there is no such label; the labels are {shown}.")
        others = [one for one in present if one != same[0]]
        if len(others) != 1:
            raise ReadError(f"the target must hold exactly two labels; got {len(present)}.")
        return replace(self, y=(self.y == same[0]).astype(np.int64), classes=(others[0], same[0]))


def read_table(
    path: str | Path,
    target: str | None = None,
    *,
    ignore: Collection[str] = (),
    only: Collection[str] | None = None,
    one_hot: bool = False,
    categories: Categories | None = None,
) -> Table:
    """Read a data file by its ending: .csv/.tsv/.txt, .parquet, .svm/.libsvm.

    target : name of the label column (LIBSVM files carry their labels and need none).
    ignore : columns to leave out, such as identifiers and names; each has to be there.
    only : the columns to read as features where they are there, such as those that a model uses; others may hold anything.
    one_hot : whether columns with text become columns of 0 and 1, one for each value but the first in sort order.
    categories : the text columns and values of an earlier table; others are refused.
    """
    path = Path(path)
    if _is_libsvm(path):
        if ignore:
            raise ReadError(f"{path.name}: the columns of a LIBSVM file have no names; leave --ignore out.")
        return _from_libsvm(path)
    return _split(path.name, _columns(path), target, _Choice(ignore, only), _Encoding(categories or {}, one_hot))


def label_candidates(path: str | Path) -> list[str]:
    """The columns with exactly two different values, each of which could be the target; none for LIBSVM, which carries its labels."""
    path = Path(path)
    if _is_libsvm(path):
        return []
    return [name for name, values in _columns(path).items() if len({str(value) for value in values}) == 2]


def _is_libsvm(path: Path) -> bool:
    """Whether the file is of that kind; refuses a file that is missing or too large."""
    if not path.is_file():
        raise ReadError(f"there is no file {str(path)!r}.")
    if path.stat().st_size > MAX_BYTES:
        raise ReadError(
            f"{path.name} is larger than {MAX_BYTES // 2**20} MiB; load it in Python and pass arrays instead."
        )
    return path.suffix.lower() in (".svm", ".libsvm", ".svmlight")


def _columns(path: Path) -> dict[str, list[Any]]:
    """The columns by name, as the file holds them."""
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv", ".txt"):
        return _csv_columns(path)
    if ending == ".parquet":
        return _parquet_columns(path)
    raise ReadError(f"{path.name}: unknown ending {ending!r}; .csv, .tsv, .txt, .parquet, .svm and .libsvm are read.")


def _csv_columns(path: Path) -> dict[str, list[Any]]:
    try:
        text = path.read_text(encoding="utf-8-sig")  # -sig: spreadsheets like to write a byte-order mark
    except UnicodeDecodeError as err:
        raise ReadError(f"{path.name} is not UTF-8 text ({err.reason} at byte {err.start}); save it as UTF-8.") from err
    first = text.partition("\n")[0]
    if not first.strip():
        raise ReadError(f"{path.name} is empty; a header line and at least two rows are needed.")
    separator = max(_SEPARATORS, key=first.count)
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if row]
    except csv.Error as err:
        raise ReadError(
            f"{path.name} is not a table of separated values: {err}. Is a quotation mark left open?"
        ) from err
    header = [name.strip() for name in rows[0]]
    if all(_is_number(name) for name in header):
        raise ReadError(f"{path.name} has no header: its first line holds only numbers. Add a line of column names.")
    if len(set(header)) != len(header):
        repeated = next(name for name in header if header.count(name) > 1)
        raise ReadError(f"{path.name}: the column name {repeated!r} occurs more than once.")
    if len(rows) < 2:
        raise ReadError(f"{path.name} has a header but no rows.")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise ReadError(f"{path.name}, line {number}: {len(row)} values for {len(header)} columns.")
    return {name: [row[j].strip() for row in rows[1:]] for j, name in enumerate(header)}


def _parquet_columns(path: Path) -> dict[str, list[Any]]:
    try:
        import pandas as pd
    except ImportError as err:
        raise ReadError("reading Parquet needs pandas with pyarrow: pip install pandas pyarrow.") from err
    try:
        frame = pd.read_parquet(path)
    except Exception as err:  # each of the engines behind pandas has errors of its own
        raise ReadError(f"{path.name} cannot be read as Parquet: {err}") from err
    return {str(name): frame[name].tolist() for name in frame.columns}


def _from_libsvm(path: Path) -> Table:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(path))
    except ValueError as err:
        raise ReadError(f"{path.name} is not a LIBSVM file: {err}") from err
    if not X.shape[0]:
        raise ReadError(f"{path.name} is empty; at least two rows are needed.")
    if (y == np.round(y)).all():
        y = y.astype(np.int64)
    return Table(X, y, tuple(f"x{j + 1}" for j in range(X.shape[1])), "label", absent_is_zero=True)


class _Encoding:
    """Which columns are text: those of `known` and, if `any_text`, those that hold something else than numbers."""

    def __init__(self, known: Categories, any_text: bool) -> None:
        self.known, self.any_text = known, any_text
        self.used: dict[str, tuple[str, ...]] = {}

    def columns(self, file: str, column: str, values: list[Any]) -> dict[str, NDArray[np.float64]]:
        """The numbers by name that a column of the file stands for."""
        if column not in self.known and (not self.any_text or all(map(_is_number, values))):
            return {column: _numbers(file, column, values)}
        texts = ["" if value is None else str(value) for value in values]
        for line, text in enumerate(texts, start=2):
            if text in ("", "nan"):
                raise ReadError(f"{file}, line {line}: column {column!r} is missing. Impute missing values first.")
        found = self.known.get(column) or tuple(sorted(set(texts)))
        if len(found) > MOST_CATEGORIES:
            raise ReadError(
                f"{file}: column {column!r} holds {len(found)} different texts, more than {MOST_CATEGORIES}; leave it out with --ignore {_quoted(column)} or group them."
            )
        for line, text in enumerate(texts, start=2):
            if text not in found:
                raise ReadError(
                    f"{file}, line {line}: column {column!r} holds {text!r}; the model knows {', '.join(found)}."
                )
        self.used[column] = found
        return {f"{column}={one}": np.array([float(text == one) for text in texts]) for one in found[1:]}


class _Choice(NamedTuple):
    """Which columns are features: all but those ignored, or those of `only` that are there."""

    ignore: Collection[str]
    only: Collection[str] | None

    def features(self, file: str, columns: Mapping[str, Any], target: str | None) -> list[str]:
        """The names of the features, in the order of the file."""
        unknown = [name for name in self.ignore if name not in columns]
        if unknown:
            raise ReadError(f"{file} has no column {unknown[0]!r} to ignore; it has {', '.join(columns)}.")
        if target is not None and target in self.ignore:
            raise ReadError(f"--ignore names the target {target!r}; leave one of the two out.")
        if self.only is not None:
            return [name for name in columns if name in self.only]
        features = [name for name in columns if name != target and name not in self.ignore]
        if not features:
            left = "" if not self.ignore else " and those ignored"
            raise ReadError(f"{file} has no column besides the target{left}; at least one feature is needed.")
        return features


def _split(name: str, columns: dict[str, list[Any]], target: str | None, choice: _Choice, encode: _Encoding) -> Table:
    if target is not None and target not in columns:
        raise ReadError(
            f"{name} has no column {target!r}; it has {', '.join(columns)}. Name the label column with --target."
        )
    numbers: dict[str, NDArray[np.float64]] = {}
    for column in choice.features(name, columns, target):
        numbers |= encode.columns(name, column, columns[column])
    if not numbers and choice.only is None:
        raise ReadError(f"{name} has no column that tells rows apart; at least one feature is needed.")
    y = None if target is None else _labels(name, target, columns[target])
    n = len(next(iter(columns.values())))
    X = np.column_stack([np.empty((n, 0)), *numbers.values()])
    return Table(X, y, tuple(numbers), target, categories=encode.used)


def _numbers(name: str, column: str, values: list[Any]) -> NDArray[np.float64]:
    for line, value in enumerate(values, start=2):
        if not _is_number(value):
            what = "is missing" if value in (None, "") else f"holds {value!r}, which is not a finite number"
            raise ReadError(
                f"{name}, line {line}: column {column!r} {what}. Impute missing values first; encode text with --one-hot (a column of "
                f"0 and 1 for each value), or leave the column out with --ignore {_quoted(column)}."
            )
    return np.array([float(value) for value in values])


def _quoted(column: str) -> str:
    """The name as a shell takes it."""
    return shlex.quote(column)


def _labels(name: str, target: str, values: list[Any]) -> NDArray[Any]:
    for line, value in enumerate(values, start=2):
        if value is None or value == "" or (isinstance(value, float) and np.isnan(value)):
            raise ReadError(f"{name}, line {line}: the target {target!r} is missing; drop that row.")
    if all(_is_number(value) for value in values):
        numbers = np.array([float(value) for value in values])
        whole = np.round(numbers)
        return whole.astype(np.int64) if (numbers == whole).all() else numbers
    return np.array([str(value) for value in values])


def _is_number(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except (TypeError, ValueError):
        return False
