"""Searches over many rows: a smooth descent, a sample, and then the rows near the hyperplane alone.

A step of local or swap search costs O(n m), and with many rows nearly all of it goes to rows that are far from every hyperplane worth a
look. So

1. the smooth loss of all rows is followed from the start (`smoothed`);
2. a part of the steps is made on a random sample of the rows, on whole circles of rules, which may find a better region, and the smooth
   loss is followed from there;
3. the other steps are made inside a band: the rows nearest to the best hyperplane, and the rules within the angle at which no
   other row can change its side (`kernels.window`). Losses found there are exact. From round to round the band follows the best rule.

Every new best is counted again on all rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array
from .kernels.window import Band, whole_circle
from .prepared import WeightedRows, count_loss
from .walk import BestRule, Walk

MANY_ROWS, MANY_ENTRIES = 5_000, 100_000
"""Rows, and entries of the rows, from which on a search goes this way. With fewer, searches over all rows find as good rules or, with few
features, slightly better ones within seconds."""

SAMPLE_ROWS = 5_000
"""Rows of the sample, about."""

SAMPLE_SHARE = 0.25
"""Fraction of the steps that are made on the sample."""

WIDTHS = (10.0, 2.5) * 3
"""Rows of the bands, one after the other, in units of n^(2/3), the order of the number of rows that decide which rule near the best
one is best. Wide bands leave local optima behind, narrow ones allow more steps a second."""

KICK = 0.5
"""Length of the longest kick in units of the sine of the band's angle."""

ROUNDING = 1e-9
"""Fraction by which a band's angle is narrowed, because the margins that it is computed from are rounded."""

MakeWalk = Callable[[Array, Array, Array, float, Band], Walk]
"""A search over unit rows and their weights from a rule of a loss, inside a band."""


def has_many(rows: WeightedRows) -> bool:
    """Whether a search over these rows goes this way."""
    return len(rows.Z) > MANY_ROWS and rows.unit.size > MANY_ENTRIES


def banded_search(best: BestRule, v: Array, make: MakeWalk, rng: np.random.Generator, steps: int) -> None:
    """Improve the incumbent, whose rule is v in whitened coordinates and of length one, by about so many steps; see the module's text."""
    unit, weights = best.rows.unit, best.rows.weights
    v, loss = best.descend(v)
    sampled = _sample_walk(best, v, make, rng)
    best.walk(sampled, int(SAMPLE_SHARE * steps))
    other, other_loss = best.descend(sampled.best)
    if other_loss < loss:
        v = other
    for k, width in enumerate(WIDTHS):
        if best.is_final:
            return
        walk = _band_walk(unit, weights, v, int(width * len(unit) ** (2 / 3)), make)
        best.walk(walk, (steps - best.steps) // (len(WIDTHS) - k))
        v = walk.best


def _sample_walk(best: BestRule, v: Array, make: MakeWalk, rng: np.random.Generator) -> Walk:
    """A search over a sample of the rows from the rule v. Rows that outweigh a row of the sample are all in it."""
    unit, weights = best.rows.unit, best.rows.weights
    is_heavy = weights * SAMPLE_ROWS > weights.sum()
    light = np.flatnonzero(~is_heavy)
    drawn = np.sort(rng.choice(light, min(SAMPLE_ROWS, len(light)), replace=False))
    rows = np.concatenate([np.flatnonzero(is_heavy), drawn])
    scales = np.where(is_heavy[rows], 1.0, np.round(len(light) / max(1, len(drawn))))
    Z, sample_weights = np.ascontiguousarray(unit[rows]), weights[rows] * scales
    return make(Z, sample_weights, v, count_loss(Z, sample_weights, v), whole_circle(unit.shape[1]))


def _band_walk(unit: Array, weights: Array, v: Array, size: int, make: MakeWalk) -> Walk:
    """A search inside the band of about so many rows round the rule v."""
    margins = unit @ v
    far = np.abs(margins)
    sine = float(np.partition(far, size)[size]) if size < len(unit) else 1.0
    inside = np.flatnonzero(far <= sine)
    is_wrong = margins <= 0.0
    loss = float(weights @ is_wrong)
    outside = loss - float(weights[inside] @ is_wrong[inside])
    band = Band(v, float(np.sqrt(1.0 - ((1.0 - ROUNDING) * sine) ** 2)), outside, KICK * sine)
    return make(np.ascontiguousarray(unit[inside]), weights[inside], v, loss, band)
