"""Tables 2 and 3 of Zhang et al. (2018) as markdown: our means beside the printed figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Results, table
from benchmarks.studies.tau_fpl.printed import PAPER_CLASSIFICATION, PAPER_RANKING
from benchmarks.studies.tau_fpl.settled import RANKED, TAUS


def _mean(results: Results, key: str, place: int | None = None) -> float | None:
    values = results.all(key)
    if not values:
        return None
    return float(np.mean([value if place is None else value[place] for value in values]))


def _with_paper(ours: float | None, paper: float | None) -> str:
    shown = "-" if ours is None else f"{ours:.3f}"
    return f"{shown} [{'no figure' if paper is None else f'{paper:.3f}'}]"


def names_of(results: Results) -> list[str]:
    """The sets of the tables that were run, without their variants."""
    return [name for name in TAUS if results.where(name=name).cells]


def ranking_table(results: Results) -> str:
    """Table 2, the paper's figures in brackets."""
    header = ["data", "tau", "CS-SVM", "TopPush", "SVM-pAUC-tight", "tau-Rank", "2tau-Rank"]
    rows = []
    for name in names_of(results):
        here = results.where(name=name)
        for column, tau in enumerate(TAUS[name]):
            paper = PAPER_RANKING.get(name, [(None,) * 5] * len(TAUS[name]))[column]
            ours = [_mean(here.where(v), f"rank {tau}") for v in RANKED.values()]
            rows.append([name, tau, *map(_with_paper, ours, paper)])
    return table(header, rows)


def classification_table(results: Results) -> str:
    """Table 3, the paper's figures in brackets."""
    order = [("BS-SVM", "class"), ("CS-LR", "class"), ("CS-SVM", "class"), ("CS-SVM", "oob"), ("tau-FPL", "class"), ("2tau-FPL", "class")]  # fmt: skip
    header = ["data", "tau", "BS-SVM", "CS-LR", "CS-SVM", "CS-SVM-OOB", "tau-FPL", "2tau-FPL"]
    rows = []
    for name in names_of(results):
        for tau in TAUS[name]:
            paper = PAPER_CLASSIFICATION.get((name, tau))
            row: list[Any] = [name, tau]
            for column, (variant, key) in enumerate(order):
                cells = results.where(variant, name=name)
                fpr, tpr, score = (_mean(cells, f"{key} {tau}", place) for place in range(3))
                if fpr is None or tpr is None or score is None:
                    row.append(None)
                    continue
                of_means = max(fpr, tau) / tau - tpr
                text = f"({fpr:.3f}, {tpr:.3f}), {score:.3f} / {of_means:.3f}"
                if paper is not None:
                    text += " [({:.3f}, {:.3f}), {:.3f}]".format(*paper[column])
                row.append(text)
            rows.append(row)
    return table(header, rows)


def excess_line(results: Results) -> str:
    """How often the out-of-bootstrap threshold lets the test rate exceed tau."""
    parts = []
    for variant in ("tau-FPL", "2tau-FPL"):
        over = [value[0] > float(key.split()[1]) for c in results.where(variant).cells for key, value in c.measured.items() if key.startswith("class ")]  # fmt: skip
        if over:
            parts.append(f"{variant} {np.mean(over):.0%} of {len(over)}")
    return "Test rate above tau with the out-of-bootstrap threshold: " + ", ".join(parts) + "."


def report(results: Results) -> str:
    """The section's markdown."""
    counts = ", ".join(
        f"{name} {len({c.case.parameters['seed'] for c in results.where(name=name).cells})}"
        for name in names_of(results)
    )
    return "\n\n".join(
        [
            f"Means over hold-outs ({counts}); the paper's figures in brackets. Where its preparation of the data is not "
            "stated the figures need not agree; the order of the methods should.",
            "Table 2, ranking: positives above the ceil(tau n)-th largest negative of the test part. SVM-pAUC-tight "
            "(benchmarks/peers/partial_auc.py) is run on heart only, as in the paper.",
            ranking_table(results),
            "Table 3, classification: (fpr, tpr), mean NP-score / NP-score of the means.",
            classification_table(results),
            excess_line(results),
        ]
    )
