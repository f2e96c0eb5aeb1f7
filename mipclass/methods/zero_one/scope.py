"""Which rules a proof of the scale-free 0-1 loss speaks of where rounding has blurred the data.

A rule W is in the scope of a relative margin delta when each of its points is wrong, z_i.W <= 0, or right by the margin,

    z_i.W > delta sum_j s_j |W_j|,      s_j = max_i |x_ij|, and 1 for the offset.

Its right points then stay right when every value moves by up to delta times the largest magnitude in its column. Rules that live on the
rounding of the data (Fahrenheit against Celsius, a corner where standardised whole numbers met before they were rounded) are outside.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...arrays import Array

RELATIVE_MARGIN = Fraction(1, 2**40)
"""delta: 8,192 units of the rounding of float64, so that rounding stays below it; a millionth of a millionth of the largest value,
so that no measurement resolves it."""

LARGEST_IN_FLOATS = 1e-3
"""Largest relative margin at which a search in float64 may still call its answer proven: with a larger one it says little."""

IN_FLOATS = 0.5
"""Fraction of delta that a residual may reach: another basis of the same space then stays within delta as well."""


def column_scales(Z: Array) -> Array:
    """s_j of signed rows z_i = t_i (x_i, 1), or t_i x_i without an offset."""
    return np.asarray(np.abs(Z).max(axis=0, initial=0.0))


def images(Z: Array, M: Array) -> Array:
    """Z M by way of extended precision: far from zero compared to their spread, features cancel most digits of the sums."""
    return np.asarray(Z.astype(np.longdouble) @ M.astype(np.longdouble), dtype=np.float64)


def left_inverse(Z: Array, M: Array) -> Array:
    """L with Z M L nearest to Z: the rule W looks on the rows as V = L W does on Z M, up to the residual Z - Z M L."""
    return np.asarray(np.linalg.lstsq(images(Z, M), Z, rcond=None)[0], dtype=np.float64)


def loses_only_rounding(Z: Array, M: Array, scales: Array) -> bool:
    """Whether |Z - Z M L|_ij is clearly below delta s_j, whatever rounding did: what M leaves out matters to no rule of the scope."""
    Q, L = images(Z, M), left_inverse(Z, M)
    rounding = np.finfo(float).eps * np.abs(Q) + np.finfo(np.longdouble).eps * (np.abs(Z) @ np.abs(M))
    residual = np.abs(Z - Q @ L) + sum(M.shape) * (rounding @ np.abs(L))
    return bool((residual <= IN_FLOATS * float(RELATIVE_MARGIN) * scales).all())


def margin_of_floats(Z: Array, M: Array, resolution: float) -> float:
    """The relative margin of the rules that a search in float64 does not overlook.

    resolution : margins q_i.V / (|q_i| |V|), with q_i = z_i M, up to which the search takes a point for lying on the plane.

    A rule W looks on the rows as V = L W does, up to the residual of `left_inverse`, and |V| <= max_j (|L_j| / s_j) sum_j s_j |W_j|. So right by
    residual + resolution * max_i |q_i| max_j (|L_j| / s_j)  is right by more than the resolution. Rounding of the q_i is added to it.
    """
    scales, Q, L = column_scales(Z), images(Z, M), left_inverse(Z, M)
    positive = np.where(scales > 0, scales, 1.0)
    lengths = np.linalg.norm(Q, axis=1)
    rounding = np.finfo(float).eps * Z.shape[1] * np.linalg.norm(np.abs(Z) @ np.abs(M), axis=1)
    residual = float((np.abs(Z - Q @ L) / positive).max())
    return residual + float((resolution * lengths + rounding).max() * (np.linalg.norm(L, axis=0) / positive).max())


def scope_in_words(relative_margin: Fraction | float) -> str:
    """The scope as `result.extra["scope"]` says it; empty when the proof speaks of every rule."""
    if not relative_margin:
        return ""
    return (
        f"among rules whose right points stay right when every value moves by up to {float(relative_margin):.2g} of the "
        "largest magnitude in its column"
    )
