"""From an edge of the arrangement {z_i.w = 0} into a cell next to it.

The rows of a flat are tied all along the edge; a small step off the edge, the nudge, decides them.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Array, Index
from ....kernels.decorator import njit
from ....numeric.vectors import add_multiple, inner, length, remove_components, row_products, set_multiple
from .pencil import SMALLEST


@njit(cache=True)
def nudge_for_all(rows: Array, chosen: Index) -> Array:
    """The shortest x with z_i.x = 1 for all chosen rows, which are linearly independent. O(m len(chosen)^2)."""
    m = rows.shape[1]
    basis = np.empty((chosen.shape[0], m))
    x = np.zeros(m)
    for k in range(chosen.shape[0]):
        row = rows[chosen[k]]
        set_multiple(basis[k], 1.0, row)
        remove_components(basis[k], basis, k)
        set_multiple(basis[k], 1.0 / length(basis[k]), basis[k])
        add_multiple(x, (1.0 - inner(x, row)) / inner(basis[k], row), basis[k])
    return x


@njit(cache=True)
def nudged_off(rows: Array, edge: Array, nudge: Array, flat: Index) -> Array:
    """edge + eps * nudge, eps half of what the first row outside the flat allows (and eps |nudge| <= 1)."""
    n = rows.shape[0]
    margins, change = np.empty(n), np.empty(n)
    row_products(rows, edge, margins)
    row_products(rows, nudge, change)
    for i in flat:
        change[i] = 0.0
    eps = 1.0 / max(length(nudge), SMALLEST)
    for i in range(n):
        if margins[i] * change[i] < 0.0:
            eps = min(eps, -0.5 * margins[i] / change[i])
    v = edge.copy()
    add_multiple(v, eps, nudge)
    return v
