"""SVM-pAUC-tight (Narasimhan & Agarwal, KDD 2013): the partial AUC up to a false-positive rate by a structural SVM.

With j = ceil(tau n) the tight surrogate's worst ordering takes the j highest-scored negatives T(w), so that the problem is

    min over w   R/2 |w|^2 + 1/(m j) sum over positives i and negatives t in T(w) of [1 - w.(x_i - x_t)]_+ ,

convex as a maximum over all sets of j negatives. Solved by cutting planes (Teo et al., 2010): each adds a subgradient of the second term, and a
small QP over the simplex gives the next w; it stops at a relative gap of GAP.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

GAP = 1e-3
"""Relative gap between the objective and the cutting-plane bound at which the search stops."""
MOST_PLANES = 300
"""Cutting planes after which the search stops in any case."""
SIMPLEX_STEPS = 2000
"""Pairwise steps of one QP over the simplex."""


def risk(w: np.ndarray, positives: np.ndarray, negatives: np.ndarray, j: int) -> tuple[float, np.ndarray]:
    """The surrogate's value and a subgradient; O(m log m + n log n)."""
    up, down = positives @ w, negatives @ w
    top = np.argpartition(down, len(down) - j)[len(down) - j :]
    violated = up[:, None] - down[None, top] < 1.0
    value = np.where(violated, 1.0 - up[:, None] + down[None, top], 0.0).sum()
    slope = violated.sum(axis=0) @ negatives[top] - violated.sum(axis=1) @ positives
    scale = 1.0 / (len(up) * j)
    return float(scale * value), scale * slope


def simplex_weights(slopes: np.ndarray, offsets: np.ndarray, R: float, start: np.ndarray) -> np.ndarray:
    """Maximise offsets.a - |slopes' a|^2 / (2 R) over the simplex by pairwise steps."""
    a, gram = start.copy(), slopes @ slopes.T / R
    gradient = offsets - gram @ a
    for _ in range(SIMPLEX_STEPS):
        best = int(np.argmax(gradient))
        used = np.flatnonzero(a > 0)
        worst = int(used[np.argmin(gradient[used])])
        curvature = gram[best, best] + gram[worst, worst] - 2 * gram[best, worst]
        gain = gradient[best] - gradient[worst]
        if gain <= 1e-9 or curvature <= 0:
            break
        step = min(float(a[worst]), gain / curvature)
        a[best] += step
        a[worst] -= step
        gradient -= step * (gram[:, best] - gram[:, worst])
    return a


def fit_partial_auc(X: Any, y: np.ndarray, tau: float, R: float) -> np.ndarray:
    """The weights w of the linear scorer."""
    positives, negatives = np.asarray(X[y > 0]), np.asarray(X[y < 0])
    j = max(1, ceil(tau * len(negatives) - 1e-9))
    best, best_value = np.zeros(X.shape[1]), np.inf
    w, slopes, offsets, a = best, np.empty((0, X.shape[1])), np.empty(0), np.empty(0)
    for _ in range(MOST_PLANES):
        value, slope = risk(w, positives, negatives, j)
        total = value + 0.5 * R * float(w @ w)
        if total < best_value:
            best, best_value = w, total
        slopes, offsets = np.vstack([slopes, slope]), np.append(offsets, value - slope @ w)
        a = simplex_weights(slopes, offsets, R, np.append(a, 0.0) if len(a) else np.ones(1))
        w = -(slopes.T @ a) / R
        bound = float(offsets @ a) - 0.5 * R * float(w @ w)
        if best_value - bound <= GAP * best_value:
            break
    return best
