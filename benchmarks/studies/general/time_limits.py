"""Time limits asked and taken: every method, backend and estimator on data where it does not finish.

`time_limit` covers the whole call: checking and building the model, search, certificate and check. Kernels are compiled before.
The overrun may be one second or a tenth of the limit.

Run: python -m benchmarks.studies.general.time_limits
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mipclass
from benchmarks.harness import Case, Results, Study, table
from benchmarks.studies.general.solvers import kernel_dual, regularised_zero_one
from mipclass import models
from mipclass.kernels.waiting import WAIT
from mipclass.modelling.program import Program
from mipclass.testing import hard_mip
from mipclass.tree import FREE, Incumbent, Rules

LIMITS = (3.0, 30.0)
"""Seconds asked for; a quick run asks for the first alone."""

Call = Callable[[float], mipclass.Result]
"""A call with so many seconds allowed."""

Work = Callable[[], Call]
"""Makes the data, outside the clock, and returns the call."""


def overlapping(n: int, d: int, *, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two normal classes in d features that overlap, with a fifth of the labels flipped."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) + (y / np.sqrt(d))[:, None]
    return X, np.where(rng.random(n) < 0.2, 1 - y, y)


def separated(n: int, d: int, *, flipped: float = 0.01) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two normal classes that a narrow slab separates, but for one point in a hundred."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=d)
    kept = np.abs(scores) > 1e-3
    X, y = X[kept], (scores[kept] > 0).astype(np.int64)
    return X, np.where(rng.random(len(y)) < flipped, 1 - y, y)


class EveryChoice(Rules):
    """All 2^30 choices of the market split, without any bound."""

    n = 30

    def __init__(self) -> None:
        self.program = hard_mip()

    def bound(self, fixed: NDArray[np.int8]) -> float:
        """Deviations are not negative."""
        return 0.0

    def branch(self, fixed: NDArray[np.int8]) -> tuple[int, int] | None:
        """The first choice that is not made yet."""
        free = np.flatnonzero(fixed == FREE)
        return (int(free[0]), 0) if len(free) else None

    def incumbent(self, fixed: NDArray[np.int8]) -> Incumbent | None:
        """The deviations that the choice has, when all are made."""
        if (fixed == FREE).any():
            return None
        demand = self.program.A[:, :30].toarray()
        off = self.program.row_lower - demand @ fixed
        return Incumbent(
            float(np.abs(off).sum()),
            {"chosen": fixed.astype(float), "over": np.maximum(-off, 0.0), "under": np.maximum(off, 0.0)},
        )


# -- methods -----------------------------------------------------------------------------------------------------------------


def _zero_one(n: int, d: int, solver: str, **how: Any) -> Work:
    constraints = how.pop("subject_to", ())
    return _model(lambda: models.zero_one(*overlapping(n, d), subject_to=constraints), solver, **how)


def _model(build: Callable[[], Any], solver: str, **how: Any) -> Work:
    def work() -> Call:
        problem = build()
        return lambda limit: mipclass.solve(problem, solver, time_limit=limit, **how)

    return work


METHODS: Mapping[str, Work] = {
    "exact, 2000 x 20": _zero_one(2000, 20, "exact"),
    "exact, 400 x 7": _zero_one(400, 7, "exact"),
    "exact, 100000 x 5": _zero_one(100_000, 5, "exact"),
    "exact, 400 x 7, two processes": _zero_one(400, 7, "exact", threads=2),
    "exact, 600 x 8, rate limited": _zero_one(600, 8, "exact", subject_to=[models.FalsePositiveRate(0.05)]),
    "box, 2000 x 7": _zero_one(2000, 7, "box"),
    "iis, 1000 x 10": _zero_one(1000, 10, "iis"),
    "iis, 300 x 6, scip": _zero_one(300, 6, "iis", options={"master": "scip"}),
    "bnb, 200 x 5": _zero_one(200, 5, "bnb"),
    "pcs, 2000 x 8": _zero_one(2000, 8, "pcs"),
    "csa, 100000 x 50": _zero_one(100_000, 50, "csa"),
    "sla, 100000 x 50": _zero_one(100_000, 50, "sla"),
    "local, 100000 x 50": _zero_one(100_000, 50, "local"),
    "directions, 500 x 7": _model(lambda: _hard_margin(500, 7), "directions"),
    "directions, 2000 x 20": _model(lambda: _hard_margin(2_000, 20), "directions"),
    "subsystems, 2000 x 20": _model(lambda: _hard_margin(2_000, 20), "subsystems"),
    "tree, market split": _model(hard_mip, "tree", options={"rules": EveryChoice()}),
    "slp, 20000 x 20": _model(lambda: models.polyhedral(*overlapping(20_000, 20), 3), "slp"),
    "slp as printed, 5000 x 20": _model(
        lambda: models.polyhedral(*overlapping(5_000, 20), 3), "slp", options={"variant": "paper"}
    ),
    "outlier-path, 20000 x 20": _model(
        lambda: models.robust_svm(*overlapping(20_000, 20), 1.0, 0.0, 0.0), "outlier-path"
    ),
    "outlier-path, 2000 x 10, RBF": _model(
        lambda: models.robust_svm(*overlapping(2_000, 10), 1.0, 0.0, 0.0, kernel=models.Kernel("rbf", 0.1)),
        "outlier-path",
    ),
    "cccp, 100000 x 50": _model(lambda: models.robust_svm(*overlapping(100_000, 50), 1.0, 0.0, 0.0), "cccp"),
    "cccp, 2000 x 10, RBF": _model(
        lambda: models.robust_svm(*overlapping(2_000, 10), 1.0, 0.0, 0.0, kernel=models.Kernel("rbf", 0.1)), "cccp"
    ),
    "balls, 2000 x 10": _model(lambda: models.robust_svm(*overlapping(2_000, 10), 1.0, 0.0, 0.0), "balls"),
    "balls, 300 x 5, RBF": _model(
        lambda: models.robust_svm(*overlapping(300, 5), 1.0, 0.0, 0.0, kernel=models.Kernel("rbf", 0.1)), "balls"
    ),
    "gilbert, 200000 x 50": _model(lambda: models.outlier_svm(*separated(200_000, 50, flipped=0.0), 0.0), "gilbert"),
    "rgd-tree, 200000 x 50": _model(
        lambda: models.outlier_svm(*separated(200_000, 50), 0.02), "rgd-tree", options={"restarts": 100}
    ),
    "enumerate, 60 x 3": _model(lambda: models.outlier_svm(*separated(60, 3), 0.1), "enumerate"),
    "lbfgs, 200000 x 100": _model(lambda: models.tau_fpl(*overlapping(200_000, 100), 0.01, 1e-6), "lbfgs"),
    "fista, 200000 x 100": _model(lambda: models.tau_fpl(*overlapping(200_000, 100), 0.01, 1e-6), "fista"),
    "fista, 2000 x 10, RBF": _model(lambda: _kernel_ranking(2000), "fista"),
    "newton, 400000 x 200": _model(
        lambda: models.Model(*overlapping(400_000, 200), minimize=models.Logistic() + models.L1()), "newton"
    ),
    "lattice, 20000 x 40": _model(lambda: _whole_logistic(20_000, 40), "lattice"),
    "cutting-plane, 5000 x 20": _model(lambda: _whole_logistic(5000, 20), "cutting-plane"),
}


def _hard_margin(n: int, d: int) -> models.Model:
    """A wide margin against the number of points below it."""
    return models.Model(*overlapping(n, d), minimize=0.5 * models.L2() + models.ZeroOne(margin=1))


def _whole_logistic(n: int, d: int) -> models.Model:
    """Whole weights of at most five features under the logistic loss."""
    constraints = [models.IntegerCoefficients(5), models.MaxFeatures(5)]
    return models.Model(*overlapping(n, d), minimize=models.Logistic(), subject_to=constraints)


def _kernel_ranking(n: int) -> Any:
    X, y = overlapping(n, 10)
    square = (X**2).sum(axis=1)
    return models.tau_fpl_kernel(np.exp(-0.1 * (square[:, None] + square - 2 * X @ X.T)), y, 0.05, 1e-6)


# -- backends ----------------------------------------------------------------------------------------------------------------


def long_lp(n: int) -> Program:
    """A dense LP: the average violations of one hyperplane in 100 features."""
    return models.rlp(*overlapping(n, 100)).program()


BACKENDS: Mapping[str, Work] = {
    **{
        f"{name}, market split": _model(hard_mip, name)
        for name in ("highs", "scip", "pyomo:highs", "cvxpy:HIGHS", "cvxpy:SCIP")
    },
    **{
        f"{name}, QP of 1200": _model(lambda: kernel_dual(1200), name)
        for name in ("highs", "osqp", "piqp", "cvxpy:CLARABEL", "cvxpy:OSQP")
    },
    **{f"{name}, QP of 4000": _model(lambda: kernel_dual(4000), name) for name in ("osqp", "piqp", "cvxpy:CLARABEL")},
    **{f"{name}, MIQP of 80": _model(lambda: regularised_zero_one(80), name) for name in ("highs", "scip")},
    **{f"{name}, LP of 5000 x 100": _model(lambda: long_lp(5_000), name) for name in ("highs", "scip")},
}


# -- estimators --------------------------------------------------------------------------------------------------------------


def _fit(name: str, data: Callable[[], tuple[Any, Any]], **parameters: Any) -> Work:
    def work() -> Call:
        X, y = data()

        def fit(limit: float) -> mipclass.Result:
            result: mipclass.Result = getattr(mipclass, name)(time_limit=limit, **parameters).fit(X, y).result_
            return result

        return fit

    return work


ESTIMATORS: Mapping[str, Work] = {
    "ZeroOneClassifier, 2000 x 20": _fit("ZeroOneClassifier", lambda: overlapping(2000, 20)),
    "ZeroOneClassifier, csa, 4 restarts": _fit(
        "ZeroOneClassifier", lambda: overlapping(100_000, 50), solver="csa", n_restarts=4
    ),
    "ZeroOneClassifier, exact, 4 restarts": _fit(
        "ZeroOneClassifier", lambda: overlapping(2000, 20), solver="exact", n_restarts=4
    ),
    "RiskScoreClassifier, 5000 x 10": _fit("RiskScoreClassifier", lambda: overlapping(5000, 10)),
    "PolyhedralClassifier, 20000 x 20": _fit("PolyhedralClassifier", lambda: overlapping(20_000, 20)),
    "OutlierPathSVC, 20000 x 20": _fit("OutlierPathSVC", lambda: overlapping(20_000, 20)),
    "OutlierPathSVC, 100000 x 20": _fit("OutlierPathSVC", lambda: overlapping(100_000, 20)),
    "OutlierPathSVC, 2000 x 10, RBF, folds": _fit(
        "OutlierPathSVC", lambda: overlapping(2000, 10), kernel="rbf", selection="cv", C=[0.1, 1.0, 10.0]
    ),
    "RGDTreeSVC, 200000 x 50": _fit("RGDTreeSVC", lambda: separated(200_000, 50), C=None, n_restarts=100),
    "RGDTreeSVC, 200000 x 50, soft": _fit("RGDTreeSVC", lambda: separated(200_000, 50), C=1.0, n_rounds=1),
    "RGDTreeSVC, 200000 x 50, folds for C": _fit("RGDTreeSVC", lambda: overlapping(200_000, 50), n_restarts=100),
    "RGDTreeOneClass, 200000 x 50": _fit(
        "RGDTreeOneClass", lambda: (overlapping(200_000, 50)[0] + 3.0, None), n_restarts=100
    ),
    "TauFPLClassifier, 200000 x 100": _fit("TauFPLClassifier", lambda: overlapping(200_000, 100), R=1e-6),
    "TauFPLClassifier, 20000 x 100, folds for ranking_tau": _fit(
        "TauFPLClassifier", lambda: overlapping(20_000, 100), R=1e-6, n_rounds=1, tolerance=1e-9
    ),
    "TauFPLClassifier, umbrella": _fit(
        "TauFPLClassifier", lambda: overlapping(200_000, 100), R=1e-6, threshold="umbrella", tolerance=1e-9
    ),
    "TauFPLClassifier, 2000 x 10, RBF": _fit(
        "TauFPLClassifier", lambda: overlapping(2000, 10), R=1e-6, kernel="rbf", tolerance=1e-9, max_iter=10**6
    ),
}

WORK: Mapping[str, Work] = METHODS | BACKENDS | ESTIMATORS


def load_packages() -> None:
    """Import what the calls use: that takes seconds on a busy machine, and is no part of a search."""
    for package in ("cvxpy", "numba", "pyomo.environ", "pyscipopt", "scipy.stats", "sklearn.svm"):
        import_module(package)


def asked_and_taken(what: str, limit: float) -> dict[str, Any]:
    """Seconds taken when `limit` seconds are allowed, without those in which kernels were compiled, and how the call ended."""
    load_packages()
    call = WORK[what]()
    began, compiled = time.perf_counter(), WAIT.seconds()
    result = call(limit)
    taken = time.perf_counter() - began - (WAIT.seconds() - compiled)
    return {"seconds": taken, "status": str(result.status), "claim": result.claim}


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    for limit in LIMITS if full else LIMITS[:1]:
        for what in WORK:
            yield Case(what, asked_and_taken, {"what": what, "limit": limit})


def report(results: Results) -> str:
    """The section's markdown."""
    limits = sorted({cell.case.parameters["limit"] for cell in results.cells})
    rows = []
    for what in results.labels:
        cells = [results.where(what, limit=limit) for limit in limits]
        taken = [seconds for here in cells if (seconds := here.median("seconds")) is not None]
        ends = [str(end) for here in cells for end in here.all("status")[:1]]
        rows.append([what, *(f"{seconds:.2f}" for seconds in taken), ", ".join(dict.fromkeys(ends))])
    return "\n\n".join(
        [
            "Seconds taken by calls that were allowed the seconds in the heading. Data are made, packages imported and kernels compiled "
            "before. Solvers of others that look at no clock within a step work in a process that is ended.",
            table(["what", *(f"{limit:g} s asked" for limit in limits), "status"], rows),
        ]
    )


study = Study("time_limits", "Time limits asked and taken", cases, report, packages=("piqp", "pyscipopt", "clarabel"))

if __name__ == "__main__":
    study.main()
