"""Growth with points and features: every estimator with its defaults beside the peer that a user would take; CPU seconds, memory, loss.

    python -m benchmarks.studies.general.growth [--full]        the picture goes to benchmarks/figures/growth.png

Data. Two normal classes that overlap, a fifth of the labels flipped (`time_limits.overlapping`). One table grows the number of points
at 20 features, the other the number of features at a fixed number of points. A method runs up to the size in LARGEST: beyond it one fit takes
more than some minutes or more memory than the machine has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mipclass
from benchmarks.harness import Case, Results, Study, table
from benchmarks.harness.measuring import measure
from benchmarks.harness.store import BENCHMARKS
from benchmarks.studies.general.time_limits import overlapping
from mipclass import models

FEATURES = 20
"""Features while the number of points grows."""

POINTS = 10_000
"""Points while the number of features grows; a tenth of it in a quick run."""

MANY_POINTS = (1_000, 10_000, 100_000, 1_000_000)
"""Numbers of points of a full run; a quick run stops after the second."""

MANY_FEATURES = (5, 20, 80, 320)
"""Numbers of features of a full run; a quick run stops after the second."""

Fit = Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[Any]]
"""Fits to points and labels, and predicts the labels of the same points."""


def _estimator(make: Callable[[], Any]) -> Fit:
    return lambda X, y: np.asarray(make().fit(X, y).predict(X))


def _solved(solver: str, problem: Callable[..., Any]) -> Fit:
    return lambda X, y: np.asarray(mipclass.solve(problem(X, y), solver).predict(X))


def _logistic_regression() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def _linear_svc() -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(dual="auto")


def _svc() -> Any:
    from sklearn.svm import SVC

    return SVC()


def _robust(X: Any, y: Any) -> Any:
    return models.robust_svm(X, y, 1.0, 0.0, 0.0)


METHODS: Mapping[str, Fit] = {
    "LogisticRegression": _estimator(_logistic_regression),
    "LinearSVC": _estimator(_linear_svc),
    "SVC, RBF": _estimator(_svc),
    "CCCP, linear": _solved("cccp", _robust),
    "ZeroOneClassifier": _estimator(lambda: mipclass.ZeroOneClassifier()),
    "0-1 by `sla`": _solved("sla", models.zero_one),
    "0-1 by `local`": _solved("local", models.zero_one),
    "PolyhedralClassifier, h = 2": _estimator(lambda: mipclass.PolyhedralClassifier(2)),
    "OutlierPathSVC": _estimator(lambda: mipclass.OutlierPathSVC()),
    "RGDTreeSVC": _estimator(lambda: mipclass.RGDTreeSVC()),
    "TauFPLClassifier": _estimator(lambda: mipclass.TauFPLClassifier()),
}
"""Label -> fit. The first four are the peers."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "CCCP, linear": ("robust_svm",),
    "ZeroOneClassifier": ("zero_one", "exact"),
    "0-1 by `sla`": ("zero_one",),
    "0-1 by `local`": ("zero_one",),
    "PolyhedralClassifier, h = 2": ("polyhedral",),
    "OutlierPathSVC": ("robust_svm",),
    "RGDTreeSVC": ("outlier_svm",),
    "TauFPLClassifier": ("tau_fpl",),
}
"""Label -> the families of methods that the fit runs; a change of another family makes none of its cells old."""

PEERS = 4
"""How many of METHODS are peers, drawn with broken lines."""

LARGEST: Mapping[str, int] = {
    "SVC, RBF": 400_000,
    "CCCP, linear": 2_000_000,
    "PolyhedralClassifier, h = 2": 2_000_000,
    "OutlierPathSVC": 2_000_000,
}
"""Entries of X (points x features) up to which a method is run; beyond them these take more than minutes."""

LARGEST_OF_ALL = 20_000_000
"""The same for all others: a million points of 20 features, 160 MB."""


def fit(method: str, n: int, d: int) -> dict[str, Any]:
    """CPU seconds and growth of memory of one fit, and the percentage of training points that its rule gets wrong."""
    X, y = overlapping(n, d)
    predicted, measured = measure(METHODS[method], X, y)
    return {**measured, "wrong": 100.0 * float(np.mean(predicted != y))}


