"""Data of a tau-FPL ranking problem: rows as an operator, and the two classes with their weights.

Rows come as a dense array (any float type or order, also a memory map), a CSR matrix, a Dask array in row blocks, or a
kernel matrix. Everything the training needs of them is X w, X'z and a subset of rows; nothing is copied or upcast as a
whole, so data that do not fit in memory are read block by block and give the same result. Rows in far units are seen through a
power of two: with X' = unit X, w' = w / unit and R' = unit^2 R the problem is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Array, Positions
from ...modelling.row_blocks import is_lazy, row_blocks

SKIP_BELOW = 0.6
"""Share of nonzero z below which reading only those rows beats a product with all of them."""


FAR = 2.0**30
"""Rows whose largest absolute value lies within [1/FAR, FAR] (about 1e-9 to 1e9) are used in their own unit: there the first steps
of the searches, which have length one, are not far off."""


class RankingRows:
    """unit * X as an operator: products with w and z, and subsets of rows. Dense float64 arrays and CSR matrices take fast paths."""

    def __init__(self, X: Any, unit: float = 1.0) -> None:
        self.unit = unit
        # A memory map is seen as a plain array on the same file, which is all that numba knows.
        self.X: Any = np.asarray(X) if isinstance(X, np.memmap) else X
        self.shape: tuple[int, int] = (int(X.shape[0]), int(X.shape[1]))
        self.is_sparse = sp.issparse(X)
        self.is_lazy = is_lazy(X)
        self.is_plain = not self.is_sparse and not self.is_lazy and X.dtype == np.float64

    def scores(self, w: Array) -> Array:
        """unit X w."""
        w = self.unit * w
        if self.is_sparse or self.is_plain:
            return np.asarray(self.X @ w, dtype=np.float64)
        out = np.empty(self.shape[0])
        for rows, values in row_blocks(self.X):
            out[rows] = values @ w
        return out

    def combine(self, z: Array) -> Array:
        """unit X'z; rows with z = 0 are not read where the storage allows it."""
        return self.unit * self._combine(z)

    def _combine(self, z: Array) -> Array:
        active = np.flatnonzero(z)
        if self.is_sparse:
            from .kernels.topk_smooth import combine_sparse_rows

            data = self.X.data.astype(np.float64, copy=False)
            return np.asarray(combine_sparse_rows(data, self.X.indices, self.X.indptr, active, z, self.shape[1]))
        if self.is_plain:
            if self.X.flags.c_contiguous and active.size < SKIP_BELOW * z.size:
                from .kernels.topk_smooth import combine_rows

                return np.asarray(combine_rows(self.X, active, z))
            return np.asarray(self.X.T @ z)
        out = np.zeros(self.shape[1])
        for rows, values in row_blocks(self.X):
            if z[rows].any():
                out += values.T @ z[rows]
        return out

    def take(self, index: Positions) -> Any:
        """The rows `index` of X, without the unit, as an array of their own."""
        picked = self.X[index]
        return picked.compute(scheduler="synchronous") if self.is_lazy else picked

    def largest(self) -> float:
        """The largest absolute value of X; one pass over the rows."""
        if self.is_sparse:
            return float(np.abs(self.X.data).max(initial=0.0))
        if self.is_plain:
            return max(float(self.X.max()), -float(self.X.min()))
        return max(float(np.abs(values).max(initial=0.0)) for _, values in row_blocks(self.X))


@dataclass(frozen=True)
class RankingData:
    """Rows, the positions of the positive and negative ones, their weights, and k (in units of negative weight).

    Rows of zero weight belong to neither class.
    """

    rows: RankingRows
    pos: Positions
    neg: Positions
    weight_pos: Array
    weight_neg: Array
    k: float
    R: float

    @property
    def total(self) -> float:
        """m, the sum of the positives' weights."""
        return float(self.weight_pos.sum())

    @property
    def is_unweighted(self) -> bool:
        """Whether every point has weight one."""
        return bool((self.weight_pos == 1.0).all() and (self.weight_neg == 1.0).all())

    @classmethod
    def build(cls, X: Any, y_pm1: Array, weights: Array | None, k: float, R: float) -> RankingData:
        """The data of rows X with signs y and weights (None: all one)."""
        weights = np.ones(y_pm1.size) if weights is None else np.asarray(weights, dtype=np.float64)
        pos = np.flatnonzero((y_pm1 > 0) & (weights > 0))
        neg = np.flatnonzero((y_pm1 < 0) & (weights > 0))
        return cls(RankingRows(X), pos, neg, weights[pos], weights[neg], float(k), float(R))

    def with_R(self, R: float) -> RankingData:
        """The same data with another penalty."""
        return replace(self, R=float(R))

    def near_one(self) -> RankingData:
        """The same problem with rows in a unit in which their largest absolute value is near one, if it is not within FAR of that."""
        largest = self.rows.largest()
        if largest == 0.0 or 1.0 / FAR <= largest <= FAR:
            return self
        unit = float(np.ldexp(1.0, -int(np.frexp(largest)[1])))
        return replace(self, rows=RankingRows(self.rows.X, unit), R=self.R * unit * unit)

    def subsample(self, share: float, seed: int) -> RankingData:
        """A random share of each class as a problem of its own, k scaled alike; positives and negatives kept apart."""
        rng = np.random.default_rng(seed)

        def pick(size: int) -> Positions:
            return np.sort(rng.choice(size, max(1, round(share * size)), replace=False))

        p, n = pick(self.pos.size), pick(self.neg.size)
        X = self.rows.take(np.concatenate([self.pos[p], self.neg[n]]))
        weight_neg = self.weight_neg[n]
        k = self.k * float(weight_neg.sum() / self.weight_neg.sum())
        order = np.arange(p.size + n.size)
        return RankingData(
            RankingRows(X, self.rows.unit), order[: p.size], order[p.size :], self.weight_pos[p], weight_neg,
            max(k, float(weight_neg.min())), self.R,
        )  # fmt: skip
