"""Figures 1, 2, 4 and 5 of Nguyen & Sanner (2013), re-made into benchmarks/figures/."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from benchmarks.harness.store import BENCHMARKS
from mipclass import ZeroOneClassifier, models, solve

FOLDER = BENCHMARKS / "figures"


CENTRE, FAR = 1.9, (-14.0, 6.0)
"""Centres of the classes on the first axis, and centre of the outliers: the paper does not give its data, but with these about 9 of the
270 others are wrong beside the 30 outliers, as its 39 errors say, and every convex loss makes more than 60."""


def outlier_data(seed: int = 0) -> tuple[Any, Any]:
    """300 points of two classes, 10 % of them outliers of one class far on the other side (as figure 1)."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal([-CENTRE, 0], 1.1, (135, 2)), rng.normal([CENTRE, 0], 1.1, (135, 2))])
    y = np.repeat([-1, 1], 135)
    return np.vstack([X, rng.normal(FAR, 1.0, (30, 2))]), np.concatenate([y, np.ones(30, dtype=y.dtype)])


def rules_of_figure_1(X: Any, y: Any) -> dict[str, tuple[Any, Any, int]]:
    """Weights, offset and training errors of four losses; the 0-1 loss is minimised with a proof."""
    least_squares = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    rules = {"least squares": (least_squares[:2], least_squares[2])}
    for name, model in (("logistic regression", LogisticRegression()), ("SVM", LinearSVC())):
        model.fit(X, y)
        rules[name] = (model.coef_[0], model.intercept_[0])
    best = solve(models.zero_one(X, y), "exact")
    if not best.certified:
        raise RuntimeError(f"the fewest errors of figure 1's data were not proven: {best.status}.")
    rules["0-1 loss"] = (best.values["w"], best.values["b"])
    return {name: (w, b, int((np.where(X @ w + b > 0, 1, -1) != y).sum())) for name, (w, b) in rules.items()}


def errors_of_figure_1(seed: int) -> dict[str, int]:
    """Training errors of four losses on a draw of figure 1's data."""
    return {name: errors for name, (_, _, errors) in rules_of_figure_1(*outlier_data(seed)).items()}


def figure_1(plt: Any) -> Any:
    """Decision lines of four losses on data with outliers."""
    X, y = outlier_data()
    rules = rules_of_figure_1(X, y)
    figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
    ax.scatter(*X.T, c=np.where(y > 0, "tab:blue", "tab:red"), s=10)
    ax.set(xlim=(X[:, 0].min() - 1, X[:, 0].max() + 1), ylim=(X[:, 1].min() - 1, X[:, 1].max() + 1))
    for (name, (w, b, errors)), style in zip(rules.items(), (":", "-.", "--", "-"), strict=True):
        at = -np.asarray(w) * b / (w @ w)
        ax.axline(at, at + np.array([-w[1], w[0]]), ls=style, c="k", label=f"{name}: {errors} errors")
    ax.set_title("Figure 1: outliers pull every convex loss, not the 0-1 loss")
    ax.legend(fontsize=8)
    return figure


def figure_2(plt: Any) -> Any:
    """Losses as functions of the margin."""
    margins = np.linspace(-3, 3, 601)
    figure, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
    ax.plot(margins, margins <= 0, label="0-1")
    ax.plot(margins, 0.5 * (margins - 1) ** 2, label="squared (halved, as in the paper)")
    ax.plot(margins, np.maximum(0, 1 - margins), label="hinge")
    ax.plot(margins, models.Logistic().of_margin(margins), label="log")
    ax.set(xlabel="margin", ylabel="loss", ylim=(-0.1, 4), title="Figure 2: losses as functions of the margin")
    ax.legend()
    return figure


def figure_4(plt: Any) -> Any:
    """The sigmoid loss for several K, of one point and summed over the data along one weight."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    margins = np.linspace(-2, 2, 801)
    for K in (2, 10, 100):
        left.plot(margins, models.Sigmoid(K).of_margin(margins), label=f"K = {K}")
    left.plot(margins, margins <= 0, "k", lw=0.8, label="0-1")
    left.set(xlabel="margin", title="Figure 4: smooth 0-1 loss")
    left.legend()
    X, y = outlier_data()
    rule = ZeroOneClassifier().fit(X, y)
    w, b = rule.coef_[0] / np.linalg.norm(rule.coef_), rule.intercept_[0] / np.linalg.norm(rule.coef_)
    moves = np.linspace(-1.5, 1.5, 601)
    along = np.array([y * (X @ (w + np.array([0.0, move])) + b) for move in moves])
    for K in (2, 10, 100):
        right.plot(w[1] + moves, models.Sigmoid(K).of_margin(along).sum(axis=1), label=f"K = {K}")
    right.step(w[1] + moves, (along <= 0).sum(axis=1), "k", lw=0.8, label="0-1")
    right.set(xlabel="second weight, the other held", ylabel="loss", title="sums over 300 points")
    right.legend()
    return figure


def figure_5(plt: Any, used: dict[float, list[dict[str, float]]]) -> Any:
    """Losses of the baselines and of SLA against the best loss found, by noise."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for ax, (noise, draws) in zip(axes, used.items(), strict=True):
        best = np.array([min(losses.values()) for losses in draws])
        for label, mark in (("BPM", "x"), ("SVM", "+"), ("LR", "1"), ("SLA", ".")):
            ax.plot(best, [losses[label] for losses in draws], mark, ms=5, label=label)
        ax.axline((0, 0), slope=1, c="k", lw=0.6)
        if len(best):
            ax.set(xlim=(best.min() - 3, best.max() + 3))
        ax.set(xlabel="best loss found", ylabel="loss", title=f"Figure 5: {len(draws)} draws, {noise:.0%} noise")
        ax.legend()
    return figure


def draw_all(used: dict[float, list[dict[str, float]]]) -> None:
    """Draw the figures and save them to FOLDER; `used` has the losses of the draws by noise."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    FOLDER.mkdir(exist_ok=True)
    figures = {1: figure_1(plt), 2: figure_2(plt), 4: figure_4(plt), 5: figure_5(plt, used)}
    for number, figure in figures.items():
        figure.savefig(FOLDER / f"zero_one_figure_{number}.png", dpi=110)
        plt.close(figure)
