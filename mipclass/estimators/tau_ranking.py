"""The ranking solves of TauFPLClassifier: one problem on weighted rows, and a larger tau where it collapses to w = 0.

With k = ceil(tau n) negatives at the top, w = 0 is optimal for every R when the mean of the positives is an average of k negatives
(weights between 0 and 1/k). Such averages shrink towards the mean of all negatives as k grows, so a larger tau ranks
again; at k = n only positives and negatives of equal mean are left.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, Positions
from ..modelling.problem import Problem
from ..modelling.row_blocks import is_lazy, row_blocks
from ..models.false_positive import BlockedRanking, KernelRanking, number_of_top, tau_fpl
from ..protocol.result import Result
from ..protocol.run import Run
from ..solving.driver import solve_within

RAISE = 2.0
"""Factor by which a tau whose ranking collapsed is raised; 2 is that of the paper's "2 tau-FPL"."""

LARGEST_TAU = 0.99
"""The largest tau of a ranking: next to the mean of all negatives, from which a larger tau would not differ."""


NO_EIGENVALUE = 1e-12
"""Eigenvalues of a kernel matrix up to this fraction of the largest one are rounding, and are left out of its features."""


class KernelFeatures(NamedTuple):
    """A kernel matrix K = F F' as rows F of features, and the map B with K (B u) = F u, from their weights u to those of its columns.

    With F the ranking problem of weighted points is the linear one, |u|^2 = c'Kc for c = B u.
    """

    rows: Array
    to_columns: Array

    @classmethod
    def of(cls, gram: Array) -> KernelFeatures:
        """By the eigenvalues of K, O(n^3)."""
        values, vectors = np.linalg.eigh(gram)
        used = values > NO_EIGENVALUE * max(float(values[-1]), 0.0)
        roots = np.sqrt(values[used])
        return cls(vectors[:, used] * roots, vectors[:, used] / roots)


class Ranked(NamedTuple):
    """A scorer: weights of features (or of kernel columns) with its norm, the tau of its ranking, and the Result it came from."""

    weights: Array
    norm: float
    tau: float
    result: Result

    @property
    def collapsed(self) -> bool:
        """Whether w = 0 is the optimum, so that there is no ranking."""
        return bool(self.result.extra.get("collapsed", False))


class RankingTask(NamedTuple):
    """What every ranking solve of one fit shares."""

    X: Any
    gram: Array | None
    features: KernelFeatures | None
    """Of the kernel matrix, where weights are not whole numbers; else None."""
    y_pm1: Array
    weights: Array
    R: float
    solver: str
    tolerance: float
    max_iter: int
    progress: bool
    base_seed: int
    run: Run | None
    """The run of the whole fit; None on a worker, which shares no clock with it but the time of day `until`."""
    until: float

    @property
    def negatives(self) -> Positions:
        """Rows of the negatives of positive weight."""
        return np.flatnonzero((self.y_pm1 < 0) & (self.weights > 0))

    @property
    def stopped(self) -> bool:
        """Whether the time is used up or the fit was interrupted."""
        return self.run.stop() is not None if self.run is not None else time.time() >= self.until

    def scores(self, weights: Array) -> Array:
        """The scores of all rows."""
        return np.asarray(self.gram @ weights) if self.gram is not None else linear_scores(self.X, weights)

    def part(self, rows: Positions, weights: Array) -> RankingTask:
        """The same task on some rows, held in memory, with their weights."""
        gram = None if self.gram is None else self.gram[np.ix_(rows, rows)]
        features = None if self.features is None or gram is None else KernelFeatures.of(gram)
        X = self.X[rows] if self.gram is None else self.X
        if is_lazy(X):
            X = X.compute(scheduler="synchronous")
        X = X if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        return self._replace(X=X, gram=gram, features=features, y_pm1=self.y_pm1[rows], weights=weights)


def rank(task: RankingTask, weights: Array, tau: float, r: int = 0, pieces: int = 1) -> Ranked:
    """Solve the ranking problem on the points of positive weight, in one of so many equal parts of the time left."""
    inside = np.repeat(np.arange(len(weights)), weights.astype(np.intp))
    by_columns = task.gram is not None and task.features is None
    problem: Problem
    if task.features is not None:
        problem = tau_fpl(task.features.rows, task.y_pm1, tau, task.R, sample_weight=weights)
    elif task.gram is not None:
        y = task.y_pm1[inside]
        k = int(number_of_top(tau, float((y < 0).sum())))
        problem = KernelRanking(task.gram[np.ix_(inside, inside)], y, k, float(task.R))
    elif read_in_blocks(task.X):
        problem = BlockedRanking.build(task.X, task.y_pm1, weights, tau, task.R)
    else:
        problem = tau_fpl(task.X, task.y_pm1, tau, task.R, sample_weight=weights)
    run = task.run
    if run is None:
        run = Run(time_limit=None if np.isinf(task.until) else max(0.0, task.until - time.time()))
    result = solve_within(
        run,
        problem,
        "fista" if by_columns else "lbfgs" if task.features is not None else task.solver,
        pieces=pieces,
        gap=task.tolerance,
        seed=task.base_seed + r,
        progress=task.progress,
        options={"max_iterations": task.max_iter, "warn_of_collapse": False},
    )
    if by_columns:
        assert task.gram is not None
        c = np.zeros(len(weights))
        np.add.at(c, inside, result.values["c"])
        return Ranked(c, float(np.sqrt(max(0.0, float(c @ (task.gram @ c))))), tau, result)
    w = result.values["w"]
    norm = float(np.linalg.norm(w))
    return Ranked(w if task.features is None else task.features.to_columns @ w, norm, tau, result)


def rank_raised(task: RankingTask, weights: Array, tau: float, r: int = 0) -> Ranked:
    """`rank` with the first of tau, 2 tau, 4 tau ... whose ranking does not collapse; the last one tried if time runs out or all do."""
    ranked = rank(task, weights, tau, r)
    while ranked.collapsed and ranked.tau < LARGEST_TAU and not task.stopped:
        ranked = rank(task, weights, min(LARGEST_TAU, RAISE * ranked.tau), r)
    return ranked


def read_in_blocks(X: Any) -> bool:
    """Rows that should not be copied or converted as a whole: Dask arrays, memory maps, dense float32."""
    if getattr(X, "ndim", 0) != 2 or sp.issparse(X):
        return False
    return is_lazy(X) or isinstance(X, np.memmap) or (isinstance(X, np.ndarray) and X.dtype == np.float32)


def linear_scores(X: Any, w: Array) -> Array:
    """X w, read block by block where X should not be converted as a whole."""
    if read_in_blocks(X):
        return np.concatenate([block @ w for _, block in row_blocks(X)])
    return np.asarray(X @ w, dtype=np.float64)
