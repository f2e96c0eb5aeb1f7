"""Rewrites the table of models and solvers in README.md from what the registry declares.

Run from the repository's root: `python docs/make_tables.py`. A test keeps the table fresh.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

import mipclass
from mipclass import models

README = Path(__file__).resolve().parent.parent / "README.md"
START, END = "<!-- models and solvers -->", "<!-- end of table -->"
BACKENDS = ("highs", "scip", "osqp", "piqp", "cvxpy:CLARABEL", "pyomo:highs")


def problems() -> dict[str, Any]:
    """One tiny problem for each declared model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=12) > 0, 1, -1)
    return {
        "`zero_one`": models.zero_one(X, y),
        "`zero_one` with rates or signs": models.zero_one(X, y, subject_to=[models.FalsePositiveRate(0.2)]),
        "`zero_one` with at most k features": models.zero_one(X, y, subject_to=[models.MaxFeatures(1)]),
        "`zero_one` with whole weights": models.zero_one(X, y, subject_to=[models.IntegerCoefficients(2)]),
        "`neyman_pearson`": models.neyman_pearson(X, y, 0.2),
        "`0.5 * L2() + C * ZeroOne(margin=1)`": models.Model(
            X, y, minimize=0.5 * models.L2() + models.ZeroOne(margin=1)
        ),
        "`hinge_svm`": models.hinge_svm(X, y),
        "`rlp`": models.rlp(X, y),
        "`polyhedral`": models.polyhedral(X, y, 2),
        "`robust_svm`": models.robust_svm(X, y, C=1.0, theta=0.0, s=0.0),
        "`outlier_svm`": models.outlier_svm(X, y, 0.2),
        "`tau_fpl`": models.tau_fpl(X, y, 0.2, 0.1),
        "`Logistic()` with L1, L2, bounds": models.Model(X, y, minimize=models.L1() + models.Logistic()),
        "`Logistic()` with whole weights": models.Model(
            X, y, minimize=models.Logistic(), subject_to=[models.IntegerCoefficients(5, intercept=True)]
        ),
        "`topk_projection`": models.topk_projection(X[:, 0], X[:, 1], 3),
    }


def table() -> str:
    """One row per model: its kind, the methods made for it, and the backends that take it."""
    lines = [
        f"| model | kind | made for it | {' | '.join(f'`{name}`' for name in BACKENDS)} |",
        f"| --- | --- | --- | {' | '.join(':-:' for _ in BACKENDS)} |",
    ]
    for name, problem in problems().items():
        rows = {row.name: row for row in mipclass.solvers(problem)}
        # `tree` takes any model, with rules that the user writes.
        methods = ", ".join(
            f"`{r.name}`" for r in rows.values() if r.kind == "method" and r.accepts and r.name != "tree"
        )
        marks = " | ".join("x" if rows[backend].accepts else "" for backend in BACKENDS)
        lines.append(f"| {name} | {problem.program().kind} | {methods} | {marks} |")
    return "\n".join(lines)


def fresh(text: str) -> str:
    """README's text with the table replaced."""
    pattern = re.compile(f"{re.escape(START)}.*?{re.escape(END)}", re.DOTALL)
    return pattern.sub(lambda _: f"{START}\n\n{table()}\n\n{END}", text)


if __name__ == "__main__":
    README.write_text(fresh(README.read_text()))
