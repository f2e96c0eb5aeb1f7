"""Independent checks of the outlier path: conditions recomputed from K, y and alpha, and data that are hard on purpose."""

from __future__ import annotations

import numpy as np

from mipclass import models
from mipclass.methods.robust_svm.form import RobustForm, match_robust

RULES = {
    "linear": {},
    "offset": {"intercept": "penalised"},
    "rbf": {"kernel": models.Kernel("rbf")},
    "poly": {"kernel": models.Kernel("poly", coef0=1.0)},
    "callable": {"kernel": models.Kernel(lambda A, B: A @ B.T + 1.0)},
}


def gram_of(model, X):
    X = X[model.points.first]
    if isinstance(model.rule, models.Kernel):
        return model.rule.gram(X, X)
    return X @ X.T + (1.0 if model.rule.intercept == "penalised" else 0.0)


def worst_condition(K, y, alpha, C, theta, s, outliers):
    """Largest violation of the KKT conditions (7a)-(7f) of a partition, relative to 1 + sum_j |Q_ij alpha_j| and to C."""
    Q = np.outer(y, y) * K
    m = Q @ alpha
    scale = 1.0 + np.abs(Q) @ np.abs(alpha)
    C = np.broadcast_to(C, m.shape)
    worst = 0.0
    for i in range(len(y)):
        if outliers[i]:
            readings = [max((m[i] - s) / scale[i], abs(alpha[i] - theta * C[i]) / C[i])]
            readings.append(max(abs(m[i] - s) / scale[i], (alpha[i] - theta * C[i]) / C[i]))
        else:
            readings = [max((1.0 - m[i]) / scale[i], abs(alpha[i]) / C[i])]
            readings.append(max(abs(m[i] - 1.0) / scale[i], -alpha[i] / C[i], (alpha[i] - C[i]) / C[i]))
            readings.append(max((m[i] - 1.0) / scale[i], (s - m[i]) / scale[i], abs(alpha[i] - C[i]) / C[i]))
            readings.append(max(abs(m[i] - s) / scale[i], (C[i] - alpha[i]) / C[i]))
        worst = max(worst, min(readings))
    return worst


def ramp_objective(K, y, alpha, C, theta, s):
    """1/2 |w|^2 + sum C_i l(m_i), from the definition."""
    f = K @ (y * alpha)
    m = y * f
    loss = np.where(m >= s, np.maximum(0.0, 1.0 - m), 1.0 - s + theta * (s - m))
    return 0.5 * (y * alpha) @ f + np.sum(np.broadcast_to(C, m.shape) * loss)


def noisy(n, d, seed, flip=0.15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] - 0.5 * X[:, -1] + 0.3 * rng.normal(size=n) > 0, 1, -1)
    y[rng.random(n) < flip] *= -1
    y[:2] = [1, -1]
    return X, y


def binary(n, d, seed):
    """Few distinct points of zeros and ones, equal points with both labels: everything ties."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, d)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] - X[:, 2] > 0.5, 1, -1)
    y[rng.random(n) < 0.2] *= -1
    y[:2] = [1, -1]
    return X, y


def repeated(n, d, seed):
    """Every point three times, once with the other label."""
    X, y = noisy(n // 3, d, seed)
    return np.vstack([X, X, X]), np.concatenate([y, y, -y])


HARD_KINDS = ("noisy", "binary", "repeated", "whole numbers", "heavy tails", "few places", "one-hot", "constant column")


def hard_points(kind, n, d, seed):
    """About n points that are hard on a path: ties, dependent rows, smooth kernels in one dimension, features of very different size."""
    rng = np.random.default_rng(seed)
    if kind == "binary":
        return binary(max(n, 10), max(d, 3), seed)
    if kind == "repeated":
        return repeated(max(n, 9), d, seed)
    if kind == "one-hot":
        X = np.zeros((n, 3 * d))
        for group in range(d):
            X[np.arange(n), 3 * group + rng.integers(0, 3, n)] = 1.0
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.4, 1, -1)
        y[:2] = [1, -1]
        return X, y
    if kind == "constant column":
        X, y = noisy(n, d + 1, seed)
        X[:, 0] = 3.0
        return X, y
    X, y = noisy(n, d, seed, flip=0.3)
    if kind == "whole numbers":
        X = np.round(1.5 * X)
    elif kind == "heavy tails":
        X = X * np.exp(1.5 * rng.normal(size=X.shape))
    elif kind == "few places":
        X = X[rng.integers(0, min(n, 6), n)]
    return X, y


def form_of(model):
    """The normal form of a robust SVM."""
    form = match_robust(model)
    assert isinstance(form, RobustForm)
    return form
