"""From scores to a decision with few false positives: thresholds on negatives' scores, and what each one promises.

A point is called positive iff its score is > threshold, so a negative that ties with the threshold is no false positive.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import is_number
from ..errors import InvalidInputError

ROUNDING_UNITS = 64.0
"""Units in the last place of the largest score by which `clear_of_rounding` raises a threshold."""


def check_rate(name: str, value: Any) -> float:
    """A number in (0, 1), or a clear error."""
    if not is_number(value) or not 0.0 < value < 1.0:
        raise InvalidInputError(f"{name} must be a number in (0, 1); got {value!r}. Write 0.05 for five per cent.")
    return float(value)


def _finite_scores(negative_scores: ArrayLike) -> Array:
    """The scores as float64; NaN and infinities have no rank that a threshold could be promised for."""
    scores = np.asarray(negative_scores, dtype=np.float64)
    wrong = scores[~np.isfinite(scores)]
    if wrong.size:
        raise InvalidInputError(
            f"a threshold needs finite scores of the negatives; {wrong.size} of {scores.size} are NaN or infinite, the first is {wrong[0]}. "
            "Drop the points without a score first."
        )
    return scores


def rank_threshold(negative_scores: ArrayLike, tau: float, weights: ArrayLike | None = None) -> float:
    """The smallest score b among the negatives with at most tau of them (by weight) above it.

    Without weights that is the (floor(tau n) + 1)-th largest score, with tau n in exact arithmetic. On the scores given
    the false-positive rate is at most tau; for new data this promises nothing.
    """
    scores = _finite_scores(negative_scores)
    if scores.ndim != 1 or scores.size == 0:
        raise InvalidInputError(f"a threshold needs the scores of at least one negative; got shape {scores.shape}.")
    tau = check_rate("tau", tau)
    if weights is None:
        above = floor(Fraction(repr(tau)) * scores.size)
        return float(np.partition(scores, scores.size - 1 - above)[scores.size - 1 - above])
    mass = np.asarray(weights, dtype=np.float64)
    if mass.shape != scores.shape or not np.isfinite(mass).all() or (mass < 0).any():
        raise InvalidInputError(
            f"weights must be finite and >= 0, one for each of the {scores.size} scores; got shape {mass.shape}"
            f"{'' if mass.shape != scores.shape else f' with the smallest {mass.min()} and the largest {mass.max()}'}."
        )
    order = np.argsort(-scores, kind="stable")
    total = float(mass.sum())
    if total == round(total):
        allowed = float(Fraction(repr(tau)) * round(total))
    else:
        allowed = tau * total
    # The weight strictly above a score is the weight up to its first place among equals.
    heavier = np.cumsum(mass[order])
    descending = scores[order]
    last = int(np.searchsorted(heavier, allowed, side="right"))  # descending[:last] may lie above b
    return float(descending[min(last, scores.size - 1)])


def umbrella_negatives_needed(tau: float, delta: float) -> int:
    """How many held-out negatives the umbrella needs: the smallest n with (1 - tau)^n <= delta."""
    n = ceil(log(check_rate("delta", delta)) / log(1.0 - check_rate("tau", tau)))
    while (1.0 - tau) ** n > delta:
        n += 1
    return n


def umbrella_order(n: int, tau: float, delta: float) -> int:
    """k* = min {k : P(Bin(n, 1 - tau) >= k) <= delta} (Tong, Feng and Li 2018): the order statistic to use.

    With the k*-th smallest of n held-out negative scores as threshold, the false-positive rate of a score function that
    was trained on other data exceeds tau with probability at most delta, whatever the distribution.
    """
    from scipy.stats import binom

    needed = umbrella_negatives_needed(tau, delta)
    if n < needed:
        raise InvalidInputError(
            f"the umbrella threshold needs at least {needed} held-out negatives for tau = {tau:g} and delta = {delta:g} "
            f"(log(delta)/log(1 - tau)); there are {n}. Collect more negatives, raise tau or delta, or use "
            "threshold='oob', which controls the rate on average only."
        )
    low, high = 1, n  # the tail falls in k, and k = n is enough by the check above
    while low < high:
        middle = (low + high) // 2
        if binom.sf(middle - 1, n, 1.0 - tau) <= delta:
            high = middle
        else:
            low = middle + 1
    return low


def umbrella_threshold(negative_scores: ArrayLike, tau: float, delta: float = 0.05) -> float:
    """The threshold of `umbrella_order` on held-out negative scores."""
    scores = _finite_scores(negative_scores).ravel()
    k = umbrella_order(scores.size, tau, delta)
    return float(np.partition(scores, k - 1)[k - 1])


def clear_of_rounding(threshold: float, scores: Array) -> float:
    """The threshold raised by a few units in the last place of the largest score.

    A negative whose score is the threshold must not become a false positive because a later product of the same row is
    rounded another way; raising a threshold never raises the false-positive rate.
    """
    return float(threshold + ROUNDING_UNITS * np.finfo(np.float64).eps * np.abs(scores).max(initial=0.0))
