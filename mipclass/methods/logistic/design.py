"""The convex problem in one vector x = (w, b): signed points, weights, penalties and bounds, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Array, Index, Mask
from .form import LogisticForm

BLOCK = 2_048
"""Rows that are weighted and multiplied at a time: a block of 50 columns fits into a processor's cache."""


@dataclass(frozen=True, eq=False)
class Design:
    """minimise sum_i c_i log(1 + exp(-m_i)) + sum_j (l1_j |x_j| + l2_j x_j^2), m = y (X w + b) / multiplier."""

    X: Any
    y: Array
    c: Array
    l1: Array
    l2: Array
    lower: Array
    upper: Array
    has_offset: bool
    scale: float

    @classmethod
    def of(cls, form: LogisticForm) -> Design:
        """The continuous problem of a form, on the points as given: merging them costs more than it saves here."""
        data = form.model.data
        X = data.X.tocsr() if sp.issparse(data.X) else np.ascontiguousarray(data.X, dtype=np.float64)
        has_offset = form.b_range != (0.0, 0.0)
        extra = 1 if has_offset else 0
        charged = np.append(np.ones(form.d), np.full(extra, float(form.penalised_offset)))
        return cls(
            X=X,
            y=data.y_pm1.astype(np.float64),
            c=np.asarray(form.coefficient * data.weights, dtype=np.float64),
            l1=form.l1 * charged,
            l2=form.l2 * charged,
            lower=np.append(form.lower, np.full(extra, form.b_range[0])),
            upper=np.append(form.upper, np.full(extra, form.b_range[1])),
            has_offset=has_offset,
            scale=1.0 / form.multipliers[0],
        )

    def part(self, rows: Index) -> Design:
        """The same problem on some of the points, with weights that add up to as much."""
        share = float(self.c.sum() / self.c[rows].sum())
        return Design(
            self.X[rows], self.y[rows], self.c[rows] * share, self.l1, self.l2, self.lower, self.upper, self.has_offset,
            self.scale,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """The number of coordinates, the offset included."""
        return len(self.l1)

    @property
    def is_unbounded(self) -> Mask:
        """Coordinates without any bound."""
        return np.isinf(self.lower) & np.isinf(self.upper)

    def margins(self, x: Array) -> Array:
        """m_i = y_i (w.x_i + b) / multiplier."""
        d = self.X.shape[1]
        scores = self.X @ x[:d]
        if self.has_offset:
            scores = scores + x[d]
        return np.asarray(self.scale * self.y * scores)

    def transposed(self, q: Array) -> Array:
        """sum_i q_i z_i, z_i the gradient of m_i."""
        signed = self.scale * self.y * q
        sums = np.asarray(self.X.T @ signed)
        return np.append(sums, signed.sum()) if self.has_offset else sums

    def transposed_in(self, q: Array, columns: Index) -> Array:
        """The entries of `transposed(q)` at the given coordinates, in ascending order."""
        signed = self.scale * self.y * q
        features = columns[columns < self.X.shape[1]]
        sums = np.asarray(self.X[:, features].T @ signed) if len(features) else np.empty(0)
        return np.append(sums, signed.sum()) if len(features) < len(columns) else sums

    def sizes(self, q: Array, columns: Index) -> Array:
        """sum_i |q_i| |z_ij| for each of the given coordinates, in ascending order."""
        weights = self.scale * np.abs(q)
        features = columns[columns < self.X.shape[1]]
        sums = np.asarray(abs(self.X[:, features]).T @ weights) if len(features) else np.empty(0)
        return np.append(sums, weights.sum()) if len(features) < len(columns) else sums

    def hessian(self, h: Array, columns: Index) -> Array:
        """sum_i h_i z_i z_i' over the given coordinates, in ascending order."""
        d = self.X.shape[1]
        features = columns[columns < d]
        with_offset = len(features) < len(columns)
        k = len(columns)
        H = np.zeros((k, k))
        weights = self.scale**2 * h
        if sp.issparse(self.X):
            part = self.X[:, features]
            H[: len(features), : len(features)] = (part.T @ part.multiply(weights[:, None])).toarray()
            moment = np.asarray(part.T @ weights)
        elif len(features) == 0:
            moment = np.zeros(0)
        else:
            root = np.sqrt(weights)
            everything = len(features) == d
            moment = np.zeros(len(features))
            for start in range(0, len(h), BLOCK):
                rows = slice(start, start + BLOCK)
                block = self.X[rows] if everything else self.X[rows][:, features]
                scaled = block * root[rows, None]
                H[: len(features), : len(features)] += scaled.T @ scaled
                moment += scaled.T @ root[rows]
        if with_offset:
            H[-1, :-1] = H[:-1, -1] = moment
            H[-1, -1] = weights.sum()
        return H

    def penalty(self, x: Array) -> float:
        """sum_j (l1_j |x_j| + l2_j x_j^2)."""
        return float(self.l1 @ np.abs(x) + self.l2 @ x**2)

    def loss(self, margins: Array) -> float:
        """sum_i c_i log(1 + exp(-m_i))."""
        return float(self.c @ np.logaddexp(0.0, -margins))
