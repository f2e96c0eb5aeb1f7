"""Write a model to LP and MPS files, read it back bit for bit, and see where its blocks stand."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

import mipclass
from mipclass import models
from mipclass.plots.style import styled

HARD = [52, 56, 68, 70, 72, 77, 83, 106, 119, 126, 129, 133, 134, 138]  # flowers near the border of two species


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    iris = load_iris()
    limit = models.FalsePositiveRate(at_most=0.3)
    problem = models.Model(
        iris.data[HARD, 2:],
        iris.target[HARD],
        minimize=models.ZeroOne(),
        subject_to=limit,
        feature_names=["petal length", "petal width"],
    )
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("lp", "mps"):
            file = Path(folder) / f"iris.{ending}"
            problem.write(file)
            program = mipclass.read(file)
            print(f"{file.name}: {file.stat().st_size} bytes, optimum {mipclass.solve(program, 'highs').objective:g}")
        lines = (Path(folder) / "iris.lp").read_text().splitlines()

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6), gridspec_kw={"width_ratios": [1, 1.3]})
    left.spy(program.A, markersize=6, aspect="auto", color="C0")
    for blocks, axis in ((program.variables, left.xaxis), (program.rows, left.yaxis)):
        axis.set_ticks([(block.start + block.stop - 1) / 2 for block in blocks], [block.name for block in blocks])
    left.set_title("Rows and columns keep their names")
    bounds = lines.index("Bounds")
    shown = [*lines[: lines.index("Subject To") + 6], " ...", *lines[bounds - 1 : bounds + 6], " ..."]
    text = "\n".join(line if len(line) < 88 else line[:84] + " ..." for line in shown)
    right.text(0.0, 1.0, text, family="monospace", fontsize=8.5, va="top")
    right.axis("off")
    right.set_title("iris.lp, as any solver reads it")
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "export.png")
