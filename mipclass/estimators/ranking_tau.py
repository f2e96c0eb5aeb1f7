"""The choice of the tau of a tau-FPL ranking: the true-positive rate that it finds at the tolerated rate on held-out points.

Small values of tau look at few negatives, which is noisy and may collapse; large ones rank by the bulk of the negatives, which is
not what the tolerated rate asks for. Candidates are tau, 2 tau, 4 tau ... below one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..analysis.thresholds import rank_threshold
from ..arrays import Array
from ..protocol.result import Result
from .splits import row_hashes, split
from .tau_ranking import RAISE, RankingTask, rank

SPLITS = 5
"""Splits on which the candidates are compared; all candidates see the same ones."""

HELD_OUT = 1.0 / 3.0
"""Share of the distinct points that each split holds out."""

MOST_POINTS = 20_000
"""Distinct points on which the candidates are compared at most; of larger data a random part of each class is taken. Here 0.05
of the held-out negatives are still some hundred, and the choice costs no more than a few of the fit's own rankings."""

PATIENCE = 2
"""Candidates in a row that may be worse than the best one before larger ones are no longer tried."""

SHARE_OF_TIME = 0.5
"""Part of the time limit that the choice may take."""

SPLIT_SEED = 10_000
"""Added to the seed of the fit, so that the splits are not those of its out-of-bootstrap rounds."""


@dataclass(frozen=True, eq=False)
class RankingTauChoice:
    """The chosen tau, (candidate, mean true-positive rate on held-out points) of all that were compared, and their results."""

    tau: float
    compared: list[tuple[float, float]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)


def choose_ranking_tau(task: RankingTask, weights: Array, tau: float) -> RankingTauChoice:
    """The candidate with the highest true-positive rate at false-positive rate tau, the smallest of equals.

    Only points of positive weight are looked at. With fewer held-out negatives than 1/tau, or a class without two different
    points, nothing can be compared and tau itself is returned.
    """
    kept = np.flatnonzero(weights > 0)
    hashes, labels = row_hashes(task.X)[kept], task.y_pm1[kept]
    distinct = [len(np.unique(hashes[labels == sign])) for sign in (-1.0, 1.0)]
    candidates = [tau]
    while RAISE * candidates[-1] < 1.0:
        candidates.append(RAISE * candidates[-1])
    if len(candidates) == 1 or min(distinct) < 2 or HELD_OUT * tau * float(weights[kept][labels < 0].sum()) < 1.0:
        return RankingTauChoice(tau)
    seed = task.base_seed + SPLIT_SEED
    if sum(distinct) > MOST_POINTS:
        chosen, _ = split(hashes, labels, MOST_POINTS / sum(distinct), seed)
        kept, hashes, labels = kept[chosen], hashes[chosen], labels[chosen]
    here = task.part(kept, weights[kept])
    if task.run is not None:
        here = here._replace(run=task.run.inner(time_limit=SHARE_OF_TIME * task.run.seconds_left()))
    splits = [split(hashes, labels, HELD_OUT, seed + 1 + s) for s in range(SPLITS)]
    compared, results = list[tuple[float, float]](), list[Result]()
    for place, candidate in enumerate(candidates):
        found = []
        for s, (held, train) in enumerate(splits):
            inside = np.zeros(len(kept))
            inside[train] = here.weights[train]
            left = (len(candidates) - place) * SPLITS - s
            ranked = rank(here, inside, candidate, s, left)
            results.append(ranked.result)
            found.append(_true_positive_rate(here.scores(ranked.weights)[held], labels[held], here.weights[held], tau))
            if here.stopped:
                break
        compared.append((candidate, float(np.mean(found))))
        best = int(np.argmax([rate for _, rate in compared]))
        if here.stopped or (compared[best][1] > 0.0 and place - best >= PATIENCE):
            break
    return RankingTauChoice(compared[best][0], compared, results)


def _true_positive_rate(scores: Array, labels: Array, weights: Array, tau: float) -> float:
    """Weighted share of the positives above the rank threshold of the negatives."""
    negative = labels < 0
    above = scores[~negative] > rank_threshold(scores[negative], tau, weights[negative])
    return float(weights[~negative][above].sum() / weights[~negative].sum())
