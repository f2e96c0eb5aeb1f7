"""The .names.json next to a file: which feature or data row each name of the file stands for.

    {"format": "mipclass names", "version": 1, "program": "zero_one", "indicators": "bigm",
     "variables": [{"name": "w", "shape": [2], "labels": [["age", "dose (mg)"]], "in_file": ["w_age", "w_dose_mg"]}, ...],
     "rows": [...], "upper_sides": {"upper_side_rate": "rate"}, "big_m": [...]}

With it, `read` gives back the program as it was, blocks and labels included, and puts the two sides of a ranged row
together again. Without it, or when it does not fit, the names of the file stand for themselves.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InvalidInputError, MipclassWarning
from ..modelling.blocks import Block
from ..modelling.indicators import Indicators
from ..modelling.program import Program
from .portable import Portable

FORMAT = "mipclass names"


def sidecar_path(path: Path) -> Path:
    """model.lp, model.mps and model.lp.gz all have model.names.json."""
    stem = path.name.removesuffix(".gz")
    return path.with_name(stem.rpartition(".")[0] + ".names.json")


def describe(content: Portable) -> dict[str, Any]:
    """What the sidecar says: the blocks and labels behind the names of the file, ready for JSON."""
    described = content.described
    big_m = described.indicators.big_m
    return {
        "format": FORMAT,
        "version": 1,
        "program": described.name,
        "indicators": content.indicators,
        "variables": _blocks(described.variables, content.columns),
        "rows": _blocks(described.rows, content.rows),
        "upper_sides": {
            content.rows[described.n_rows + k]: content.rows[row] for k, row in enumerate(content.upper_side_of)
        },
        "big_m": [None if np.isinf(limit) else limit for limit in big_m.tolist()],
    }


def _blocks(blocks: Sequence[Block], names: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "name": b.name,
            "shape": list(b.shape),
            "labels": [_list(axis) for axis in b.labels],
            "in_file": names[b.slice],
        }
        for b in blocks
    ]


def _list(axis: tuple[str, ...] | None) -> list[str] | None:
    return None if axis is None else list(axis)


def restore(program: Program, columns: list[str], rows: list[str], path: Path) -> Program:
    """`program` as read, with the order, blocks and labels that the sidecar at `path` describes (if it is there)."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return program
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or said.get("format") != FORMAT or said.get("version") != 1:
        return _unfit(program, path, "it is not a names file that this version knows")
    try:
        return _restored(program, columns, rows, said)
    except InvalidInputError as err:
        return _unfit(program, path, str(err))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as err:
        return _unfit(program, path, f"it is damaged ({type(err).__name__}: {err})")


def _restored(program: Program, columns: list[str], rows: list[str], said: dict[str, Any]) -> Program:
    """The program with what the sidecar says; InvalidInputError when that belongs to other names."""
    own_columns = [name for block in said["variables"] for name in block["in_file"]]
    own_rows = [name for block in said["rows"] for name in block["in_file"]]
    upper_sides = list(said["upper_sides"])
    if set(columns) != set(own_columns) or set(rows) != {*own_rows, *upper_sides}:
        raise InvalidInputError("it belongs to a file with other names")
    program = _reordered(program, _order(columns, own_columns), _order(rows, own_rows + upper_sides))
    program = _fold_upper_sides(program, _order(own_rows, list(said["upper_sides"].values())), len(own_rows))
    return program.replace_with(
        variables=_read_blocks(said["variables"]),
        rows=_read_blocks(said["rows"]),
        indicators=_with_big_m(program.indicators, said["big_m"]),
        name=said["program"],
    )


def _unfit(program: Program, path: Path, why: str) -> Program:
    warnings.warn(
        f"{path.name} is not used: {why}. The names in the file stand for themselves.", MipclassWarning, stacklevel=4
    )
    return program


def _order(present: list[str], wanted: list[str]) -> np.ndarray[Any, Any]:
    place = {name: k for k, name in enumerate(present)}
    return np.array([place[name] for name in wanted], dtype=np.int64)


def _reordered(program: Program, columns: np.ndarray[Any, Any], rows: np.ndarray[Any, Any]) -> Program:
    column_at, row_at = np.argsort(columns), np.argsort(rows)
    A = sp.csr_array(program.A[rows][:, columns])
    A.sort_indices()
    indicators = program.indicators
    by_row = np.argsort(row_at[indicators.row]) if len(indicators) else slice(None)
    return program.replace_with(
        c=program.c[columns],
        A=A,
        row_lower=program.row_lower[rows],
        row_upper=program.row_upper[rows],
        lower=program.lower[columns],
        upper=program.upper[columns],
        integer=program.integer[columns],
        Q=None if program.Q is None else sp.csc_array(program.Q[columns][:, columns]),
        indicators=Indicators(
            row_at[indicators.row][by_row], column_at[indicators.column][by_row], indicators.value[by_row]
        ),
        variables=(),
        rows=(),
    )


def _fold_upper_sides(program: Program, lower_sides: np.ndarray[Any, Any], m: int) -> Program:
    if program.n_rows == m:
        return program
    row_upper = program.row_upper[:m].copy()
    row_upper[lower_sides] = program.row_upper[m:]
    kept = program.indicators.row < m
    indicators = program.indicators
    return program.replace_with(
        A=sp.csr_array(program.A[:m]),
        row_lower=program.row_lower[:m],
        row_upper=row_upper,
        indicators=Indicators(indicators.row[kept], indicators.column[kept], indicators.value[kept]),
        rows=(),
    )


def _with_big_m(indicators: Indicators, limits: list[float | None]) -> Indicators:
    if not len(indicators):
        return indicators
    big_m = np.array([np.inf if limit is None else limit for limit in limits])
    return Indicators(indicators.row, indicators.column, indicators.value, big_m)


def _read_blocks(described: list[dict[str, Any]]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    start = 0
    for block in described:
        labels = tuple(None if axis is None else tuple(axis) for axis in block["labels"])
        blocks.append(Block(block["name"], start, tuple(block["shape"]), labels))
        start = blocks[-1].stop
    return tuple(blocks)
