"""TauFPLClassifier: rank positives above the worst negatives, then choose a threshold with a stated guarantee."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_random_state

from ..analysis.thresholds import (
    check_rate,
    clear_of_rounding,
    rank_threshold,
    umbrella_negatives_needed,
    umbrella_order,
    umbrella_threshold,
)
from ..arrays import Array
from ..checks import is_number, is_whole_number
from ..errors import InvalidInputError, warn
from ..modelling.data import check_largest, check_scales, largest_of_columns
from ..modelling.problem import Problem
from ..modelling.row_blocks import is_lazy, row_blocks
from ..models.false_positive import BlockedRanking, KernelRanking, number_of_top, tau_fpl
from ..protocol.result import Result
from ..protocol.run import Run
from ..solving.driver import solve_within
from .base import BinaryClassifier, as_part_of, limited
from .splits import merge, row_hashes, split

MERGE_ROWS = 10_000
"""Rows up to which equal points are merged first, so that weights and repetition agree to the last bit."""

BOOTSTRAP_SHARE = 0.632
"""Share of the distinct points that a bootstrap sample holds on average: 1 - 1/e."""


class Ranked(NamedTuple):
    """A scorer: weights of features (or of kernel columns) with its norm, and the Result it came from."""

    weights: Array
    norm: float
    result: Result


class RankingTask(NamedTuple):
    """What every ranking solve of one fit shares."""

    X: Any
    gram: Array | None
    y_pm1: Array
    weights: Array
    base_seed: int
    run: Run | None
    """The run of the whole fit; None on a worker, which shares no clock with it but the time of day `until`."""
    until: float


class TauFPLClassifier(BinaryClassifier):
    """Few false positives: tau-FPL (Zhang et al. 2018) with thresholds that say what they promise.

    The score w.x minimises  (1/m) sum_i [1 - w.x_i + T(w)]_+^2 + (R/2)|w|^2  over the positives, T(w) the mean of the
    k = ceil(ranking_tau * n) largest scores of the n negatives. A point is positive iff its score is > threshold.

    Parameters
    ----------
    tau : tolerated false-positive rate, in (0, 1).
    ranking_tau : the tau of the ranking; None for `tau` itself. 2 * tau often ranks better ("2 tau-FPL").
    R : weight of the penalty, > 0.
    threshold : "oob" (out-of-bootstrap: thresholds of `n_rounds` splits, averaged with their scorers; controls the rate
        on average), "umbrella" (Tong, Feng and Li 2018: the rate exceeds tau with probability at most `delta`; holds out
        half of the negatives) or "train" (the rank rule on the training data; promises nothing for new data).
    delta : see "umbrella".
    n_rounds : splits of "oob".
    kernel : "linear", "rbf" or "precomputed".   gamma : of "rbf": a number, or "scale" for 1 / (n_features * X.var()).
    solver : "lbfgs" or "fista" (kernels always use "fista").
    tolerance : relative duality gap at which each ranking problem is solved.   max_iter : its iterations at most.
    time_limit : seconds for the whole fit; the rounds finished by then are used.
    n_jobs : rounds at a time, through joblib.   random_state : of the splits.

    Attributes
    ----------
    threshold_ : the threshold on the score; `intercept_` is its negative.
    guarantee_ : what the threshold promises, in words.
    coef_ : (1, n_features), linear kernel only.   dual_coef_ : weights of the training points, other kernels.
    k_ : how many negatives the ranking averages.   n_iter_ : iterations of `result_`.
    result_ : the Result of the ranking problem ("oob": of the last round; all in `results_`).

    Notes
    -----
    Equal points always stay on one side of a split of "oob". The umbrella counts every held-out negative of positive
    weight once. X may be a Dask array, a memory map or float32: rows are then read block by block (linear kernel only).

    Examples
    --------
    >>> import numpy as np
    >>> from mipclass import TauFPLClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 200)
    >>> X = rng.normal(size=(400, 2)) + 3.0 * y[:, None]
    >>> clf = TauFPLClassifier(tau=0.05, threshold="umbrella", random_state=0).fit(X, y)
    >>> bool(clf.predict(X)[y == 0].mean() <= 0.05)
    True
    """

    _sparse = True
    coef_: Array
    dual_coef_: Array
    threshold_: float

    def __init__(
        self,
        tau: float = 0.05,
        ranking_tau: float | None = None,
        R: float = 1e-3,
        threshold: str = "oob",
        delta: float = 0.05,
        n_rounds: int = 10,
        *,
        kernel: str = "linear",
        gamma: float | str = "scale",
        solver: str = "lbfgs",
        tolerance: float = 1e-3,
        max_iter: int = 2000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.tau = tau
        self.ranking_tau = ranking_tau
        self.R = R
        self.threshold = threshold
        self.delta = delta
        self.n_rounds = n_rounds
        self.kernel = kernel
        self.gamma = gamma
        self.solver = solver
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- fitting --------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TauFPLClassifier:
        """Learn the score and its threshold. `sample_weight`: integer weights equal repetition, zero equals removal."""
        self._check_parameters()
        with limited(self.time_limit) as run:
            return self._fit(X, y, sample_weight, run)

    def _fit(self, X: Any, y: Any, sample_weight: Any, run: Run) -> TauFPLClassifier:
        if self.kernel == "linear" and _read_in_blocks(X):
            X, y, weights = self._validate_blocks(X, y, sample_weight)
        else:
            X, y, weights = self._validate(X, y, sample_weight)
            check_scales(X, self._names(), free_units=False)
        y_pm1 = self._signs(y)
        for sign, label in ((-1.0, self.classes_[0]), (1.0, self.classes_[1])):
            if not weights[y_pm1 == sign].any():
                raise ValueError(f"all samples of class {label!r} have weight zero; a classifier needs two classes.")
        weighable = self.kernel == "rbf" or (self.kernel == "linear" and self.solver == "lbfgs")
        if weighable and X.shape[0] <= MERGE_ROWS and self.threshold != "umbrella":
            X, y_pm1, weights = merge(X, y_pm1, weights)
        gram = self._fit_kernel(X)
        if gram is not None and (weights != np.round(weights)).any():
            raise ValueError(f"kernel={self.kernel!r} takes whole-number weights only; kernel='linear' takes any.")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._choose(RankingTask(X, gram, y_pm1, weights, seed, run, time.time() + run.seconds_left()))
        return self

    def _choose(self, task: RankingTask) -> None:
        """Fit the scorer and its threshold by the rule that `threshold` names."""
        negatives = task.weights * (task.y_pm1 < 0)
        tau_rank = self.tau if self.ranking_tau is None else self.ranking_tau
        self.k_ = number_of_top(tau_rank, float(negatives.sum()))
        if tau_rank * float(negatives.sum()) < 1.0:
            warn(
                f"{negatives.sum():g} negatives are fewer than 1/{tau_rank:g}: the ranking looks at the single worst "
                "negative (k = 1), and the threshold lies above all negatives it sees."
            )
        fit = {"train": self._fit_train, "oob": self._fit_oob, "umbrella": self._fit_umbrella}[self.threshold]
        scorer, self.threshold_ = fit(task)
        self.intercept_ = np.array([-self.threshold_])
        self.n_iter_ = max(1, self.result_.iterations or 0)
        if task.gram is None:
            self.coef_ = scorer.reshape(1, -1)
        else:
            self.dual_coef_ = scorer.reshape(1, -1)

    def _fit_train(self, task: RankingTask) -> tuple[Array, float]:
        """One ranking of all points; the threshold is the rank rule on the same points."""
        ranked = self._rank(task, task.weights, 0)
        self.result_ = ranked.result
        scores = self._train_scores(task, ranked.weights)
        neg = (task.y_pm1 < 0) & (task.weights > 0)
        b = clear_of_rounding(rank_threshold(scores[neg], self.tau, task.weights[neg]), scores)
        self.guarantee_ = (
            f"false-positive rate <= {self.tau:g} on the training data (rank rule); none for new data, where it is "
            "usually higher"
        )
        return ranked.weights, b

    def _fit_oob(self, task: RankingTask) -> tuple[Array, float]:
        """Scorers of unit norm and their thresholds on held-out negatives, averaged over random splits."""
        kept = np.flatnonzero(task.weights > 0)
        hashes = row_hashes(task.X)[kept]
        labels = task.y_pm1[kept]
        if len(np.unique(hashes[labels < 0])) < 2:
            warn(
                "threshold='oob' needs two different negatives to hold one out; the rank rule on the training data is "
                "used instead."
            )
            return self._fit_train(task)
        rounds = self._run_rounds(task, kept, hashes, labels)
        self.results_ = [ranked.result for ranked, _ in rounds]
        self.result_ = as_part_of(self.results_[-1], self.results_)
        stopped = None if task.run is None else task.run.stop()
        if len(rounds) < self.n_rounds and stopped is not None:
            self.result_ = replace(self.result_, status=stopped, claim="heuristic")
        used = [(ranked, b) for ranked, b in rounds if ranked.norm > 0.0]
        if not used:  # every round collapsed to w = 0, and said so
            self.guarantee_ = "nothing is called positive: the ranking collapsed to w = 0 in every round"
            return np.zeros_like(rounds[0][0].weights), 0.0
        self.guarantee_ = (
            f"false-positive rate about {self.tau:g} on average over training samples (out-of-bootstrap, "
            f"{len(used)} rounds); single samples may exceed it"
        )
        scorer = np.mean([ranked.weights / ranked.norm for ranked, _ in used], axis=0)
        return scorer, float(np.mean([b / ranked.norm for ranked, b in used]))

    def _run_rounds(
        self, task: RankingTask, kept: NDArray[np.intp], hashes: NDArray[np.uint64], labels: Array
    ) -> list[tuple[Ranked, float]]:
        run = task.run

        def one(r: int) -> tuple[Ranked, float]:
            first, rest = split(hashes, labels, BOOTSTRAP_SHARE, here.base_seed + r)
            inside = np.zeros(len(here.weights))
            inside[kept[first]] = here.weights[kept[first]]
            ranked = self._rank(here, inside, r)
            out = kept[rest][here.y_pm1[kept[rest]] < 0]
            scores = self._train_scores(here, ranked.weights)
            return ranked, clear_of_rounding(rank_threshold(scores[out], self.tau, here.weights[out]), scores)

        if self.n_jobs not in (None, 1):
            from joblib import Parallel, delayed

            here = task._replace(run=None)
            return list(Parallel(n_jobs=self.n_jobs)(delayed(one)(r) for r in range(self.n_rounds)))
        here, rounds = task, list[tuple[Ranked, float]]()
        for r in range(self.n_rounds):
            if rounds and run is not None and run.stop() is not None:
                break
            rounds.append(one(r))
        return rounds

    def _fit_umbrella(self, task: RankingTask) -> tuple[Array, float]:
        """One ranking without the held-out negatives; the threshold is an order statistic of their scores."""
        neg = np.flatnonzero((task.y_pm1 < 0) & (task.weights > 0))
        needed = umbrella_negatives_needed(self.tau, self.delta)
        held = max(needed, len(neg) // 2)
        if held > len(neg) - 1:
            umbrella_order(len(neg) - 1, self.tau, self.delta)  # raises, and says how many are needed
        # Rows are drawn one by one here: the guarantee needs held-out negatives that are exchangeable with new ones.
        out = np.random.default_rng(task.base_seed).permutation(neg)[:held]
        inside = task.weights.copy()
        inside[out] = 0.0
        ranked = self._rank(task, inside, 0)
        self.result_ = ranked.result
        scores = self._train_scores(task, ranked.weights)
        order = umbrella_order(held, self.tau, self.delta)
        self.guarantee_ = (
            f"P(false-positive rate > {self.tau:g}) <= {self.delta:g} over samples, for new data of the same "
            f"distribution (umbrella: order statistic {order} of {held} held-out negatives)"
        )
        return ranked.weights, clear_of_rounding(umbrella_threshold(scores[out], self.tau, self.delta), scores)

    def _rank(self, task: RankingTask, weights: Array, r: int) -> Ranked:
        """Solve the ranking problem on the points of positive weight."""
        tau = self.tau if self.ranking_tau is None else self.ranking_tau
        inside = np.repeat(np.arange(len(weights)), weights.astype(np.intp)) if task.gram is not None else None
        problem: Problem
        if task.gram is not None and inside is not None:
            y = task.y_pm1[inside]
            k = int(number_of_top(tau, float((y < 0).sum())))
            problem = KernelRanking(task.gram[np.ix_(inside, inside)], y, k, float(self.R))
        elif _read_in_blocks(task.X):
            problem = BlockedRanking.build(task.X, task.y_pm1, weights, tau, self.R)
        else:
            problem = tau_fpl(task.X, task.y_pm1, tau, self.R, sample_weight=weights)
        run = task.run
        if run is None:
            run = Run(time_limit=None if np.isinf(task.until) else max(0.0, task.until - time.time()))
        result = solve_within(
            run,
            problem,
            "fista" if task.gram is not None else self.solver,
            gap=self.tolerance,
            seed=task.base_seed + r,
            options={"max_iterations": self.max_iter},
        )
        if task.gram is None or inside is None:
            w = result.values["w"]
            return Ranked(w, float(np.linalg.norm(w)), result)
        c = np.zeros(len(weights))
        np.add.at(c, inside, result.values["c"])
        return Ranked(c, float(np.sqrt(max(0.0, float(c @ (task.gram @ c))))), result)

    def _train_scores(self, task: RankingTask, weights: Array) -> Array:
        if task.gram is not None:
            return np.asarray(task.gram @ weights)
        return _scores(task.X, weights)

    # -- checking -------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_rate("tau", self.tau)
        check_rate("delta", self.delta)
        if self.ranking_tau is not None:
            check_rate("ranking_tau", self.ranking_tau)
        choices = {
            "threshold": ("oob", "umbrella", "train"),
            "kernel": ("linear", "rbf", "precomputed"),
            "solver": ("lbfgs", "fista"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                shown = ", ".join(map(repr, allowed))
                raise InvalidInputError(f"{name} must be one of {shown}; got {getattr(self, name)!r}.")
        if not is_whole_number(self.n_rounds) or self.n_rounds < 1:
            raise InvalidInputError(f"n_rounds must be a whole number >= 1; got {self.n_rounds!r}.")
        if not is_number(self.tolerance) or not self.tolerance > 0:
            raise InvalidInputError(f"tolerance must be a number > 0; got {self.tolerance!r}.")

    def _validate_blocks(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Array]:
        """As `_validate`, reading X block by block."""
        largest = np.zeros(X.shape[1])
        for rows, block in row_blocks(X):
            if not np.isfinite(block).all():
                raise ValueError(f"Input X contains NaN or infinity in rows {rows.start} to {rows.stop - 1}.")
            largest = np.maximum(largest, largest_of_columns(block))
        placeholder = np.zeros((X.shape[0], 1))
        _, y, weights = self._validate(placeholder, np.asarray(y), sample_weight)
        self.n_features_in_ = int(X.shape[1])
        check_largest(largest, self._names(), free_units=False)
        return X, y, weights

    def _names(self) -> list[str]:
        """The names of the features, or x0, x1, ..."""
        return list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))

    def _fit_kernel(self, X: Any) -> Array | None:
        if self.kernel == "linear":
            return None
        self.X_fit_ = X
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"kernel='precomputed' needs a square kernel matrix; got shape {X.shape}.")
            return np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        if self.gamma == "scale":
            square = X.multiply(X).mean() if hasattr(X, "toarray") else np.mean(X**2)
            variance = float(square - X.mean() ** 2)
            self.gamma_ = 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
        elif isinstance(self.gamma, int | float) and self.gamma > 0:
            self.gamma_ = float(self.gamma)
        else:
            raise InvalidInputError(f"gamma must be 'scale' or a number > 0; got {self.gamma!r}.")
        return np.asarray(pairwise_kernels(X, metric="rbf", gamma=self.gamma_))

    # -- using ----------------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Score minus threshold: positive where `classes_[1]` is predicted."""
        if hasattr(self, "coef_") and _read_in_blocks(X) and X.shape[1] == self.n_features_in_:
            return _scores(X, self.coef_[0]) - self.threshold_
        X = self._check_new(X)
        if hasattr(self, "coef_"):
            return _scores(X, self.coef_[0]) - self.threshold_
        K = X if self.kernel == "precomputed" else pairwise_kernels(X, self.X_fit_, metric="rbf", gamma=self.gamma_)
        return np.asarray(K @ self.dual_coef_[0], dtype=np.float64) - self.threshold_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _read_in_blocks(X: Any) -> bool:
    """Rows that should not be copied or converted as a whole: Dask arrays, memory maps, dense float32."""
    if getattr(X, "ndim", 0) != 2 or sp.issparse(X):
        return False
    return is_lazy(X) or isinstance(X, np.memmap) or (isinstance(X, np.ndarray) and X.dtype == np.float32)


def _scores(X: Any, w: Array) -> Array:
    if _read_in_blocks(X):
        return np.concatenate([block @ w for _, block in row_blocks(X)])
    return np.asarray(X @ w, dtype=np.float64)
