"""The SVM of squared hinge with costs, to full accuracy: LinearSVC's objective, solved by Newton's method.

    minimise  1/2 |w|^2 + 1/2 b^2 + sum_i c_i [1 - y_i (w.x_i + b)]_+^2

scikit-learn's LinearSVC stops far from this optimum where costs are large and uneven, or takes thousands of steps; the
tables compare methods, not stopping rules. One step factors a (d + 1) x (d + 1) matrix (Chapelle 2007), for d of a few hundred.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve


def fit_svm(X: Any, y: np.ndarray, cost: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """(w, b) as one vector, to a relative accuracy of the objective of 1e-9; `start` is one for similar costs."""
    ones = np.ones((X.shape[0], 1))
    Z = sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])
    w = np.zeros(Z.shape[1]) if start is None else start
    scores = Z @ w
    for _ in range(100):
        hurt = np.flatnonzero(y * scores < 1.0)
        short = 1.0 - y[hurt] * scores[hurt]
        rows, c = Z[hurt], cost[hurt]
        gradient = w - 2.0 * (rows.T @ (c * y[hurt] * short))
        weighted = rows.multiply(c[:, None]).tocsr() if sp.issparse(rows) else c[:, None] * rows
        H = rows.T @ weighted
        H = 2.0 * (H.toarray() if sp.issparse(H) else H)
        H[np.diag_indices_from(H)] += 1.0
        direction = -cho_solve(cho_factor(H, overwrite_a=True, check_finite=False), gradient, check_finite=False)
        decrease = -float(gradient @ direction)
        if decrease <= 1e-9 * (0.5 * float(w @ w) + float(c @ short**2)):
            return w
        along = Z @ direction
        step = _line_search(w, direction, scores, along, y, cost, -decrease)
        w, scores = w + step * direction, scores + step * along
    return w


def _line_search(
    w: np.ndarray, direction: np.ndarray, scores: np.ndarray, along: np.ndarray, y: np.ndarray, cost: np.ndarray,
    slope0: float,
) -> float:  # fmt: skip
    """A step at which the slope, which grows along the line, is at most a tenth of what it was."""
    wd, dd = float(w @ direction), float(direction @ direction)
    low, slope_low, high, slope_high, t = 0.0, slope0, np.inf, np.inf, 1.0
    for _ in range(40):
        short = np.maximum(1.0 - y * (scores + t * along), 0.0)
        slope = wd + t * dd - 2.0 * float((cost * y * short) @ along)
        if abs(slope) <= -0.1 * slope0:
            return t
        if slope < 0.0:
            low, slope_low = t, slope
        else:
            high, slope_high = t, slope
        share = 0.5 if np.isinf(high) else min(max(slope_low / (slope_low - slope_high), 0.1), 0.9)
        t = 2.0 * t if np.isinf(high) else low + share * (high - low)
    return low
