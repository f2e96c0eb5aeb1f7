"""Displays in the manner of scikit-learn: `from_estimator(...)`, `plot(ax=...)`, then `ax_` and `figure_`.

matplotlib is imported when something is drawn. Nothing here calls `show`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .data import Array
from .errors import InvalidInputError
from .np_roc import NPRocDisplay as NPRocDisplay
from .result import Result, Trace

_TINTS = ("#f3d9c4", "#cfe0f1")
_INKS = ("#b3541e", "#1f5f9e")
_MARKERS = ("s", "o")


def _axes(ax: Any) -> tuple[Any, Any]:
    """The given Axes, or new ones, with their figure."""
    if ax is None:
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots(layout="constrained")
        return ax, figure
    return ax, ax.figure


class DecisionRegionDisplay:
    """A two-dimensional classifier: its regions, its hyperplanes, the points, and those on the wrong side.

    Parameters
    ----------
    xx0, xx1, scores : a grid and the decision function on it; positive scores are `classes[1]`'s region.
    X, y, predicted : the points, their labels and the classifier's labels for them.
    classes : the two labels, the positive one second.
    hyperplanes, offsets : normals v_j and offsets g_j of lines to draw, or None.
    names : names of the two features.

    Attributes
    ----------
    ax_, figure_ : after `plot`.   errors : the number of misclassified points.
    """

    def __init__(
        self,
        xx0: Array,
        xx1: Array,
        scores: Array,
        *,
        X: Array,
        y: NDArray[Any],
        predicted: NDArray[Any],
        classes: NDArray[Any],
        hyperplanes: Array | None = None,
        offsets: Array | None = None,
        names: tuple[str, str] = ("x0", "x1"),
    ) -> None:
        self.xx0, self.xx1, self.scores = xx0, xx1, scores
        self.X, self.y, self.predicted, self.classes = X, y, predicted, classes
        self.hyperplanes, self.offsets, self.names = hyperplanes, offsets, names
        self.errors = int((y != predicted).sum())

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, grid_resolution: int = 300, margin: float = 0.08, ax: Any = None
    ) -> DecisionRegionDisplay:
        """Draw a fitted classifier with a decision function over two features, with the points (X, y)."""
        names = tuple(map(str, getattr(X, "columns", ("x0", "x1"))))
        points, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
        if points.ndim != 2 or points.shape[1] != 2:
            raise InvalidInputError(
                f"regions can be drawn for exactly two features; X has shape {points.shape}. Fit on two columns, or plot scores."
            )
        if labels.shape != (len(points),):
            raise InvalidInputError(f"y must hold one label for each of the {len(points)} points; got {labels.shape}.")
        low, high = points.min(axis=0), points.max(axis=0)
        pad = margin * np.where(high > low, high - low, 1.0)
        axes = [np.linspace(low[c] - pad[c], high[c] + pad[c], grid_resolution) for c in (0, 1)]
        xx0, xx1 = np.meshgrid(*axes)
        grid: Any = np.column_stack([xx0.ravel(), xx1.ravel()])
        grid, shown = (_framed(X, grid), X) if hasattr(X, "columns") else (grid, points)
        hyperplanes, offsets = _lines(estimator)
        display = cls(
            xx0,
            xx1,
            np.asarray(estimator.decision_function(grid)).reshape(xx0.shape),
            X=points,
            y=labels,
            predicted=np.asarray(estimator.predict(shown)),
            classes=np.asarray(estimator.classes_),
            hyperplanes=hyperplanes,
            offsets=offsets,
            names=(names[0], names[1]),
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> DecisionRegionDisplay:
        """Draw into `ax`, or into new axes."""
        ax, figure = _axes(ax)
        limits = self.xx0.min(), self.xx0.max(), self.xx1.min(), self.xx1.max()
        positive = (self.scores > 0).astype(float)
        ax.contourf(self.xx0, self.xx1, positive, levels=[-0.5, 0.5, 1.5], colors=_TINTS, zorder=0)
        if self.hyperplanes is not None and self.offsets is not None:
            for k, (v, g) in enumerate(zip(self.hyperplanes, self.offsets, strict=True)):
                self._line(ax, v, g, limits, label="hyperplane" if k == 0 else None)
        for k, label in enumerate(self.classes):
            mine = self.y == label
            ax.scatter(*self.X[mine].T, s=18, c=_INKS[k], marker=_MARKERS[k], linewidths=0, label=str(label), zorder=3)
        wrong = self.y != self.predicted
        if wrong.any():
            ax.scatter(*self.X[wrong].T, s=70, facecolors="none", edgecolors="black", label="misclassified", zorder=4)
        ax.set(xlim=limits[:2], ylim=limits[2:], xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=4, fontsize="small", frameon=False)
        self.ax_, self.figure_ = ax, figure
        return self

    @staticmethod
    def _line(ax: Any, v: Array, g: float, limits: tuple[float, float, float, float], label: str | None) -> None:
        """v.x = g across the axes' box; nothing for v = 0."""
        if not np.any(v):
            return
        foot = g * v / (v @ v)
        along = np.array([-v[1], v[0]]) / np.linalg.norm(v)
        ax.axline(foot, foot + along, color="black", linestyle="--", linewidth=1.0, label=label, zorder=2)


