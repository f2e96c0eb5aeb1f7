"""Speed of tau-FPL: the projection against selection, sorting and other projections, training against LinearSVC.

    python -m benchmarks.studies.tau_fpl.speed [--full]

All times are CPU seconds of one thread, which other work on the machine disturbs least.
Inputs of the projection are standard normal with m = n = length/2, as in Figure 1 of Zhang et al. (2018); `length` is
m + n, and np.partition (middle element) and np.sort get an array of that length. Training data: dense Gaussian rows, 30 %
positives. Figure 2 of the paper is in `scaling`.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from benchmarks.harness import Case, Results, Study, measure, table
from benchmarks.peers.topk import project_by_osqp, project_cone_by_search, project_equal_sums_by_ibis

TAU = 0.05


def median_seconds(call: Callable[[], Any], at_least: float = 0.2, most: int = 100) -> float:
    """Median over repeated calls that take `at_least` seconds together (three calls at least); the first is not counted."""
    call()
    times: list[float] = []
    while len(times) < 3 or (sum(times) < at_least and len(times) < most):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times)


@cache
def normal_pair(length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A standard normal vector of this length, and its two halves."""
    rng = np.random.default_rng(length)
    whole = rng.standard_normal(length)
    return whole, whole[: length // 2].copy(), whole[length // 2 :].copy()


def projection(length: int, share: float, method: str) -> dict[str, Any]:
    """Seconds with new arrays for the result as users get them, and `inside`: into arrays that are there already."""
    from mipclass import project_topk_simplex
    from mipclass.methods.tau_fpl.kernels.topk import project_topk
    from mipclass.methods.tau_fpl.kernels.topk_bisection import project_topk_by_bisection

    whole, alpha, beta = normal_pair(length)
    k = max(1, int(share * len(beta)))
    if method == "osqp":
        start = time.process_time()
        p, q, status = project_by_osqp(alpha, beta, k)
        seconds = time.process_time() - start
        truth = project_topk_simplex(alpha, beta, k)
        away = max(float(np.abs(p - truth[0]).max()), float(np.abs(q - truth[1]).max()))
        return {"seconds": seconds, "status": status, "away": away}
    if method in ("partition", "sort"):
        call = {"partition": lambda: np.partition(whole, length // 2), "sort": lambda: np.sort(whole)}[method]
        room = whole.copy()

        def in_place() -> None:
            room[:] = whole
            if method == "sort":
                room.sort()
            else:
                room.partition(length // 2)

        return {"seconds": median_seconds(call), "inside": median_seconds(in_place)}
    p, q = np.zeros_like(alpha), np.zeros_like(beta)

    def into() -> None:
        if method == "exact":
            project_topk(alpha, beta, k, p, q)
        else:
            cached, newton = method != "bisection", method == "cached-newton"
            project_topk_by_bisection(alpha, beta, k, p, q, cached=cached, newton=newton)

    return {
        "seconds": median_seconds(lambda: project_topk_simplex(alpha, beta, k, method=method)),
        "inside": median_seconds(into),
    }


def cone(n: int, share: float, method: str) -> dict[str, float]:
    """Seconds to project n normal numbers onto the top-k cone."""
    from mipclass.methods.tau_fpl.projections import project_topk_cone

    v = np.random.default_rng(n).standard_normal(n)
    k = max(1, int(share * n))
    if method == "search":
        return {"seconds": median_seconds(lambda: project_cone_by_search(v, k))}
    return {"seconds": median_seconds(lambda: project_topk_cone(v, k))}


def equal_sums(length: int, method: str) -> dict[str, float]:
    """Seconds to project onto the top-1 simplex, where ibis can compete."""
    from mipclass import project_topk_simplex

    _, alpha, beta = normal_pair(length)
    if method == "ibis":
        return {"seconds": median_seconds(lambda: project_equal_sums_by_ibis(alpha, beta))}
    return {"seconds": median_seconds(lambda: project_topk_simplex(alpha, beta, 1))}


@cache
def dense_rows(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows with 100 columns, 30 % of them positive and shifted."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(rows) < 0.3, 1.0, -1.0)
    return rng.standard_normal((rows, 100)) + np.outer(y > 0, rng.standard_normal(100) * 0.25), y


def train_dense(rows: int, R: float, method: str) -> dict[str, float]:
    """One fit to a relative duality gap of 1e-3, model building included; LinearSVC(dual="auto", C=1) as it comes."""
    from sklearn.svm import LinearSVC

    from mipclass import models, solve

    X, y = dense_rows(rows)
    if method == "LinearSVC":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, measured = measure(LinearSVC(dual="auto", C=1).fit, X, y)
        return {"seconds": measured["cpu_seconds"]}
    result, measured = measure(lambda: solve(models.tau_fpl(X, y, TAU, R), method, gap=1e-3))
    return {"rows": rows, "data_mb": X.nbytes / 2**20, **fit_facts(result, measured)}


def fit_facts(result: Any, measured: dict[str, Any]) -> dict[str, Any]:
    """What the tables say of one fit; memory is counted from just before it, so the data are not in it."""
    return {
        "seconds": measured["cpu_seconds"],
        "fit_mb": measured["peak_mb"],
        "gap": result.extra["relative_gap"],
        "iterations": result.iterations,
        "objective": result.objective,
    }


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    for length in [1_000, 100_000, 1_000_000, *([10_000_000] if full else [])]:
        for share in (0.01, 0.1, 0.9) if full else (0.1,):
            for method in ("exact", "partition", "sort", "cached-bisection", "cached-newton", "bisection"):
                yield Case(method, projection, {"length": length, "share": share, "method": method})
            if length == 100_000:
                yield Case("osqp", projection, {"length": length, "share": share, "method": "osqp"})
    for n in [1_000, 10_000, *([100_000] if full else [])]:
        for share in (0.01, 0.1):
            if n * n * share <= 1e9:
                yield Case("search", cone, {"n": n, "share": share, "method": "search"})
            yield Case("exact", cone, {"n": n, "share": share, "method": "exact"})
    for length in (1_000, 100_000, *([1_000_000] if full else [])):
        for method in ("exact", "ibis"):
            yield Case(method, equal_sums, {"length": length, "method": method})
    for rows in (25_000, 50_000, 100_000, *([200_000, 400_000] if full else [])):
        for R in (1e-2, 1e-4):
            yield Case("lbfgs", train_dense, {"rows": rows, "R": R, "method": "lbfgs"})
            if rows == 100_000:
                yield Case("LinearSVC", train_dense, {"rows": rows, "R": R, "method": "LinearSVC"})


def _side_by_side(
    results: Results,
    function: Callable[..., Any],
    keys: list[str],
    base: str,
    order: list[str],
    measure: str = "seconds",
) -> str:
    """One row for each setting, one column for each method, with its ratio to `base`'s time."""
    here = Results([c for c in results.cells if c.case.function is function])
    settings = list(dict.fromkeys(tuple(c.case.parameters[k] for k in keys) for c in here.cells))
    rows = []
    for setting in settings:
        cells = here.where(**dict(zip(keys, setting, strict=True)))
        reference = cells.where(base).median(measure)
        row: list[Any] = list(setting)
        for label in order:
            value = cells.where(label).median(measure)
            ratio = "" if not value or not reference or label == base else f" ({value / reference:.2g}x)"
            row.append(None if value is None else f"{1000 * value:.3g}{ratio}")
        rows.append(row)
    return table([*keys, *(f"{label}, ms" for label in order)], rows)


def _osqp_ends(results: Results) -> list[str]:
    cells = [c for c in results.cells if c.case.label == "osqp" and c.error is None and "away" in c.measured]
    ends = [
        f"{c.measured['status']} at {c.case.parameters['share']}n, {c.measured['away']:.1e} away from `exact`"
        for c in cells
    ]
    if not ends:
        return []
    return [
        "OSQP ended: "
        + "; ".join(dict.fromkeys(ends))
        + ". Where it met its limit of 4000 iterations its time is a lower bound."
    ]


def report(results: Results) -> str:
    """The section's markdown."""
    methods = ["exact", "partition", "sort", "cached-bisection", "cached-newton", "bisection"]
    parts = [
        "CPU seconds of one thread. Projection onto the top-k simplex (ratio to np.partition of the same length). Goals: at most 3x at 1e5, 1.7x at "
        "1e6, 1x at 1e7; OSQP at 1e5 at least 300 times and cached bisection at 1e6 at least 10 times slower than `exact`. "
        "`bisection` and `cached-bisection` (Algorithm 2) are the paper's as printed, with median selection for mu (Kiwiel 2007); "
        "`cached-newton` is Algorithm 2 with our own faster search for mu. All compiled by the same compiler.",
        _side_by_side(results, projection, ["length", "share"], "partition", [*methods, "osqp"]),
        "The same without the cost of new memory for the result (input checks are not in it either; partition and sort copy their input first):",
        _side_by_side(results, projection, ["length", "share"], "partition", methods, "inside"),
        *_osqp_ends(results),
        "Top-k cone against the search of Lapin et al. (the paper's Figure 1b reports up to three orders of magnitude):",
        _side_by_side(results, cone, ["n", "share"], "exact", ["exact", "search"]),
        "k = 1 against ibis (the paper's Figure 1a reports a quarter of its time):",
        _side_by_side(results, equal_sums, ["length"], "exact", ["exact", "ibis"]),
        "Training to a relative duality gap of 1e-3, dense rows x 100, tau = 0.05 (goal: at most 0.7x LinearSVC):",
        _side_by_side(results, train_dense, ["rows", "R"], "LinearSVC", ["lbfgs", "LinearSVC"]),
        training_facts(results, "R"),
    ]  # fmt: skip
    return "\n\n".join(parts)


def training_facts(results: Results, key: str) -> str:
    """For each value of `key`: seconds by rows, the exponent in n, memory and the largest gap of the lbfgs fits."""
    fits = Results([c for c in results.cells if c.case.label == "lbfgs"])
    rows = []
    for value in dict.fromkeys(c.case.parameters[key] for c in fits.cells):
        lines = [fits.where(**setting) for setting in fits.where(**{key: value}).settings]
        sizes = [line.median("rows") or np.nan for line in lines]
        seconds = [line.median("seconds") or np.nan for line in lines]
        memory = [(line.median("fit_mb") or 0.0) / (line.median("data_mb") or np.nan) for line in lines]
        slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]) if len(sizes) > 1 else None
        shown = ", ".join(f"{s:.2g} s at {int(n)}" for n, s in zip(sizes, seconds, strict=True))
        rows.append([value, shown, slope, max(memory), max(line.median("gap") or 0.0 for line in lines)])
    return table([key, "seconds by rows", "exponent in n", "memory beyond the data / data", "largest gap"], rows)


def warmup() -> None:
    """Compile and import everything that is timed."""
    from mipclass import models, project_topk_simplex, solve

    X, y = dense_rows(25_000)
    solve(models.tau_fpl(X[:3000], y[:3000], TAU, 1e-2), "lbfgs")
    project_by_osqp(X[:50, 0], X[:50, 1], 5)
    for method in ("exact", "bisection", "cached-bisection", "cached-newton"):
        project_topk_simplex(X[:, 0], X[:, 1], 100, method=method)


study = Study("tau_fpl_speed", "tau-FPL: projection and training times", cases, report, repeats=3, warmup=warmup)

if __name__ == "__main__":
    study.main()
