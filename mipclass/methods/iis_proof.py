"""A branch-and-cut tree as a certificate: each infeasible subsystem with whole-number multipliers, each leaf with its duals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from ..certificate import fraction, pack, pack_text
from .exact_rows import Integers, integer_matrix
from .iis_separator import Support
from .iis_tree import IISSearch, Node


def null_vector(rows: Integers) -> list[int] | None:
    """u with sum_s u_s rows_s = 0, coprime whole numbers, first nonzero one positive; None unless unique up to a factor.

    Fraction-free Gauss-Jordan elimination: all divisions are exact.
    """
    count = len(rows)
    table = [list(column) for column in zip(*rows, strict=True)]
    previous, pivots, used = 1, [], 0
    free = -1
    for k in range(count):
        at = next((r for r in range(used, len(table)) if table[r][k]), -1)
        if at < 0:
            if free >= 0:
                return None
            free = k
            continue
        table[used], table[at] = table[at], table[used]
        pivot_row = table[used]
        pivot = pivot_row[k]
        for r, row in enumerate(table):
            if r != used:
                factor = row[k]
                table[r] = [(pivot * v - factor * p) // previous for v, p in zip(row, pivot_row, strict=True)]
        previous = pivot
        pivots.append(k)
        used += 1
    if free < 0:
        return None
    u = [0] * count
    u[free] = previous
    for r, k in enumerate(pivots):
        u[k] = -table[r][free]
    common = gcd(*u)
    sign = 1 if next(v for v in u if v) > 0 else -1
    return [sign * v // common for v in u]


class ExactSupports:
    """Multipliers of supports, computed once each; None marks one that float arithmetic got wrong."""

    def __init__(self, search: IISSearch) -> None:
        data = search.data
        self.data = data
        self.rows = integer_matrix(np.vstack([data.Z, *(a[None, :] for a, _ in data.sides)]))
        self.known: dict[Support, list[int] | None] = {}

    def __call__(self, support: Support) -> list[int] | None:
        if support not in self.known:
            self.known[support] = self._compute(support)
        return self.known[support]

    def _compute(self, support: Support) -> list[int] | None:
        u = null_vector([self.rows[i] for i in support])
        if u is None:
            return None
        n = self.data.n
        for candidate in (u, [-v for v in u]):
            if all(v >= 0 for v in candidate):
                soft = sum(v for i, v in zip(support, candidate, strict=True) if i < n)
                ends = sum(
                    (
                        v * Fraction(self.data.sides[i - n][1])
                        for i, v in zip(support, candidate, strict=True)
                        if i >= n
                    ),
                    Fraction(0),
                )
                holds = soft + ends > 0 if self.data.margin else soft > 0 and ends >= 0
                if holds:
                    return candidate
        return None


def iis_lower(search: IISSearch) -> dict[str, Any]:
    """The lower part of a certificate: what the tree proves, after leaving out supports that are not exactly infeasible."""
    data, master = search.data, search.master
    exact = ExactSupports(search)
    leaves: list[Node] = []
    points: list[int] = []
    stack = [search.root]
    while stack:
        node = stack.pop()
        points.append(node.point if node.children else -1)
        if node.children:
            stack += reversed(node.children)
        else:
            leaves.append(node)
    numbers: dict[int, int] = {}
    counts, ids, v, mu, bounds = [], [], [], [], []
    for leaf in leaves:
        proof = leaf.proof
        sound = np.array([exact(master.supports[s]) is not None for s in proof.supports], dtype=bool)
        if not sound.all():
            proof = search.sealed(proof.supports[sound], proof.v[sound], proof.mu, leaf.wrong, leaf.right)
            leaf.proof = replace(proof)
        counts.append(len(proof.supports))
        ids += [numbers.setdefault(int(s), len(numbers)) for s in proof.supports]
        v += proof.v.tolist()
        mu += proof.mu.tolist()
        bounds.append(proof.bound)
    chosen = [master.supports[s] for s in numbers]
    bound = min(bounds)
    if search.best is not None:
        bound = min(bound, search.best)
    multipliers = [value for support in chosen for value in exact(support) or []]
    return {
        "kind": "iis",
        "bound": fraction(data.constant + data.unit * bound),
        "constant": fraction(data.constant),
        "unit": fraction(data.unit),
        "points": data.points.tolist(),
        "weights": data.costs.tolist(),
        "scale": search.scale,
        "supports": {
            "sizes": pack(np.array([len(s) for s in chosen], dtype=np.int32)),
            "members": pack(np.array([i for s in chosen for i in s], dtype=np.int32)),
            "multipliers": pack_text(" ".join(f"{value:x}" for value in multipliers)),
        },
        "tree": {
            "points": pack(np.array(points, dtype=np.int32)),
            "counts": pack(np.array(counts, dtype=np.int32)),
            "supports": pack(np.array(ids, dtype=np.int32)),
            "v": pack(np.array(v, dtype=np.int64)),
            "mu": pack(np.array(mu, dtype=np.int64)),
        },
    }
