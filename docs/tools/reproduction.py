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

How the figures of the papers' tables compare with ours, cell by cell. A cell is **better** where ours is at least as good as the printed
figure, **within error** where it is worse by at most two standard errors of the difference, and **worse** otherwise. A worse cell counts as
settled only with a cause that an experiment of the same study confirms; the others are **open**. The standard error has the spread of our runs
and the printed one, or ours again where the paper prints none; training errors without chance have none.

A cause says what suffices, not what the authors did. Where a paper leaves a setting open, several were tried (scalings, offset, class, columns, C, start) and
the one that met the printed figure is named, so that some of them may fit by chance.

Nothing of ours is chosen on a test part. The figures themselves are in the [results](../benchmarks/RESULTS.md); `mipclass reproduce NAME --full` makes them
again and ends with these counts, and `mipclass reproduce --counts` prints the stored ones.
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
    """A cell with its figures, such as "Table 1, Heart, SLA: 28 (printed 27)"."""
    return f"{cell.table}, {cell.row}, {cell.column}: {cell.ours:.4g} (printed {cell.paper:.4g})"


def causes_of(comparisons: Comparisons) -> list[str]:
    """Every cause with the cells that it settles and what its experiment showed; then the open cells."""
    lines = []
    for cause in dict.fromkeys(cell.cause for cell in comparisons.cells if cell.verdict == "worse"):
        settled = [cell for cell in comparisons.cells if cell.verdict == "worse" and cell.cause == cause]
        evidence = list(dict.fromkeys(cell.evidence for cell in settled))
        lines += [f"**{cause}**", "", *(f"- {place(cell)}" for cell in settled), ""]
        lines += ["The experiment: " + " ".join(evidence), ""]
    missing = [cell for cell in comparisons.cells if cell.verdict == "open"]
    if missing:
        errors = [
            f"{place(cell)}, {cell.shortfall / cell.error:.1f} standard errors" if cell.error else place(cell)
            for cell in missing
        ]
        lines += ["**Open:** no experiment has confirmed a cause yet.", "", *(f"- {text}" for text in errors), ""]
    return lines or ["No cell is worse beyond two standard errors.", ""]


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
