"""One random split of a data set for the tables of Suzumura et al. (2014): its parts, its training problem, and the choice by validation error."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mipclass import datasets, models
from mipclass.methods.robust_svm.form import RobustForm, match_robust
from mipclass.methods.robust_svm.solution_path import OutlierPath, Parameter
from mipclass.protocol.run import Run

COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
SPARSE = ("w5a", "a6a", "a7a")
RANGED = ("musk2",)
FLIPPED, FEWER = 0.15, 0.10
"""Share of the labels that the paper flips, and that of an experiment."""
CCCP_SECONDS = 6.0  # for one C and one parameter: coordinate descent at C = 100 takes minutes on the larger sets
PARAMETERS: tuple[Parameter, ...] = ("theta", "s")

Part = tuple[np.ndarray, np.ndarray]
Parts = tuple[Part, Part, Part]


class Split:
    """One random split: training part as a model, and how to score validation and test points."""

    def __init__(
        self, name: str, kernel: str, seed: int, offset: bool = True, ranged: bool = False, flipped: float = FLIPPED
    ) -> None:
        """ranged : columns go to [-1, 1], whatever the set.     flipped : share of the labels of training and validation that are flipped."""
        self.kernel, self.offset, self.ranged, self.flipped = kernel, offset, ranged or name in RANGED, flipped
        (self.X, self.y), self.held, self.test = self.parts(name, seed)
        self.rule = models.Kernel("rbf", offset=1.0 if offset else 0.0)
        linear = {"intercept": "penalised" if offset else False}
        how: dict[str, Any] = linear if kernel == "linear" else {"kernel": self.rule}
        model = models.robust_svm(self.X, self.y, 1.0, **how)
        self.points = self.X[model.points.first]
        self.robust = form_of(model)
        if kernel != "linear":
            self.grams = [self.rule.gram(part, self.points) for part, _ in (self.held, self.test)]

    def parts(self, name: str, seed: int) -> Parts:
        """Training, validation and test part, labels of the first two flipped, features scaled as the module says."""
        X, y = datasets.load(name)
        X = X.toarray() if hasattr(X, "toarray") else X
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        first, second = int(0.4 * len(y)), int(0.7 * len(y))
        train, held, test = order[:first], order[first:second], order[second:]
        if self.ranged:
            low, high = X[train].min(axis=0), X[train].max(axis=0)
            X = 2 * (X - low) / np.where(high > low, high - low, 1.0) - 1
        elif name not in SPARSE:
            spread = X[train].std(axis=0)
            X = (X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        noisy = datasets.flip_labels(y[order[:second]], self.flipped, random_state=rng)
        return (X[train], noisy[:first]), (X[held], noisy[first:]), (X[test], y[test])

    def problem(self, C: float) -> RobustForm:
        """The training problem at cost C."""
        return replace(self.robust, weight=C * self.robust.weight)

    def held_errors(self, alphas: np.ndarray) -> np.ndarray:
        """Validation errors for rows of multipliers."""
        return self._errors(0, alphas)

    def test_error(self, alpha: np.ndarray) -> float:
        """The test error of one vector of multipliers."""
        return float(self._errors(1, alpha[None])[0])

    def path_errors(self, path: OutlierPath) -> np.ndarray:
        """Validation errors at every breakpoint of a path."""
        if self.kernel != "linear":
            return path.errors(self.grams[0], self.held[1])
        W = path.coefficients(self._augmented(self.points))
        return np.concatenate([self._wrong(0, W[k : k + 2000]) for k in range(0, len(W), 2000)])

    def _errors(self, which: int, alphas: np.ndarray) -> np.ndarray:
        coefficients = alphas * self.robust.y
        if self.kernel == "linear":
            return self._wrong(which, coefficients @ self._augmented(self.points))
        labels = (self.held, self.test)[which][1]
        return np.mean((coefficients @ self.grams[which].T > 0) != (labels > 0), axis=1)

    def _wrong(self, which: int, W: np.ndarray) -> np.ndarray:
        """Errors of linear rules on validation (0) or test points (1)."""
        points, labels = (self.held, self.test)[which]
        return np.mean((W @ self._augmented(points).T > 0) != (labels > 0), axis=1)

    def _augmented(self, points: np.ndarray) -> np.ndarray:
        """The points with a constant column, if there is an offset."""
        return np.hstack([points, np.ones((len(points), 1))]) if self.offset else points


class Choice:
    """The candidates with the fewest validation errors so far."""

    def __init__(self) -> None:
        self.fewest = np.inf
        self.found: list[tuple[Callable[[int], np.ndarray], int]] = []

    def offer(self, held: np.ndarray, alpha: Callable[[int], np.ndarray]) -> None:
        """Candidates k = 0, 1, ... with validation errors held[k] and multipliers alpha(k)."""
        least = float(held.min())
        if least < self.fewest:
            self.fewest, self.found = least, []
        if least == self.fewest:
            self.found += [(alpha, int(k)) for k in np.flatnonzero(held == least)]

    def alpha(self) -> np.ndarray:
        """The middle one among equals."""
        alpha, k = self.found[len(self.found) // 2]
        return alpha(k)


class CpuRun(Run):
    """A Run whose time limit is in CPU seconds, so that other work on the machine does not count."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._cpu = time.process_time()

    def seconds(self) -> float:
        """CPU seconds of the process since this run began."""
        return time.process_time() - self._cpu


def form_of(model: models.Model) -> RobustForm:
    """The normal form of a robust SVM."""
    form = match_robust(model)
    assert isinstance(form, RobustForm)
    return form
