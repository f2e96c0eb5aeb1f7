"""Time limits asked and taken: every method, backend and estimator on data where it does not finish.

`time_limit` covers the whole call: checking and building the model, search, certificate and check. Kernels are compiled before.
The overrun may be one second or a tenth of the limit.

Run: python -m benchmarks.studies.general.time_limits
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mipclass
from benchmarks.studies.general.solvers import kernel_dual, regularised_zero_one
from mipclass import models
from mipclass.modelling.program import Program
from mipclass.testing import hard_mip

LIMITS = (3.0, 30.0)
"""Seconds asked for; a quick run asks for the first alone."""

Work = Callable[[float], mipclass.Result]
"""Does something for so many seconds, and says how it ended."""


def overlapping(n: int, d: int, *, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two normal classes in d features that overlap, with a fifth of the labels flipped."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) + (y / np.sqrt(d))[:, None]
    return X, np.where(rng.random(n) < 0.2, 1 - y, y)


def separated(n: int, d: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two normal classes that a narrow slab separates, but for one point in a hundred."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=d)
    kept = np.abs(scores) > 1e-3
    X, y = X[kept], (scores[kept] > 0).astype(np.int64)
    return X, np.where(rng.random(len(y)) < 0.01, 1 - y, y)


# -- methods -----------------------------------------------------------------------------------------------------------------


def _zero_one(n: int, d: int, solver: str, **how: Any) -> Work:
    constraints = how.pop("subject_to", ())
    return lambda limit: mipclass.solve(
        models.zero_one(*overlapping(n, d), subject_to=constraints), solver, time_limit=limit, **how
    )


def _model(build: Callable[[], Any], solver: str, **how: Any) -> Work:
    return lambda limit: mipclass.solve(build(), solver, time_limit=limit, **how)


def _user_tree(limit: float) -> mipclass.Result:
    return mipclass.solve(hard_mip(), "tree", time_limit=limit)


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
    "tree, market split": _user_tree,
    "slp, 20000 x 20": _model(lambda: models.polyhedral(*overlapping(20_000, 20), 3), "slp"),
    "slp as printed, 5000 x 20": _model(
        lambda: models.polyhedral(*overlapping(5_000, 20), 3), "slp", options={"variant": "paper"}
    ),
    "outlier-path, 20000 x 20": _model(
        lambda: models.robust_svm(*overlapping(20_000, 20), 1.0, 0.0, 0.0), "outlier-path"
    ),
    "outlier-path, 4000 x 10, RBF": _model(
        lambda: models.robust_svm(*overlapping(4_000, 10), 1.0, 0.0, 0.0, kernel=models.Kernel("rbf", 0.1)),
        "outlier-path",
    ),
    "cccp, 100000 x 50": _model(lambda: models.robust_svm(*overlapping(100_000, 50), 1.0, 0.0, 0.0), "cccp"),
    "cccp, 4000 x 10, RBF": _model(
        lambda: models.robust_svm(*overlapping(4_000, 10), 1.0, 0.0, 0.0, kernel=models.Kernel("rbf", 0.1)), "cccp"
    ),
    "gilbert, 200000 x 50": _model(lambda: models.outlier_svm(*separated(200_000, 50), 0.0), "gilbert"),
    "rgd-tree, 200000 x 50": _model(
        lambda: models.outlier_svm(*separated(200_000, 50), 0.02), "rgd-tree", options={"restarts": 100}
    ),
    "enumerate, 60 x 3": _model(lambda: models.outlier_svm(*separated(60, 3), 0.1), "enumerate"),
    "lbfgs, 200000 x 100": _model(lambda: models.tau_fpl(*overlapping(200_000, 100), 0.01, 1e-6), "lbfgs"),
    "fista, 200000 x 100": _model(lambda: models.tau_fpl(*overlapping(200_000, 100), 0.01, 1e-6), "fista"),
    "fista, 3000 x 10, RBF": _model(lambda: _kernel_ranking(3000), "fista"),
}


def _kernel_ranking(n: int) -> Any:
    X, y = overlapping(n, 10)
    square = (X**2).sum(axis=1)
    return models.tau_fpl_kernel(np.exp(-0.1 * (square[:, None] + square - 2 * X @ X.T)), y, 0.05, 1e-6)


# -- backends ----------------------------------------------------------------------------------------------------------------


def long_lp(n: int) -> Program:
    """A dense robust LP: average violations of one hyperplane."""
    return models.rlp(*overlapping(n, 200)).program()


BACKENDS: Mapping[str, Work] = {
    **{
        f"{name}, market split": _model(hard_mip, name)
        for name in ("highs", "scip", "pyomo:highs", "cvxpy:HIGHS", "cvxpy:SCIP")
    },
    **{
        f"{name}, QP of 4000": _model(lambda: kernel_dual(4000), name)
        for name in ("highs", "osqp", "piqp", "cvxpy:CLARABEL", "cvxpy:OSQP", "pyomo:highs")
    },
    **{f"{name}, MIQP of 80": _model(lambda: regularised_zero_one(80), name) for name in ("highs", "scip")},
    **{
        f"{name}, LP of 20000 x 200": _model(lambda: long_lp(20_000), name)
        for name in ("highs", "scip", "cvxpy:CLARABEL")
    },
}


# -- estimators --------------------------------------------------------------------------------------------------------------


def _fit(name: str, data: Callable[[], tuple[Any, Any]], **parameters: Any) -> Work:
    def fit(limit: float) -> mipclass.Result:
        estimator = getattr(mipclass, name)(time_limit=limit, **parameters)
        return estimator.fit(*data()).result_

    return fit


ESTIMATORS: Mapping[str, Work] = {
    "ZeroOneClassifier, 2000 x 20": _fit("ZeroOneClassifier", lambda: overlapping(2000, 20)),
    "ZeroOneClassifier, csa, 4 restarts": _fit(
        "ZeroOneClassifier", lambda: overlapping(100_000, 50), solver="csa", n_restarts=4
    ),
    "ZeroOneClassifier, exact, 4 restarts": _fit(
        "ZeroOneClassifier", lambda: overlapping(2000, 20), solver="exact", n_restarts=4
    ),
    "PolyhedralClassifier, 20000 x 20": _fit("PolyhedralClassifier", lambda: overlapping(20_000, 20)),
    "OutlierPathSVC, 20000 x 20": _fit("OutlierPathSVC", lambda: overlapping(20_000, 20)),
    "OutlierPathSVC, 100000 x 20": _fit("OutlierPathSVC", lambda: overlapping(100_000, 20)),
    "OutlierPathSVC, 3000 x 10, RBF, folds": _fit(
        "OutlierPathSVC", lambda: overlapping(3000, 10), kernel="rbf", selection="cv", C=[0.1, 1.0, 10.0]
    ),
    "RGDTreeSVC, 200000 x 50": _fit("RGDTreeSVC", lambda: separated(200_000, 50), n_restarts=100),
    "RGDTreeSVC, 200000 x 50, soft": _fit(
        "RGDTreeSVC", lambda: separated(200_000, 50), C=1.0, reselect=True, n_rounds=1
    ),
    "RGDTreeOneClass, 200000 x 50": _fit(
        "RGDTreeOneClass", lambda: (overlapping(200_000, 50)[0] + 3.0, None), n_restarts=100
    ),
    "TauFPLClassifier, 200000 x 100": _fit("TauFPLClassifier", lambda: overlapping(200_000, 100), R=1e-6),
    "TauFPLClassifier, umbrella": _fit(
        "TauFPLClassifier", lambda: overlapping(200_000, 100), R=1e-6, threshold="umbrella", tolerance=1e-9
    ),
    "TauFPLClassifier, 2000 x 10, RBF": _fit(
        "TauFPLClassifier", lambda: overlapping(2000, 10), R=1e-6, kernel="rbf", tolerance=1e-9, max_iter=10**6
    ),
}

WORK: Mapping[str, Work] = METHODS | BACKENDS | ESTIMATORS


def asked_and_taken(what: str, limit: float) -> dict[str, Any]:
    """Seconds taken when `limit` seconds are allowed, making the data included, and how it ended."""
    began = time.perf_counter()
    result = WORK[what](limit)
    return {"taken": time.perf_counter() - began, "status": str(result.status), "claim": result.claim}
