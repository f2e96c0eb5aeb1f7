"""Makes docs/reproduction.md from the cells that full runs of the studies stored in benchmarks/comparisons/.

Run from the repository's root: `python docs/tools/reproduction.py`. A test keeps the page fresh.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.harness.comparison import VERDICTS, Comparison, Comparisons, load  # noqa: E402 (needs the path above)

PAGE = ROOT / "docs" / "reproduction.md"
PAPERS = {
    "zero_one_tables": "Nguyen & Sanner (2013), 0-1 loss",
    "polyhedral_tables": "Astorino & Gaudioso (2002), polyhedral separation",
    "outlier_path_tables": "Suzumura et al. (2014), the outlier path",
    "rgd_tables": "Ding & Xu (2015), the RGD-tree",
    "tau_fpl_tables": "Zhang et al. (2018), tau-FPL",
}
HEAD = """# Reproduction

This page compares the figures of the papers' tables with ours, cell by cell. A cell is **better** where our figure is at least as good as the printed
one, **within error** where ours is worse by at most two standard errors of the difference, and **worse** otherwise. A worse cell counts as
settled only with a cause that an experiment of the same study confirms; without one it is **open**. The standard error of the difference combines the
deviation over our runs with the printed deviation, or with ours once more where the paper prints none. Training errors of deterministic methods have
a standard error of zero. Smaller is better for losses, errors and NP-scores; larger is better for the correct percentages of Astorino & Gaudioso and for
the true-positive rates of Table 2 of Zhang et al.

A cause says which setting suffices to meet the printed figure, not what the authors did. Where a paper leaves a setting open, several were tried (scaling, offset,
class, columns, C, starting point), and the one that met the printed figure is named. Some of these causes may therefore fit by chance.

No setting behind our figures is chosen on a test part; where an experiment below chose one there, the page says so. All figures are in the [results](../benchmarks/RESULTS.md). `mipclass reproduce NAME --full`
runs a study again and ends with its counts, and `mipclass reproduce --counts` prints the counts of the last full runs.
"""


def stored() -> list[Comparisons]:
    """What the last full runs stored, paper by paper."""
    found = [load(study) for study in PAPERS]
    return [comparisons for comparisons in found if comparisons is not None]


def counts_table(all_of_them: list[Comparisons]) -> list[str]:
    """The counts of every table, and their sum."""
    lines = [
        "| paper | table | cells | better | within error | worse, cause shown | open |",
        "|---|---|---|---|---|---|---|",
    ]
    total = dict.fromkeys(VERDICTS, 0)
    for comparisons in all_of_them:
        for counts in comparisons.counts():
            numbers = [counts[verdict] for verdict in VERDICTS]
            total = {verdict: total[verdict] + counts[verdict] for verdict in VERDICTS}
            shown = " | ".join(map(str, [sum(numbers), *numbers]))
            lines.append(f"| {PAPERS[comparisons.study]} | {counts['table']} | {shown} |")
    lines.append(f"| all | | {sum(total.values())} | {' | '.join(str(total[verdict]) for verdict in VERDICTS)} |")
    return lines


def place(cell: Comparison) -> str:
    """A cell's table, row and column, such as "Table 1, Heart, SLA"."""
    return f"{cell.table}, {cell.row}, {cell.column}"


def experiments(settled: list[Comparison]) -> list[str]:
    """A table of the cells that one cause settles: both figures, and what the experiment showed, which several cells may share."""
    lines = ["| cell | printed | ours | experiment |", "|---|---|---|---|"]
    before = ""
    for cell in settled:
        shown = cell.evidence.removeprefix(f"{cell.row}, {cell.column}: ").removeprefix(f"{cell.row}: ")
        lines.append(
            f"| {place(cell)} | {cell.paper:.4g} | {cell.ours:.4g} | {'the same' if cell.evidence == before else shown} |"
        )
        before = cell.evidence
    return lines


def causes_of(comparisons: Comparisons) -> list[str]:
    """Every cause with the cells that it settles and what its experiment showed; then the open cells."""
    lines = []
    for cause in dict.fromkeys(cell.cause for cell in comparisons.cells if cell.verdict == "worse"):
        settled = [cell for cell in comparisons.cells if cell.verdict == "worse" and cell.cause == cause]
        lines += [f"**{cause}**", "", *experiments(settled), ""]
    missing = [cell for cell in comparisons.cells if cell.verdict == "open"]
    if missing:
        lines += [
            "**Open:** no experiment has confirmed a cause yet.",
            "",
            *(f"- {distance(cell)}" for cell in missing),
            "",
        ]
    return lines or ["No cell is worse beyond two standard errors.", ""]


def distance(cell: Comparison) -> str:
    """An open cell with both figures and, where there is chance, how many standard errors lie between them."""
    text = f"{place(cell)}: {cell.ours:.4g} (printed {cell.paper:.4g})"
    return f"{text}, {cell.shortfall / cell.error:.1f} standard errors" if cell.error else text


def content() -> str:
    """The page."""
    all_of_them = stored()
    out = [HEAD, *counts_table(all_of_them), ""]
    for comparisons in all_of_them:
        out += [f"## {PAPERS[comparisons.study]}", "", f"Study `{comparisons.study}`; cells of {comparisons.when}.", ""]
        out += causes_of(comparisons)
    return "\n".join(out)


if __name__ == "__main__":
    PAGE.write_text(content())
