"""Rays: why a continuous program has no point, or no least objective. Checked against the program, found by LPs.

Infeasible. Row multipliers r with z = -A'r give r'Au + z'u = 0 for every u, while rows and bounds make the left side at least
the sum of each multiplier times its side. When this sum is positive, no u exists (Farkas).

Unbounded. From a feasible point, a direction d that no row and no bound ever stops, along which the objective falls for ever:
Qd = 0 and c'd < 0, or d'Qd < 0 where the objective is not convex.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import norm

from ..arrays import Array
from ..modelling.program import Program
from ..protocol.result import Status
from ..protocol.run import Run
from .base import Solution

SolveLP = Callable[[Program, Run], Solution]
"""A solver of LPs within the limits of a run."""

RADIUS = 1e6
"""How far a Farkas proof looks along a column whose bound is absent or farther away, in units of the largest side in use: a
multiplier that rounding left on a free column must not outweigh the proof this far from the origin."""
SIGNIFICANT = 1e-9
"""Least sum of a Farkas proof, as a fraction of the sum of the absolute values of its terms: far above their rounding."""
NULL = 1e-12
"""Largest entry of Qd, or of a row of Ad that may not move, as a fraction of the absolute values that it is the sum of."""
DESCENT = 1e-9
"""Least fall c'd of a ray, as a fraction of |c|'|d|."""


def proves_infeasible(program: Program, ray: Array) -> bool:
    """Whether the row multipliers are a Farkas proof that rows and bounds contradict each other (see the module)."""
    if not np.isfinite(ray).all() or not ray.any():
        return has_crossed_sides(program)
    r = ray / np.abs(ray).max()
    r = np.where(np.isinf(np.where(r > 0, program.row_lower, program.row_upper)), 0.0, r)
    z = -(program.A.T @ r)
    rows = _terms(r, program.row_lower, program.row_upper)
    finite = [np.abs(side[np.isfinite(side)]).max(initial=1.0) for side in (program.lower, program.upper)]
    radius = RADIUS * max(*finite, float(np.abs(rows).max(initial=1.0)))
    noise = np.abs(z) <= 1e-15 * np.abs(program.A).T @ np.abs(r)  # the last digit of a sum that cancels
    columns = _terms(np.where(noise, 0.0, z), np.maximum(program.lower, -radius), np.minimum(program.upper, radius))
    size = float(np.abs(rows).sum() + np.abs(columns).sum())
    return bool(rows.sum() + columns.sum() > SIGNIFICANT * size)


def has_crossed_sides(program: Program) -> bool:
    """Whether the lower side of a row or column lies above its upper side; a proof of infeasibility without multipliers."""
    return bool((program.lower > program.upper).any() or (program.row_lower > program.row_upper).any())


def _terms(dual: Array, lower: Array, upper: Array) -> Array:
    """Each multiplier times the side that it pushes from; zero where the multiplier is."""
    side = np.where(dual > 0, lower, upper)
    return dual * np.where(dual == 0, 0.0, side)


def proves_unbounded(program: Program, direction: Array) -> bool:
    """Whether the objective falls for ever along the direction, from any feasible point (see the module)."""
    if not np.isfinite(direction).all() or not direction.any():
        return False
    d = direction / np.abs(direction).max()
    d = np.where(np.abs(d) <= NULL, 0.0, d)
    size = np.abs(d)
    if not _recedes(program.A @ d, np.abs(program.A) @ size, program.row_lower, program.row_upper):
        return False
    if not _recedes(d, size, program.lower, program.upper):
        return False
    if program.Q is not None:
        bent, sizes = program.Q @ d, np.abs(program.Q) @ size
        if float(d @ bent) < -DESCENT * float(size @ sizes):
            return True
        if (np.abs(bent) > NULL * sizes).any():
            return False
    return bool(program.c @ d < -DESCENT * (np.abs(program.c) @ size))


def _recedes(move: Array, size: Array, lower: Array, upper: Array) -> bool:
    """Whether a value that moves like this never reaches a side."""
    down, up = move < -NULL * size, move > NULL * size
    return not bool((down & np.isfinite(lower)).any() or (up & np.isfinite(upper)).any())


def find_infeasibility(program: Program, run: Run, solve: SolveLP) -> Array | None:
    """A Farkas proof by the LP that allows each row to be violated at unit cost; None when none is found in time."""
    n, m = program.n_columns, program.n_rows
    if has_crossed_sides(program):
        return np.zeros(m)
    norms = norm(program.A, axis=1) if m else np.zeros(0)
    norms = np.where(norms > 0.0, norms, 1.0)
    unit = sp.diags_array(1.0 / norms)
    elastic = Program(
        c=np.concatenate([np.zeros(n), np.ones(2 * m)]),
        A=sp.csr_array(sp.hstack([unit @ program.A, sp.eye_array(m), -sp.eye_array(m)])),
        row_lower=program.row_lower / norms,
        row_upper=program.row_upper / norms,
        lower=np.concatenate([program.lower, np.zeros(2 * m)]),
        upper=np.concatenate([program.upper, np.full(2 * m, np.inf)]),
        integer=np.zeros(n + 2 * m, dtype=bool),
        name=f"least violation of {program.name}",
    )
    found = solve(elastic, run.inner())
    if found.row_duals is None:
        return None
    ray = found.row_duals / norms
    return ray if proves_infeasible(program, ray) else None


def find_descent(program: Program, run: Run, solve: SolveLP) -> Array | None:
    """A direction with Qd = 0 and c'd < 0 by an LP over the recession cone within the unit box; None when none is found in time."""
    found = solve(recession(program), run.inner())
    return found.x if found.x is not None and proves_unbounded(program, found.x) else None


def recession(program: Program, *, curved: bool = False) -> Program:
    """Directions within the unit box that no row and no bound ever stops: minimise c'd with Qd = 0, or d'Qd when `curved`."""
    n = program.n_columns
    flat = None if curved else program.Q
    extra = 0 if flat is None else n

    def side(bounds: Array, infinite: float) -> Array:
        return np.where(np.isinf(bounds), infinite, 0.0)

    return Program(
        c=np.zeros(n) if curved else program.c,
        Q=program.Q if curved else None,
        A=program.A if flat is None else sp.csr_array(sp.vstack([program.A, flat])),
        row_lower=np.concatenate([side(program.row_lower, -np.inf), np.zeros(extra)]),
        row_upper=np.concatenate([side(program.row_upper, np.inf), np.zeros(extra)]),
        lower=side(program.lower, -1.0),
        upper=side(program.upper, 1.0),
        integer=np.zeros(n, dtype=bool),
        name=f"recession directions of {program.name}",
    )


def find_point(program: Program, run: Run, solve: SolveLP) -> Array | None:
    """A feasible point, by the LP without an objective; None when none is found in time."""
    bare = solve(program.replace_with(c=np.zeros(program.n_columns), Q=None), run.inner())
    return bare.x if bare.status is Status.OPTIMAL else None
