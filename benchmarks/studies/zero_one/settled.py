"""Tables 1, 2 and 4 of Nguyen & Sanner (2013): each cell beside ours, and the causes of those that are worse.

The row Breast is the one with the paper's ten columns. Table 1 has no chance in it, so its error is 0. Of Table 2 the paper prints one draw of the
noise, which is taken to spread as ours do (PCS and BnB, run on one draw, as CSA). Table 3 are seconds of a machine of 2013 and are not judged.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.harness import Cause, Comparison, Results, compare_means
from benchmarks.studies.zero_one.printed import COLUMNS, PAPER_1, PAPER_2, PAPER_4

SPLITS = 30
"""Splits of Table 4, in the paper and here."""
SEARCHED = ("SLA", "CSA", "PCS", "BnB")
BASELINES = ("BPM", "SVM", "LR")


def our_row(name: str) -> str:
    """Our name for a row of the paper: its Breast has ten columns, of which one is the sample number."""
    return "Breast (10)" if name == "Breast" else name


def compared(results: Results) -> tuple[list[Comparison], list[Cause]]:
    """Every cell that was run, and the causes whose experiments were run."""
    cells = [*_losses(results, "Table 1", 0.0), *_losses(results, "Table 2", 0.1), *_held_out(results)]
    causes = [cause(results, name) for name in PAPER_1 for cause in CAUSES]
    return cells, [cause for cause in causes if cause is not None]


def _losses(results: Results, table: str, noise: float) -> list[Comparison]:
    cells = []
    for name, printed in (PAPER_2 if noise else PAPER_1).items():
        here = results.where(name=our_row(name), noise=noise)
        for column, paper in zip(COLUMNS, printed, strict=True):
            ours = here.where(column).all("loss")
            if not ours:
                continue
            cell = compare_means((table, name, column), paper, ours)
            drawn = here.where("CSA").all("loss")
            if noise and len(ours) == 1 and len(drawn) > 1:
                spread = 2**0.5 * float(np.std(drawn, ddof=1))
                cell = Comparison(table, name, column, paper, ours[0], spread)
            cells.append(cell)
    return cells


def _held_out(results: Results, suffix: str = "") -> list[Comparison]:
    """Table 4; `suffix` takes the rows of an experiment, such as "Indian (+1)"."""
    cells = []
    for name, printed in PAPER_4.items():
        for column, text in zip((*BASELINES, "SLA"), printed, strict=True):
            ours = results.where(column, name=f"{name}{suffix}" if suffix else our_row(name)).all("error")
            mean, deviation = (float(part) for part in text.split(" ± "))
            if ours:
                place = ("Table 4", name, column)
                cells.append(compare_means(place, mean, ours, printed_deviation=deviation, printed_runs=SPLITS))
    return cells


# -- causes -----------------------------------------------------------------------------------------------------------


def cost_of_baselines(results: Results, name: str) -> Cause | None:
    """The paper does not state C, nor whether liblinear had an offset: some C reaches the printed losses."""
    found = results.where("strengths", name=our_row(name))
    if not found.all("SVM"):
        return None
    printed = dict(zip(COLUMNS, PAPER_1[name], strict=True))
    best = {label: found.all(label)[0] for label in ("SVM", "LR")}
    return Cause(
        "The paper states neither the C of its SVM and logistic regression nor how liblinear treated the offset; ours have C = 100.",
        f"{name}: over C from 0.01 to 10,000 the SVM's loss falls to {best['SVM']:g} (printed {printed['SVM']}), that of logistic regression "
        f"to {best['LR']:g} (printed {printed['LR']}).",
        all(best[label] <= printed[label] for label in best),
        "Table 1",
        (name,),
        ("SVM", "LR"),
    )


def start_of_sla(results: Results, name: str) -> Cause | None:
    """SLA starts at an SVM whose loss and C the paper does not state: from the hinge SVM the printed search ends at the printed loss."""
    found = results.where("SLA from the hinge SVM", name=our_row(name)).all("loss")
    if not found:
        return None
    paper = dict(zip(COLUMNS, PAPER_1[name], strict=True))["SLA"]
    return Cause(
        "SLA is a local search, and the paper does not state the loss and the C of the SVM that it starts from.",
        f"{name}: the printed search ends at {', '.join(f'{loss:g}' for loss in found)} from the hinge SVM with C = 0.1, 1, 10, 100 "
        f"(printed {paper}).",
        min(found) <= paper,
        "Table 1",
        (name,),
        ("SLA",),
    )


def noise_class(results: Results, name: str) -> Cause | None:
    """The noise of Table 4 belongs to the other class than that of Table 2: with it the baselines agree with the printed figures."""
    other = [cell for cell in _held_out(results, " (+1)") if cell.row == name]
    if not other:
        return None
    shown = ", ".join(f"{cell.column} {cell.ours:.2f} (printed {cell.paper:.2f})" for cell in other)
    agree = [abs(cell.shortfall) <= 2 * cell.error for cell in other if cell.column in BASELINES]
    return Cause(
        "The noise of Table 4 belongs to the other class than that of Table 2: with the noise of Table 2 the printed test errors would be smaller than "
        "the printed training errors (188 of 641, 29.3 %).",
        f"{name} with the noise in class +1: {shown}.",
        all(agree),
        "Table 4",
        (name,),
    )


CAUSES: tuple[Callable[[Results, str], Cause | None], ...] = (cost_of_baselines, start_of_sla, noise_class)
