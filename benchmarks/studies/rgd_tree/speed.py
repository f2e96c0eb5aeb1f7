"""Time and memory of one RGD-tree (height 5, 5 nodes per level) in n and d, next to scikit-learn's LinearSVC.

    python -m benchmarks.studies.rgd_tree.speed --full

Goals: at 1e5 x 100 at most half the time of LinearSVC (squared hinge, primal); time at most like n^1.15 and d^1.15; memory
linear in the data. The exact last step (polish) and maximum margins of separable data are timed beside their QP peers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Case, Results, Study, table
from mipclass import RGDTreeSVC, datasets, models, solve

TREE = {"height": 5, "max_nodes": 5, "n_rounds": 1, "polish": False, "C": None}
SIZES = (25_000, 50_000, 100_000, 200_000)
DIMENSIONS = (50, 100, 200, 400)


def gaussians(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussian classes four standard deviations apart along a random direction, 10 % of the labels flipped."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=d)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    X = rng.normal(size=(n, d)) + np.outer(2.0 * y, direction / np.linalg.norm(direction))
    return X, datasets.flip_labels(y, 0.1, random_state=rng)


def load(name: str, n: int, d: int) -> tuple[object, np.ndarray]:
    """Made-up Gaussian classes, or a data set by name."""
    return gaussians(n, d) if name == "gaussians" else datasets.load(name)


def fit(estimator: object, name: str, n: int, d: int) -> dict[str, float]:
    """CPU seconds of a fit and its training error."""
    X, y = load(name, n, d)
    start = time.process_time()
    estimator.fit(X, y)
    seconds = time.process_time() - start
    return {"seconds": seconds, "error": float(np.mean(estimator.predict(X) != y))}


def one_tree(name: str, n: int, d: int) -> dict[str, float]:
    """One RGD-tree."""
    # A tree whose slab does not separate is still one tree's work; w8a has 3 % positives, so its share is small.
    share = 0.15 if name == "gaussians" else {1: 0.3, -1: 0.1}
    return fit(RGDTreeSVC(share, **TREE), name, n, d)


def linear_svc(name: str, n: int, d: int) -> dict[str, float]:
    """scikit-learn's linear SVM, squared hinge, primal."""
    from sklearn.svm import LinearSVC

    return fit(LinearSVC(dual=False), name, n, d)


def separable(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """n Gaussian points that a hyperplane separates with a margin of at least 0.2 on either side."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2 * n, d))
    w = rng.normal(size=d)
    score = X @ w / np.linalg.norm(w)
    far = np.flatnonzero(np.abs(score) > 0.2)[:n]
    return X[far], np.sign(score[far])


def max_margin(name: str, n: int, d: int, solver: str = "gilbert") -> dict[str, float]:
    """CPU seconds and width of the maximum margin by one solver."""
    X, y = separable(n, d)
    model = models.outlier_svm(X, y, 0)
    start = time.process_time()
    options = {"certificate": False} if solver == "gilbert" else None
    result = solve(model, solver, options=options)
    width = 2 / float(np.linalg.norm(result.values["w"])) if result.values else float("nan")
    return {"seconds": time.process_time() - start, "width": width}


def max_margin_piqp(name: str, n: int, d: int) -> dict[str, float]:
    """The maximum margin by PIQP."""
    return max_margin(name, n, d, "piqp")


def max_margin_clarabel(name: str, n: int, d: int) -> dict[str, float]:
    """The maximum margin by Clarabel, through CVXPY."""
    return max_margin(name, n, d, "cvxpy:CLARABEL")


def max_margin_libsvm(name: str, n: int, d: int) -> dict[str, float]:
    """The maximum margin by libsvm with a cost so large that no point is given up."""
    from sklearn.svm import SVC

    X, y = separable(n, d)
    start = time.process_time()
    svc = SVC(kernel="linear", C=1e6, tol=1e-6, cache_size=1000).fit(X, y)
    return {"seconds": time.process_time() - start, "width": 2 / float(np.linalg.norm(svc.coef_))}


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    grid = [("gaussians", n, 100) for n in (SIZES if full else (5_000, 10_000))]
    grid += [("gaussians", 50_000 if full else 10_000, d) for d in (DIMENSIONS if full else (50, 200)) if d != 100]
    grid += [("w8a_train", 49_749, 300)] if full else []
    for name, n, d in grid:
        for label, function in (("one RGD-tree", one_tree), ("LinearSVC", linear_svc)):
            yield Case(label, function, {"name": name, "n": n, "d": d})
    peers = {
        "gilbert": max_margin,
        "piqp": max_margin_piqp,
        "cvxpy:CLARABEL": max_margin_clarabel,
        "libsvm C=1e6": max_margin_libsvm,
    }
    for n, d in ((2_000, 50), (10_000, 100)) if full else ((2_000, 50),):
        for label, function in peers.items():
            yield Case(label, function, {"name": "separable", "n": n, "d": d})


def exponent(results: Results, along: str, values: list[int], **fixed: int) -> float:
    """Slope of log seconds against log size, by least squares."""
    seconds = [results.where("one RGD-tree", name="gaussians", **{along: v}, **fixed).median("seconds") for v in values]
    return float(np.polyfit(np.log(values), np.log(seconds), 1)[0])


def report(results: Results) -> str:
    """The section's markdown."""
    trees = Results([c for c in results.cells if c.case.parameters["name"] != "separable"])
    margins = results.where(name="separable")
    settings = [s for s in trees.settings if s["name"] == "gaussians"]
    sizes = sorted({s["n"] for s in settings if s["d"] == 100})
    most = max(s["n"] for s in settings if s["d"] != 100)  # where the dimension varies
    dimensions = sorted({s["d"] for s in settings if s["n"] == most})
    goal = trees.where(name="gaussians", n=min(100_000, sizes[-1]), d=100)
    ratio = goal.where("one RGD-tree").median("seconds") / goal.where("LinearSVC").median("seconds")
    memory = [
        [n, n * 100 * 8 / 1e6, trees.where("one RGD-tree", name="gaussians", n=n, d=100).median("peak_mb")]
        for n in sizes
    ]
    parts = [
        "CPU seconds to fit, one thread (ratio to LinearSVC, squared hinge, primal, in the same run); height 5, 5 nodes per level, "
        "no last step.",
        trees.compare(baseline="LinearSVC"),
        f"{min(100_000, sizes[-1]):,} x 100: {ratio:.2f} of LinearSVC's time (goal: at most 0.5). Time grows like n^{exponent(trees, 'n', sizes, d=100):.2f} "
        f"and d^{exponent(trees, 'd', dimensions, n=most):.2f} (goal: at most 1.15).",
        "Peak memory of a case, in which the data are made (with a copy or two) and one tree is grown:",
        table(["n", "data MB", "growth MB"], memory),
        "Maximum margin of separable data, the exact last step's problem: CPU seconds, then widths.",
        margins.compare(baseline="gilbert"),
        margins.compare(measure="width", digits=9),
    ]
    return "\n\n".join(parts)


def warmup() -> None:
    """Compile and import everything that is timed."""
    X, y = gaussians(200, 3)
    RGDTreeSVC({1: 0.25, -1: 0.25}, **TREE).fit(X, y)


study = Study("rgd_speed", "RGD-tree: time and memory", cases, report, repeats=3, warmup=warmup, packages=("piqp",))

if __name__ == "__main__":
    raise SystemExit(study.main())
