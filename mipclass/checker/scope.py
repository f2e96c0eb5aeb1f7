"""Which rules a lower bound speaks of: all of them, or those whose right points are right by a stated relative margin.

With z_i = y_i (x_i, 1), W = (w, b) and the scales s_j = max_i |x_ij| of the features, 1 of the offset, a rule is in the scope of the
relative margin delta when each point is either wrong, z_i.W <= 0, or right by the margin,

    z_i.W > delta sum_j s_j |W_j|.

That is: its right points stay right when every number moves by up to delta times the largest magnitude in its column. The scope does not
change when a column is multiplied by a number, and delta = 0 means every rule. A vector r with |r_j| <= delta s_j U has
r.W <= delta U sum_j s_j |W_j|, so it stands for zero in an argument about points that are right with multipliers of sum U. A point
whose error helps to keep a limit has a copy with the other label (`problem.unfolded`), which is right by the margin where the point is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .arithmetic import Rejected, rational
from .problem import ExactProblem

LARGEST = Fraction(1, 2**40)
"""Largest relative margin that a certificate may state: 8,192 units of the rounding of float64, and a millionth of a millionth of
the largest value, which no measurement resolves."""


@dataclass(frozen=True)
class Scope:
    """The relative margin delta and the scale of each coordinate of W."""

    margin: Fraction
    scales: list[Fraction]

    @property
    def allowances(self) -> list[Fraction]:
        """delta s_j of each coordinate."""
        return [self.margin * scale for scale in self.scales]


def read_scope(lower: Any, problem: ExactProblem) -> Scope:
    """The scope of the certificate's lower bound; Rejected when its margin is out of range. The scales are those of the data."""
    margin = relative_margin(lower)
    if margin and problem.margin:
        raise Rejected("lower, relative_margin", "the scale-free loss alone has one; this problem has a margin of 1")
    scales = [Fraction(float(scale)) for scale in np.abs(problem.X.values).max(axis=0, initial=0.0)]
    return Scope(margin, [*scales, Fraction(1)] if problem.intercept else scales)


def relative_margin(lower: Any) -> Fraction:
    """The relative margin that the lower part of a certificate states, 0 when it states none; Rejected when it is out of range."""
    stated = lower.get("relative_margin", 0) if isinstance(lower, dict) else 0
    margin = rational(stated, "lower, relative_margin")
    if not 0 <= margin <= LARGEST:
        raise Rejected("lower, relative_margin", f"it must be between 0 and 2^-40, got {float(margin):.3g}")
    return margin


def scope_in_words(margin: Fraction) -> str:
    """Which rules the bound speaks of, as the object of "no rule ..."; empty when it speaks of every rule."""
    if not margin:
        return ""
    return f" whose right points stay right when every value moves by up to {float(margin):.2g} of the largest in its column"
