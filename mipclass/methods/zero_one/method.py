"""What the methods for the plain weighted 0-1 loss share: what they take, where they start, how they answer.

    minimise over (w, b)   sum_i c_i [ t_i (w.x_i + b) <= 0 ]

A method prepares the data (`zero_one_data`), starts from a linear SVM (or the caller's warm start), searches over the
homogeneous rows, and hands back a rule in the user's units without ties, whose loss is counted on the user's data.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...modelling.model import Model
from ...models.rules import Linear
from ...models.zero_one_loss import ZeroOne
from ...protocol.options import Option, Options, number, one_of
from ...protocol.result import Claim, Outcome, Status
from ...protocol.run import Run
from ..base import Method
from .prepared import ZeroOneData, best_offset, prepare, recentre

MOST_DENSE_ENTRIES = 50_000_000
MOST_CENTRED_ENTRIES = 2_000_000  # beyond that the centring LP takes longer than the search

COMMON_OPTIONS: dict[str, Option] = {
    "centre": Option(
        True, "move the rule found to the middle of its cell (an LP); not in printed variants", one_of(True, False)
    ),
    "svm_C": Option(
        100.0, "C of the linear SVM (squared hinge, standardised features) that gives the start", number(1e-9)
    ),
}
VARIANT_OPTION: dict[str, Option] = {
    "variant": Option("default", "'paper': the algorithm as printed", one_of("default", "paper"))
}


@dataclass(frozen=True)
class Task:
    """One search: the prepared rows, a start over them, limits and reporting.

    points : the rows before opposite twins cancelled, for what is not a 0-1 loss (an SVM, means and variances).
    tell(loss, lower=..., nodes=..., iterations=...) reports a loss or a bound of the prepared rows.
    """

    data: ZeroOneData
    points: ZeroOneData
    start: Array
    run: Run
    tell: Callable[..., None]

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.run.seed)


@dataclass(frozen=True)
class Found:
    """What a search found: W over the kept columns (offset last), and what it can say about it.

    lower : a lower bound on the loss of the prepared rows (without their constant), 0 when nothing is known.
    stopped : why the search ended early; None when it came to its own end.
    """

    W: Array
    lower: float = 0.0
    stopped: Status | None = None
    nodes: int | None = None
    iterations: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def refuse_all_but_plain(problem: Any) -> str | None:
    """None for a Model that minimises ZeroOne() over Linear() with a free offset and nothing else; else the reason."""
    if not isinstance(problem, Model):
        return "it takes a Model that minimises ZeroOne(); use solver='highs' for a Program."
    term = problem.term(ZeroOne)
    if len(problem.terms) != 1 or term is None:
        return f"it minimises ZeroOne() alone, and the objective is {problem.objective.formula()}; use solver='highs'."
    if term[1].margin != 0 or term[1].on != "all":
        return "it minimises the scale-free loss of all points, ZeroOne(margin=0, on='all'); use solver='highs'."
    if not isinstance(problem.rule, Linear) or problem.rule.intercept is not True:
        return "it takes rule=Linear() with a free offset (intercept=True); use solver='highs'."
    if problem.constraints:
        return f"it takes no side constraints, and there is {problem.constraints[0].formula()}; use solver='exact' or 'highs'."
    if hasattr(problem.X, "toarray") and np.prod(problem.X.shape) > MOST_DENSE_ENTRIES:
        return f"X is sparse with {problem.X.shape} entries, too many to hold as a dense array; select features or rows first."
    return None


class PlainZeroOne(Method):
    """Base of bnb, pcs, csa, sla and local: subclasses search, this class prepares and answers."""

    options: ClassVar[Options] = COMMON_OPTIONS

    def refuses(self, problem: Any) -> str | None:
        return refuse_all_but_plain(problem)

    @abstractmethod
    def search(self, task: Task) -> Found:
        """Search from `task.start` within the limits of `task.run`."""

    def first_rule(self, x: Array, data: ZeroOneData, points: ZeroOneData, run: Run) -> Array:
        """Where the search starts; see `start_rule`."""
        return start_rule(x, data, points, run)

    def solve(self, problem: Model, run: Run) -> Outcome:
        X = problem.X.toarray() if hasattr(problem.X, "toarray") else problem.X
        y, weights = problem.y_pm1, problem.weights
        data = prepare(X, y, weights)
        points = prepare(X, y, weights, cancel=False) if data.constant else data
        scale = problem.terms[0][0]
        run.report(bound=scale * data.constant)

        def tell(loss: float | None = None, *, lower: float | None = None, **effort: int | None) -> None:
            run.report(
                objective=None if loss is None else scale * (loss + data.constant),
                bound=None if lower is None else scale * (lower + data.constant),
                **effort,
            )

        start = self.first_rule(X[np.argmax(weights > 0)], data, points, run)
        tell(data.loss(start) - data.constant)
        found = self.search(Task(data, points, start, run, tell)) if len(data.Z) else Found(start)
        w, b = data.rule(self._finished(data, start, found.W, run))
        scores = np.asarray(X @ w)
        if run.options.get("variant") != "paper" or (scores + b == 0).any():
            b = best_offset(scores, y, weights, b)
        values = {"w": w, "b": np.asarray(b)}
        objective = problem.recount(values)
        bound = scale * (found.lower + data.constant)
        is_proven = objective <= bound + 1e-9 * max(1.0, abs(objective))
        claim: Claim = "proven" if is_proven else "heuristic"
        within = objective - bound <= run.gap * max(1.0, abs(objective))
        status = Status.OPTIMAL if is_proven or within else found.stopped or Status.ITERATION_LIMIT
        return Outcome(
            status, claim, values, objective, bound, nodes=found.nodes, iterations=found.iterations, extra=found.extra
        )

    def _finished(self, data: ZeroOneData, start: Array, W: Array, run: Run) -> Array:
        """W moved to the middle of its cell, where rounding does no harm and new points find the widest margin.

        A start that was not improved on stays as it is (an SVM's rule has a margin of its own), and so does a printed
        algorithm's rule.
        """
        if data.loss(W) >= data.loss(start):
            return start
        is_paper = run.options.get("variant") == "paper"
        if is_paper or not run.options["centre"] or data.Z.size > MOST_CENTRED_ENTRIES or run.stop() is not None:
            return W
        return recentre(data, W)


def start_rule(x: Array, data: ZeroOneData, points: ZeroOneData, run: Run) -> Array:
    """The rule a search starts from: the caller's warm start, else a linear SVM; the better of its two sides.

    x is any point of the user's, for the value of the columns that are constant.
    """
    if run.warm_start is not None and "w" in run.warm_start:
        w = np.asarray(run.warm_start["w"], dtype=np.float64)
        dropped = np.setdiff1d(np.arange(data.n_features), data.columns)
        b = float(run.warm_start.get("b", np.zeros(()))) + float(x[dropped] @ w[dropped])
        W = np.append(w[data.columns], b)
    else:
        W = svm_rule(points, run.options.get("svm_C", 100.0), run.seed)
    return W if data.loss(W) <= data.loss(-W) else -W


def standardising(points: ZeroOneData) -> Array:
    """The matrix T with W = T W', W' being a rule over features of mean 0 and variance 1 (weighted)."""
    X = points.Z[:, :-1] * points.labels[:, None]
    mean = np.average(X, axis=0, weights=points.weights)
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=points.weights))
    spread = np.where(spread > 0, spread, 1.0)
    T = np.diag(np.append(1.0 / spread, 1.0))
    T[-1, :-1] = -mean / spread
    return T


def svm_rule(points: ZeroOneData, C: float, seed: int) -> Array:
    """W of scikit-learn's LinearSVC on standardised features; the weightier class where there is nothing to learn."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    y, weights = points.labels, points.weights
    n, m = points.Z.shape
    majority = np.append(np.zeros(m - 1), 1.0 if y @ weights >= 0 else -1.0)
    if m == 1 or len(np.unique(y)) < 2:
        return majority
    T = standardising(points)
    X = (points.Z @ T)[:, :-1] * y[:, None]
    svm = LinearSVC(C=C, dual=n < m - 1, random_state=seed % 2**32, max_iter=5000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # any rule will do for a start
        svm.fit(X, y, sample_weight=weights)
    W: Array = T @ np.append(svm.coef_[0], svm.intercept_[0])
    return W if np.any(W) else majority
