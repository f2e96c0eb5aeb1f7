"""The state of a branch and cut on disk: the tree with the proofs of its leaves, the supports, and the incumbent.

The state is one file, which is replaced from time to time. A search of the same rows, costs and limits finds it under their digest and goes on with
the leaves that are open; what other workers were at is lost and done again. Nothing of it is believed without the checker.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....protocol.checkpoint import CheckpointFolder, Pace, name_for
from .cover import CoverData
from .leaf_bounds import LeafProof
from .tree import CoverNode, IISSearch

STATE = "state"
UNRESOLVED, LEAF = -2, -1
"""What stands for the branching point of a leaf that is unresolved, and of one that is not."""


def name_of(data: CoverData) -> str:
    """A name for the rows, costs, limits and side rows of a search."""
    rows = (*data.limits, *data.sides)
    rest = (len(data.limits), [end for _, end in rows], data.margin, data.has_offset)
    return name_for((data.Z, data.costs, *(row for row, _ in rows)), rest)


class TreeSaver:
    """Writes and reads the states of one search."""

    def __init__(self, checkpoint: CheckpointFolder, data: CoverData) -> None:
        self.store = checkpoint.part(f"iis-{name_of(data)}")
        self._pace = Pace()

    def save_if_due(self, search: IISSearch) -> None:
        """Replace the state if the last one is old."""
        if self._pace.is_due:
            self.save(search)

    def save(self, search: IISSearch) -> None:
        """Replace the state."""
        with self._pace.writing():
            self.store.write_arrays(STATE, _content(search))

    def load(self, search: IISSearch) -> None:
        """Bring a new search to the last state, if there is one."""
        if not self.store.has(STATE):
            return
        state = self.store.read_arrays(STATE)
        master = search.master
        master.remember([tuple(part.tolist()) for part in _parts(state["members"], state["sizes"])])
        master.refuse(state["refused"])
        master.reload(state["rows"])
        search.root_cuts.done = bool(state["root_is_cut"])
        search.nodes, search.looks = state["counters"].tolist()
        search.centre = state["centre"]
        if len(state["W"]):
            search.offer(state["W"])
        search.go_on_from(_tree(state))


def _content(search: IISSearch) -> dict[str, Any]:
    """The state as arrays: nodes in preorder, leaves in the same order."""
    master, unresolved = search.master, set(search.unresolved)
    points, leaves, stack = [], [], [search.root]
    while stack:
        node = stack.pop()
        if node.children:
            points.append(node.point)
            stack += reversed(node.children)
        else:
            points.append(UNRESOLVED if node in unresolved else LEAF)
            leaves.append(node.proof)
    return {
        "sizes": np.array([len(support) for support in master.supports], dtype=np.int64),
        "members": np.array([i for support in master.supports for i in support], dtype=np.int64),
        "refused": master.refused,
        "rows": master.rows,
        "root_is_cut": np.array(search.root_cuts.done),
        "counters": np.array([search.nodes, search.looks], dtype=np.int64),
        "centre": search.centre,
        "W": np.zeros(0) if search.best_W is None else search.best_W,
        "points": np.array(points, dtype=np.int64),
        "proof_sizes": np.array([len(proof.supports) for proof in leaves], dtype=np.int64),
        "proof_supports": np.concatenate([proof.supports for proof in leaves]),
        "v": np.concatenate([proof.v for proof in leaves]),
        "mu": np.array([proof.mu for proof in leaves], dtype=np.float64),
        "bounds": np.array([proof.bound for proof in leaves], dtype=np.int64),
    }


def _tree(state: dict[str, Any]) -> tuple[CoverNode, list[CoverNode], list[CoverNode]]:
    """The root, the leaves that are not unresolved, and those that are."""
    sizes = state["proof_sizes"]
    proofs = iter(
        LeafProof(supports, v, mu, int(bound))
        for supports, v, mu, bound in zip(
            _parts(state["proof_supports"].astype(np.intp), sizes),
            _parts(state["v"], sizes),
            state["mu"],
            state["bounds"],
            strict=True,
        )
    )
    nothing = LeafProof(np.zeros(0, np.intp), np.zeros(0, np.int64), np.zeros(state["mu"].shape[1]), 0)
    root = CoverNode((), (), nothing)
    plain: list[CoverNode] = []
    unresolved: list[CoverNode] = []
    stack = [root]
    for point in state["points"].tolist():
        node = stack.pop()
        if point in (LEAF, UNRESOLVED):
            node.proof = next(proofs)
            (plain if point == LEAF else unresolved).append(node)
            continue
        node.point = point
        node.children = [
            CoverNode((*node.wrong, point), node.right, nothing),
            CoverNode(node.wrong, (*node.right, point), nothing),
        ]
        stack += reversed(node.children)
    return root, plain, unresolved


def _parts(values: NDArray[Any], sizes: NDArray[np.int64]) -> list[NDArray[Any]]:
    """The values one after the other, in parts of these sizes."""
    return [values[start:end] for start, end in pairwise(np.cumsum([0, *sizes]).tolist())]
