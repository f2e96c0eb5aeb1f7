"""How wide a margin becomes as more points may be left out: the curve that helps to choose a share of outliers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import MipclassWarning
from ..models.outlier_svm import outlier_svm
from ..solving.driver import solve


@dataclass(frozen=True, eq=False)
class WidthCurve:
    """widths[k] is the margin found when outliers[k] points may be left out; NaN where none was found.

    `proven` says which widths are optima; elsewhere they are lower bounds of the widest margin.
    """

    outliers: NDArray[np.int64]
    widths: Array
    proven: NDArray[np.bool_]


def width_curve(
    X: Any,
    y: Any = None,
    outliers: Iterable[int] = range(11),
    *,
    solver: str = "auto",
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    **data: Any,
) -> WidthCurve:
    """Solve outlier_svm(X, y, k) for every k of `outliers`, each warm-started by the one before.

    More outliers never narrow the widest margin, so a heuristic's width is at least that of a smaller k.
    """
    counts = np.array(sorted(set(outliers)), dtype=np.int64)
    widths, proven = np.full(len(counts), np.nan), np.zeros(len(counts), dtype=bool)
    sides = 1.0 if y is None else 2.0
    warm, widest = None, -np.inf
    for k, count in enumerate(counts.tolist()):
        model = outlier_svm(X, y, count, **data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MipclassWarning)  # no slab found is said by a NaN
            result = solve(model, solver, seed=seed, options=options, time_limit=time_limit, warm_start=warm)
        if result.values:
            width = sides / float(np.linalg.norm(result.values["w"]))
            warm = result if width >= widest else warm
            widest = max(widest, width)
            proven[k] = result.claim == "proven"
        if np.isfinite(widest):
            widths[k] = widest
    return WidthCurve(counts, widths, proven)
