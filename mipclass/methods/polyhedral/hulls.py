"""conv(A) against B: which points of B lie in the hull, which hyperplanes cut the others off, and how few suffice.

A and B are h-polyhedrally separable for some h <= |B| if and only if no point of B lies in conv(A) (Astorino & Gaudioso
2002, Proposition 2.2). For one b the answer is an LP,

    distance(b) = max { v.b - g : v.a_i <= g for all i, |v_c| <= 1 } = min { |sum_i alpha_i a_i - b|_1 : alpha in the simplex },

whose primal solution is a hyperplane that cuts b off (and perhaps other points of B) and whose dual solution is a convex
combination of A that equals b. Both can be checked directly. Only the cost vector changes from one b to the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...arrays import Array, Mask, Positions
from ...backends.linear_session import LinearSession
from ...errors import InvalidInputError
from ...modelling.program import Program
from ...models.point_sets import PointSets
from ...protocol.run import Run
from .search import separate
from .standardised import Standardised

_INSIDE = 1e-8
"""Distance to conv(A), in standardised units, up to which a point counts as inside: the LP's accuracy."""

_CUT_OFF = 1e-9
"""Violation of the margin of one up to which a hyperplane still cuts a point off: rounding."""

_NO_ERROR = 1e-7
"""Value of f up to which a separation counts as complete; f(0) is 2."""


@dataclass(frozen=True)
class HullReport:
    """The answer for (A, B), with its evidence.

    separable : no point of B lies in conv(A).
    inside : positions in B of the points in conv(A).
    combinations : for each of them the weights alpha >= 0 over A, sum 1, with sum_i alpha_i a_i = b (rows, sparse).
    planes : rows (v_j, g_j): every a has v_j.a <= g_j - 1 and every b outside conv(A) has v_j.b >= g_j + 1 for some j.
    lps : linear programs solved.
    """

    separable: bool
    inside: Positions
    combinations: sp.csr_array
    planes: Array
    lps: int


def hull_report(A: Array, B: Array) -> HullReport:
    """Is conv(A) disjoint from B? One LP for each point of B that no earlier hyperplane has cut off."""
    A, B = _two_sets(A, B)
    standard = Standardised.of(_unit_sets(A, B))
    a, b = standard.sets.A, standard.sets.B
    session = LinearSession(_distance_program(a))
    columns = np.arange(a.shape[1])
    waiting = np.ones(len(b), dtype=np.bool_)
    planes: list[Array] = []
    inside: list[int] = []
    weights: list[Array] = []
    lps = 0
    while waiting.any():
        point = int(waiting.argmax())
        session.set_costs(columns, -b[point])
        answer = session.solve()
        lps += 1
        if answer.x is None or answer.row_duals is None or answer.objective is None:
            raise InvalidInputError(
                f"the LP for row {point} of B ended with {answer.raw_status!r}; check the data for extreme values."
            )
        cut = _widest(answer.x, a, b, waiting) if -answer.objective > _INSIDE else None
        if cut is None:
            inside.append(point)
            weights.append(np.maximum(-answer.row_duals, 0.0) / np.maximum(-answer.row_duals, 0.0).sum())
            waiting[point] = False
            continue
        plane, gone = cut
        planes.append(plane)
        waiting[gone] = False
    stacked = np.array(planes).reshape(len(planes), a.shape[1])
    return HullReport(
        separable=not inside,
        inside=np.array(inside, dtype=np.intp),
        combinations=sp.csr_array(np.array(weights).reshape(len(inside), len(A))),
        planes=standard.back(_prune(stacked, b)),
        lps=lps,
    )


def _distance_program(a: Array) -> Program:
    """max v.b - g subject to v.a_i - g <= 0, |v_c| <= 1; the cost is set for each b."""
    m, width = a.shape
    box = np.append(np.ones(width - 1), np.inf)
    return Program(
        c=np.zeros(width),
        A=sp.csr_array(a),
        row_lower=np.full(m, -np.inf),
        row_upper=np.zeros(m),
        lower=-box,
        upper=box,
        integer=np.zeros(width, dtype=np.bool_),
        name="hull_distance",
    )


def _widest(plane: Array, a: Array, b: Array, waiting: Mask) -> tuple[Array, Positions] | None:
    """The hyperplane with its offset in the middle of the gap, scaled to margins of one, and the points it removes."""
    v = plane[:-1]
    top = float((a[:, :-1] @ v).max())
    beyond = b[:, :-1] @ v
    gone = np.flatnonzero(waiting & (beyond > top + _INSIDE))
    if not len(gone):
        return None
    half = (float(beyond[gone].min()) - top) / 2.0
    return np.append(v, top + half) / half, gone


def _prune(planes: Array, b: Array) -> Array:
    """Drop hyperplanes whose points others cut off too, the least useful first."""
    cuts = (1.0 - b @ planes.T) <= _CUT_OFF
    keep = np.ones(len(planes), dtype=np.bool_)
    for j in np.argsort(cuts.sum(axis=0), kind="stable"):
        keep[j] = False
        if not np.array_equal(cuts[:, keep].any(axis=1), cuts.any(axis=1)):
            keep[j] = True
    return planes[keep]


@dataclass(frozen=True)
class SmallestH:
    """The fewest hyperplanes found: `h` (None when B meets conv(A)), the planes, and whether fewer are impossible."""

    h: int | None
    planes: Array | None
    proven: bool
    report: HullReport


def smallest_h(A: Array, B: Array, *, rounds: int | None = None, seed: int = 0) -> SmallestH:
    """The smallest h for which a separation with f = 0 was found.

    Proposition 2.2 gives the first; then h = 1, 2, ... are tried with the successive LPs. h = 1 is decided exactly by
    the robust LP, so an answer of 1 or 2 is proven; a larger one is an upper bound on the true smallest h.
    """
    A, B = _two_sets(A, B)
    report = hull_report(A, B)
    if not report.separable:
        return SmallestH(None, None, True, report)
    sets = _unit_sets(A, B)
    for h in range(1, len(report.planes)):
        found = separate(sets, h, Run.quiet(seed=seed), rounds=rounds)
        if found.value <= _NO_ERROR:
            return SmallestH(h, found.planes, h <= 2, report)
    return SmallestH(len(report.planes), report.planes, len(report.planes) <= 2, report)


def _unit_sets(A: Array, B: Array) -> PointSets:
    """A and B as point sets whose weights are class means, without a penalty."""

    def extended(points: Array) -> Array:
        return np.hstack([points, -np.ones((len(points), 1))])

    p, q = np.full(len(A), 1.0 / len(A)), np.full(len(B), 1.0 / len(B))
    return PointSets(extended(A), extended(B), p, q, np.zeros(A.shape[1] + 1))


def _two_sets(A: Array, B: Array) -> tuple[Array, Array]:
    """A and B as float64 arrays, or a clear error."""
    A, B = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    for name, points in (("A", A), ("B", B)):
        if points.ndim != 2 or not len(points):
            raise InvalidInputError(
                f"{name} must be a two-dimensional array with at least one row; got {points.shape}."
            )
        if not np.isfinite(points).all():
            raise InvalidInputError(f"{name} holds NaN or infinity; impute or drop those rows first.")
    if A.shape[1] != B.shape[1]:
        raise InvalidInputError(f"A has {A.shape[1]} columns and B has {B.shape[1]}; they must live in one space.")
    return A, B
