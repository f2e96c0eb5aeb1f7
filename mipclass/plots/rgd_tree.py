"""The tree of random gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InvalidInputError
from .axes import axes_of
from .style import INKS


class RGDTreeDisplay:
    """The trees of an RGDTreeSVC or RGDTreeOneClass: every kept node at its level and width, joined to its parent.

    Boosted trees follow each other from left to right, each joined by a dashed line to the node it grew from. The widest
    node is marked, and so is the width after the exact last step.

    Parameters
    ----------
    tree : the networkx DiGraph in `tree_` (or in a Result's extra["tree"]).   margin : width after the last step, or None.

    Attributes
    ----------
    ax_, figure_ : after `plot`.
    """

    def __init__(self, tree: Any, *, margin: float | None = None) -> None:
        self.tree, self.margin = tree, margin

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> RGDTreeDisplay:
        """Draw the trees of an estimator that was fitted with keep_tree=True."""
        if not hasattr(estimator, "tree_"):
            raise InvalidInputError(
                f"{type(estimator).__name__} holds no tree; fit it with keep_tree=True before drawing it."
            )
        return cls(estimator.tree_, margin=float(estimator.margin_)).plot(ax=ax)

    def plot(self, ax: Any = None) -> RGDTreeDisplay:
        """Draw into `ax`, or into new axes."""
        ax, figure = axes_of(ax)
        nodes = self.tree.nodes
        height = 1 + max(level for _, level in nodes(data="level"))
        place = {v: (nodes[v]["tree"] * height + nodes[v]["level"], nodes[v]["width"]) for v in nodes}
        for v, child, again in self.tree.edges(data="reroot"):
            style = {"linestyle": "--", "linewidth": 1.0} if again else {"linestyle": "-", "linewidth": 0.7}
            ax.plot(*zip(place[v], place[child], strict=True), color="0.65", zorder=1, **style)
        spots = np.array(list(place.values()))
        ax.scatter(spots[:, 0], spots[:, 1], s=14, color=INKS[1], zorder=2, label="nodes kept")
        best = max(nodes, key=lambda v: nodes[v]["width"])
        ax.scatter(*place[best], s=110, marker="*", color=INKS[0], zorder=3, label="widest node")
        if self.margin is not None:
            ax.axhline(self.margin, color=INKS[0], linewidth=1.0, linestyle=":", label="after the exact last step")
        ax.set(xlabel="level (trees one after the other)", ylabel="width of the slab")
        ax.legend(loc="lower right", fontsize=8)
        self.ax_, self.figure_ = ax, figure
        return self