def warmup() -> None:
    """Compile all kernels and import all packages; 900 points take the same kernels as many do."""
    X, y = overlapping(900, 3)
    for method in METHODS.values():
        method(X, y)


def cases(full: bool) -> Iterator[Case]:
    """Points, then features; sizes beyond a method's largest are left out."""
    sizes = [(n, FEATURES) for n in (MANY_POINTS if full else MANY_POINTS[:2])]
    sizes += [(POINTS if full else POINTS // 10, d) for d in (MANY_FEATURES if full else MANY_FEATURES[:2])]
    for n, d in dict.fromkeys(sizes):
        for label in METHODS:
            if n * d <= LARGEST.get(label, LARGEST_OF_ALL):
                yield Case(label, fit, {"method": label, "n": n, "d": d}, families=FAMILIES.get(label))


def report(results: Results) -> str:
    """The section's markdown; draws the picture too."""
    draw(results)
    sizes = [(setting["n"], setting["d"]) for setting in results.settings]
    by_points = sorted({size for size in sizes if size[1] == FEATURES})
    few = next((n for n, d in sizes if d != FEATURES), POINTS)
    by_features = sorted({size for size in sizes if size[0] == few})
    return "\n\n".join(
        [
            "Each entry: CPU seconds of one fit with predictions for the same points / growth of the resident memory in MB / percentage of the "
            "training points that the rule gets wrong. Two overlapping normal classes with a fifth of the labels flipped; defaults throughout. "
            "TauFPLClassifier limits false positives to 5 % and is not after the fewest errors. Blank: it would take more than minutes.",
            f"Points, at {FEATURES} features:",
            _table(results, by_points, 0),
            f"Features, at {few:,} points:",
            _table(results, by_features, 1),
        ]
    )


def _table(results: Results, sizes: list[tuple[int, int]], which: int) -> str:
    """One row a method and one column a size, headed by the number that grows."""
    rows = [[label, *(_entry(results.where(label, n=n, d=d)) for n, d in sizes)] for label in results.labels]
    return table(["", *(f"{size[which]:,}" for size in sizes)], rows)


def _entry(cells: Results) -> str:
    if cells.errors():
        return "failed"
    seconds, memory, wrong = (cells.median(name) for name in ("cpu_seconds", "peak_mb", "wrong"))
    if seconds is None or wrong is None:
        return ""
    return f"{seconds:.2g} / {'-' if memory is None else f'{memory:.0f}'} / {wrong:.2f}"


def draw(results: Results) -> None:
    """CPU seconds against the number of points, on logarithmic scales, with lines of slope one."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
    colours = plt.get_cmap("tab20").colors
    for k, label in enumerate(METHODS):
        found = results.where(label, d=FEATURES)
        sizes = sorted({cell.case.parameters["n"] for cell in found.cells})
        seconds = [found.where(n=n).median("cpu_seconds") for n in sizes]
        drawn = [(n, s) for n, s in zip(sizes, seconds, strict=True) if s is not None]
        if drawn:
            style = "--" if k < PEERS else "-"
            ax.plot(
                *zip(*drawn, strict=True),
                style,
                marker="o",
                ms=4,
                color=colours[2 * k % 20 + 2 * k // 20],
                label=label.replace("`", ""),
            )
    ax.set(xscale="log", yscale="log")
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())  # before the grey lines, which go on for ever
    for seconds_of_a_thousand in (1e-3, 1e-1):
        ax.axline((1e3, seconds_of_a_thousand), (1e4, 10 * seconds_of_a_thousand), color="0.8", lw=0.8, zorder=0)
    ax.set(xlabel="points", ylabel="CPU seconds of a fit")
    ax.set_title(f"Growth with the number of points, {FEATURES} features (grey: proportional)")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    folder = BENCHMARKS / "figures"
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / "growth.png", dpi=110)
    plt.close(figure)


study = Study("growth", "Growth with points and features", cases, report, repeats=3, warmup=warmup)

if __name__ == "__main__":
    study.main()
