"""A branch-and-cut tree as a certificate: each infeasible subsystem with whole-number multipliers, each leaf with its duals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..certificate import fraction, pack, pack_text
from .iis_tree import IISSearch, Node


def iis_lower(search: IISSearch) -> dict[str, Any]:
    """The lower part of a certificate: what the tree proves. The leaves' supports were checked exactly when they came."""
    data, master = search.data, search.master
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
        counts.append(len(proof.supports))
        ids += [numbers.setdefault(int(s), len(numbers)) for s in proof.supports]
        v += proof.v.tolist()
        mu += proof.mu.tolist()
        bounds.append(proof.bound)
    chosen = [master.supports[s] for s in numbers]
    bound = min(bounds)
    if search.best is not None:
        bound = min(bound, search.best)
    multipliers = [value for support in chosen for value in search.exact(support) or []]
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
