"""Whole outlier paths against CCCP on a grid of ten candidates and against re-solving every QP with OSQP.

    python -m benchmarks.studies.outlier_path.speed --full

Goals: n = 4000, d = 20, median over C in {0.1, 1, 10}: OP-s at least 3 times as fast as converged CCCP-s with 10 candidates with a
linear rule, and twice as fast with an RBF kernel; n = 1000: at least 300 times as fast as solving each conditional QP with OSQP.
Everything runs on one thread and is timed in CPU seconds of the process, so that other work on the machine does not count. Ratios are
taken within a repetition, whose peers run one after the other, and their median over the repetitions is shown.
The kernel matrix is computed before the clock starts, for all.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.harness import Case, Results, Study, table
from mipclass import models
from mipclass.backends.osqp import OsqpBackend
from mipclass.methods.robust_svm.cccp import concave_convex
from mipclass.methods.robust_svm.form import RobustForm, match_robust
from mipclass.methods.robust_svm.outlier_path import follow_path
from mipclass.methods.robust_svm.solution_path import Parameter
from mipclass.models.robust_svm import ConditionalDual, ConditionalSVM
from mipclass.protocol.run import Run

COSTS = (0.1, 1.0, 10.0)
SIZES = (1000, 2000, 4000, 8000, 16000)
D = 20


def data(n: int, d: int = D, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Normal points, a noisy linear rule, 15 % of the labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1, -1)
    y[rng.random(n) < 0.15] *= -1
    return X, y


@lru_cache(maxsize=1)
def problem(kernel: str, n: int, C: float) -> RobustForm:
    """The robust SVM of n points with a linear or RBF kernel, matched once."""
    X, y = data(n)
    rule = None if kernel == "linear" else models.Kernel("rbf")
    form = match_robust(models.robust_svm(X, y, C, kernel=rule))
    assert isinstance(form, RobustForm)
    assert form.points.operator.matrix.size  # the matrices are formed here, before the clock starts
    assert form.points.factorable.matrix.size
    return form


def outlier_path(parameter: Parameter, kernel: str, n: int, C: float) -> dict[str, Any]:
    """CPU seconds and breakpoints of one whole path."""
    robust = problem(kernel, n, C)
    start = time.process_time()
    path, status = follow_path(robust, Run.quiet(), parameter)
    seconds = time.process_time() - start
    assert status is None
    return {
        "seconds": seconds,
        "breakpoints": len(path),
        "jumps": int(path.jumps.sum()),
        "outliers": int(path.outliers(-1).sum()),
        "objective": path.objective[-1],
    }


def op_s(kernel: str, n: int, C: float) -> dict[str, Any]:
    """The path in s."""
    return outlier_path("s", kernel, n, C)


def op_theta(kernel: str, n: int, C: float) -> dict[str, Any]:
    """The path in theta."""
    return outlier_path("theta", kernel, n, C)


def cccp(parameter: Parameter, kernel: str, n: int, C: float, tolerance: float = 1e-4) -> dict[str, Any]:
    """CPU seconds of CCCP over ten candidates."""
    robust = problem(kernel, n, C)
    start = time.process_time()
    found, _ = concave_convex(robust, Run.quiet(), parameter, candidates=10, tolerance=tolerance)
    seconds = time.process_time() - start
    return {"seconds": seconds, "rounds": sum(c.rounds for c in found), "objective": found[-1].objective}


def cccp_s(kernel: str, n: int, C: float) -> dict[str, Any]:
    """CCCP over s with its usual tolerance."""
    return cccp("s", kernel, n, C)


def cccp_s_tight(kernel: str, n: int, C: float) -> dict[str, Any]:
    """CCCP over s, converged to 1e-6."""
    return cccp("s", kernel, n, C, tolerance=1e-6)


def cccp_theta(kernel: str, n: int, C: float) -> dict[str, Any]:
    """CCCP over theta with its usual tolerance."""
    return cccp("theta", kernel, n, C)


def osqp_each(kernel: str, n: int, C: float) -> dict[str, Any]:
    """Every conditional QP of the OP-s path, in the form that suits OSQP better (primal if linear), from scratch."""
    robust = problem(kernel, n, C)
    path, _ = follow_path(robust, Run.quiet(), "s")
    backend = OsqpBackend()
    jumps = np.flatnonzero(path.jumps)
    Z, linear = robust.points.operator.matrix, kernel == "linear"
    seconds, solved, worst = 0.0, 0, 0.0
    for k in jumps:
        parts = (robust.C, 0.0, float(path.s[k]), path.outliers(int(k)))
        if linear:
            qp: Any = ConditionalSVM(Z * robust.y[:, None], robust.y, *parts)
        else:
            qp = ConditionalDual(Z, *parts)
        program = qp.program()
        start = time.process_time()
        solution = backend.solve(program, Run.quiet())
        seconds += time.process_time() - start
        if solution.x is None:
            continue
        solved += solution.status == "optimal"
        value = program.objective(solution.x)
        J = value if linear else (1.0 - parts[2]) * float(robust.C[parts[3]].sum()) - value
        worst = max(worst, abs(J - path.objective[int(k)]) / abs(J))
    return {"seconds": seconds, "qps": len(jumps), "solved": solved, "worst_relative_difference": worst}


PEERS = {"OP-s": op_s, "CCCP-s": cccp_s, "CCCP-s 1e-6": cccp_s_tight, "OP-theta": op_theta, "CCCP-theta": cccp_theta}


def cases(full: bool) -> Iterator[Case]:
    """Every case once, although the three tables share some."""
    seen = set()
    for case in _all_cases(full):
        if str(case) not in seen:
            seen.add(str(case))
            yield case


def _all_cases(full: bool) -> Iterator[Case]:
    for kernel in ("linear", "rbf"):
        for C in COSTS:
            for label, function in PEERS.items():
                yield Case(label, function, {"kernel": kernel, "n": 4000 if full else 400, "C": C})
    for kernel in ("linear", "rbf"):
        n = 1000 if full else 100
        yield Case("OP-s", op_s, {"kernel": kernel, "n": n, "C": 1.0})
        yield Case("OSQP each QP", osqp_each, {"kernel": kernel, "n": n, "C": 1.0})
    for n in SIZES if full else SIZES[:1]:
        for label in ("OP-s", "CCCP-s"):
            yield Case(label, PEERS[label], {"kernel": "linear", "n": n, "C": 1.0})


def report(results: Results) -> str:
    """The section's markdown."""
    n = max((s["n"] for s in results.settings if s["kernel"] == "rbf"), default=0)
    parts = [
        f"CPU seconds on one thread, medians; n = {n}, d = {D}. Ratios are peer / path, larger is better for the path: medians of the "
        "ratios within a repetition, whose cells run next to each other in time."
    ]
    rows = []
    for kernel in ("linear", "rbf"):
        ratios: dict[str, list[float]] = {"s": [], "tight": [], "theta": []}
        for C in COSTS:
            here = results.where(kernel=kernel, n=n, C=C)
            times = {label: here.where(label).median("seconds") for label in PEERS}
            pairs = {"s": ("CCCP-s", "OP-s"), "tight": ("CCCP-s 1e-6", "OP-s"), "theta": ("CCCP-theta", "OP-theta")}
            found = {name: here.ratio(*pair) for name, pair in pairs.items()}
            if any(value is None for value in found.values()):
                continue
            for name, value in found.items():
                ratios[name].append(value)
            last = {name: values[-1] for name, values in ratios.items()}
            memory = here.where("OP-s").median("peak_mb")
            rows.append([kernel, C, *times.values(), last["s"], last["tight"], last["theta"], memory])
        if ratios["s"]:
            medians = [statistics.median(ratios[name]) for name in ("s", "tight", "theta")]
            rows.append([kernel, "median", *[""] * len(PEERS), *medians, ""])
    header = ["kernel", "C", *PEERS, "ratio s", "ratio s 1e-6", "ratio theta", "OP-s peak MB"]
    parts.append(table(header, rows))
    small = min((s["n"] for s in results.settings if s["kernel"] == "rbf"), default=0)
    rows = []
    for kernel in ("linear", "rbf"):
        here = results.where(kernel=kernel, n=small, C=1.0)
        ours, peer = here.where("OP-s").median("seconds"), here.where("OSQP each QP").median("seconds")
        ratio = here.ratio("OSQP each QP", "OP-s")
        if ratio is not None:
            osqp = here.where("OSQP each QP")
            difference = osqp.median("worst_relative_difference")
            rows.append([kernel, small, osqp.median("qps"), osqp.median("solved"), ours, peer, ratio, difference])
    parts.append("Every conditional QP of the path solved by OSQP instead:")
    header = [
        "kernel",
        "n",
        "QPs",
        "solved",
        "OP-s (whole path)",
        "OSQP",
        "ratio",
        "largest relative difference of objectives",
    ]
    parts.append(table(header, rows))
    rows = []
    for size in SIZES:
        here = results.where(kernel="linear", n=size, C=1.0)
        ours, peer = here.where("OP-s").median("seconds"), here.where("CCCP-s").median("seconds")
        ratio = here.ratio("CCCP-s", "OP-s")
        if ratio is not None:
            jumps, memory = here.where("OP-s").median("jumps"), here.where("OP-s").median("peak_mb")
            rows.append([size, jumps, ours, peer, ratio, memory])
    parts.append("Linear, C = 1, over n:")
    parts.append(table(["n", "jumps", "OP-s", "CCCP-s", "ratio", "OP-s peak MB"], rows))
    return "\n\n".join(parts)


def warmup() -> None:
    """Compile and import everything that is timed."""
    for kernel in ("linear", "rbf"):
        for function in (op_s, op_theta, cccp_s):
            function(kernel, 60, 1.0)


study = Study(
    "outlier_path_speed", "Outlier path: speed", cases, report, repeats=5, warmup=warmup, families=("robust_svm",)
)

if __name__ == "__main__":
    raise SystemExit(study.main())
