"""The tree that branch and bound explored."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidInputError
from .axes import axes_of

MOST_NODES_LABELLED = 60
"""Trees with more nodes are drawn without their bounds, which would overlap."""


class SearchTreeDisplay:
    """A branch-and-bound tree: depth downwards, the first child to the left, nodes coloured by what became of them.

    Parameters
    ----------
    tree : networkx DiGraph with node attributes `depth`, `bound`, `fate` and, where one was found, `objective` (an incumbent),
        as `solve(..., options={"keep_tree": True}).extra["tree"]` holds it.

    Attributes
    ----------
    positions : node -> (x, depth).   fates : fate -> number of nodes.   ax_, figure_ : after `plot`.
    """

    _COLOURS: ClassVar[dict[str, str]] = {
        "branched": "#4c4c4c",
        "pruned": "#1f5f9e",
        "infeasible": "#b3541e",
        "leaf": "#2e7d32",
        "open": "#c9a227",
    }

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        self.positions = _tree_positions(tree)
        self.fates = dict.fromkeys(self._COLOURS, 0)
        for _, fate in tree.nodes(data="fate"):
            self.fates[fate] += 1

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None, **options: Any) -> SearchTreeDisplay:
        """Draw the tree of a Result whose solver was asked to keep it."""
        tree = result.extra.get("tree")
        if tree is None:
            raise InvalidInputError(
                f"the result of solver {result.solver!r} holds no search tree; solve with options={{'keep_tree': True}} "
                "and solver='bnb' or 'tree'."
            )
        return cls(tree).plot(ax=ax, **options)

    def plot(self, *, ax: Any = None, bounds: bool | None = None) -> SearchTreeDisplay:
        """Draw on the given Axes or new ones; `bounds` writes each node's bound (default: up to 60 nodes)."""
        self.ax_, self.figure_ = axes_of(ax)
        lines = [(self.positions[u], self.positions[v]) for u, v in self.tree.edges]
        for (x0, y0), (x1, y1) in lines:
            self.ax_.plot([x0, x1], [y0, y1], color="#bbbbbb", lw=0.6, zorder=1)
        size = float(np.clip(3000 / max(1, len(self.positions)), 4, 60))
        for fate, colour in self._COLOURS.items():
            nodes = [node for node, what in self.tree.nodes(data="fate") if what == fate]
            if nodes:
                x, y = zip(*(self.positions[node] for node in nodes), strict=True)
                self.ax_.scatter(x, y, s=size, color=colour, label=f"{fate} ({len(nodes)})", zorder=2)
        found = [node for node, value in self.tree.nodes(data="objective") if value is not None]
        if found:
            x, y = zip(*(self.positions[node] for node in found), strict=True)
            label = f"new incumbent ({len(found)})"
            self.ax_.scatter(x, y, s=3 * size, facecolors="none", edgecolors="#2e7d32", label=label, zorder=3)
        if bounds if bounds is not None else len(self.positions) <= MOST_NODES_LABELLED:
            for node, place in self.positions.items():
                bound = self.tree.nodes[node]["bound"]
                if np.isfinite(bound):
                    self.ax_.annotate(f"{bound:g}", place, xytext=(4, 2), textcoords="offset points", fontsize=7)
        self.ax_.invert_yaxis()
        self.ax_.set(xticks=[], ylabel="decisions taken")
        self.ax_.legend(fontsize=8)
        return self


def _tree_positions(tree: Any) -> dict[Any, tuple[float, float]]:
    """Leaves side by side in the order of visit, every other node above the middle of its children."""
    roots = [node for node in tree if tree.in_degree(node) == 0]
    if len(roots) != 1:
        raise InvalidInputError(f"a search tree has one root; this graph has {len(roots)}.")
    positions: dict[Any, tuple[float, float]] = {}
    n_leaves = 0
    stack = [(roots[0], False)]
    while stack:
        node, is_done = stack.pop()
        # The second child pushed on the search's stack is the first one visited, so it was named last.
        children = sorted(tree.successors(node), reverse=True)
        depth = float(tree.nodes[node]["depth"])
        if not children:
            positions[node] = (float(n_leaves), depth)
            n_leaves += 1
        elif is_done:
            positions[node] = (float(np.mean([positions[child][0] for child in children])), depth)
        else:
            stack.append((node, True))
            stack += [(child, False) for child in reversed(children)]
    return positions
