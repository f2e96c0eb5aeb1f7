"""Growth of whole linear outlier paths with n, in seconds and memory, beside LinearSVC, CCCP and a whole OutlierPathSVC fit.

    python -m benchmarks.studies.outlier_path.growth --full

Goals at 100,000 x 20, C = 1: a path within ten times one LinearSVC fit (hinge loss, relative accuracy 1e-6), in a few times the
memory of the data. Everything runs on one thread and is timed in CPU seconds of the process.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.harness import Case, Results, Study, table
from benchmarks.studies.outlier_path.speed import D, cccp_s, data, problem
from mipclass import OutlierPathSVC
from mipclass.methods.robust_svm.outlier_path import follow_path
from mipclass.methods.robust_svm.solution_path import Parameter
from mipclass.protocol.run import Run

SIZES = (1000, 4000, 16_000, 100_000)
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


PEERS = {
    "OP-s": op_s,
    "OP-theta": op_theta,
    "LinearSVC": linear_svc,
    "CCCP-s": cccp,
    "OutlierPathSVC()": estimator,
}


def cases(full: bool) -> Iterator[Case]:
    """Every peer at every size that it manages within minutes."""
    for n in SIZES if full else SIZES[:1]:
        for label, function in PEERS.items():
            if label != "CCCP-s" or n <= LARGEST_CCCP:
                yield Case(label, function, {"n": n})


def report(results: Results) -> str:
    """The section's markdown."""
    rows: list[list[Any]] = []
    for n in SIZES:
        here = {label: results.where(n=n).where(label) for label in PEERS}
        times = {label: found.median("seconds") for label, found in here.items()}
        if times["OP-s"] is None or times["LinearSVC"] is None or times["OP-theta"] is None:
            continue
        exact, found = here["OP-s"].median("svm"), here["LinearSVC"].median("svm")
        excess = None if exact is None or found is None else (found - exact) / exact
        ratios = [times[label] / times["LinearSVC"] for label in ("OP-s", "OP-theta")]
        stored = [here[label].median("stored_mb") for label in ("OP-s", "OP-theta")]
        rows.append(
            [
                n,
                here["OP-s"].median("jumps"),
                here["OP-theta"].median("breakpoints"),
                *times.values(),
                *ratios,
                excess,
                *stored,
            ]
        )
    header = [
        "n", "jumps (s)", "breakpoints (theta)", *PEERS, "OP-s / LinearSVC", "OP-theta / LinearSVC", "LinearSVC's relative excess",
        "MB stored (s)", "MB stored (theta)",
    ]  # fmt: skip
    first = f"CPU seconds on one thread, linear rule, C = 1, d = {D}; the data take {8e-6 * SIZES[-1] * D:.0f} MB at n = {SIZES[-1]:,}."
    return "\n\n".join([first, table(header, rows)])


def warmup() -> None:
    """Compile and import everything that is timed."""
    for function in PEERS.values():
        function(60)


study = Study("outlier_path_growth", "Outlier path: growth with n", cases, report, repeats=1, warmup=warmup)

if __name__ == "__main__":
    raise SystemExit(study.main())
