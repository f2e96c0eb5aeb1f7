"""PolyhedralClassifier: one class inside the intersection of half-spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..arrays import Array
from ..errors import InvalidInputError
from ..models.polyhedral import polyhedral
from ..models.rules import Polyhedron
from ..protocol.result import Result
from ..protocol.run import Run
from ..solving.driver import solve_within
from .base import BinaryClassifier, as_part_of, limited

MANY_POINTS = 20_000
"""Points beyond which inside="auto" decides on a sample: a fit to all of them takes seconds."""

CHOICE_POINTS = 2_000
"""Points of that sample."""

LEAST_OF_A_CLASS = 50
"""Points of each class that the sample has at least, if the class has as many."""


class PolyhedralClassifier(BinaryClassifier):
    """Separates two classes by h hyperplanes: one class inside all half-spaces v_j.x < g_j, the other outside.

    Minimises the sum of both classes' average violations of margin one (Astorino & Gaudioso 2002), plus l1 |V|_1. With
    one hyperplane this is the robust LP of Bennett & Mangasarian (1992), solved to optimality; with more the default
    solver finds a local minimum and `result_.claim` says what it is worth.

    Parameters
    ----------
    n_hyperplanes : the number h >= 1 of hyperplanes.
    inside : the label of the class that lies inside, or "auto": both are tried and the smaller objective is kept; beyond 20,000 points both are
        tried on a sample of 2,000 points, and the better one alone on all points.
    l1 : price of the coefficients' absolute sum; it depends on the units of X, so scale X first (in a Pipeline).
    class_weight : factors of the two class averages by label, or None. "balanced" is None: averages are balanced.
    solver : "slp", or a backend for the exact mixed-integer model ("scip"; "highs" if l1 > 0).
    options : the solver's own options, e.g. {"rounds": 100} or {"variant": "paper"} for slp.
    time_limit : seconds for the whole fit, or None. With inside="auto" each class has half of them; beyond 20,000 points each has a sixth on
        the sample, and the better one has the rest.
    progress : a line on stderr.   random_state : seed of the search.

    Attributes
    ----------
    hyperplanes_ : (h, n_features) the normals v_j, in the units of X.
    offsets_ : (h,) the offsets g_j.
    inside_ : label of the class inside.
    result_ : the Result of the solve: objective, claim, LPs solved (`iterations`), trace.
    coef_, intercept_ : the linear rule, only when n_hyperplanes is 1.
    classes_, n_features_in_, feature_names_in_ : as usual.

    Examples
    --------
    >>> import numpy as np
    >>> from mipclass.estimators.polyhedral import PolyhedralClassifier
    >>> X = np.array([[-2.0], [-1.5], [-0.2], [0.0], [0.3], [1.4], [2.0]])
    >>> y = np.array(["out", "out", "in", "in", "in", "out", "out"])
    >>> model = PolyhedralClassifier(n_hyperplanes=2, inside="in").fit(X, y)
    >>> model.predict([[0.1], [5.0]]).tolist()
    ['in', 'out']
    >>> model.result_.claim  # error 0 cannot be beaten
    'proven'
    """

    hyperplanes_: Array
    offsets_: Array
    inside_: Any

    def __init__(
        self,
        n_hyperplanes: int = 2,
        inside: Any = "auto",
        l1: float = 0.0,
        class_weight: Mapping[Any, float] | str | None = None,
        solver: str = "slp",
        options: Mapping[str, Any] | None = None,
        time_limit: float | None = None,
        progress: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.n_hyperplanes = n_hyperplanes
        self.inside = inside
        self.l1 = l1
        self.class_weight = class_weight
        self.solver = solver
        self.options = options
        self.time_limit = time_limit
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PolyhedralClassifier:
        """Find the hyperplanes."""
        with limited(self.time_limit) as run:
            X, y, weights = self._validate(X, y, sample_weight)
            candidates = self._candidates()
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            if len(candidates) > 1 and len(X) > MANY_POINTS:
                candidates = [self._better_on_sample(X, y, weights, candidates, seed, run)]
            found = self._solve_each(X, y, weights, candidates, seed, run)
        self.inside_ = min(found, key=lambda label: _objective(found[label]))
        self.result_ = found[self.inside_]
        if self.result_.objective != 0.0:  # which nothing undercuts
            self.result_ = as_part_of(self.result_, list(found.values()))
        if not self.result_.values:
            raise InvalidInputError(
                f"solver {self.solver!r} ended with status {self.result_.status} and without hyperplanes; give it more "
                "time or use solver='slp'."
            )
        self._reading = self.result_.reading
        self.hyperplanes_, self.offsets_ = self.result_.values["v"], self.result_.values["g"]
        if self.n_hyperplanes == 1:
            sign = -1.0 if self._positive_is_inside() else 1.0
            self.coef_, self.intercept_ = sign * self.hyperplanes_, -sign * self.offsets_
        return self

    def _candidates(self) -> list[Any]:
        """Labels to try inside; the larger label, which is the positive class, first."""
        if isinstance(self.inside, str) and self.inside == "auto":
            return self.classes_[::-1].tolist() if self.n_hyperplanes != 1 else [self.classes_[1]]
        if self.inside not in self.classes_.tolist():
            raise InvalidInputError(
                f"inside must be 'auto' or one of the labels {self.classes_.tolist()}; got {self.inside!r}."
            )
        return [self.inside]

    def _better_on_sample(
        self, X: Array, y: NDArray[Any], weights: Array, candidates: list[Any], seed: int, run: Run
    ) -> Any:
        """The label with the smaller objective inside, on a sample of CHOICE_POINTS points, class by class in proportion."""
        rng = np.random.default_rng(seed)
        share = CHOICE_POINTS / len(X)
        members = [np.flatnonzero(y == label) for label in self.classes_]
        sizes = [min(len(rows), max(LEAST_OF_A_CLASS, int(share * len(rows)))) for rows in members]
        picked = [rng.choice(rows, size, replace=False) for rows, size in zip(members, sizes, strict=True)]
        part = np.sort(np.concatenate(picked))
        # The sample gets a third of the time that is left, at most: the fit to all points follows.
        found = self._solve_each(X[part], y[part], weights[part], candidates, seed, run, later=2 * len(candidates))
        return min(found, key=lambda label: _objective(found[label]))

    def _solve_each(
        self,
        X: Array,
        y: NDArray[Any],
        weights: Array,
        candidates: list[Any],
        seed: int,
        run: Run,
        later: int = 0,
    ) -> dict[Any, Result]:
        """The polyhedron round each of the labels; `later` : as many solves are still to follow."""
        return {
            label: self._solve(X, y, weights, label, seed, run, later + len(candidates) - k)
            for k, label in enumerate(candidates)
        }

    def _solve(
        self, X: Array, y: NDArray[Any], weights: Array, inside: Any, seed: int, run: Run, pieces: int
    ) -> Result:
        """The polyhedron round the class `inside`, as the next of so many solves that are left."""
        same = isinstance(self.class_weight, str) and self.class_weight == "balanced"
        problem = polyhedral(
            X,
            y,
            self.n_hyperplanes,
            inside=inside,
            l1=self.l1,
            sample_weight=weights,
            class_weight=None if same else self.class_weight,
            feature_names=getattr(self, "feature_names_in_", None),
        )
        return solve_within(
            run, problem, self.solver, pieces=pieces, seed=seed, progress=self.progress, options=self.options
        )

    def _positive_is_inside(self) -> bool:
        return bool(self.inside_ == self.classes_[1])

    def decision_function(self, X: Any) -> Array:
        """min_j (g_j - v_j.x) when `classes_[1]` is inside, else max_j (v_j.x - g_j)."""
        X = self._check_new(X)
        rule = Polyhedron(len(self.offsets_), "positive" if self._positive_is_inside() else "negative")
        return rule.scores({"v": self.hyperplanes_, "g": self.offsets_}, X)


def _objective(result: Result) -> float:
    return float("inf") if result.objective is None else result.objective
