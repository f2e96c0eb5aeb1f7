"""A soft margin on the points that stay: LinearSVC without the points that lie worst to it, and the choice of its C.

Minimise 1/2 w'w + C (sum over the points that stay of [1 - m_i]_+^2 + the number left out), at most a given share of them left out, m_i the
margins. For fixed points it is a convex problem; for a fixed rule it is best to leave out the points of smallest margin among those
on the wrong side (m_i < 0, whose loss is above one). The two alternate until the points repeat, which never raises the loss. So where
a share was allowed for outliers that are not there, the points come back, unless whole clusters were left out: a rule that has not
seen them finds them on its wrong side. Hence the alternation starts twice, without the given points and with all of them, and the
lower loss wins.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from ..arrays import Array, Mask
from ..models.outlier_svm import limit_tolerance
from ..protocol.result import Status
from ..protocol.run import Run
from .splits import distinct, row_hashes, split

WEIGHT_ROUNDING = 1e-12
"""Relative rounding error of a sum of weights: candidates whose errors differ by no more are equal."""

FIRST_STEPS, MOST_STEPS = 3, 1000
"""Newton steps of a soft margin under a time limit: those that show how long a step takes, and scikit-learn's own limit."""

SHORTEST = 1e-6
"""Seconds that a fit takes at least: the divisor of the time left."""

CANDIDATES = (0.01, 0.1, 1.0)
"""Values of C that "auto" compares; the largest is LinearSVC's own default, which flipped labels make too large."""

DEFAULT_C = 1.0
"""C where a class has too few points to hold any out."""

SPLITS, HELD_OUT = 3, 1.0 / 3.0
"""Splits on which the candidates are compared, and the share of the distinct points that each holds out."""

MOST_POINTS = 5_000
"""Distinct points on which the candidates are compared at most; errors on 1,700 held-out points differ by chance by about a per cent."""

SHARE_OF_TIME = 0.5
"""Part of the time left that the choice of C may take."""


@dataclass(frozen=True, eq=False)
class TrimmedTask:
    """Points, their labels and weights, and the groups (classes, or one of all points) that give up a weight each."""

    X: Any
    y: NDArray[Any]
    y_pm1: Array
    weights: Array
    groups: list[Mask]

    def part(self, rows: NDArray[np.intp]) -> TrimmedTask:
        """The same task on some of the points."""
        return TrimmedTask(
            self.X[rows], self.y[rows], self.y_pm1[rows], self.weights[rows], [group[rows] for group in self.groups]
        )

    def worst(self, scores: Array, leave: list[float]) -> Mask:
        """The points of smallest margin in each group among those on the wrong side, up to the weight that it may give up."""
        margins = self.y_pm1 * scores
        out = np.zeros(len(self.y), dtype=bool)
        for group, total in zip(self.groups, leave, strict=True):
            wrong = np.flatnonzero(group & (margins < 0.0))
            order = wrong[np.argsort(margins[wrong], kind="stable")]
            out[order[np.cumsum(self.weights[order]) <= total + limit_tolerance(self.weights[group])]] = True
        return out

    def merged(self) -> MergedTask:
        """The distinct points, in the order of the data; without it a point of weight two could be left out only as a whole, but one of
        two equal points alone."""
        hashes = row_hashes(self.X)
        rows, point_of, weights = distinct(hashes, self.y_pm1, self.weights)
        if len(rows) == len(self.y):
            return MergedTask(self, rows, point_of, hashes)  # without a copy of the points
        return MergedTask(replace(self.part(rows), weights=weights), rows, point_of, hashes[rows])


@dataclass(frozen=True, eq=False)
class MergedTask:
    """A task of distinct points, each standing for one or more rows with equal x and label.

    rows : the first row of each point.   point_of : the point of each row, -1 of one of weight zero.   hashes : fingerprints of the points.
    """

    task: TrimmedTask
    rows: NDArray[np.intp]
    point_of: NDArray[np.intp]
    hashes: NDArray[np.uint64]

    def of_rows(self, mask: Mask) -> Mask:
        """A mask of the points as one of the rows; rows of weight zero are not in it."""
        return np.append(mask, False)[self.point_of]


@dataclass(frozen=True, eq=False)
class TrimmedFit:
    """A soft margin, the points that it leaves out, and why it stopped early (None: it did not)."""

    rule: LinearSVC
    outliers: Mask
    stopped: Status | None

    def loss(self, task: TrimmedTask) -> float:
        """The loss of the module's docstring, with weighted points."""
        margins = task.y_pm1 * self.rule.decision_function(task.X)
        losses = np.where(self.outliers, 1.0, np.maximum(0.0, 1.0 - margins) ** 2)
        size = float(self.rule.coef_[0] @ self.rule.coef_[0] + self.rule.intercept_[0] ** 2)  # liblinear's own penalty
        return 0.5 * size + float(self.rule.C) * float(task.weights @ losses)


