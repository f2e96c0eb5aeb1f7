"""A limited problem at given prices is a plain one.

    c(e) >= sum_i a_i e_i - sum_k p_k L_k      a_i = c_i + sum_k p_k l_ki      for every rule that keeps the limits l_k(e) <= L_k

With coefficients l_ki >= 0 (`ProofForm.unfolded`) the right-hand side is a plain 0-1 loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...certificates.certificate import Statement, fraction
from ..zero_one.costs import INT64_BITS, ExactCosts
from ..zero_one.prepared import ZeroOneData, prepare
from .form import ProofForm


@dataclass(frozen=True, eq=False)
class PricedForm(ProofForm):
    """The plain problem at some prices. A plain loss F stands for  F / factor - shift  <=  objective c(e) + sum_k p_k (l_k(e) - L_k).

    limited : the problem with the limits.     whole : the costs of the plain problem, whole numbers; `weights` are the nearest float64.
    objective : 1, or 0 for a loss of limits alone, which a rule that keeps them cannot have above zero.
    """

    limited: ProofForm
    whole: ExactCosts
    objective: int
    prices: tuple[Fraction, ...]
    factor: int
    shift: Fraction

    copies: ClassVar[bool] = True
    """Prices make the points of one class cost a small multiple of those of the other."""

    @property
    def X(self) -> Array:
        """The points of the limited problem."""
        return self.limited.X

    @property
    def y(self) -> Array:
        """Their labels."""
        return self.limited.y

    @property
    def costs(self) -> ExactCosts:
        """The costs of the plain problem, exactly."""
        return self.whole

    @cached_property
    def data(self) -> ZeroOneData:
        """The rows that are left to decide."""
        return prepare(self.X, self.y, self.weights, costs=self.whole, keep_columns=bool(self.statement.rows))

    def bound(self, plain: Fraction) -> Fraction:
        """What a bound of the plain problem says about the limited one."""
        return plain / self.factor - self.shift

    def lower(self, plain: dict[str, Any], bound: Fraction) -> dict[str, Any]:
        """The lower part of a certificate of the limited problem, from that of the plain one."""
        proof = {name: value for name, value in plain.items() if name != "relative_margin"}
        for name in ("bound", "constant", "unit"):
            proof[name] = fraction(Fraction(proof[name]) / self.factor)
        return {
            "kind": "priced",
            "bound": fraction(bound),
            "relative_margin": plain.get("relative_margin", "0"),
            "prices": [fraction(price) for price in self.prices],
            "proof": proof,
        }


def priced_form(form: ProofForm, prices: tuple[Fraction, ...], objective: int = 1) -> PricedForm:
    """The plain problem of a limited one at prices in the user's units, with or without the objective's own costs."""
    statement = form.statement
    columns = np.column_stack([statement.costs, *(np.asarray(c, dtype=np.float64) for c, _ in statement.limits)])
    kinds, which = np.unique(columns, axis=0, return_inverse=True)
    exact = [
        Fraction(objective * c) + sum((p * Fraction(value) for p, value in zip(prices, l, strict=True)), Fraction(0))
        for c, *l in kinds.tolist()
    ]
    factor = lcm(*(value.denominator for value in exact))
    multiples = [int(value * factor) for value in exact]
    which = which.reshape(-1)
    fits = sum(multiples) * len(which) < 1 << INT64_BITS
    whole = ExactCosts(np.array(multiples, dtype=np.int64 if fits else object)[which], 0)
    weights = np.array([float(value) for value in exact])[which]
    shift = sum((p * Fraction(at_most) for p, (_, at_most) in zip(prices, statement.limits, strict=True)), Fraction(0))
    stated = Statement(weights, rows=statement.rows)
    return PricedForm(form.problem, weights, 1.0, stated, form, whole, objective, prices, factor, shift)
