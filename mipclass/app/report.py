"""A comparison as one self-contained HTML page: a table, pictures inline, no network."""

from __future__ import annotations

import io
from html import escape
from typing import Any

import numpy as np

from ..plots import DecisionRegionDisplay, GapTraceDisplay, OutlierPathDisplay
from .compare import INNER_FOLDS, Comparison, Row

MOST_FEATURES_SHOWN = 30
"""Columns of the picture of weights: those with the largest weight of any rule; more names could not be read."""
MOST_ROWS_LISTED = 100
"""Rows called outliers that the page lists by number."""
REGION_RESOLUTION = 120
"""Points per axis of the grid on which decision regions are drawn."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #1c2733; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th, td { padding: .3rem .6rem; text-align: right; }
th:first-child, td:first-child { text-align: left; } thead th { border-bottom: 2px solid #1c2733; }
tbody tr:nth-child(even) { background: #f2f5f8; } tr.peer td:first-child { color: #5b6b7a; }
figure { margin: 1rem 0; } figcaption { color: #5b6b7a; font-size: .9rem; } svg { max-width: 100%; height: auto; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; }
"""


def render(comparison: Comparison, title: str) -> str:
    """The page's HTML."""
    n, d = comparison.X.shape
    sections = [
        f"<p>{n} rows, {d} features; {comparison.folds} outer folds, hyper-parameters chosen by {INNER_FOLDS} inner folds. Positive class: "
        f"<b>{escape(str(comparison.classes[1]))}</b>.</p>",
        _table(comparison),
        _bound(comparison),
        _boundaries(comparison),
        _features(comparison),
        _outliers(comparison),
        _path(comparison),
    ]
    return page(title, "\n".join(section for section in sections if section))


def page(title: str, body: str) -> str:
    """A whole HTML page."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><style>{STYLE}</style></head>\n'
        f"<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def cells(row: Row) -> list[str]:
    """One line of the table, as printed and as written."""
    if row.failure:
        return [row.name, "failed", "", "", f"{row.seconds:.1f}", row.failure]
    chosen = max(set(row.chosen), key=row.chosen.count) if any(row.chosen) else ""
    return [
        row.name,
        str(row.training_errors),
        f"{row.test_error:.1%} ± {row.spread:.1%}",
        f"{float(row.false_positive_rates.mean()):.1%}",
        f"{row.seconds:.1f}",
        chosen,
    ]


HEADINGS = ["method", "training errors", "test error", "false positives", "seconds", "most often chosen"]


def _table(comparison: Comparison) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in HEADINGS)
    lines = []
    for row in comparison.rows:
        kind = "" if row.ours else " class='peer'"
        lines.append(f"<tr{kind}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells(row))}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _svg(figure: Any) -> str:
    import matplotlib.pyplot as plt

    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def picture(figure: Any, caption: str) -> str:
    """The figure inline, with its caption."""
    return f"<figure>{_svg(figure)}<figcaption>{escape(caption)}</figcaption></figure>"


def _axes(width: float = 6.0, height: float = 3.6) -> Any:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")


def _bound(comparison: Comparison) -> str:
    result = comparison.bound
    figure, axes = _axes()
    GapTraceDisplay.from_results(result, ax=axes)
    bound = "no bound" if result.bound is None else f"no linear rule makes fewer than {result.bound:g}"
    caption = f"{result.solver}: {result.objective:g} errors ({result.claim}); {bound}."
    return "<h2>How few errors can a line make?</h2>" + picture(figure, caption)


def _boundaries(comparison: Comparison) -> str:
    """Regions in the plane of the data, or of its two leading directions with the others at their mean."""
    Z = (comparison.X - comparison.X.mean(axis=0)) / np.where(
        comparison.X.std(axis=0) > 0, comparison.X.std(axis=0), 1.0
    )
    if comparison.X.shape[1] < 2:
        return ""
    _, _, directions = np.linalg.svd(Z, full_matrices=False)
    plane = np.eye(2) if Z.shape[1] == 2 else directions[:2]
    pictures = []
    for row in comparison.rows:
        if row.model is None:
            continue
        figure, axes = _axes(4.2, 3.4)
        seen = _InPlane(row.model.steps[-1][1], plane, row.model.predict(comparison.X))
        DecisionRegionDisplay.from_estimator(
            seen, Z @ plane.T, comparison.y, ax=axes, grid_resolution=REGION_RESOLUTION
        )
        axes.set_title(row.name, fontsize=10)
        if axes.get_legend() is not None:
            axes.get_legend().remove()
        pictures.append(picture(figure, ""))
    where = "standardised features" if Z.shape[1] == 2 else "the two leading directions of the standardised data"
    return f"<h2>Decision regions in {where}</h2><div class='pictures'>{''.join(pictures)}</div>"


class _InPlane:
    """A classifier seen through a plane: regions with the other directions at the mean, points as truly predicted."""

    def __init__(self, model: Any, plane: Any, predicted: Any) -> None:
        self.model, self.plane, self.predicted, self.classes_ = model, plane, predicted, model.classes_

    def decision_function(self, points: Any) -> Any:
        """Scores of points of the plane."""
        return self.model.decision_function(points @ self.plane)

    def predict(self, points: Any) -> Any:
        """The labels predicted from all features, whatever the points of the plane."""
        return self.predicted


def _features(comparison: Comparison) -> str:
    weights = comparison.weights()
    if not weights:
        return ""
    figure, axes = _axes(7.0, 0.35 * len(weights) + 1.6)
    table = np.array(list(weights.values()))
    largest = np.argsort(-np.abs(table).max(axis=0))[:MOST_FEATURES_SHOWN]
    image = axes.imshow(table[:, largest], cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    axes.set_yticks(range(len(weights)), list(weights))
    axes.set_xticks(
        range(len(largest)), [comparison.feature_names[j] for j in largest], rotation=60, ha="right", fontsize=7
    )
    figure.colorbar(image, label="weight / largest")
    return "<h2>Which features the linear rules use</h2>" + picture(figure, "Weights on standardised columns.")


def _outliers(comparison: Comparison) -> str:
    called = comparison.called_outliers()
    if not called:
        return ""
    every = np.flatnonzero(np.all(list(called.values()), axis=0))
    counts = ", ".join(f"{escape(name)}: {int(flags.sum())}" for name, flags in called.items())
    shown = ", ".join(map(str, every[:MOST_ROWS_LISTED])) or "none"
    return f"<h2>Outliers</h2><p>Rows called outliers: {counts}. Called so by every method that names any: {shown}.</p>"


def _path(comparison: Comparison) -> str:
    for row in comparison.rows:
        method = row.model.steps[-1][1] if row.model is not None else None
        if getattr(method, "path_", None) is not None:
            figure, axes = _axes()
            OutlierPathDisplay.from_estimator(method, ax=axes)
            return "<h2>The outlier path</h2>" + picture(
                figure, "Multipliers of the points that move most, along the path."
            )
    return ""
