"""A comparison as one self-contained HTML page: a table, pictures inline, no network."""

from __future__ import annotations

import io
from html import escape
from typing import Any

import numpy as np

from ..plots import DecisionRegionDisplay, GapTraceDisplay, OutlierPathDisplay
from ..plots.style import INKS, style
from .compare import INNER_FOLDS, Comparison, Row
from .recommendation import recommend

MOST_FEATURES_SHOWN = 30
"""Columns of the picture of weights: those with the largest weight of any rule; more names could not be read."""
MOST_ROWS_LISTED = 100
"""Rows called outliers that the page lists by number."""
LEVELS_WORTH_A_PICTURE = 3
"""Different values of incumbent or bound from which the course of a finished search is drawn; with fewer, a sentence says it all."""
CELLS_WITH_NUMBERS = 12
"""Features up to which the picture of weights also writes the numbers."""
LOADINGS_SHOWN, LONGEST_NAME = 2, 18
"""Features that the name of a leading direction lists, and how many characters of their names: more would not fit beside the axis."""
REGION_RESOLUTION = 120
"""Points per axis of the grid on which decision regions are drawn."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #1c2733; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th, td { padding: .3rem .6rem; text-align: right; }
th:first-child, td:first-child { text-align: left; } thead th { border-bottom: 2px solid #1c2733; }
tbody tr:nth-child(even) { background: #f2f5f8; } tr.peer td:first-child { color: #5b6b7a; }
figure { margin: 1rem 0; } figcaption { color: #5b6b7a; font-size: .9rem; } svg { max-width: 100%; height: auto; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); gap: 1rem; }
.pictures figure { margin: 0; } .wide { overflow-x: auto; } td { white-space: nowrap; } .key { font-size: .9rem; }
.advice { border-left: 4px solid #1f5f9e; background: #eef4fa; padding: .6rem .9rem; }
code { background: #e6ebf0; padding: .1rem .3rem; overflow-wrap: anywhere; }
"""


def render(comparison: Comparison, title: str, next_step: str | None = None) -> str:
    """The page's HTML; `next_step` names the file and its columns as a command line takes them."""
    n, d = comparison.X.shape
    with style():
        return page(title, "\n".join(section for section in _sections(comparison, n, d, next_step) if section))


def _sections(comparison: Comparison, n: int, d: int, next_step: str | None) -> list[str]:
    return [
        _advice(comparison, next_step),
        f"<p>{n} rows, {d} features; {comparison.folds} outer folds, hyper-parameters chosen by {INNER_FOLDS} inner folds. Positive class: "
        f"<b>{escape(str(comparison.classes[1]))}</b>.</p>",
        _table(comparison),
        _bound(comparison),
        _boundaries(comparison),
        _features(comparison),
        _outliers(comparison),
        _path(comparison),
    ]


def _advice(comparison: Comparison, next_step: str | None) -> str:
    """The recommendation, and what to type next where a file is known."""
    advice = recommend(comparison)
    if advice is None:
        return ""
    said = advice.text[0].upper() + advice.text[1:]
    typed = "" if next_step is None else f"<br>Next: <code>{escape(advice.command(next_step))}</code>"
    return f"<p class='advice'>{escape(said)}{typed}</p>"


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
        return [row.name, "failed", "", "", f"{row.seconds:.1f}", row.failure, ""]
    return [
        row.name,
        str(row.training_errors),
        f"{row.test_error:.1%} ± {row.spread:.1%}",
        f"{float(row.false_positive_rates.mean()):.1%}",
        f"{row.seconds:.1f}",
        row.most_often_chosen,
        row.fewest,
    ]


HEADINGS = [
    "method",
    "training errors",
    "test error",
    "false positives",
    "seconds",
    "most often chosen",
    "fewest possible",
]


def _table(comparison: Comparison) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in HEADINGS)
    lines = []
    for row in comparison.rows:
        kind = "" if row.ours else " class='peer'"
        lines.append(f"<tr{kind}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells(row))}</tr>")
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"


