"""The Bayes point machine that the tables compare with: the mean of an expectation-propagation posterior.

Model: w ~ N(0, I) on standardised features and a constant, P(t = 1 | x) = Phi(w.(x, 1)) (probit: a step with Gaussian
noise, so that overlapping classes are no contradiction). Expectation propagation (Minka 2001) with one Gaussian site a
point, swept until the site parameters settle. The Bayes point is approximated by the posterior mean.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator, ClassifierMixin


@njit(cache=True)
def posterior_mean(Z: Any, prior_variance: float, sweeps: int, tolerance: float) -> Any:
    """Mean of the EP posterior for rows z_i = t_i (x_i, 1); O(sweeps N D^2)."""
    n, m = Z.shape
    V = prior_variance * np.eye(m)
    mean = np.zeros(m)
    precision = np.zeros(n)
    shift = np.zeros(n)
    for _ in range(sweeps):
        largest = 0.0
        for i in range(n):
            z = Z[i]
            Vz = V @ z
            variance = np.dot(z, Vz)
            margin = np.dot(z, mean)
            left = 1.0 - precision[i] * variance
            if left <= 1e-10:
                continue
            cavity_variance = variance / left
            cavity_margin = (margin - variance * shift[i]) / left
            scale = np.sqrt(1.0 + cavity_variance)
            u = cavity_margin / scale
            density = np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)
            below = 0.5 * math.erfc(-u / np.sqrt(2.0))
            ratio = density / below if below > 1e-300 else -u
            slope = ratio / scale
            curve = slope * (slope + cavity_margin / (1.0 + cavity_variance))
            if curve * cavity_variance >= 1.0:
                continue
            new_precision = curve / (1.0 - curve * cavity_variance)
            new_shift = (cavity_margin * new_precision) + slope * (1.0 + cavity_variance * new_precision)
            change_precision = new_precision - precision[i]
            change_shift = new_shift - shift[i]
            largest = max(largest, abs(change_precision), abs(change_shift))
            precision[i], shift[i] = new_precision, new_shift
            gain = change_precision / (1.0 + change_precision * variance)
            mean = mean + Vz * (change_shift - gain * (margin + variance * change_shift))
            for j in range(m):
                for k in range(m):
                    V[j, k] -= gain * Vz[j] * Vz[k]
        if largest < tolerance:
            break
    return mean


class BayesPointMachine(ClassifierMixin, BaseEstimator):
    """See the module's docstring; labels -1 and +1."""

    def __init__(self, prior_variance: float = 1.0, sweeps: int = 50) -> None:
        self.prior_variance = prior_variance
        self.sweeps = sweeps

    def fit(self, X: Any, y: Any) -> BayesPointMachine:
        """Compute the posterior mean of the weights and the offset."""
        Z = y[:, None] * np.column_stack([X, np.ones(len(X))])
        mean = posterior_mean(np.ascontiguousarray(Z, dtype=np.float64), self.prior_variance, self.sweeps, 1e-4)
        self.coef_, self.intercept_ = mean[None, :-1], mean[-1:]
        return self

    def predict(self, X: Any) -> Any:
        """+1 where the mean's score is positive, else -1."""
        return np.where(X @ self.coef_[0] + self.intercept_[0] > 0, 1, -1)
