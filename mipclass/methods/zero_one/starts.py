"""Rules from which the searches for the 0-1 loss start: the caller's, a linear SVM, or least squares."""

from __future__ import annotations

import warnings

import numpy as np

from ...arrays import Array, Index
from ...protocol.run import Run
from .form import ZeroOneForm
from .prepared import ZeroOneData

SVM_C = 100.0
"""Default C of the linear SVM: errors weigh far more than the margin, as in the 0-1 loss."""

MOST_SVM_PASSES = 5_000
"""Iterations after which LinearSVC ends unconverged; any rule is good enough as a start."""

MOST_SVM_ENTRIES = 1_000_000
"""Entries of the points beyond which the SVM sees a sample of them: its fit takes a second from five times as many on and hears no
limit, and a rule from 20,000 points of 50 features has a loss within a fraction of a per cent of the rule from all."""


def start_rule(form: ZeroOneForm, run: Run) -> Array:
    """The rule a search starts from: the caller's warm start, else a linear SVM, or least squares when the run has to stop
    already; the better of W and -W."""
    if run.warm_start is not None and "w" in run.warm_start:
        w = np.asarray(run.warm_start["w"], dtype=np.float64)
        W = form.data.restricted(np.append(w, float(run.warm_start.get("b", np.zeros(())))))
    elif run.stop() is not None:
        W = least_squares_rule(form.data.Z, form.data.relative_weights)
    else:
        W = svm_rule(form.points, run.options.get("svm_C", SVM_C), run.seed)
    return better_side(form.data, W)


def better_side(data: ZeroOneData, W: Array) -> Array:
    """W or -W, whichever has the smaller loss; W when they are equal."""
    return W if data.cost(W) <= data.cost(-W) else -W


def svm_rule(points: ZeroOneData, C: float, seed: int) -> Array:
    """W of scikit-learn's LinearSVC on standardised features; the weightier class where there is nothing to learn."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    y, weights = points.labels, points.relative_weights
    n, m = points.Z.shape
    majority = np.append(np.zeros(m - 1), 1.0 if y @ weights >= 0 else -1.0)
    if m == 1 or len(np.unique(y)) < 2:
        return majority
    T = points.standardising
    rows = _sample(n, MOST_SVM_ENTRIES // m, seed)
    Z, y, weights = points.Z[rows], y[rows], weights[rows]
    if len(np.unique(y)) < 2:
        return majority
    X = (Z @ T)[:, :-1] * y[:, None]
    svm = LinearSVC(C=C, dual=n < m - 1, random_state=seed % 2**32, max_iter=MOST_SVM_PASSES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svm.fit(X, y, sample_weight=weights)
    W: Array = T @ np.append(svm.coef_[0], svm.intercept_[0])
    return W if np.any(W) else majority


def _sample(n: int, most: int, seed: int) -> Index | slice:
    """At most so many of n rows, in their order."""
    if n <= most:
        return slice(None)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def least_squares_rule(Z: Array, weights: Array) -> Array:
    """The rule whose margins z_i.w are nearest to one in the weighted least-squares sense.

    Columns are scaled first, so that the units of the features do not matter; the rule is never zero.
    """
    scale = np.abs(Z).max(axis=0, initial=0.0)
    scale = np.where(scale > 0.0, scale, 1.0)
    root = np.sqrt(weights)
    w: Array = np.linalg.lstsq((Z / scale) * root[:, None], root, rcond=None)[0] / scale
    if not np.any(w):
        w[-1] = 1.0
    return w
