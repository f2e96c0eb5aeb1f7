"""An RGD-tree as a networkx DiGraph: edges run from parent to child, boosted trees hang below the node they grew from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .random_descent import DescentTree


def as_graph(trees: Sequence[DescentTree]) -> Any:
    """Nodes are numbered through all trees, with attributes x, width, a, c, level, tree and is_best.

    A tree whose root is the best node of the one before is joined to it by an edge with `reroot=True`.
    """
    import networkx as nx

    graph = nx.DiGraph()
    offset, last = 0, None
    widest = max((node for tree in trees for node in tree.nodes), key=lambda node: node.width, default=None)
    for number, tree in enumerate(trees):
        for k, node in enumerate(tree.nodes):
            graph.add_node(
                offset + k,
                x=node.x,
                width=node.width,
                a=node.a,
                c=node.c,
                level=node.level,
                tree=number,
                is_best=node is widest,
            )
            if node.parent is not None:
                graph.add_edge(offset + node.parent, offset + k, reroot=False)
        if last is not None and np.array_equal(tree.nodes[0].x, trees[number - 1].best.x):
            graph.add_edge(last, offset, reroot=True)
        last = offset + tree.nodes.index(tree.best)
        offset += len(tree.nodes)
    return graph
