"""rgd-tree: the widest margin with outliers by boosted random gradient descent trees and an exact last step."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...backends.registry import backend_for
from ...errors import InvalidInputError, warn
from ...modelling.problem import Problem
from ...modelling.program import Feature
from ...models.outlier_svm import outlier_svm
from ...protocol.options import Option, Options, number, one_of, optional
from ...protocol.result import Claim, Outcome, Status
from ...protocol.run import Run
from ..base import Method, Refusal
from .form import OutlierForm, match_outliers
from .random_descent import DescentTree, Growth, SlabNode, boost, sample_size, tree_height
from .rgd_graph import as_graph
from .slab import Budget, Cloud, mean_difference, tolerance, unit
from .slab_widening import MaxMargin, nearest_direction, slab_along, widen

PAIRS_TRIED = 100
"""Random pairs drawn in search of two points that differ; all equal only where the classes nearly coincide."""


def _is_polish(value: Any) -> str | None:
    return None if isinstance(value, bool | str) else "True, False or the name of a backend for QPs"


class RGDTree(Method[OutlierForm]):
    """0.5 * L2() subject to HardMargin(outliers=...), one class or two (Ding & Xu 2015).

    The first tree starts at the difference of the class means, each further one at the widest node so far. Then the slab is
    widened: exact maximum margins on the points that stay, which are chosen anew until they repeat (`slab_widening`).
    `variant="paper"` starts at a random pair, grows trees for each split of a total share of outliers between the classes,
    and does not widen.

    With a share of outliers for each class, the guarantee of Theorem 4 holds for an unpruned tree of the height and the
    number of children that (epsilon, delta, mu) ask for; keeping `max_nodes` nodes per level makes it a heuristic.
    """

    name: ClassVar[str] = "rgd-tree"
    promise: ClassVar[str] = "heuristic: a wide margin in time linear in the data; local after the exact last step"
    options: ClassVar[Options] = {
        "variant": Option("boosted", "'boosted', or 'paper': as printed, with corrections", one_of("boosted", "paper")),
        "height": Option(10, "levels of a tree; None: from epsilon and ratio", optional(number(1, integer=True))),
        "max_nodes": Option(5, "L, the nodes kept on a level", number(1, integer=True)),
        "n_children": Option(None, "children of a node; None: from delta and mu", optional(number(1, integer=True))),
        "epsilon": Option(0.1, "asked relative loss of width, for height=None", number(1e-6, 1)),
        "ratio": Option(10.0, "D/rho, diameter over width, for height=None", number(0)),
        "delta": Option(0.5, "candidates are the (1 + delta) gamma n worst projections", number(1e-3, 1)),
        "mu": Option(0.1, "probability that a path of inliers is missed", number(1e-9, 1)),
        "rounds": Option(
            10, "most trees in a row, each rooted at the best node (1: no boosting)", number(1, integer=True)
        ),
        "restarts": Option(1, "how often to begin anew, from random pairs after the first", number(1, integer=True)),
        "polish": Option(
            True, "exact maximum margin on the points that stay: True, False or a backend's name", _is_polish
        ),
        "splits": Option(9, "variant 'paper': splits of a total share tried", number(1, integer=True)),
        "subsample": Option(1000, "rows of a class on which children are ranked", number(1, integer=True)),
        "warn_of_overlap": Option(
            True, "warn when no slab separates the points that stay; claim 'none' says so anyway", one_of(True, False)
        ),
        "tree": Option(False, "hand back the trees as a networkx DiGraph in extra['tree']", one_of(True, False)),
    }

    def match(self, problem: Problem) -> OutlierForm | Refusal:
        """The problem as two clouds of points."""
        return match_outliers(problem)

    def solve(self, form: OutlierForm, run: Run) -> Outcome:
        """The widest slab of all trees, widened unless `polish` is False."""
        options = run.options
        paper = options["variant"] == "paper"
        polish = options["polish"] and not paper
        max_margin = _max_margin(options["polish"]) if polish else None
        growth = _growth(options, two_class=form.has_offset)
        grown: list[tuple[Budget, list[DescentTree]]] = []
        best, budget = None, form.budget
        for budget_tried, trees in _forests(form, growth, run, paper):
            grown.append((budget_tried, trees))
            top = max((tree.best for tree in trees), key=lambda node: node.width)
            if best is None or top.width > best.width:
                best, budget = top, budget_tried
        assert best is not None
        return _outcome(form, best, budget, grown, max_margin, run)


def _growth(options: dict[str, Any], *, two_class: bool) -> Growth:
    """The options of a tree, with those left at None derived from epsilon, ratio, delta and mu."""
    height = options["height"]
    if height is None:
        height = max(1, tree_height(options["epsilon"], options["ratio"]))
    n_children = options["n_children"]
    if n_children is None:
        n_children = sample_size(height, options["delta"], options["mu"], two_class=two_class)
    return Growth(height, options["max_nodes"], n_children, options["delta"], options["subsample"])


def _forests(form: OutlierForm, growth: Growth, run: Run, paper: bool) -> Iterator[tuple[Budget, list[DescentTree]]]:
    """For every way to spend the budget and every start: the trees grown one after the other."""
    rng = np.random.default_rng(run.seed)
    budgets = split_grid(form.budget, form.p1, form.p2, run.options["splits"]) if paper else [form.budget]
    first = _warm_root(form, run)
    widest, done = 0.0, 0
    for restart in range(run.options["restarts"]):
        for budget in budgets:
            root = _root(form, rng, random=paper or restart > 0) if first is None else first
            trees = []
            for tree in boost(form.p1, form.p2, budget, root, growth, run.options["rounds"], rng, run):
                trees.append(tree)
                done += len(tree.nodes)
                widest = max(widest, tree.best.width)
                run.report(objective=form.objective(widest) if widest > 0 else None, nodes=done, width=tree.best.width)
            yield budget, trees
            if run.stop() is not None:
                return
        first = None


def _root(form: OutlierForm, rng: np.random.Generator, *, random: bool) -> Array:
    """A point of the difference of the hulls: the difference of the means, or that of a random pair of points."""
    root = mean_difference(form.p1, form.p2)
    if not random and np.any(root):
        return np.asarray(root)
    for _ in range(PAIRS_TRIED):
        pair = form.p1.rows(rng.integers(form.p1.n, size=1)) - form.p2.rows(rng.integers(form.p2.n, size=1))
        if np.any(pair):
            return np.asarray(pair[0])
    raise InvalidInputError(
        "no pair of points of different classes (or point other than the origin) was found that differ; "
        "without a direction between the classes there is no margin. Remove constant duplicates or add features."
    )


def _warm_root(form: OutlierForm, run: Run) -> Array | None:
    """A warm start's direction, with the distance of the means along it as its length."""
    if run.warm_start is None or "w" not in run.warm_start:
        return None
    w = np.ravel(run.warm_start["w"])
    if not np.any(w):
        return None
    apart = float(mean_difference(form.p1, form.p2) @ unit(w))
    return unit(w) * (apart if apart > 0 else 1.0)


