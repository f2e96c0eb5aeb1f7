"""A branch-and-cut tree as a certificate: each infeasible subsystem with whole-number multipliers, each leaf with its duals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ....arrays import Positions
from ....certificates.certificate import fraction, pack, pack_text
from ...zero_one.scope import RELATIVE_MARGIN
from .cover import CoverData
from .tree import CoverNode, IISSearch


@dataclass(frozen=True)
class CoverBound:
    """The rows that a tree is about, what they cost at least, and its supports and leaves as a certificate holds them.

    relative_margin : of the rules that the bound speaks of (`zero_one.scope`); 0 for every rule.
    """

    rows: Positions
    bound: int
    content: dict[str, Any]
    relative_margin: Fraction


def iis_lower(search: IISSearch) -> dict[str, Any]:
    """The lower part of a certificate: what the tree proves. The leaves' supports were checked exactly when they came."""
    data, cover = search.data, cover_proof(search)
    return {
        "kind": "iis",
        "relative_margin": fraction(cover.relative_margin),
        "bound": fraction(data.constant + data.unit * cover.bound),
        "constant": fraction(data.constant),
        "unit": fraction(data.unit),
        "points": data.points[cover.rows].tolist(),
        "weights": data.costs[cover.rows].tolist(),
        **cover.content,
    }


def cover_proof(search: IISSearch) -> CoverBound:
    """What the tree proves about the rows it needs: those in supports of its leaves and those it splits on."""
    master = search.master
    leaves: list[CoverNode] = []
    splits: list[int] = []
    stack = [search.root]
    while stack:
        node = stack.pop()
        splits.append(node.point if node.children else -1)
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
        mu += [int(value) for value in proof.mu]
        bounds.append(proof.bound)
    chosen = [master.supports[s] for s in numbers]
    multipliers = [value for support in chosen for value in search.leaves.exact(support) or []]
    members = [i for support in chosen for i in support]
    rows, place = _renumbered([*splits, *members], search.data)
    content = {
        "scale": search.leaves.scale,
        "supports": {
            "sizes": pack(np.array([len(s) for s in chosen], dtype=np.int32)),
            "members": pack(np.array([place[i] for i in members], dtype=np.int32)),
            "multipliers": pack_text(" ".join(f"{value:x}" for value in multipliers)),
        },
        "tree": {
            "points": pack(np.array([place[i] for i in splits], dtype=np.int32)),
            "counts": pack(np.array(counts, dtype=np.int32)),
            "supports": pack(np.array(ids, dtype=np.int32)),
            "v": pack(np.array(v, dtype=np.int64)),
            **_packed_mu(mu),
        },
    }
    bound = min(bounds)
    is_blurred = any(support in search.leaves.exact.blurred for support in chosen)
    relative_margin = RELATIVE_MARGIN if is_blurred else Fraction(0)
    return CoverBound(rows, bound if search.best is None else min(bound, search.best), content, relative_margin)


def _packed_mu(mu: list[int]) -> dict[str, str]:
    """The multipliers of limits in 64 bits, as a text where one of them needs more."""
    if max(mu, default=0) < 1 << 63:
        return {"mu": pack(np.array(mu, dtype=np.int64))}
    return {"large_mu": pack_text(" ".join(f"{value:x}" for value in mu))}


def _renumbered(used: list[int], data: CoverData) -> tuple[Positions, dict[int, int]]:
    """The points among `used`, and where each number goes when only those are kept: side rows stay behind them, -1 stays -1."""
    rows = np.array(sorted({i for i in used if 0 <= i < data.n}), dtype=np.intp)
    place = {int(i): k for k, i in enumerate(rows)} | {-1: -1}
    return rows, place | {data.n + k: len(rows) + k for k in range(len(data.sides))}
