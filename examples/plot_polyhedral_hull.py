"""Polyhedral separability is not symmetric: A can be fenced off from B although B cannot be fenced off from A.

The situation of figure 3 of Astorino & Gaudioso (2002), with the evidence that decides each question: hyperplanes that cut
every point of B off conv(A) (Proposition 2.2), or points of B that are convex combinations of A. Run with a file name to
save the figure: python examples/plot_polyhedral_hull.py out.png
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import ConvexHull

from mipclass.methods.polyhedral.hulls import smallest_h
from mipclass.plots.style import styled


@styled
def main(path=None):
    """Draw the figure, and save it if a path is given."""
    rng = np.random.default_rng(5)
    core = rng.normal(scale=0.5, size=(25, 2))
    angle = np.pi * np.linspace(0.05, 1.6, 30)
    crescent = (2.2 + rng.uniform(-0.25, 0.25, 30))[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    figure, axes = plt.subplots(1, 2, figsize=(11, 5.4), layout="constrained", sharex=True, sharey=True)
    for ax, A, B, names in ((axes[0], core, crescent, "core, crescent"), (axes[1], crescent, core, "crescent, core")):
        found = smallest_h(A, B)
        hull = A[ConvexHull(A).vertices]
        ax.fill(*hull.T, color="#cfe0f1", zorder=0, label="conv(A)")
        ax.scatter(*A.T, s=20, c="#1f5f9e", label="A")
        ax.scatter(*B.T, s=20, c="#b3541e", marker="s", label="B")
        ax.scatter(*B[found.report.inside].T, s=80, facecolors="none", edgecolors="black", label="B in conv(A)")
        for v, g in [] if found.planes is None else [(plane[:-1], plane[-1]) for plane in found.planes]:
            foot = g * v / (v @ v)
            ax.axline(foot, foot + np.array([-v[1], v[0]]), color="black", linestyle="--", linewidth=1)
        proof = "proven smallest" if found.proven else "smallest found"
        answer = f"separable, h = {found.h} ({proof})" if found.h else f"{len(found.report.inside)} of B in conv(A)"
        ax.set_title(f"A, B = {names}: {answer}")
        ax.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
    axes[0].legend(loc="lower right", fontsize="small", frameon=True)
    figure.suptitle("Polyhedral separability is not symmetric")
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
