"""Reads the nodes of a tree of boxes from a certificate, and says what a walk through it found wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arithmetic import Rejected, field, unpack


def stream(proof: Any, place: str, counts: str = "u1") -> Any:
    """The nodes of the tree in preorder, as the kernel reads them; `counts` is the type of the numbers of conflicts."""
    from ..box_kernel import Stream

    tree = field(proof, "tree", place)

    def numbers(name: str, kind: str) -> Any:
        return unpack(field(tree, name, place), kind, f"{place}, {name}").astype(np.int64)

    ops, made, leaves = numbers("ops", "u1"), numbers("counts", counts), numbers("lemmas", "i4")
    first, second, mix = numbers("first", "i4"), numbers("second", "i4"), numbers("mix", "u1")
    if len(made) != len(ops) or not len(first) == len(second) == len(mix) == int(made.sum()):
        raise Rejected(place, "the arrays of the tree do not fit together")
    return Stream(ops, made, np.column_stack([first, second, mix]), leaves)


REASONS = (
    "",
    "the tree ends too early or too late",
    "a coordinate is halved that does not exist or is too thin",
    "a conflict names points or multipliers that do not exist",
    "a conflict uses a point that is decided",
    "two points said to conflict can both be right in this box",
    "the bound of this leaf is below {bound}",
    "a leaf refers to a lemma that does not exist or counts a point twice",
)
