"""Measures of classifiers that must keep the false-positive rate below tau, and scorers for model selection."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInputError
from .thresholds import check_rate, rank_threshold


def positive_mask(y_true: ArrayLike, pos_label: Any) -> tuple[NDArray[np.bool_], Any]:
    """Which points are positive, and the positive label (the larger one when none is named); both classes are needed."""
    labels = np.asarray(y_true)
    classes = np.unique(labels)
    if pos_label is None:
        if len(classes) != 2:
            raise InvalidInputError(
                f"y_true must hold two labels, or pos_label must name the positive one; got {classes[:5].tolist()}."
            )
        pos_label = classes[1]
    positive = labels == pos_label
    if not positive.any() or positive.all():
        raise InvalidInputError("rates need points of both classes in y_true.")
    return positive, pos_label


def rates(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = None) -> tuple[float, float]:
    """(false-positive rate, true-positive rate) of predicted labels."""
    positive, pos_label = positive_mask(y_true, pos_label)
    called = np.asarray(y_pred) == pos_label
    return float(called[~positive].mean()), float(called[positive].mean())


def np_score(y_true: ArrayLike, y_pred: ArrayLike, *, tau: float, pos_label: Any = None) -> float:
    """max(fpr, tau)/tau - tpr, the Neyman-Pearson score of Scott (2007): 0 is best, smaller is better.

    A false-positive rate above tau costs in proportion to the excess; below tau only missed positives cost.
    """
    fpr, tpr = rates(y_true, y_pred, pos_label=pos_label)
    return max(fpr, check_rate("tau", tau)) / tau - tpr


def tpr_at_fpr(y_true: ArrayLike, scores: ArrayLike, *, tau: float, pos_label: Any = None) -> float:
    """The share of positives above the best threshold with a false-positive rate of at most tau on these scores."""
    positive, _ = positive_mask(y_true, pos_label)
    values = np.asarray(scores, dtype=np.float64)
    return float((values[positive] > rank_threshold(values[~positive], tau)).mean())


def np_scorer(tau: float) -> Any:
    """`np_score` as a scikit-learn scorer (its sign flipped, so that larger is better), for GridSearchCV(scoring=...)."""
    from sklearn.metrics import make_scorer

    return make_scorer(np_score, greater_is_better=False, response_method="predict", tau=check_rate("tau", tau))


def tpr_at_fpr_scorer(tau: float) -> Any:
    """`tpr_at_fpr` as a scikit-learn scorer."""
    from sklearn.metrics import make_scorer

    return make_scorer(tpr_at_fpr, response_method="decision_function", tau=check_rate("tau", tau))
