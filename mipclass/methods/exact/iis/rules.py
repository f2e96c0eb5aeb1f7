"""Rules that get a given set of points right, in numbers a float can hold."""

from __future__ import annotations

import numpy as np

from ....arrays import Array, Mask
from .cover import CoverData

NO_ROOM = 1e-9
"""A best t (relative to the length of the rows) up to which the rules form a face without interior."""

DIGITS = (9, 6)
"""Decimal places to which a rule is also rounded; shorter numbers often satisfy rows exactly."""

GRID = 64.0
"""Rules without room are looked for among multiples of 1/64, whose products with short numbers are exact in float64."""

REACH = 4.0
"""Distance from the LP's rule, per coordinate, within which they are looked for."""

GRID_NODES, GRID_SECONDS = 200, 1.0
"""Limits of the small integer program that looks for them."""


def widest_rules(data: CoverData, right: Mask) -> list[Array]:
    """Rules that get the given points right with room to spare, by an LP, and the same in fewer digits; none when there is none.

    Maximise t subject to  z_i.W >= margin + t |z_i|  for the right points and  a_k.W >= c_k  for the side rows. With a margin the best
    t may be 0: the points then leave a face without room, whose vertices (thirds, say) floats may miss; a rule on a grid is added.
    """
    from scipy.optimize import linprog

    rows = data.Z[right] @ data.map
    sides, ends = data.side_rows()
    r = data.map.shape[1]
    size = np.linalg.norm(rows, axis=1)
    A = np.vstack([np.column_stack([-rows, size]), np.column_stack([-sides, np.zeros(len(sides))])])
    b = np.concatenate([np.full(len(rows), -float(data.margin)), -ends])
    reach = (None, None) if data.margin else (-1.0, 1.0)
    found = linprog(np.append(np.zeros(r), -1.0), A_ub=A, b_ub=b, bounds=[reach] * r + [(0.0, 1.0)], method="highs")
    if found.status != 0 or found.x is None:
        return []
    W = np.asarray(data.map @ found.x[:-1])
    rules = [W, *(np.round(W, digits) for digits in DIGITS)]
    if data.margin and found.x[-1] <= NO_ROOM:
        rules += _grid_rule(data, right, W)
    return rules


def _grid_rule(data: CoverData, right: Mask, near: Array) -> list[Array]:
    """W = K / GRID with whole K that gets the points right, by a small integer program; empty when none is found.

    K is held within REACH of a given rule: over unbounded integers the solver may take all memory.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = np.vstack([data.Z[right], *(a for a, _ in data.sides)])
    least = np.concatenate([np.full(int(right.sum()), float(data.margin)), [c for _, c in data.sides]])
    m = data.Z.shape[1]
    found = milp(
        np.zeros(m),
        integrality=np.ones(m),
        bounds=Bounds(np.floor(GRID * (near - REACH)), np.ceil(GRID * (near + REACH))),
        constraints=LinearConstraint(rows, GRID * least, np.inf),
        options={"node_limit": GRID_NODES, "time_limit": GRID_SECONDS},
    )
    return [] if found.x is None else [np.round(found.x) / GRID]
