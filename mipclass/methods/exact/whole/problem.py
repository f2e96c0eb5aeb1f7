"""A 0-1 problem with whole weights in whole numbers: points, costs, limits, rows between weights and the box of all weights.

    q_ij = round(scale x_ij) - centre_j

With a free offset any centre serves, with a whole offset one that is a multiple of the scale, for w.centre moves the offset. Where values are
rounded, by up to error_j, a rule whose right points are right by the relative margin delta (`zero_one.scope`) keeps the order of its
right points: the scores of a right positive and a right negative point differ by more than 2 delta sum_j s_j |w_j|, which is at least what
rounding changes if error_j <= scale delta s_j. With decimal data, scale is a power of ten, and sums that are equal in decimals are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from typing import Any

import numpy as np

from ....arrays import Array, Index, Positions
from ....certificates.certificate import Statement, fraction
from ...zero_one.costs import PROOF_BITS, ExactCosts, count_costs, exact_costs
from ...zero_one.prepared import prepare
from ...zero_one.scope import RELATIVE_MARGIN
from ..form import ProofForm
from .kernels.boxes import FREE, LARGEST_LACK, NONE, WHOLE, WholeRows

SCORE_BITS = 58
"""Binary digits of the largest score: sums and differences of a few of them stay inside 64 bits."""

FEW_BITS = 20
"""Binary digits behind the point up to which values are taken exactly; values with more are decimals as a rule, such as 0.1."""

MOST_DECIMALS = 9
"""Decimal digits behind the point that are tried: with so many, decimals become whole numbers, and equal sums of decimals equal."""

SAFE = 0.5
"""Fraction of the relative margin that rounding may take, as it is measured in float64 here and in fractions by the checker."""

ROUNDING = 2.0**-52
"""Largest relative rounding of a product in float64, with room."""


@dataclass(frozen=True, eq=False)
class WholeProblem:
    """What the kernels work on, and what a certificate tells of it.

    Q : the whole values of every point of the user.     points : which of them stands behind each row.     unit, constant : a cost of c counts stands for constant + unit c.
    low, high : the box of all weights.     limit_units, row_units : what one stands for in each limit and in each row between weights.
    relative_margin : of the rules that bounds speak of.
    """

    rows: WholeRows
    Q: Index
    points: Positions
    unit: Fraction
    constant: Fraction
    low: Index
    high: Index
    scale: Fraction
    centre: Index
    limit_units: tuple[Fraction, ...]
    row_units: tuple[Fraction, ...]
    relative_margin: Fraction

    @property
    def is_empty(self) -> bool:
        """No weights are allowed."""
        return bool((self.low > self.high).any())

    def counts(self, cost: Fraction) -> int:
        """The least whole number of counts that stands for at least this cost."""
        return ceil((cost - self.constant) / self.unit)

    def content(self) -> dict[str, Any]:
        """The entries of a certificate, without the tree."""
        return {
            "constant": fraction(self.constant),
            "unit": fraction(self.unit),
            "points": self.points.tolist(),
            "weights": self.rows.weights.tolist(),
            "scale": fraction(self.scale),
            "blur": int(self.rows.blur),
            "centre": [str(value) for value in self.centre.tolist()],
            "limit_units": [fraction(unit) for unit in self.limit_units],
            "row_units": [fraction(unit) for unit in self.row_units],
        }


def weight_box(form: ProofForm) -> tuple[Index, Index]:
    """The least and the largest value of each weight, from the range of all and from rows on single weights."""
    whole = form.statement.whole
    assert whole is not None
    d = form.X.shape[1]
    low, high = [whole.lower] * d, [whole.upper] * d
    for a, end in form.statement.rows:
        at = np.flatnonzero(a[:-1]).tolist()
        if len(at) == 1:
            j = at[0]
            value = Fraction(float(end)) / Fraction(float(a[j]))
            if a[j] > 0:
                low[j] = max(low[j], ceil(value))
            else:
                high[j] = min(high[j], floor(value))
    return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)


def whole_problem(of: ProofForm) -> WholeProblem | None:
    """The problem in whole numbers; None where the units of the features differ too much for 64 bits."""
    form = of.unfolded
    statement = form.statement
    whole = statement.whole
    assert whole is not None
    offset = (WHOLE if whole.intercept else FREE) if statement.intercept else NONE
    low, high = weight_box(form)
    reach = np.maximum(np.abs(low), np.abs(high))
    costs = exact_costs(np.append(statement.costs, statement.feature_cost))
    counted = statement.costs > 0
    for coefficients, _ in statement.limits:
        counted = counted | (np.asarray(coefficients) != 0)
    mark = np.where(counted, 1.0, 0.0)
    own = ExactCosts(costs.whole[:-1], costs.exponent)
    # With a threshold that no point ties, equal points of opposite labels cost the lighter side whatever the rule is.
    cancels = offset == FREE and not statement.margin and not statement.limits
    data = prepare(form.X, form.y, mark, cancel=cancels, costs=own if cancels else None)
    points = data.representatives
    masses = data.masses if cancels else own.summed_by(data.group, len(points))
    constant = data.constant if cancels else Fraction(0)
    counts = count_costs(ExactCosts(np.append(masses.whole, costs.whole[-1:]), costs.exponent), None, PROOF_BITS)
    stated = limits_of(of, ties=offset != FREE)
    limits = [count_costs(exact_costs(c).summed_by(data.group, len(points))) for c, _ in stated]
    sides = rows_between_weights(statement, low, high)
    scaled = _scaled(form.X, reach, offset)
    if scaled is None or ((offset != FREE or statement.margin) and scaled.scale.denominator > 1):
        return None
    most = len(low) if statement.max_features is None else min(len(low), statement.max_features)
    labels = form.y[points].astype(np.int64)
    rows = WholeRows(
        np.ascontiguousarray(scaled.Q[points] * labels[:, None]),
        (labels > 0).astype(np.int64),
        counts.counts[:-1].copy(),
        np.array([limit.counts for limit in limits], dtype=np.int64).reshape(len(limits), len(points)),
        np.array([floor(end / limit.unit) for limit, (_, end) in zip(limits, stated, strict=True)], dtype=np.int64),
        scaled.scale.numerator if scaled.scale.denominator == 1 else 1,
        ceil(float(reach @ scaled.error)) if statement.margin else 0,
        offset,
        statement.margin,
        most,
        int(counts.counts[-1]),
        np.array([a for a, _, _ in sides], dtype=np.int64).reshape(len(sides), len(low)),
        np.array([end for _, end, _ in sides], dtype=np.int64),
    )
    margin = RELATIVE_MARGIN if scaled.error.any() and not statement.margin else Fraction(0)
    return WholeProblem(
        rows, scaled.Q, points, counts.unit, constant, low, high, scaled.scale, scaled.centre,
        tuple(limit.unit for limit in limits), tuple(unit for _, _, unit in sides), margin,
    )  # fmt: skip


def limits_of(form: ProofForm, *, ties: bool) -> list[tuple[Array, Fraction]]:
    """The limits over the points of `form.unfolded`, whose coefficients are not negative, with exact ends.

    ties : one more limit for rules that may tie points: of a point whose error helps to keep a limit and its copy with the other label
        one is wrong, and both are where the rule ties them, which is not allowed. So no more of them are wrong than there are copies.
    """
    own, unfolded = form.statement.limits, form.unfolded
    found = []
    for (signed, end), (coefficients, _) in zip(own, unfolded.statement.limits, strict=True):
        negative = signed[np.asarray(signed) < 0].tolist()
        moved = Fraction(end) - sum((Fraction(value) for value in negative), Fraction(0))
        found.append((np.asarray(coefficients, dtype=np.float64), moved))
    copies = len(unfolded.y) - len(form.y)
    if ties and copies:
        welcome = (np.array([c for c, _ in own]) < 0).any(axis=0)
        found.append((np.append(welcome, np.ones(copies)).astype(np.float64), Fraction(copies)))
    return found


def rows_between_weights(statement: Statement, low: Index, high: Index) -> list[tuple[list[int], int, Fraction]]:
    """(coefficients, end, unit) of each row on no or several weights, in whole numbers of the unit.

    What rounding down takes from a coefficient is at most what the largest weight makes of it, and the end is lowered by that.
    """
    found = []
    for a, end in statement.rows:
        if np.count_nonzero(a[:-1]) == 1:
            continue
        values = [Fraction(value) for value in np.asarray(a[:-1], dtype=np.float64).tolist()]
        size = sum(
            (abs(v) * max(abs(p), abs(q)) for v, p, q in zip(values, low.tolist(), high.tolist(), strict=True)),
            Fraction(0),
        )
        common = lcm(*(value.denominator for value in values))
        unit = max(Fraction(gcd(*(int(value * common) for value in values)) or 1, common), size / 2**SCORE_BITS)
        whole = [floor(value / unit) for value in values]
        lost = sum(
            ((v / unit - k) * max(0, q) for v, k, q in zip(values, whole, high.tolist(), strict=True)), Fraction(0)
        )
        least = ceil(Fraction(float(end)) / unit - lost)
        found.append((whole, max(-LARGEST_LACK, min(LARGEST_LACK, least)), unit))
    return found


@dataclass(frozen=True, eq=False)
class _Scaled:
    """round(scale X) - centre, and by how much at most each column was rounded."""

    Q: Index
    scale: Fraction
    centre: Index
    error: Array


def _scaled(X: Array, reach: Index, offset: int) -> _Scaled | None:
    """The coarsest scale that loses nothing: few binary digits, else few decimal ones within the margin, else as fine as there is room."""
    exponent = -exact_costs(np.abs(X).ravel()).exponent
    size = float((np.abs(X).max(axis=0, initial=0.0) * np.maximum(1, reach)).sum())
    room = SCORE_BITS - 1 - (int(np.frexp(size)[1]) if size > 0 else 0)
    exponent = max(exponent, min(0, room))  # a whole offset and a margin of 1 need a whole scale
    scales = [Fraction(2) ** exponent] if exponent <= min(room, FEW_BITS) else []
    scales += [Fraction(10) ** digits for digits in range(MOST_DECIMALS + 1) if 10**digits < 2.0 ** min(room, 52)]
    least = np.abs(X).max(axis=0, initial=0.0)
    for scale in [*scales, Fraction(2) ** min(exponent, room)]:
        grown = X * float(scale)
        if not np.isfinite(grown).all() or np.abs(grown).max(initial=0.0) >= 2.0**SCORE_BITS:
            continue
        below = np.floor(grown)
        nearest = below + (grown - below >= 0.5)
        error = np.abs(grown - nearest).max(axis=0, initial=0.0)
        if (error <= SAFE * float(RELATIVE_MARGIN) * float(scale) * least).all():
            Q = nearest.astype(np.int64)
            centre = _centre(Q, scale, offset)
            # Products with a decimal scale are rounded, so that an error of zero may hide one of rounding.
            hidden = 0.0 if scale.numerator & (scale.numerator - 1) == 0 else ROUNDING
            return _Scaled(Q - centre, scale, centre, error + hidden * float(scale) * least)
    return None


def _centre(Q: Index, scale: Fraction, offset: int) -> Index:
    """A middle of each column, so that scores are small; whole numbers of the user's units where the offset is whole."""
    if offset == NONE or not len(Q):
        return np.zeros(Q.shape[1], dtype=np.int64)
    middle = np.sort(Q, axis=0)[len(Q) // 2]
    if offset == WHOLE:
        one = scale.numerator if scale.denominator == 1 else 1
        middle = middle // one * one
    return np.asarray(middle)
