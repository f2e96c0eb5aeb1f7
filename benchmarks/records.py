"""Records: proven optima of the 0-1 loss on public data sets, each re-made and checked by one command.

    python -m benchmarks.records                    those that take less than a minute here
    python -m benchmarks.records liver_bupa ice_voice
    python -m benchmarks.records --all              the long ones too
    python -m benchmarks.records --certificates docs/certificates   also keeps the small certificates

Each record is solved anew with `solver="exact"`, its certificate is checked by the independent checker, and errors and bound are compared with
the table below; a difference ends the run with exit code 1. Data sets come from scikit-learn, from the folder MIPCLASS_DATA or from OpenML.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mipclass
from mipclass import datasets, models

KEPT_BYTES = 200_000
"""Certificates up to this size, in bytes, are kept in the folder of certificates: small enough for a repository."""


@dataclass(frozen=True)
class Record:
    """A proven optimum: the set, the least number of errors, and whether the proof takes less than a minute."""

    data: str
    errors: int
    quick: bool = True


RECORDS = (
    Record("iris", 1),
    Record("wdbc", 0),
    Record("sonar", 0),
    Record("breast_wisconsin", 11),
    Record("liver_bupa", 82),
    Record("ice_caesarian", 15),
    Record("ice_haberman", 65),
    Record("ice_voice", 19),
    Record("ice_blood", 108),
    Record("ice_sepsis", 56),
    Record("ice_skin", 6890),
    Record("ice_ai4i", 251),
    Record("heart_statlog", 24, quick=False),
    Record("pima", 147, quick=False),
)


def load(name: str, *, download: bool = True) -> tuple[Any, Any]:
    """X and y of a record's data set, fetched from OpenML where it is not here and `download` allows it."""
    if name == "iris":
        from sklearn.datasets import load_iris

        X, y = load_iris(return_X_y=True)
        return X[y > 0], np.where(y[y > 0] == 2, 1, -1)
    if name.startswith("ice_"):
        folder = os.environ.get("MIPCLASS_DATA")
        if folder is None:
            raise FileNotFoundError(f"{name}.npz is looked for in the folder MIPCLASS_DATA, which is not set")
        with np.load(Path(folder) / f"{name}.npz", allow_pickle=False) as stored:
            return stored["X"], stored["y"]
    X, y = datasets.load(name, download=download)
    return X, y


def remake(record: Record, keep: Path | None = None) -> bool:
    """Solve, check and print one record; whether it agrees with the table."""
    X, y = load(record.data)
    started = time.process_time()
    result = mipclass.solve(models.zero_one(X, y), solver="exact")
    seconds, started = time.process_time() - started, time.process_time()
    text = result.certificate.to_json()
    verdict = mipclass.verify(text, X, y)
    checked = time.process_time() - started
    agrees = bool(verdict.optimal and verdict.upper == record.errors == result.objective)
    n, d = X.shape
    print(
        f"| {record.data} | {n} x {d} | {result.objective:g} | {verdict.lower} | {seconds:.1f} | {len(text) / 1000:,.0f} kB | "
        f"{checked:.1f} | {'agrees' if agrees else 'DIFFERS'} |",
        flush=True,
    )
    if keep is not None and len(text) <= KEPT_BYTES:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{record.data}.json").write_text(text)
    return agrees


def main(arguments: list[str] | None = None) -> int:
    """Re-make the chosen records; 1 when one differs, 0 otherwise."""
    known = {record.data: record for record in RECORDS}
    parser = argparse.ArgumentParser(description="Re-make and check proven optima of the 0-1 loss.")
    parser.add_argument("names", nargs="*", help=f"which ones: {', '.join(known)}; none: the quick ones")
    parser.add_argument("--all", action="store_true", help="the long ones too")
    parser.add_argument("--certificates", type=Path, help="folder in which small certificates are kept")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"there is no record of {', '.join(unknown)}; known are {', '.join(known)}")
    chosen = [known[name] for name in given.names] or [record for record in RECORDS if record.quick or given.all]
    print(
        "| data | size | errors | proven bound | CPU seconds | certificate | check, seconds | |\n|---|---|---|---|---|---|---|---|"
    )
    agreements = [remake(record, given.certificates) for record in chosen]
    return 0 if all(agreements) else 1


if __name__ == "__main__":
    sys.exit(main())
