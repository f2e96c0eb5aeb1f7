"""The searches behind slp, at array level.

The default search standardises the columns (`standardised`), starts from clusters of B, descends by majorise-minimise,
disturbs the assignment and descends again (`majorise_minimise`), and ends by testing Theorem 4.1; a branch and bound may
follow (`assignment_tree`). On large data the iterated search runs on a sample and all points only see the last descent (very large: after one on a larger sample).
`variant="paper"` runs Algorithm 4.1 as printed, step sizes corrected (`paper_descent`), in the user's units.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arrays import Array, Positions
from ...backends.base import Backend
from ...modelling.program import Program
from ...models.point_sets import PointSets
from ...protocol.result import Claim, Status
from ...protocol.run import Run
from .assignment_lp import InteriorPoint, assignment_lp
from .assignment_tree import Proof, prove, tolerance
from .assignments import k_means
from .majorise_minimise import DECREASE, AssignmentSearch, Iterate
from .paper_descent import paper_descent
from .standardised import Standardised

SAMPLE = 4000
"""Points of the sample on which the iterated search runs when there are more than twice as many."""

SECOND_SAMPLE = 20_000
"""Points of a second sample, on which the search's answer is improved by a descent when there are more than twice as many: it spares
most of the LPs over all points."""

SECOND_DECREASE = 1e-5
"""Decrease of f (2 at the origin) at which the descent on the second sample ends: less is particular to that sample."""

ROUGH_TOLERANCE = 1e-6
"""Tolerance of the interior point in LPs whose answers are only starts, those on samples and the first ones over all points: a quarter fewer steps
than at 1e-9."""

ROUGH_DECREASE = 1e-6
"""Decrease of f at which the descent with such LPs over all points ends: less may come from their tolerance."""

LEAST_OF_A_CLASS = 50
"""Points of each class that the sample holds at least, if the class has as many."""

SEARCH_WORK = 40_000
"""Rounds times dual columns (m + k) h of the default search, within the limits of FEWEST_ROUNDS and MOST_ROUNDS."""

FEWEST_ROUNDS, ROUNDS, MOST_ROUNDS = 3, 20, 200
"""Disturbances of the default search: with hundreds of features, on large and on small data."""

LP_WORK = 1e9
"""Rounds times the work of an LP, points times (h d)^2 for its normal matrices: there are ROUNDS of them as long as an LP takes about a quarter of a
second."""

_LP_GAP = 1e-6
"""Difference of an LP's value and bound, relative to unit + value, above which it was not solved."""

_TRIVIAL = 1e-9
"""Relative decrease of f below f(0) that is rounding: the robust LP's answer is then the trivial one."""


@dataclass(frozen=True)
class Separation:
    """What a search found, in the user's units."""

    planes: Array
    value: float
    bound: float
    claim: Claim
    status: Status
    lps: int
    extra: dict[str, Any] = field(default_factory=dict)
    nodes: int | None = None


def separate(
    sets: PointSets,
    h: int,
    run: Run,
    *,
    rounds: int | None = None,
    lp: str = "auto",
    backend: Backend | None = None,
    combinations: int = 64,
    nodes: int = 0,
    start: Array | None = None,
) -> Separation:
    """Minimise f over h hyperplanes. `start` gives hyperplanes to begin with instead of clusters of B.

    `rounds` is the number of disturbances; None is 20, up to 200 on small data, where an LP costs little, and down to 3 with hundreds of features. The LPs are
    solved by `backend` if given, else as `lp` says. With `nodes` > 0 a branch and bound of at most so many nodes follows;
    it gives a lower bound, or the proof.
    """
    if rounds is None:
        rounds = _rounds(sets, h)
    standard = Standardised.of(sets)
    rng = np.random.default_rng(run.seed)
    search = AssignmentSearch(
        standard.sets, assignment_lp(standard.sets, h, lp, backend), run, combinations, standard.unit
    )
    if h == 1:
        return _robust_lp(sets, standard, search)
    first = standard.forward(start) if start is not None else None
    if len(sets.A) + len(sets.B) > 2 * SAMPLE:
        point = _through_sample(search, h, first, rounds, rng)
    else:
        point = _from_start(search, h, first, rounds, rng)
    if run.stop() is None:
        point = search.settle(point)
    proof = Proof(point, 0.0, 0, run.stop())
    if proof.stopped is None and nodes > 0 and point.value > DECREASE:
        proof = prove(standard.sets, h, point, run, nodes, standard.unit)
    return _finish(sets, standard, search, proof, nodes > 0)