def _svg(figure: Any) -> str:
    import matplotlib.pyplot as plt

    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def picture(figure: Any, caption: str) -> str:
    """The figure inline, with its caption."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{_svg(figure)}{below}</figure>"


def _axes(width: float = 6.0, height: float = 3.6) -> Any:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")


def _bound(comparison: Comparison) -> str:
    """The fewest errors of a linear rule; a picture only where the search took steps worth seeing."""
    result = comparison.bound
    bound = "no bound" if result.bound is None else f"no linear rule makes fewer than {result.bound:g}"
    errors = f"{result.objective:g} error{'' if result.objective == 1 else 's'}"
    said = f"{result.solver}: {errors} ({result.claim}, {result.seconds:.2g} s); {bound}."
    heading = "<h2>How few errors can a linear rule make?</h2>"
    trace = [*result.trace, (result.seconds, result.objective, result.bound)]
    levels = max(len({point[k] for point in trace if point[k] is not None}) for k in (1, 2))
    if result.claim == "proven" and levels < LEVELS_WORTH_A_PICTURE:
        return f"{heading}<p>{escape(said)}</p>"
    figure, axes = _axes()
    GapTraceDisplay.from_results(result, ax=axes)
    axes.set_ylabel("errors")
    return heading + picture(figure, said)


def _boundaries(comparison: Comparison) -> str:
    """Regions in the plane of the data, or of its two leading directions with the others at their mean."""
    mean, spread = comparison.X.mean(axis=0), comparison.X.std(axis=0)
    spread[spread == 0] = 1.0
    Z = (comparison.X - mean) / spread
    if comparison.X.shape[1] < 2:
        return ""
    _, _, directions = np.linalg.svd(Z, full_matrices=False)
    plane = np.eye(2) if Z.shape[1] == 2 else directions[:2]
    plane = plane * np.sign(plane[[0, 1], np.argmax(np.abs(plane), axis=1)])[:, None]
    pictures, names = [], _axis_names(comparison, plane)
    for row in comparison.rows:
        if row.model is None:
            continue
        figure, axes = _axes(4.2, 3.4)
        seen = _InPlane(row.model, (plane * spread, mean), row.model.predict(comparison.X))
        DecisionRegionDisplay.from_estimator(
            seen, Z @ plane.T, comparison.y, ax=axes, grid_resolution=REGION_RESOLUTION, names=names
        )
        axes.set_title(row.name, fontsize=10)
        axes.xaxis.label.set_fontsize(8)
        axes.yaxis.label.set_fontsize(8)
        if axes.get_legend() is not None:
            axes.get_legend().remove()
        pictures.append(picture(figure, ""))
    where = "standardised features" if Z.shape[1] == 2 else "the two leading directions of the standardised data"
    return f"<h2>Decision regions in {where}</h2>{_key(comparison)}<div class='pictures'>{''.join(pictures)}</div>"


def _axis_names(comparison: Comparison, plane: Any) -> tuple[str, str]:
    """The two features, or the features that weigh most in each of the two directions."""
    names = comparison.feature_names
    if len(names) == 2:
        return f"{names[0]}, standardised", f"{names[1]}, standardised"
    found = []
    for k, direction in enumerate(plane, start=1):
        largest = np.argsort(-np.abs(direction), kind="stable")[:LOADINGS_SHOWN]
        sum_of = " ".join(f"{direction[j]:+.2f} {names[j][:LONGEST_NAME]}" for j in largest)
        found.append(f"direction {k}\n{sum_of}{' ...' if len(names) > LOADINGS_SHOWN else ''}")
    return found[0], found[1]


def _key(comparison: Comparison) -> str:
    """What the marks in the pictures of regions stand for."""
    marks = [
        f"<span style='color:{ink}'>{mark}</span> {escape(str(label))}"
        for ink, mark, label in zip(INKS, "■●", comparison.classes, strict=True)
    ]
    return f"<p class='key'>{' &emsp; '.join([*marks, '&#9711; predicted wrongly'])}</p>"


class _InPlane:
    """A classifier seen through a plane: regions with the other directions at the mean, points as truly predicted."""

    def __init__(self, model: Any, plane: tuple[Any, Any], predicted: Any) -> None:
        self.model, self.plane, self.predicted, self.classes_ = model, plane, predicted, model.classes_

    def decision_function(self, points: Any) -> Any:
        """Scores of points of the plane, which is given by its directions and its origin in the units of the data."""
        directions, origin = self.plane
        return self.model.decision_function(points @ directions + origin)

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
    few = len(largest) <= CELLS_WITH_NUMBERS
    turned = {"rotation": 30, "ha": "right"} if few else {"rotation": 60, "ha": "right", "fontsize": 7}
    axes.set_xticks(range(len(largest)), [comparison.feature_names[j] for j in largest], **turned)
    if few:
        for (i, k), value in np.ndenumerate(table[:, largest]):
            ink = "white" if abs(value) > 0.6 else "black"
            axes.text(k, i, f"{value:.2f}", ha="center", va="center", fontsize=8, color=ink)
    for spine in axes.spines.values():
        spine.set_visible(False)
    figure.colorbar(image, label="weight / largest")
    return "<h2>Which features the linear rules use</h2>" + picture(figure, "Weights on standardised columns.")


def _outliers(comparison: Comparison) -> str:
    called = comparison.called_outliers()
    if not called:
        return ""
    every = np.flatnonzero(np.all(list(called.values()), axis=0))
    counts = ", ".join(f"{escape(name)}: {int(flags.sum())}" for name, flags in called.items())
    shown = ", ".join(map(str, every[:MOST_ROWS_LISTED] + 1)) or "none"
    return (
        f"<h2>Outliers</h2><p>Rows called outliers: {counts}. Called so by every method that names any: {shown} "
        "(rows are counted from 1, below the header).</p>"
    )


def _path(comparison: Comparison) -> str:
    for row in comparison.rows:
        method = row.model.steps[-1][1] if row.model is not None else None
        if getattr(method, "path_", None) is not None:
            figure, axes = _axes()
            OutlierPathDisplay.from_estimator(method, by_row=True, ax=axes)
            axes.set(xlabel=f"{axes.get_xlabel()}, from the SVM (left) to the robust SVM (right)")
            said = "Multipliers of the rows that move most along the path; rows are counted from 1, below the header."
            return "<h2>The outlier path</h2>" + picture(figure, said)
    return ""
