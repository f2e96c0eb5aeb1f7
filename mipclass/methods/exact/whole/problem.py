"""A 0-1 problem with whole weights in whole numbers: points, costs, limits and the box of all weights.

    q_ij = round(scale x_ij) - centre_j

With a free offset any centre serves, with a whole offset one that is a multiple of the scale, for w.centre moves the offset. Where values are
rounded, by up to error_j, a rule whose right points are right by the relative margin delta (`zero_one.scope`) keeps the order of its
right points: the scores of a right positive and a right negative point differ by more than 2 delta sum_j s_j |w_j|, which is at least what
rounding changes if error_j <= scale delta s_j. With decimal data, scale is a power of ten, and sums that are equal in decimals are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from ....arrays import Array, Index, Positions
from ....certificates.certificate import fraction
from ...zero_one.costs import PROOF_BITS, ExactCosts, count_costs, exact_costs
from ...zero_one.prepared import prepare
from ...zero_one.scope import RELATIVE_MARGIN
from ..form import ProofForm
from .kernels.boxes import FREE, NONE, WHOLE, WholeRows

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
    low, high : the box of all weights.     limit_units : what one stands for in each limit.
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
        }


def weight_box(form: ProofForm) -> tuple[Index, Index]:
    """The least and the largest value of each weight, from the range of all and from rows on single weights."""
    whole = form.statement.whole
    assert whole is not None
    d = form.X.shape[1]
    low, high = [whole.lower] * d, [whole.upper] * d
    for a, end in form.statement.rows:
        for j in np.flatnonzero(a).tolist():
            value = Fraction(float(end)) / Fraction(float(a[j]))
            if a[j] > 0:
                low[j] = max(low[j], ceil(value))
            else:
                high[j] = min(high[j], floor(value))
    return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)


def whole_problem(form: ProofForm) -> WholeProblem | None:
    """The problem in whole numbers; None where the units of the features differ too much for 64 bits."""
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
    limits = [
        count_costs(exact_costs(np.asarray(c, dtype=np.float64)).summed_by(data.group, len(points)))
        for c, _ in statement.limits
    ]
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
        np.array(
            [floor(Fraction(end) / limit.unit) for limit, (_, end) in zip(limits, statement.limits, strict=True)],
            dtype=np.int64,
        ),
        scaled.scale.numerator if scaled.scale.denominator == 1 else 1,
        ceil(float(reach @ scaled.error)) if statement.margin else 0,
        offset,
        statement.margin,
        most,
        int(counts.counts[-1]),
    )
    margin = RELATIVE_MARGIN if scaled.error.any() and not statement.margin else Fraction(0)
    return WholeProblem(
        rows, scaled.Q, points, counts.unit, constant, low, high, scaled.scale, scaled.centre,
        tuple(limit.unit for limit in limits), margin,
    )  # fmt: skip


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
