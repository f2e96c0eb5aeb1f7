"""Checks a box proof: no W makes the given rows cost less than the bound.

1. Every rule W has a V with z_i.W = q_i.V, where q_i = z_i M, up to what the scope of the proof allows. Without a relative margin
   W = M V reaches every pattern of signs: rank(Z M) = rank(Z) = number of columns of M, exactly. With one, the proof may give a matrix L
   ("inverse") with |Z - Z M L|_ij <= delta s_j: for V = L W then z_i.W <= q_i.V + delta sum_j s_j |W_j|, so that points with q_i.V <= 0
   are not right by the margin (and all are not if V = 0).
2. Scaling W by a positive number changes nothing, so V may be taken on the faces of the cube |V|_max = 1.
3. The loss at a point is at least the loss nearby (errors are closed sets), so closed boxes that cover a face may be treated one by one
   and a point counts as wrong on a box when q.V <= 0 all over it.
4. On each leaf: surely wrong points, plus disjoint conflicts or one lemma about points not counted yet, reach the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .arithmetic import Rejected, field, whole, whole_list
from .cone import EVERY_RULE, Cone
from .iis import check_cover
from .points.images import check_reach, rounded_images
from .points.vectors import Vectors
from .scope import Scope
from .tree.pieces import check_pieces
from .tree.stream import REASONS, stream

LARGEST = 2**62
"""Weights and bounds below this add up in 64 bits."""

MOST_NESTED = 16
"""Lemmas inside lemmas: each lies in a smaller space, and the largest has MOST_COLUMNS dimensions."""


def check_box(
    proof: Any,
    rows: Vectors,
    weights: Sequence[int],
    scope: Scope,
    place: str,
    cone: Cone = EVERY_RULE,
    nested: int = 0,
) -> tuple[int, int]:
    """(bound, nodes) of a proof that holds; Rejected otherwise.

    cone : the rules in question, if they are not all; its rows are among `rows`, as points.
    """
    from . import box_kernel as kernel

    bound = whole(field(proof, "bound", place), place)
    if bound <= 0:
        return bound, 0  # costs are not negative: nothing to prove
    if bound > sum(weights) or sum(weights) >= LARGEST or nested > MOST_NESTED:
        raise Rejected(place, f"its bound or its weights are too large, or it is nested deeper than {MOST_NESTED}")
    if cone.rows and "inverse" in proof:
        raise Rejected(place, "beside rows on (w, b), which have no margin, the map must reach every rule exactly")
    check_reach(proof, rows, scope, place)
    points, half_errors = rounded_images(proof, rows, kernel.POINT_BITS, place)
    lemmas, nodes = check_lemmas(proof, rows, weights, scope, place, cone, nested)
    cloud = kernel.Cloud(points, half_errors, np.array(weights, dtype=np.int64))
    if "pieces" in proof:
        return bound, nodes + check_pieces(proof["pieces"], cloud, bound, lemmas, place)
    code, node = kernel.walk(cloud, bound, stream(proof, place), lemmas)
    if code != kernel.OK:
        raise Rejected(f"{place}, node {node}", REASONS[code].format(bound=bound))
    return bound, nodes + int(node)


def check_lemmas(
    proof: Any,
    rows: Vectors,
    weights: Sequence[int],
    scope: Scope,
    place: str,
    cone: Cone = EVERY_RULE,
    nested: int = 0,
) -> tuple[Any, int]:
    """The lemmas as the kernel reads them, each of them checked, and the nodes of their trees."""
    from .box_kernel import Lemmas

    lemmas = field(proof, "lemmas", place)
    if not isinstance(lemmas, list):
        raise Rejected(place, "expected a list of lemmas")
    starts, members, values, nodes = [0], [], [], 0
    for number, lemma in enumerate(lemmas):
        where = f"{place}, lemma {number}"
        chosen = whole_list(field(lemma, "rows", where), where)
        if len(set(chosen)) != len(chosen) or not chosen or not all(0 <= i < len(rows) for i in chosen):
            raise Rejected(where, "its rows repeat, are missing or do not exist")
        kind = field(lemma, "kind", where)
        if kind not in ("box", "iis"):
            raise Rejected(where, f"lemmas of kind {kind!r} are not known to this checker")
        own_rows, own_weights = rows.among(chosen), [weights[i] for i in chosen]
        if kind == "box":
            value, more = check_box(lemma, own_rows, own_weights, scope, where, cone.among(chosen), nested + 1)
        elif cone.places & set(chosen):
            raise Rejected(where, "it takes a row on (w, b) for a point")
        else:
            value, more = check_cover(lemma, own_rows, own_weights, scope, where, cone=cone)
        if abs(value) >= LARGEST:
            raise Rejected(where, "its bound is too large")
        nodes += more
        members += chosen
        starts.append(len(members))
        values.append(value)
    return Lemmas(*(np.array(part, dtype=np.int64) for part in (starts, members, values))), nodes
