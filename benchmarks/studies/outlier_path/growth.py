"""Growth of whole outlier paths with n, in seconds and memory, beside CCCP, scikit-learn's SVMs and a whole OutlierPathSVC fit.

    python -m benchmarks.studies.outlier_path.growth --full

Goals at 100,000 x 20, C = 1: a path within ten times one LinearSVC fit (hinge loss, relative accuracy 1e-6), in a few times the
memory of the data. RBF kernel at 20,000 x 20: a path in minutes with a peak below 1 GB, where the kernel matrix alone would take 3.2 GB.
Everything runs on one thread and is timed in CPU seconds of the process; with the RBF kernel the evaluation of the kernel counts for all.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from benchmarks.harness import Case, Results, Study, table
from benchmarks.studies.outlier_path.speed import D, cccp_s, data, problem
from mipclass import OutlierPathSVC, models
from mipclass.methods.robust_svm.cccp import concave_convex
from mipclass.methods.robust_svm.form import RobustForm, match_robust
from mipclass.methods.robust_svm.outlier_path import follow_path
from mipclass.methods.robust_svm.solution_path import Parameter
from mipclass.protocol.run import Run

SIZES = (1000, 4000, 16_000, 100_000)
RBF_SIZES = (4000, 8000, 20_000)
LARGEST_RBF_CCCP = 8000  # points up to which CCCP with the RBF kernel runs: it stores the kernel matrix
SVC_CACHE_MB = 500  # of SVC: as much as the path keeps by default
LARGEST_CCCP = 16_000  # points up to which CCCP runs: it takes minutes beyond
TOLERANCE, ITERATIONS = 1e-2, 10_000  # of LinearSVC: a relative accuracy of 1e-6 at 100,000 points


def whole_path(parameter: Parameter, n: int) -> dict[str, Any]:
    """CPU seconds of one whole path, and how many bytes its breakpoints take."""
    robust = problem("linear", n, 1.0)
    start = time.process_time()
    path, status = follow_path(robust, Run.quiet(), parameter)
    seconds = time.process_time() - start
    assert status is None
    parts = (path.steps.moved, path.steps.toggled, path.steps.restated)
    stored = sum(part.start.nbytes + part.index.nbytes + part.value.nbytes for part in parts) + 21 * len(path)
    jumps = int(path.jumps.sum())
    return {
        "seconds": seconds, "breakpoints": len(path), "jumps": jumps, "stored_mb": stored / 2**20,
        "svm": float(path.objective[0]), "objective": float(path.objective[-1]),
    }  # fmt: skip


def op_s(n: int) -> dict[str, Any]:
    """The path in s."""
    return whole_path("s", n)


def op_theta(n: int) -> dict[str, Any]:
    """The path in theta."""
    return whole_path("theta", n)


def cccp(n: int) -> dict[str, Any]:
    """CCCP over ten values of s to its usual tolerance."""
    return cccp_s("linear", n, 1.0)


def linear_svc(n: int) -> dict[str, Any]:
    """One LinearSVC fit with the hinge loss and no offset, and its objective."""
    X, y = data(n)
    machine = LinearSVC(
        C=1.0, loss="hinge", fit_intercept=False, tol=TOLERANCE, max_iter=ITERATIONS, random_state=0
    )  # fmt: skip
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(X, y)
    seconds = time.process_time() - start
    w = machine.coef_[0]
    return {"seconds": seconds, "svm": float(0.5 * w @ w + np.maximum(0.0, 1.0 - y * (X @ w)).sum())}


def estimator(n: int) -> dict[str, Any]:
    """OutlierPathSVC() with its defaults: a path on 70 % of the points, its held-out errors, and a path on all."""
    X, y = data(n)
    start = time.process_time()
    fitted = OutlierPathSVC().fit(X, y)
    return {"seconds": time.process_time() - start, "theta": fitted.theta_, "claim": fitted.result_.claim}


def rbf_form(n: int) -> RobustForm:
    """The robust SVM of n points with the RBF kernel; nothing of its kernel has been evaluated."""
    X, y = data(n)
    form = match_robust(models.robust_svm(X, y, 1.0, kernel=models.Kernel("rbf")))
    assert isinstance(form, RobustForm)
    return form


def rbf_op_s(n: int) -> dict[str, Any]:
    """The path in s with the RBF kernel, its evaluation included."""
    robust = rbf_form(n)
    start = time.process_time()
    path, status = follow_path(robust, Run.quiet(), "s")
    seconds = time.process_time() - start
    assert status is None
    jumps, ends = int(path.jumps.sum()), (float(path.objective[0]), float(path.objective[-1]))
    return {"seconds": seconds, "jumps": jumps, "svm": ends[0], "objective": ends[1]}


def rbf_cccp(n: int) -> dict[str, Any]:
    """CCCP over ten values of s with the RBF kernel, the kernel matrix included."""
    robust = rbf_form(n)
    start = time.process_time()
    found, _ = concave_convex(robust, Run.quiet(), "s", candidates=10)
    return {"seconds": time.process_time() - start, "objective": found[-1].objective}


def rbf_svc(n: int) -> dict[str, Any]:
    """One SVC fit with the RBF kernel and its default tolerance; it has an offset."""
    X, y = data(n)
    machine = SVC(C=1.0, gamma=1.0 / D, cache_size=SVC_CACHE_MB)
    start = time.process_time()
    machine.fit(X, y)
    return {"seconds": time.process_time() - start, "support": int(machine.n_support_.sum())}


def rbf_estimator(n: int) -> dict[str, Any]:
    """OutlierPathSVC(kernel="rbf", path="s") with its other defaults: two paths, and the errors on the held-out points."""
    X, y = data(n)
    start = time.process_time()
    fitted = OutlierPathSVC(kernel="rbf", path="s").fit(X, y)
    return {"seconds": time.process_time() - start, "s": fitted.s_, "claim": fitted.result_.claim}


RBF_PEERS = {
    "OP-s (rbf)": rbf_op_s,
    "CCCP-s (rbf)": rbf_cccp,
    "SVC (rbf)": rbf_svc,
    "OutlierPathSVC(kernel='rbf', path='s')": rbf_estimator,
}
PEERS = {
    "OP-s": op_s,
    "OP-theta": op_theta,
    "LinearSVC": linear_svc,
    "CCCP-s": cccp,
    "OutlierPathSVC()": estimator,
}
WITH_PEAK = ("OP-s", "OP-theta", "LinearSVC", "OutlierPathSVC()")  # linear, whose peak of memory is shown


def cases(full: bool) -> Iterator[Case]:
    """Every peer at every size that it manages within minutes."""
    for n in SIZES if full else SIZES[:1]:
        for label, function in PEERS.items():
            if label != "CCCP-s" or n <= LARGEST_CCCP:
                yield Case(label, function, {"n": n})
    for n in RBF_SIZES if full else (500,):
        for label, function in RBF_PEERS.items():
            if label != "CCCP-s (rbf)" or n <= LARGEST_RBF_CCCP:
                yield Case(label, function, {"n": n})


def report(results: Results) -> str:
    """The section's markdown."""
    rows: list[list[Any]] = []
    for n in SIZES:
        all_here = results.where(n=n)
        here = {label: all_here.where(label) for label in PEERS}
        times = {label: found.median("seconds") for label, found in here.items()}
        if times["OP-s"] is None or times["LinearSVC"] is None or times["OP-theta"] is None:
            continue
        exact, found = here["OP-s"].median("svm"), here["LinearSVC"].median("svm")
        excess = None if exact is None or found is None else (found - exact) / exact
        ratios = [all_here.ratio(label, "LinearSVC") for label in ("OP-s", "OP-theta")]
        stored = [here[label].median("stored_mb") for label in ("OP-s", "OP-theta")]
        peaks = [here[label].median("peak_mb") for label in WITH_PEAK]
        rows.append(
            [
                n,
                here["OP-s"].median("jumps"),
                here["OP-theta"].median("breakpoints"),
                *times.values(),
                *ratios,
                excess,
                *stored,
                *peaks,
            ]
        )
    header = [
        "n", "jumps (s)", "breakpoints (theta)", *PEERS, "OP-s / LinearSVC", "OP-theta / LinearSVC", "LinearSVC's relative excess",
        "MB stored (s)", "MB stored (theta)", *(f"{label}: peak MB" for label in WITH_PEAK),
    ]  # fmt: skip
    first = (
        f"CPU seconds on one thread, linear rule, C = 1, d = {D}; the data take {8e-6 * SIZES[-1] * D:.0f} MB at n = {SIZES[-1]:,}. "
        "A peak is the growth of the process's memory during a call; the data and the model are made in it. Medians; ratios are medians of the "
        "ratios within a repetition."
    )
    return "\n\n".join([first, table(header, rows), *_rbf_report(results)])


def _rbf_report(results: Results) -> list[str]:
    """The table of the RBF kernel."""
    rows: list[list[Any]] = []
    for n in RBF_SIZES:
        here = {label: results.where(n=n).where(label) for label in RBF_PEERS}
        if here["OP-s (rbf)"].median("seconds") is not None:
            times = [found.median("seconds") for found in here.values()]
            memory = [found.median("peak_mb") for found in here.values()]
            rows.append([n, here["OP-s (rbf)"].median("jumps"), *times, *memory, 8e-6 * n**2])
    header = ["n", "jumps", *RBF_PEERS, *(f"{label}: peak MB" for label in RBF_PEERS), "kernel matrix MB"]
    said = "RBF kernel, C = 1, gamma = 1/d, CPU seconds with the evaluation of the kernel; peaks as above."
    return [said, table(header, rows)] if rows else []


def warmup() -> None:
    """Compile and import everything that is timed."""
    for function in (*PEERS.values(), *RBF_PEERS.values()):
        function(60)


study = Study(
    "outlier_path_growth",
    "Outlier path: growth with n",
    cases,
    report,
    repeats=3,
    warmup=warmup,
    families=("robust_svm",),
)

if __name__ == "__main__":
    raise SystemExit(study.main())