def _rounds(sets: PointSets, h: int) -> int:
    """Disturbances of the default search: fewer, the more an LP costs."""
    points, entries = len(sets.A) + len(sets.B), h * sets.A.shape[1]
    affordable = int(LP_WORK // (min(points, SAMPLE) * entries**2))
    few = int(np.clip(affordable, FEWEST_ROUNDS, ROUNDS))
    return int(np.clip(SEARCH_WORK // (points * h), few, MOST_ROUNDS))


def _finish(
    sets: PointSets, standard: Standardised, search: AssignmentSearch, proof: Proof, proved: bool
) -> Separation:
    """Back to the user's units, f recomputed there, and what the answer is worth."""
    run = search.run
    planes = standard.back(proof.point.planes)
    value = sets.value(planes)
    bound = min(value, standard.unit * proof.bound)
    open_gap = (value - bound) / standard.unit
    solved = open_gap <= (2.0 * tolerance(proof.point.value, run) if proved else DECREASE)
    claim: Claim = "proven" if solved else "local" if proof.point.local else "heuristic"
    status = Status.OPTIMAL if solved else proof.stopped or Status.ITERATION_LIMIT
    extra = {"lps": search.lps, "lps_a_descent": tuple(search.descents)}
    run.report(objective=value, bound=bound, iterations=search.lps)
    return Separation(planes, value, bound, claim, status, search.lps, extra, proof.nodes if proved else None)


def _from_start(
    search: AssignmentSearch, h: int, first: Array | None, rounds: int, rng: np.random.Generator
) -> Iterate:
    """Descend from the given hyperplanes or from clusters of B, then search on."""
    sets = search.sets
    if first is not None:
        point = _better(search.descend(sets.nearest_plane(first)), Iterate(first, sets.value(first)))
    else:
        found = search.descend(k_means(sets.B[:, :-1], h, rng))
        point = _better(found, _trivial(sets, h))
    search.report(point)
    return _or_from_one(search, search.improve(point, rounds, rng))


def _or_from_one(search: AssignmentSearch, point: Iterate) -> Iterate:
    """The better of the point and the end of a descent from one hyperplane for all of B."""
    if point.value <= DECREASE:
        return point
    return _better(search.descend(_one_for_all(search), beat=point.value), point)


def _or_from_robust(search: AssignmentSearch, point: Iterate) -> Iterate:
    """The point, or the end of a descent from the robust LP's answer where that is better: one LP where it is not."""
    sets = search.sets
    answer = search.solve(_one_for_all(search)) if point.value > DECREASE and search.run.stop() is None else None
    if answer is None or sets.value(answer[0]) >= point.value - DECREASE:
        return point
    return _better(search.descend(sets.nearest_plane(answer[0])), Iterate(answer[0], sets.value(answer[0])))


def _one_for_all(search: AssignmentSearch) -> Positions:
    return np.zeros(len(search.sets.B), dtype=np.intp)


def _better(found: Iterate | None, known: Iterate) -> Iterate:
    return known if found is None or found.value > known.value else found


def _trivial(sets: PointSets, h: int) -> Iterate:
    """V = 0, g = 0: f is the sum of both classes' weights, 2 when they are means (Proposition 3.1)."""
    planes = np.zeros((h, sets.A.shape[1]))
    return Iterate(planes, sets.value(planes))


def _through_sample(
    search: AssignmentSearch, h: int, first: Array | None, rounds: int, rng: np.random.Generator
) -> Iterate:
    """The iterated search on about SAMPLE points, a descent with SECOND_SAMPLE if there are many more, one with all points, whose first LPs
    are solved roughly."""
    sets = search.sets
    small = _on_sample(search, h, SAMPLE, rng)
    planes = _from_start(small, h, first, rounds, rng).planes
    search.lps += small.lps
    if len(sets.A) + len(sets.B) > 2 * SECOND_SAMPLE:
        planes = _rough_descent(search, _on_sample(search, h, SECOND_SAMPLE, rng), planes, SECOND_DECREASE)
    if isinstance(search.lp, InteriorPoint):
        rough = AssignmentSearch(sets, InteriorPoint(sets, h, ROUGH_TOLERANCE), search.run, unit=search.unit)
        planes = _rough_descent(search, rough, planes, ROUGH_DECREASE)
        search.descents += rough.descents
    search.lp.begin_near(planes)
    point = _better(search.descend(sets.nearest_plane(planes), short=1), Iterate(planes, sets.value(planes)))
    point = _or_from_robust(search, point)
    return point if first is None else _better(point, Iterate(first, sets.value(first)))


def _rough_descent(search: AssignmentSearch, rough: AssignmentSearch, planes: Array, least: float) -> Array:
    """Where a descent from these hyperplanes ends with the LPs of `rough`, which count as LPs of the search."""
    rough.lp.begin_near(planes)
    found = rough.descend(rough.sets.nearest_plane(planes), least=least, short=1)
    search.lps += rough.lps
    return planes if found is None else found.planes


def _on_sample(search: AssignmentSearch, h: int, size: int, rng: np.random.Generator) -> AssignmentSearch:
    """The same search over about so many points, class by class in proportion, each class with its whole weight."""
    sets = search.sets
    share = size / (len(sets.A) + len(sets.B))

    def pick(count: int) -> Positions:
        return np.sort(rng.choice(count, max(min(count, LEAST_OF_A_CLASS), int(share * count)), replace=False))

    a, b = pick(len(sets.A)), pick(len(sets.B))
    p, q = sets.p[a] * (sets.p.sum() / sets.p[a].sum()), sets.q[b] * (sets.q.sum() / sets.q[b].sum())
    sample = PointSets(np.ascontiguousarray(sets.A[a]), np.ascontiguousarray(sets.B[b]), p, q, sets.l1)
    # Values on the sample are not values of the problem, so they are not reported.
    return AssignmentSearch(sample, InteriorPoint(sample, h, ROUGH_TOLERANCE), search.run.inner())


def _robust_lp(sets: PointSets, standard: Standardised, search: AssignmentSearch) -> Separation:
    """h = 1: one LP, solved to optimality. When the class means coincide v = 0 may be optimal; `extra["trivial"]` says so."""
    answer = search.solve(np.zeros(len(sets.B), dtype=np.intp))
    run = search.run
    if answer is None:
        planes = np.zeros((1, sets.A.shape[1]))
        return Separation(planes, sets.value(planes), 0.0, "heuristic", run.stop() or Status.NUMERICAL_ERROR, 1)
    point = search.smallest(Iterate(answer[0], standard.sets.value(answer[0])))
    planes = standard.back(point.planes)
    value = sets.value(planes)
    bound = min(value, standard.unit * answer[1])
    run.report(objective=value, bound=bound, iterations=search.lps)
    trivial = bool(value >= (1.0 - _TRIVIAL) * sets.value(np.zeros_like(planes)))
    if trivial:
        planes = np.zeros_like(planes)
        value = sets.value(planes)
    extra = {"lps": search.lps, "trivial": trivial}
    if value - bound > _LP_GAP * (standard.unit + value):
        return Separation(planes, value, bound, "heuristic", Status.NUMERICAL_ERROR, search.lps, extra)
    return Separation(planes, value, bound, "proven", Status.OPTIMAL, search.lps, extra)


def separate_as_printed(
    sets: PointSets,
    h: int,
    run: Run,
    backend: Backend,
    *,
    eps: float = 1e-3,
    sigma: float = 1e-3,
    combinations: int = 64,
    start: Array | None = None,
) -> Separation:
    """Algorithm 4.1 from `start` or, without one, from one robust LP per cluster of B."""

    def solve_lp(program: Program) -> Array | None:
        answer = backend.solve(program, run.inner())
        return None if answer.status is not Status.OPTIMAL else answer.x

    lps = 0
    if start is None:
        start, lps = _cluster_start(sets, h, run), h
    ended = paper_descent(sets, start, solve_lp, run, eps=eps, sigma=sigma, combinations=combinations)
    solved = ended.value <= DECREASE
    claim: Claim = "proven" if solved else "heuristic"
    status = Status.OPTIMAL if solved else ended.stopped or Status.ITERATION_LIMIT
    extra = {"lps": ended.lps + lps, "values": ended.values, "all_combinations": ended.complete}
    return Separation(ended.planes, ended.value, 0.0, claim, status, ended.lps + lps, extra)


def _cluster_start(sets: PointSets, h: int, run: Run) -> Array:
    """One hyperplane per cluster of B: the robust LP between A and the cluster."""
    standard = Standardised.of(sets)
    label = k_means(standard.sets.B[:, :-1], h, np.random.default_rng(run.seed))
    planes = np.zeros((h, sets.A.shape[1]))
    for j in range(h):
        mine = label == j
        if mine.any():
            q = sets.q[mine] / sets.q[mine].sum()
            part = standard.sets._replace(B=np.ascontiguousarray(standard.sets.B[mine]), q=q)
            answer = assignment_lp(part, 1, "auto").solve(np.zeros(int(mine.sum()), dtype=np.intp), run)
            if answer is not None:
                planes[j] = answer[0][0]
    return standard.back(planes)
