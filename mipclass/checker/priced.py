"""Prices on limits, multiplied out: a proof about a plain 0-1 loss becomes a bound for a problem with limits on errors.

For prices p_k >= 0 and every rule that keeps the limits  sum_i l_ki e_i <= L_k,

    sum_i c_i e_i  >=  sum_i c_i e_i + sum_k p_k (sum_i l_ki e_i - L_k)  =  sum_i a_i e_i - sum_k p_k L_k,     a_i = c_i + sum_k p_k l_ki.

Coefficients are not negative (`problem.unfolded`), so that the first sum is a plain 0-1 loss.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .arithmetic import Rejected, field, rationals
from .patience import look
from .problem import ExactProblem


def plain_problem(lower: Any, problem: ExactProblem) -> ExactProblem:
    """The problem without limits of the prices in `lower`, which the proof inside must be about; rows on (w, b) stay."""
    return ExactProblem(_priced_costs(lower, problem), 0, True, [], problem.rows, problem.X, problem.y)


def shift(lower: Any, problem: ExactProblem) -> Fraction:
    """What has to be taken from a bound of the plain problem: sum_k p_k L_k."""
    return sum((p * end for p, (_, end) in zip(_prices(lower, problem), problem.limits, strict=True)), Fraction(0))


def counts_objective(lower: Any) -> bool:
    """Whether the costs c_i are part of the loss; without them it is about limits alone and positive for no rule that keeps them."""
    objective = lower.get("objective", 1)
    if objective not in (0, 1):
        raise Rejected("lower, objective", f"it must be 0 or 1, got {objective!r}")
    return bool(objective)


def _prices(lower: Any, problem: ExactProblem) -> list[Fraction]:
    if problem.margin or not problem.intercept:
        raise Rejected("lower", "prices are about limits on errors without a margin and with a free offset")
    prices = rationals(field(lower, "prices", "lower"), len(problem.limits), "lower, prices")
    if any(price < 0 for price in prices):
        raise Rejected("lower, prices", "a price is negative")
    return prices


def _priced_costs(lower: Any, problem: ExactProblem) -> list[Fraction]:
    """a_i = c_i + sum_k p_k l_ki, without the c_i where "objective" is 0."""
    costs = list(problem.costs) if counts_objective(lower) else [Fraction(0)] * problem.n
    for price, (coefficients, _) in zip(_prices(lower, problem), problem.limits, strict=True):
        for i, coefficient in enumerate(coefficients):
            look()
            if coefficient and price:
                costs[i] += price * coefficient
    return costs
