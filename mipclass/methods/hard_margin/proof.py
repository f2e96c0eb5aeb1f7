"""The certificate of a direction search: the rule, the tree of boxes and what closes each leaf (`mipclass.checker.hard_margin` checks it)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...arrays import Array
from ...certificates.certificate import FORMAT, VERSION, Certificate, data_digest, floats, pack
from .form import HardMarginForm
from .search import DirectionSearch

ROOM = Fraction(1, 10**12)
"""Relative distance of the claimed bound below the searched one, for roundings in the search."""

WEIGHT_BITS = 50
"""Convex weights are written as whole multiples of 2^-WEIGHT_BITS; the checker divides by their sum."""


def direction_certificate(
    form: HardMarginForm, search: DirectionSearch, w: Array, b: float, cost: Fraction
) -> Certificate:
    """The certificate of a finished search."""
    evidence = search.evidence
    weights = np.round(np.concatenate(evidence.weights) * 2.0**WEIGHT_BITS).astype(np.int64)
    positive = "larger" if form.model.data.positive_is_larger else "smaller"
    return Certificate(
        {
            "format": FORMAT,
            "version": VERSION,
            "data": {**data_digest(form.X, form.model.y_pm1), "positive": positive},
            "problem": form.statement.content(),
            "upper": {"w": floats(w), "b": float(b).hex(), "loss": str(cost)},
            "lower": {
                "kind": "directions",
                "bound": str(Fraction(search.lower) * (1 - ROOM)),
                "exponents": [int(exponent) for exponent in search.exponents],
                "ops": pack(np.concatenate(evidence.ops)),
                "evidence": pack(np.concatenate(evidence.ints)),
                "weights": pack(weights),
            },
        }
    )