def _framed(X: Any, grid: Array) -> Any:
    """The grid in X's own kind of frame, so that feature names are kept."""
    return type(X)(dict(zip(X.columns, grid.T, strict=True)))


def _lines(estimator: Any) -> tuple[Array | None, Array | None]:
    """Hyperplanes of a polyhedral classifier, or the line of a linear one, as (normals, offsets)."""
    if hasattr(estimator, "hyperplanes_"):
        return np.asarray(estimator.hyperplanes_), np.asarray(estimator.offsets_)
    if hasattr(estimator, "coef_") and np.shape(estimator.coef_) == (1, 2):
        return np.asarray(estimator.coef_), -np.ravel(estimator.intercept_)
    return None, None


class GapTraceDisplay:
    """Incumbent and bound over time: how fast a search found its answer, and how fast it proved it.

    Parameters
    ----------
    traces : label -> list of (seconds, objective, bound), as in `Result.trace`.

    Attributes
    ----------
    ax_, figure_ : after `plot`.
    """

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self.traces = {label: list(trace) for label, trace in traces.items()}

    @classmethod
    def from_results(cls, results: Result | Mapping[str, Result], *, ax: Any = None) -> GapTraceDisplay:
        """Draw one Result or several by label."""
        named = {results.solver: results} if isinstance(results, Result) else dict(results)
        if not named:
            raise InvalidInputError("there is no result to draw; give a Result or a mapping from label to Result.")
        traces = {
            label: [*result.trace, (result.seconds, result.objective, result.bound)] for label, result in named.items()
        }
        return cls(traces).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> GapTraceDisplay:
        self.ax_, self.figure_ = _axes(ax)
        for k, (label, trace) in enumerate(self.traces.items()):
            colour = f"C{k}"
            seconds = np.array([point[0] for point in trace])
            objective = np.array([np.nan if point[1] is None else point[1] for point in trace])
            bound = np.array([np.nan if point[2] is None else point[2] for point in trace])
            if np.isfinite(objective).any():
                self.ax_.step(seconds, objective, where="post", color=colour, label=f"{label}: incumbent")
            if np.isfinite(bound).any():
                self.ax_.step(seconds, bound, where="post", color=colour, linestyle="--", label=f"{label}: bound")
            both = np.isfinite(objective) & np.isfinite(bound)
            if both.any():
                self.ax_.fill_between(seconds, objective, bound, where=both, step="post", color=colour, alpha=0.12)
        self.ax_.set(xlabel="seconds", ylabel="objective")
        self.ax_.legend()
        return self


