"""The finished cells of a study: selection by parameters, medians, and markdown tables."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from .case import Case, Cell, plain


class Results:
    """All finished cells of a study, with the usual questions to ask them."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = list(cells)

    @property
    def labels(self) -> list[str]:
        """The different labels, in the order of the cases."""
        return list(dict.fromkeys(cell.case.label for cell in self.cells))

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The different parameter sets, in the order of the cases."""
        unique = {json.dumps(dict(c.case.parameters), default=plain): dict(c.case.parameters) for c in self.cells}
        return list(unique.values())

    def where(self, label: str | None = None, **parameters: Any) -> Results:
        """The cells with this label and these parameter values."""

        def fits(case: Case) -> bool:
            missing = object()
            return (label is None or case.label == label) and all(
                case.parameters.get(name, missing) == value for name, value in parameters.items()
            )

        return Results([cell for cell in self.cells if fits(cell.case)])

    def all(self, measure: str) -> list[Any]:
        """Every recorded value of `measure`, failed cells left out."""
        return [c.measured[measure] for c in self.cells if c.error is None and c.measured.get(measure) is not None]

    def median(self, measure: str) -> float | None:
        """The median of `measure` over the cells; None when no cell recorded it."""
        values = self.all(measure)
        return float(statistics.median(values)) if values else None

    def ratio(self, label: str, other: str, measure: str = "seconds") -> float | None:
        """How many times the `measure` of `other` that of `label` is: the median over the repetitions; None when they share none.

        Both are divided within a repetition, where they ran next to each other: the machine's speed changes from one repetition to the next.
        """
        mine, others = (
            {c.repetition: c.measured[measure] for c in self.where(name).cells if c.error is None}
            for name in (label, other)
        )
        ratios = [mine[k] / others[k] for k in mine.keys() & others.keys()]
        return float(statistics.median(ratios)) if ratios else None

    def errors(self) -> list[str]:
        """One line for each failed cell: its case and the last line of its traceback."""
        return [f"{cell.case}: {cell.error.strip().splitlines()[-1]}" for cell in self.cells if cell.error]

    def compare(self, measure: str = "seconds", baseline: str | None = None, digits: int = 3) -> str:
        """A markdown table: one row for each parameter set, one column for each label; with the ratio to `baseline`."""
        names = list(dict.fromkeys(name for setting in self.settings for name in setting))
        rows = []
        for setting in self.settings:
            here = self.where(**setting)
            reference = here.where(baseline).median(measure) if baseline is not None else None
            row: list[Any] = [setting.get(name, "") for name in names]
            for label in self.labels:
                value = here.where(label).median(measure)
                if value is None:
                    row.append("failed" if here.where(label).errors() else "-")
                elif reference and label != baseline:
                    row.append(f"{value:.{digits}g} ({value / reference:.2g}x)")
                else:
                    row.append(f"{value:.{digits}g}")
            rows.append(row)
        return table([*names, *self.labels], rows)


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A markdown table; floats with four digits, None as a dash."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_shown(entry) for entry in line) + " |" for line in lines)


def _shown(entry: Any) -> str:
    if entry is None:
        return "-"
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)
