"""ZeroOneClassifier: the linear rule with the fewest errors (Nguyen & Sanner 2013)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..analysis.score_card import ScoreCard, count_totals
from ..arrays import Array
from ..checks import is_whole_number
from ..errors import InvalidInputError
from ..modelling.algebra import Constraint
from ..modelling.model import Model
from ..models.coefficient_constraints import IntegerCoefficients
from ..models.zero_one import zero_one
from ..protocol.result import Result, Status
from ..protocol.run import Run
from ..solving.driver import solve_within
from ..solving.policy import Effort
from .base import LinearClassifier, as_part_of, limited


class ZeroOneClassifier(LinearClassifier):
    """Linear classifier that makes the fewest (weighted) errors on the training data.

    Minimise sum_i c_i [y_i (w.x_i + b) <= 0] over w and b. No scaling is needed: the loss does not depend on the units of
    the features, and the coefficients are in the user's units.

    Parameters
    ----------
    solver : "auto" is the package's one policy (mipclass.solving.policy): with a time limit or with `subject_to` it is the
        proving method, "exact". Without either, the fit takes about a second, by a fixed number of steps: "exact" where a proof
        takes no longer, and "csa" (heuristic) elsewhere. `result_.extra["auto"]` says what was chosen and why. Or a name:
        "exact", "bnb", "pcs", "csa", "sla", "local", "highs", "scip" ...
    n_restarts : number of solves with independent seeds, run by joblib on `n_jobs` workers; the one with the fewest errors
        is kept, the first of equals.
    subject_to : side constraints, such as models.FalsePositiveRate(at_most=0.05), for solvers that take them.
    class_weight : weights of errors by class: a mapping, "balanced" or None.
    options : options of the solver by name.
    time_limit : seconds for the whole fit, all restarts included, or None. gap : relative gap at which a proving solver may stop.
    progress : a line on stderr. random_state : seed; one seed gives one rule.

    Attributes
    ----------
    coef_, intercept_ : the rule, in the user's units.
    loss_ : weighted training errors of the rule.
    bound_ : proven lower bound on the loss of every rule.
    result_ : the solver's full answer: status, claim ("proven" or "heuristic"), trace ...
    classes_, n_features_in_, feature_names_in_.

    Examples
    --------
    >>> from mipclass import ZeroOneClassifier
    >>> clf = ZeroOneClassifier().fit([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1])
    >>> clf.loss_, clf.result_.claim
    (1.0, 'proven')
    """

    _sparse = True
    loss_: float
    bound_: float | None
    totals_: Array | None

    def __init__(
        self,
        solver: str = "auto",
        *,
        n_restarts: int = 1,
        subject_to: Constraint | Sequence[Constraint] = (),
        class_weight: Mapping[Any, float] | str | None = None,
        options: Mapping[str, Any] | None = None,
        time_limit: float | None = None,
        gap: float = 0.0,
        n_jobs: int | None = None,
        progress: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.solver = solver
        self.n_restarts = n_restarts
        self.subject_to = subject_to
        self.class_weight = class_weight
        self.options = options
        self.time_limit = time_limit
        self.gap = gap
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ZeroOneClassifier:
        """Fit to points X (dense or CSR) and labels y of two kinds; a weight of 2 counts like two equal points."""
        with limited(self.time_limit) as run:
            return self._fit(X, y, sample_weight, run)

    def _fit(self, X: Any, y: Any, sample_weight: Any, run: Run) -> ZeroOneClassifier:
        X, y, weights = self._validate(X, y, sample_weight)
        if not is_whole_number(self.n_restarts) or self.n_restarts < 1:
            raise InvalidInputError(f"n_restarts must be a whole number >= 1; got {self.n_restarts!r}.")
        problem = self.declare(X, y, weights)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_restarts)
        results = self._solve_all(problem, [int(seed) for seed in seeds], run)
        self.result_ = best_of(results)
        if self.result_.claim != "proven":
            stopped = run.stop() or Status.TIME_LIMIT if len(results) < len(seeds) else None
            self.result_ = as_part_of(self.result_, results, stopped)
        if not self.result_.values:
            raise InvalidInputError(self._nothing_found())
        self._set_rule(self.result_.values)
        self._reading = self.result_.reading
        self.loss_ = problem.recount(self.result_.values)
        self.bound_ = self.result_.bound
        totals = np.asarray(X @ self.coef_[0], dtype=np.float64)
        is_card = any(isinstance(constraint, IntegerCoefficients) for constraint in problem.constraints)
        self.totals_ = count_totals(totals, problem.weights, y == self.classes_[1]) if is_card else None
        return self

    def declare(self, X: Any, y: Any, sample_weight: Any = None) -> Model:
        """The problem that `fit` solves for these data, for instance to hold a certificate against it."""
        constraints = [self.subject_to] if isinstance(self.subject_to, Constraint) else list(self.subject_to)
        return zero_one(
            X,
            y,
            subject_to=constraints,
            sample_weight=sample_weight,
            class_weight=self.class_weight,
            feature_names=getattr(self, "feature_names_in_", None),
            pos_label=self.classes_[1] if hasattr(self, "classes_") else None,
        )

    def _nothing_found(self) -> str:
        """What to do when the solve ended without a rule."""
        if self.result_.status is Status.INFEASIBLE:
            return (
                "no rule satisfies everything in subject_to (infeasible). print(mipclass.explain(classifier.declare(X, y))) names the "
                "constraints in conflict and how far each would have to give way."
            )
        return f"solver {self.result_.solver!r} found no rule: {self.result_.status}. Raise time_limit or loosen subject_to."

    @property
    def card_(self) -> ScoreCard:
        """The rule as a scorecard, where whole weights were asked for (IntegerCoefficients in `subject_to`)."""
        try:
            return self.card()
        except (InvalidInputError, NotFittedError) as error:
            raise AttributeError(str(error)) from error  # as hasattr() and dir() expect

    def card(self, feature_names: Sequence[str] | None = None, positive: Any = None) -> ScoreCard:
        """The scorecard, with other names of the columns and of the positive class than those that `fit` saw."""
        check_is_fitted(self)
        if self.totals_ is None:
            raise InvalidInputError(
                "the rule is no scorecard: ask for whole weights, subject_to=models.IntegerCoefficients(5)."
            )
        known = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        names = known if feature_names is None else feature_names
        used = np.flatnonzero(self.coef_[0])
        order = used[np.argsort(-np.abs(self.coef_[0][used]), kind="stable")]
        return ScoreCard(
            conditions=tuple((str(names[j]), int(self.coef_[0][j])) for j in order),
            per_unit=(True,) * len(order),
            offset=float(self.intercept_[0]),
            multiplier=None,
            totals=self.totals_[:, 0],
            weights=self.totals_[:, 1],
            positives=self.totals_[:, 2],
            positive=self.classes_[1] if positive is None else positive,
        )

    def _solve_all(self, problem: Model, seeds: list[int], run: Run) -> list[Result]:
        """One result per seed, one after the other or on workers; those that an interruption leaves no time for are left out."""
        workers = min(effective_n_jobs(self.n_jobs), len(seeds))
        if workers > 1:
            rounds = -(-len(seeds) // workers)
            until = time.time() + run.seconds_left()
            # Workers share no clock but the time of day; each restart gets the same part of what is left when it starts.
            jobs = (delayed(self._solve_remote)(problem, s, until, rounds - k // workers) for k, s in enumerate(seeds))
            found: list[Result] = Parallel(n_jobs=self.n_jobs)(jobs)
            return found
        results: list[Result] = []
        overrun = 0.0  # of a restart beyond its part: what it needs to prepare the data, whatever the limit
        for k, seed in enumerate(seeds):
            if results and (run.stop() is not None or run.seconds_left() <= overrun):
                break
            began, part = run.seconds(), run.seconds_left() / (len(seeds) - k)
            results.append(self._solve(problem, seed, run, len(seeds) - k))
            overrun = max(overrun, run.seconds() - began - part)
        return results

    def _solve_remote(self, problem: Model, seed: int, until: float, pieces: int) -> Result:
        """One restart on a worker, as one of so many that it still has to make before the time of day `until`."""
        with limited(None) as run:
            run.time_limit = None if until == np.inf else max(0.0, until - time.time())
            return self._solve(problem, seed, run, pieces)

    def _solve(self, problem: Model, seed: int, run: Run, pieces: int) -> Result:
        """One restart, as the next of so many that are left."""
        effort = Effort.SECOND if self.time_limit is None else Effort.PROOF
        return solve_within(
            run,
            problem,
            self.solver,
            pieces=pieces,
            effort=effort,
            gap=self.gap,
            seed=seed,
            progress=self.progress,
            options=self.options,
        )


def best_of(results: Sequence[Result]) -> Result:
    """The result of least objective, the first of equals; results without a point come last."""
    return min(
        results, key=lambda result: np.inf if result.objective is None or not result.values else result.objective
    )