class RGDTreeDisplay:
    """The trees of an RGDTreeSVC or RGDTreeOneClass: every kept node at its level and width, edges to its parent.

    Boosted trees follow each other from left to right, each joined by a dashed line to the node it grew from; the widest
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
        if not hasattr(estimator, "tree_"):
            raise InvalidInputError(
                f"{type(estimator).__name__} holds no tree; fit it with keep_tree=True before drawing it."
            )
        return cls(estimator.tree_, margin=float(estimator.margin_)).plot(ax=ax)

    def plot(self, ax: Any = None) -> RGDTreeDisplay:
        ax, figure = _axes(ax)
        nodes = self.tree.nodes
        height = 1 + max(level for _, level in nodes(data="level"))
        place = {v: (nodes[v]["tree"] * height + nodes[v]["level"], nodes[v]["width"]) for v in nodes}
        for v, child, again in self.tree.edges(data="reroot"):
            style = {"linestyle": "--", "linewidth": 1.0} if again else {"linestyle": "-", "linewidth": 0.7}
            ax.plot(*zip(place[v], place[child], strict=True), color="0.65", zorder=1, **style)
        spots = np.array(list(place.values()))
        ax.scatter(spots[:, 0], spots[:, 1], s=14, color=_INKS[1], zorder=2, label="nodes kept")
        best = max(nodes, key=lambda v: nodes[v]["width"])
        ax.scatter(*place[best], s=110, marker="*", color=_INKS[0], zorder=3, label="widest node")
        if self.margin is not None:
            ax.axhline(self.margin, color=_INKS[0], linewidth=1.0, linestyle=":", label="after the exact last step")
        ax.set(xlabel="level (trees one after the other)", ylabel="width of the slab")
        ax.legend(loc="lower right", fontsize=8)
        self.ax_, self.figure_ = ax, figure
        return self


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
        self.ax_, self.figure_ = _axes(ax)
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
        if bounds if bounds is not None else len(self.positions) <= 60:
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


class OutlierPathDisplay:
    """Multipliers of some points along an outlier path, with the jumps marked (Figure 4 of Suzumura et al. 2014).

    Parameters
    ----------
    values : (breakpoints,) the moving parameter.   multipliers : (breakpoints, points).   jumps : (breakpoints,) mask.
    points : the points' numbers.   parameter : "theta" or "s".

    Attributes
    ----------
    ax_, figure_ : after `plot`.
    """

    def __init__(
        self, values: Array, multipliers: Array, jumps: NDArray[np.bool_], *, points: NDArray[Any], parameter: str
    ) -> None:
        self.values, self.multipliers, self.jumps = values, multipliers, jumps
        self.points, self.parameter = points, parameter

    @classmethod
    def from_path(cls, path: Any, *, points: Any = None, ax: Any = None) -> OutlierPathDisplay:
        """Draw the given points, or the six whose multipliers change most."""
        if points is None:
            everything = path.multipliers(np.arange(len(path.y)))
            travelled = np.abs(np.diff(everything, axis=0)).sum(axis=0)
            points = np.sort(np.argsort(-travelled)[:6])
        chosen = np.atleast_1d(np.asarray(points))
        display = cls(path.values, path.multipliers(chosen), path.jumps, points=chosen, parameter=path.parameter)
        return display.plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, points: Any = None, ax: Any = None) -> OutlierPathDisplay:
        """Draw the path of a fitted OutlierPathSVC; points count along its `path_rows_`."""
        path = getattr(estimator, "path_", None)
        if path is None:
            raise InvalidInputError("from_estimator takes a fitted OutlierPathSVC; call fit first.")
        return cls.from_path(path, points=points, ax=ax)

    def plot(self, *, ax: Any = None) -> OutlierPathDisplay:
        """One line a point; open circles at both ends of each jump."""
        self.ax_, self.figure_ = _axes(ax)
        at = np.flatnonzero(self.jumps)
        for column, point in enumerate(self.points):
            alpha = self.multipliers[:, column]
            if self.parameter == "s":
                (line,) = self.ax_.step(self.values, alpha, where="post", label=f"point {point}")
            else:
                (line,) = self.ax_.plot(
                    np.insert(self.values, at, np.nan), np.insert(alpha, at, np.nan), label=f"point {point}"
                )
            moved = at[np.abs(alpha[at] - alpha[at - 1]) > 1e-9 * max(1.0, float(np.abs(alpha).max()))]
            for k in moved:
                ends = [alpha[k - 1], alpha[k]]
                self.ax_.plot([self.values[k]] * 2, ends, "o", color=line.get_color(), mfc="white", ms=4)
        name = r"$\theta$" if self.parameter == "theta" else "$s$"
        self.ax_.set(xlabel=name, ylabel="multiplier")
        if self.parameter == "theta":
            self.ax_.invert_xaxis()
        self.ax_.legend(fontsize=8)
        return self