def split_grid(budget: Budget, p1: Cloud, p2: Cloud, count: int) -> list[Budget]:
    """A total amount shared between the classes in `count` ways, the discretisation of Definition 4.

    The shares are whole where the weights are, because nothing else can be left out then.
    """
    if budget.total is None:
        return [budget]
    total = budget.total
    shares = np.linspace(0, total, count)
    if p1.is_whole and p2.is_whole:
        total = floor(total + tolerance(p1.weights, p2.weights))
        shares = np.unique(np.round(np.linspace(0, total, count)))
    return [Budget(s, total - s) for s in shares if s < p1.weight and total - s < p2.weight]


def _max_margin(polish: bool | str) -> MaxMargin:
    """Who computes the maximum margin of separable points: Wolfe's algorithm, or a backend by name."""
    if polish is True:
        return nearest_direction
    backend = backend_for(str(polish), Feature.QP, option="polish")

    def by_backend(p1: Cloud, p2: Cloud, run: Run) -> Array | None:
        X = np.vstack([p1.rows(np.arange(p1.n)), p2.rows(np.arange(p2.n))])
        one_class = not p2.points.any() if isinstance(p2.points, np.ndarray) and p2.n == 1 else False
        y = np.repeat([1.0, -1.0], [p1.n, p2.n])
        model = outlier_svm(X[: p1.n], None, 0.0) if one_class else outlier_svm(X, y, 0.0)
        inner = run.inner()
        inner.begin(backend.name, {name: option.default for name, option in backend.options.items()})
        solution = backend.solve(model.program(), inner)
        return None if solution.x is None else unit(model.decode(solution.x)["w"])

    return by_backend


def _outcome(
    form: OutlierForm,
    best: SlabNode,
    budget: Budget,
    grown: list[tuple[Budget, list[DescentTree]]],
    max_margin: MaxMargin | None,
    run: Run,
) -> Outcome:
    """The best node's slab, widened by `max_margin` if given, with what the search did in `extra`."""
    rough = slab_along(form.p1, form.p2, budget, best.u)
    slab, margins = rough, 0
    if max_margin is not None and run.stop() is None:
        slab, margins = widen(form.p1, form.p2, budget, best.u, run, max_margin=max_margin)
    stopped = run.stop()
    trees = [tree for _, some in grown for tree in some]
    nodes = sum(len(tree.nodes) for tree in trees)
    extra: dict[str, Any] = {
        "width": slab.width,
        "tree_width": rough.width,
        "outliers": form.left_out(slab),
        "tree_outliers": form.left_out(rough),
        "left_out": (int(slab.out1.sum()), int(slab.out2.sum())),
        "direction": slab.u,
        "faces": (slab.a, slab.c),
        "tree_direction": rough.u,
        "tree_faces": (rough.a, rough.c),
        "trees": len(trees),
        "tree_widths": [tree.best.width for tree in trees],
        "max_margins": margins,
    }
    if run.options.get("tree"):
        extra["tree"] = as_graph(trees)
    if slab.width <= 0:
        if run.options["warn_of_overlap"]:
            warn(not_separable(slab.width, len(trees), margins > 0))
        words = "no direction tried separates the points that stay"
        status = stopped or Status.ITERATION_LIMIT
        return Outcome(status, "none", None, None, nodes=nodes, iterations=margins, raw_status=words, extra=extra)
    extra["tree_values"] = form.values(rough) if rough.width > 0 else None
    claim: Claim = "local" if margins and stopped is None else "heuristic"
    return Outcome(
        status=stopped or Status.ITERATION_LIMIT,
        claim=claim,
        values=form.values(slab),
        objective=form.objective(slab.width),
        nodes=nodes,
        iterations=margins,
        raw_status=f"width {slab.width:.6g} after {len(trees)} trees and {margins} maximum margins",
        extra=extra,
    )


def not_separable(width: float, trees: int, proven: bool) -> str:
    """The warning that no slab was found; `proven` when a maximum margin problem showed that none exists."""
    how = "so the origin may lie in the hull of their differences"
    if proven:
        how = "and no other direction separates them: the origin lies in the hull of their differences"
    return (
        f"no separating slab was found: along the best direction of {trees} tree(s) the points that stay after the allowed "
        f"outliers overlap (width {width:.3g}), {how}. The direction is no maximum margin. Allow more outliers, scale the "
        "features, or use a soft margin (C)."
    )
