"""A program solved in a unit of its objective at which a solver's absolute tolerances are small.

Solvers close gaps to 1e-6 and price columns to 1e-7, whatever the size of the costs: with costs of 1e-9 any point is optimal to them. So the
objective is divided by a power of two, which changes no digit, and objective, bound and multipliers are brought back.

    integer programs       the least cost comes to at least 1, as long as the largest stays below 2^LARGEST_BITS
    continuous programs    the largest entry of c and Q comes to at least 1 when it is below 2^-TINY_BITS

Huge costs beside tiny ones leave no such unit. Where the objective is a sum of whole-numbered columns with costs >= 0, a point in hand
helps: a column that alone costs more than the point is zero in every better one. It is fixed there, and the rest is solved again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..backends.base import Solution
from ..modelling.program import Program
from ..protocol.run import Run

LARGEST_BITS = 20
"""Binary digits of the largest cost of an integer program: solvers advise against costs beyond about a million."""

TINY_BITS = 10
"""A continuous program whose entries of c and Q are all below 2^-10 is scaled; above that, tolerances of 1e-7 are small beside them."""

ROUNDING = 1e-9
"""Fraction of a point's objective by which a column's cost must exceed it before the column is fixed at zero."""

Solve = Callable[[Program, Run, Array | None], Solution]


def solve_in_units(solve: Solve, program: Program, run: Run, start: Array | None) -> tuple[Solution, float]:
    """The solution in the program's own units, and the unit in which it was found."""
    solution, unit = _solve_once(solve, program, run, start)
    narrowed = _without_costly_columns(program, solution)
    while narrowed is not None and run.stop() is None:
        again, unit = _solve_once(solve, narrowed, run, solution.x)
        nodes = None if again.nodes is None else again.nodes + (solution.nodes or 0)
        if again.x is None:
            return replace(again, x=solution.x, objective=solution.objective, nodes=nodes), unit
        solution = replace(again, nodes=nodes)
        narrowed = _without_costly_columns(narrowed, solution)
    return solution, unit


def _solve_once(solve: Solve, program: Program, run: Run, start: Array | None) -> tuple[Solution, float]:
    exponent = objective_exponent(program)
    if exponent == 0:
        return solve(program, run, start), 1.0
    unit = 2.0**exponent
    Q = None if program.Q is None else program.Q / unit
    run.objective_unit = unit
    try:
        found = solve(program.replace_with(c=program.c / unit, Q=Q, constant=program.constant / unit), run, start)
    finally:
        run.objective_unit = 1.0

    def back(value: float | None) -> float | None:
        return None if value is None else value * unit

    def all_back(values: Array | None) -> Array | None:
        return None if values is None else values * unit

    return replace(
        found,
        objective=back(found.objective),
        bound=back(found.bound),
        row_duals=all_back(found.row_duals),
        column_duals=all_back(found.column_duals),
    ), unit


def objective_exponent(program: Program) -> int:
    """The e for which the objective is to be solved in units of 2^e, see the module's text; 0 leaves it as it is."""
    sizes = np.abs(program.c[program.lower < program.upper])
    if program.Q is not None:
        sizes = np.concatenate([sizes, np.abs(program.Q.data)])
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return 0
    least, largest = (int(np.frexp(size)[1]) - 1 for size in (sizes.min(), sizes.max()))
    if program.is_integer and program.Q is None:
        if least >= 0 and largest < LARGEST_BITS:
            return 0
        return max(least, largest - LARGEST_BITS + 1)
    return largest if largest < -TINY_BITS else 0


def _without_costly_columns(program: Program, solution: Solution) -> Program | None:
    """The program with columns fixed at zero that alone cost more than the solution's point, when that allows for a finer unit."""
    if solution.x is None or not _adds_up_costs(program):
        return None
    x = np.where(program.integer, np.round(solution.x), solution.x)
    costly = (program.c > program.objective(x) * (1 + ROUNDING)) & (program.upper > 0)
    # Their costs go too: divided by the finer unit they could exceed what a solver takes for infinity.
    narrowed = program.replace_with(c=np.where(costly, 0.0, program.c), upper=np.where(costly, 0.0, program.upper))
    return narrowed if costly.any() and objective_exponent(narrowed) < objective_exponent(program) else None


def _adds_up_costs(program: Program) -> bool:
    """Whether the objective is a sum of costs >= 0 of whole-numbered columns >= 0."""
    used = program.c != 0
    is_count = program.integer[used].all() and (program.lower[used] >= 0).all() and (program.c[used] > 0).all()
    return bool(program.Q is None and program.constant >= 0 and is_count)