def fit_trimmed(task: TrimmedTask, outliers: Mask, C: float, *, reselect: bool, run: Run) -> TrimmedFit:
    """The soft margin without the outliers; with `reselect` they are chosen anew until they repeat, from two starts."""
    leave = [float(task.weights[group & outliers].sum()) for group in task.groups]
    found = _alternate(task, outliers, leave, C, reselect=reselect, run=run)
    if not reselect or found.stopped is not None or not outliers.any():
        return found
    other = _alternate(task, np.zeros_like(outliers), leave, C, reselect=True, run=run)
    best = min(found, other, key=lambda fit: fit.loss(task))
    return replace(best, stopped=other.stopped)  # the fit was cut short if its second half was


def _alternate(
    task: TrimmedTask, outliers: Mask, leave: list[float], C: float, *, reselect: bool, run: Run
) -> TrimmedFit:
    """The soft margin without the outliers; with `reselect` others of at most the weights `leave` are chosen until they repeat."""
    seen: set[bytes] = set()
    while True:
        kept = np.flatnonzero(~outliers)
        rule = soft_margin(C, task.X[kept], task.y[kept], task.weights[kept], run)
        seen.add(outliers.tobytes())
        if rule.n_iter_ >= rule.max_iter and rule.max_iter < MOST_STEPS:
            return TrimmedFit(rule, outliers, run.stop() or Status.TIME_LIMIT)
        if not reselect:
            return TrimmedFit(rule, outliers, None)
        worst = task.worst(rule.decision_function(task.X), leave)
        if worst.tobytes() in seen or not _has_both(task, ~worst):
            return TrimmedFit(rule, outliers, None)
        stopped = run.stop()
        if stopped is not None:
            return TrimmedFit(rule, outliers, stopped)
        outliers = worst


def choose_C(merged: MergedTask, shares: list[float], *, seed: int, run: Run) -> float:
    """The candidate with the fewest weighted errors on held-out points, the smallest of equals.

    `shares` are the parts of the groups' weights to leave out: in each training part those that lie worst to the soft margin of all
    its points, once; choosing them again and again would cost several times as much and hardly changes the choice.
    """
    here, hashes = merged.task, merged.hashes
    distinct = [len(np.unique(hashes[here.y_pm1 == sign])) for sign in (-1.0, 1.0)]
    if min(distinct) < 2:
        return DEFAULT_C
    if sum(distinct) > MOST_POINTS:
        rows, _ = split(hashes, here.y_pm1, MOST_POINTS / sum(distinct), seed)
        here, hashes = here.part(rows), hashes[rows]
    order = np.lexsort((here.y_pm1, hashes))  # one that the points decide, whatever order they came in
    here, hashes = here.part(order), hashes[order]
    run = run.inner(time_limit=SHARE_OF_TIME * run.seconds_left())
    errors = dict.fromkeys(CANDIDATES, 0.0)
    for s in range(SPLITS):
        held, train = split(hashes, here.y_pm1, HELD_OUT, seed + 1 + s)
        part, test = here.part(train), here.part(held)
        leave = [share * float(part.weights[group].sum()) for share, group in zip(shares, part.groups, strict=True)]
        for C in CANDIDATES:
            rule = soft_margin(C, part.X, part.y, part.weights, run)
            out = part.worst(rule.decision_function(part.X), leave)
            if out.any() and _has_both(part, ~out):
                rule = fit_trimmed(part, out, C, reselect=False, run=run).rule
            errors[C] += float(test.weights[rule.predict(test.X) != test.y].sum())
            if run.stop() is not None and s == 0:
                return C  # nothing to compare it with
        if run.stop() is not None:
            break
    equal = min(errors.values()) + WEIGHT_ROUNDING * float(here.weights.sum())
    return next(C for C in CANDIDATES if errors[C] <= equal)


def soft_margin(C: float, X: Any, y: Any, weights: Array, run: Run) -> LinearSVC:
    """scikit-learn's LinearSVC, with as many of its steps as fit into the time that is left.

    It reads no clock, so a few steps are made first to see what a step takes; each fit starts afresh.
    """
    if run.time_limit is None:
        return LinearSVC(C=C, dual=False).fit(X, y, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the result's status says that the time was up
        began = run.seconds()
        soft = LinearSVC(C=C, dual=False, max_iter=FIRST_STEPS).fit(X, y, sample_weight=weights)
        steps = int(FIRST_STEPS * run.seconds_left() / max(run.seconds() - began, SHORTEST))
        if soft.n_iter_ < FIRST_STEPS or steps <= FIRST_STEPS:
            return soft
        return LinearSVC(C=C, dual=False, max_iter=min(steps, MOST_STEPS)).fit(X, y, sample_weight=weights)


def _has_both(task: TrimmedTask, kept: Mask) -> bool:
    """Whether points of positive weight of both classes are among those kept."""
    return len(np.unique(task.y_pm1[kept & (task.weights > 0)])) == 2
