"""Exact Euclidean projections onto the top-k simplex and its relatives, in expected linear time.

See `mipclass.methods.tau_fpl.kernels.topk` for how. All functions take one-dimensional arrays of finite numbers, keep float32 and turn
anything else into float64 (sums are always taken in float64), and never change their input unless `overwrite=True`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import finite_vector, positive_integer
from ...errors import InvalidInputError

Floats = NDArray[Any]

METHODS = ("exact", "bisection", "cached-bisection", "cached-newton")


def project_topk_simplex(
    alpha: ArrayLike, beta: ArrayLike, k: int, *, method: str = "exact", overwrite: bool = False
) -> tuple[Floats, Floats]:
    """The nearest point to (alpha, beta) of the top-k simplex of Zhang et al. (2018), equation (9).

    Minimise    |p - alpha|^2 + |q - beta|^2
    Subject to  p >= 0,  q >= 0,  sum(p) = sum(q),  q_j <= sum(p)/k.

    Parameters
    ----------
    alpha, beta : the point to project, m and n finite numbers.
    k : integer >= 1. With k > n only the origin is feasible.
    method : "exact" (finite, no tolerance, expected O(m + n)), or the paper's "bisection" and "cached-bisection"
        (Algorithm 2), which stop when lambda is known to about 1e-12 of the data's scale; "cached-newton" is Algorithm 2
        with a faster inner search for mu of our own. All but "exact" are here for comparison.
    overwrite : write the result into alpha and beta (they must be float arrays) instead of into new arrays.

    Returns
    -------
    (p, q) : arrays of the shapes of alpha and beta; new ones are two halves of one block of memory.

    References
    ----------
    A. Zhang, N. Li, J. Pu, J. Wang, J. Yan, H. Zha: tau-FPL: tolerance-constrained learning in linear time. AAAI 2018.

    Examples
    --------
    >>> from mipclass import project_topk_simplex
    >>> p, q = project_topk_simplex([4.0, -1.0], [2.0, -1.0, -5.0], k=2)
    >>> p, q
    (array([3., 0.]), array([1.5, 1.5, 0. ]))
    """
    a, b = finite_vector("alpha", alpha), finite_vector("beta", beta)
    if a.dtype != b.dtype:
        a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
    k = positive_integer("k", k)
    if method not in METHODS:
        raise InvalidInputError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}.")
    if overwrite:
        p, q = _writable("alpha", alpha, a), _writable("beta", beta, b)
    else:
        # One block for both: from 4 MB on NumPy asks the system for large pages, and small ones cost more than the work.
        both = np.empty(a.size + b.size, dtype=a.dtype)
        p, q = both[: a.size], both[a.size :]
    if k > b.size:
        p[:], q[:] = 0.0, 0.0
    elif method == "exact":
        from .kernels.topk import project_topk

        project_topk(a, b, k, p, q)
    else:
        from .kernels.topk_bisection import project_topk_by_bisection

        project_topk_by_bisection(a, b, k, p, q, cached=method != "bisection", newton=method == "cached-newton")
    return p, q


def project_capped_simplex(v: ArrayLike, total: float = 1.0, cap: float = np.inf) -> Floats:
    """The nearest point to v of {p : sum(p) = total, 0 <= p_j <= cap}, the continuous quadratic knapsack."""
    x = finite_vector("v", v)
    if not total >= 0.0 or not np.isfinite(total):
        raise InvalidInputError(f"total must be a finite number >= 0; got {total!r}.")
    if not cap > 0.0 or total > cap * x.size:
        raise InvalidInputError(
            f"no point has {x.size} entries in [0, {cap!r}] with sum {total!r}: cap must be positive and at least "
            f"total / len(v) = {total / x.size:.6g}."
        )
    out = np.zeros_like(x)
    if total > 0.0:
        from .kernels.topk import capped_threshold
        from .kernels.topk_linear import shift_and_clip

        shift, y = capped_threshold(x, float(total), float(cap))
        shift_and_clip(x, shift, y, float(cap), out)
    return out


def project_simplex(v: ArrayLike, total: float = 1.0) -> Floats:
    """The nearest point to v of the simplex {p >= 0 : sum(p) = total}."""
    return project_capped_simplex(v, total)


def project_topk_cone(v: ArrayLike, k: int) -> Floats:
    """The nearest point to v of the top-k cone {p : 0 <= p_j <= sum(p)/k} of Lapin, Hein and Schiele (2015)."""
    return _project_cone(finite_vector("v", v), positive_integer("k", k))[0]


def project_topk_simplex_radius(v: ArrayLike, k: int, radius: float = 1.0) -> Floats:
    """The nearest point to v of {p : 0 <= p_j <= sum(p)/k, sum(p) <= radius}, Lapin et al.'s top-k simplex.

    The cone's projection when its sum is at most `radius`; otherwise the capped simplex of that sum.
    """
    if not radius > 0.0 or not np.isfinite(radius):
        raise InvalidInputError(f"radius must be a finite number > 0; got {radius!r}.")
    x, k = finite_vector("v", v), positive_integer("k", k)
    point, total = _project_cone(x, k)
    return point if total <= radius else project_capped_simplex(x, radius, radius / k)


def _project_cone(x: Floats, k: int) -> tuple[Floats, float]:
    out = np.zeros_like(x)
    if k > x.size:
        return out, 0.0
    from .kernels.topk import cone_thresholds
    from .kernels.topk_linear import shift_and_clip

    found = cone_thresholds(x, k)
    shift_and_clip(x, found.pb, found.y, found.C / k, out)
    return out, found.C


def _writable(name: str, given: ArrayLike, used: Floats) -> Floats:
    """The given array itself, or an error where the result could not be written into it."""
    if used is not given or not used.flags.writeable:
        raise InvalidInputError(
            f"overwrite=True needs {name} to be a writable, contiguous float64 or float32 array, both of one type; got "
            f"{type(given).__name__}{'' if not isinstance(given, np.ndarray) else f' of {given.dtype}'}. "
            f"Leave overwrite out to get new arrays."
        )
    return used
