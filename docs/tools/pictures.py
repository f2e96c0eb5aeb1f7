"""Draws the pictures of docs/how_it_works.md: a box search over the lines of a plane, and sets of points that no line gets right.

Run from the repository's root: `python docs/tools/pictures.py` (seconds). The searches here are small, slow twins of the package's, written to be
read; the numbers in the titles are theirs and agree with `solver="exact"`, which the script checks.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from scipy.optimize import linprog

import mipclass
from mipclass import models

IMAGES = Path(__file__).resolve().parents[1] / "images"
Box = tuple[float, float, float, float]


def points() -> tuple[np.ndarray, np.ndarray]:
    """Sixteen points of two overlapping classes."""
    rng = np.random.default_rng(5)
    X = np.vstack([rng.normal([-0.5, 0], 0.8, (8, 2)), rng.normal([0.5, 0.2], 0.8, (8, 2))])
    return X, np.repeat([-1, 1], 8)


def highest_margin(X: np.ndarray, y: np.ndarray, box: Box) -> np.ndarray:
    """For each point the largest y (cos(angle) x0 + sin(angle) x1 + offset) over the box."""
    low, high, below, above = box
    radius, phase = np.hypot(*X.T), np.arctan2(X[:, 1], X[:, 0]) + np.where(y < 0, np.pi, 0)
    ends = np.maximum(np.cos(low - phase), np.cos(high - phase))
    inside = (phase - low) % (2 * np.pi) <= high - low
    return radius * np.where(inside, 1, ends) + np.where(y > 0, above, -below)


def search(X: np.ndarray, y: np.ndarray, target: int) -> list[tuple[Box, int]]:
    """Halve boxes until at least `target` points are wrong all over each; the boxes with their counts."""
    reach = np.hypot(*X.T).max()
    closed, waiting = [], [(0.0, 2 * np.pi, -reach, reach)]
    while waiting:
        box = waiting.pop()
        wrong = int((highest_margin(X, y, box) <= 0).sum())
        low, high, below, above = box
        if wrong >= target:
            closed.append((box, wrong))
        elif (high - low) * reach > above - below:
            middle = (low + high) / 2
            waiting += [(low, middle, below, above), (middle, high, below, above)]
        else:
            middle = (below + above) / 2
            waiting += [(low, high, below, middle), (low, high, middle, above)]
    return closed


def errors(X: np.ndarray, y: np.ndarray, angles: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Errors of every line of a grid."""
    scores = X[:, :1, None] * np.cos(angles) + X[:, 1:, None] * np.sin(angles)
    return ((scores[:, None, 0, :] + offsets[:, None]) * y[:, None, None] <= 0).sum(axis=0)


def scatter(axes: Any, X: np.ndarray, y: np.ndarray) -> None:
    """The points of both classes."""
    axes.scatter(*X[y < 0].T, c="tab:red", marker="s", s=45, zorder=3, label="negative")
    axes.scatter(*X[y > 0].T, c="tab:blue", s=45, zorder=3, label="positive")
    axes.set(xticks=[], yticks=[], aspect="equal")


def draw_box(X: np.ndarray, y: np.ndarray, best: Any) -> None:
    """Left the best line, right all lines with the boxes that prove it."""
    target = int(best.objective)
    closed = search(X, y, target)
    figure, (plane, lines) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=[1, 1.5])
    scatter(plane, X, y)
    w, b = best.values["w"], float(np.ravel(best.values["b"])[0])
    at = -w * b / (w @ w)
    plane.axline(at, at + np.array([-w[1], w[0]]), c="k")
    plane.set_title(f"The best line: {target} errors")
    plane.legend(loc="upper left", fontsize=8)
    reach = np.hypot(*X.T).max()
    angles, offsets = np.linspace(0, 2 * np.pi, 700), np.linspace(-reach, reach, 500)
    shown = lines.imshow(
        errors(X, y, angles, offsets), origin="lower", extent=(0, 2 * np.pi, -reach, reach), aspect="auto", cmap="Blues"
    )
    for (low, high, below, above), _ in closed:
        lines.add_patch(Rectangle((low, below), high - low, above - below, fill=False, lw=0.8, ec="0.15"))
    figure.colorbar(shown, ax=lines, label="errors of this line")
    lines.set(xlabel="angle of the line", ylabel="offset of the line")
    lines.set_title(f"All lines: {len(closed)} boxes, at least {target} errors everywhere in each")
    figure.savefig(IMAGES / "how_box.png", dpi=110)


def separable(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether some line gets all points right, by a linear program."""
    rows = -y[:, None] * np.c_[X, np.ones(len(X))]
    return bool(linprog(np.zeros(3), A_ub=rows, b_ub=-np.ones(len(X)), bounds=(None, None)).status == 0)


def infeasible_sets(X: np.ndarray, y: np.ndarray) -> list[tuple[int, ...]]:
    """All sets of three or four points that no line gets right, none containing another."""
    found: list[tuple[int, ...]] = []
    for size in (3, 4):
        for chosen in combinations(range(len(X)), size):
            if not any(set(small) <= set(chosen) for small in found) and not separable(
                X[list(chosen)], y[list(chosen)]
            ):
                found.append(chosen)
    return found


def cover_bound(sets: list[tuple[int, ...]], n: int) -> tuple[float, np.ndarray]:
    """The covering linear program over the sets: its value and a share for each set that proves it (its dual)."""
    member = np.array([[i in chosen for i in range(n)] for chosen in sets], dtype=float)
    packing = linprog(-np.ones(len(sets)), A_ub=member.T, b_ub=np.ones(n), bounds=(0, None))
    return -packing.fun, packing.x


def draw_iis(X: np.ndarray, y: np.ndarray, best: Any) -> None:
    """Some sets that no line gets right, and what they prove together."""
    sets = infeasible_sets(X, y)
    bound, shares = cover_bound(sets, len(X))
    assert np.ceil(bound - 1e-6) <= best.objective
    used = [chosen for chosen, share in zip(sets, shares, strict=True) if share > 1e-6]
    figure, (one, all_of) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for axes, drawn in ((one, used[:1]), (all_of, used)):
        scatter(axes, X, y)
        for k, chosen in enumerate(drawn):
            for i, j in combinations(chosen, 2):
                if y[i] == y[j]:
                    axes.plot(*X[[i, j]].T, c=f"C{k % 10}", lw=2, alpha=0.7)
            axes.scatter(*X[list(chosen)].T, s=160, facecolors="none", edgecolors=f"C{k % 10}", lw=1.5)
    one.set_title("One set that no line gets right: at least one error", fontsize=11)
    whole = int(np.ceil(bound - 1e-6))
    all_of.set_title(
        f"{len(used)} of {len(sets)} such sets prove {whole} errors; the best line makes {best.objective:g}",
        fontsize=11,
    )
    figure.savefig(IMAGES / "how_iis.png", dpi=110)


def main() -> None:
    """Draw both pictures."""
    X, y = points()
    best = mipclass.solve(models.zero_one(X, y), solver="exact")
    assert best.claim == "proven"
    draw_box(X, y, best)
    draw_iis(X, y, best)


if __name__ == "__main__":
    main()
