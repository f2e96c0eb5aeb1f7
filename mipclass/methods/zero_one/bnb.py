"""Branch and bound over loss vectors (BnB): Algorithm 1 of Nguyen & Sanner (2013), and stronger rules in its place.

A decision l_i says whether point i is an error. The order is the paper's: the point farthest from a linear SVM's hyperplane
first, its SVM value first. A free point in the hull of points called positive must be called positive too (hull LP), and
likewise for negative; the errors so far bound the loss from below.

As printed this is wrong: the hulls of both sides can cross although no point lies in the other's hull (four points of XOR
give 0 errors; the truth is 1). A loss vector needs the separability LP, whose solution is also the recovered rule, the
widest inside its cell.

variant="paper"    hull rules for both sides, the separability LP at the leaves alone, rules recovered at the leaves.
variant="default"  the separability LP at every node, unless a rule found before already fits. An empty cell comes with a
                   conflict: at most D + 2 decisions that cannot hold together. Conflicts take further decisions, and those
                   that only an error can resolve add to the bound. Every LP's rule is a candidate for the incumbent.
Claim              proven when the tree is done, in floating point: a cell whose widest margin is below 1e-6 (rows of length
                   one) counts as empty; the scope of the claim says which rules this leaves out.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ...arrays import Array, Index, Mask
from ...modelling.model import Model
from ...protocol.hooks import Hooks
from ...protocol.options import Option, number, one_of, optional
from ...protocol.result import Status
from ...protocol.run import Event
from ...tree import FREE, Incumbent, Rules, search
from ...tree.rules import Decisions, as_hooks
from ..base import Refusal
from .bnb_lps import SEPARABLE, CellLP, HullLP
from .csa import swap_search
from .form import match_plain
from .method import COMMON_OPTIONS, VARIANT_OPTION, Found, LossSearch, PlainZeroOne
from .prepared import ZeroOneData, prepare
from .starts import SVM_C, better_side, svm_rule

MOST_WITNESSES = 32
"""Rules kept from earlier LPs; one that agrees with a node's decisions saves the node's LP."""

MOST_CONFLICTS = 20_000
"""Conflicts kept; propagation goes through all of them at each node."""

FIRST_CONFLICTS = 64
"""Lines of the table of conflicts to begin with; it doubles when it is full."""

CLEAR = 1e-9
"""Least margin, over rows of length one, by which a known rule must agree with a decision: above rounding."""

FIRST_SWAPS = 2_000
"""Pencils of the swap search that improves the start."""


class LossRules(Rules):
    """The rules of the module's text over the rows of `data`, from the rule `start`. Incumbents carry {"W": rule}.

    strict : an error is a point on the wrong side, as in the paper. Without it an error may be anywhere, as in the indicator
        model, and the rules draw conclusions from points decided right alone.
    """

    def __init__(
        self,
        data: ZeroOneData,
        start: Array,
        *,
        variant: Literal["default", "paper"] = "default",
        strict: bool = True,
        seed: int = 0,
    ) -> None:
        self.strict = strict
        self.data, self.n = data, len(data.Z)
        self.is_paper = variant == "paper"
        self.rows = data.unit
        scores = data.Z @ start
        self.order = np.argsort(-np.abs(scores), kind="stable")
        self.start_errors = (scores <= 0).astype(np.int8)
        self.cell = CellLP(self.rows)
        features = (data.Z @ data.standardising)[:, :-1] * data.labels[:, None]
        self.hull = HullLP(self.rows * data.labels[:, None], features, np.random.default_rng(seed))
        self.witnesses = np.zeros((0, self.rows.shape[1]))
        self.pool = np.full((FIRST_CONFLICTS, self.rows.shape[1] + 1), -1, dtype=np.int32)
        self.n_conflicts = 0
        self._at_root = True

    # -- the rules ----------------------------------------------------------------------------------------------------

    def branch(self, fixed: Decisions) -> tuple[int, int] | None:
        """The free point farthest from the start's hyperplane, and the side the start calls it."""
        free = self.order[fixed[self.order] == FREE]
        return (int(free[0]), int(self.start_errors[free[0]])) if len(free) else None

    def bound(self, fixed: Decisions) -> float:
        """The weight of the decided errors, and of conflicts that only a further error resolves."""
        decided = float(self.data.weights[fixed == 1].sum())
        if self.is_paper or not self.n_conflicts:
            return decided
        from .kernels.bnb_conflicts import packing_bound

        return decided + float(packing_bound(self.pool, self.n_conflicts, fixed, self.data.weights))

    def propagate(self, fixed: Decisions, changed: int | None) -> Decisions | None:
        """The decisions that conflicts and hulls imply; None when no rule agrees with them."""
        fixed = fixed.copy()
        if not self.is_paper and not self._decide_by_conflicts(fixed):
            return None
        return fixed if self._decide_by_hulls(fixed, changed) else None

    def separate(self, fixed: Decisions) -> None:
        """At the root: conflicts without a common point, until the rest is separable."""
        if self.is_paper or not self._at_root:
            return
        self._at_root = False
        left = fixed != 1
        while True:
            _, conflict = self.cell.solve(left, np.zeros(self.n, dtype=bool))
            if not len(conflict):
                return
            self._learn(conflict)
            left[conflict >> 1] = False

    def incumbent(self, fixed: Decisions) -> Incumbent | None:
        """The rule of the node's cell, counted on the data; in the printed variant at leaves alone."""
        if self.is_paper:
            is_leaf = not (fixed == FREE).any()
            rule = self.cell.solve(fixed == 0, fixed == 1)[0] if is_leaf else None
        else:
            rule = self._fitting_rule(fixed)
        if rule is None:
            return None
        return _incumbent(self.data, np.asarray(self.data.map @ rule))

    # -- how they decide ----------------------------------------------------------------------------------------------

    def _decide_by_conflicts(self, fixed: Decisions) -> bool:
        """Points decided by known conflicts, then the separability LP; False when the node is empty."""
        from .kernels.bnb_conflicts import propagate_conflicts

        if not propagate_conflicts(self.pool, self.n_conflicts, fixed):
            return False
        return self._fitting_rule(fixed) is not None

    def _fits(self, fixed: Decisions) -> Mask:
        """Which of the rules found before agree with the decisions."""
        if not len(self.witnesses):
            return np.zeros(0, dtype=bool)
        fits = (self.rows[fixed == 0] @ self.witnesses.T > CLEAR).all(axis=0)
        if self.strict:
            fits &= (self.rows[fixed == 1] @ self.witnesses.T < -CLEAR).all(axis=0)
        return np.asarray(fits)

    def _fitting_rule(self, fixed: Decisions) -> Array | None:
        """A rule that agrees with the decisions: one found before, or the widest; None, and a conflict, if there is none."""
        fits = self._fits(fixed)
        if fits.any():
            return np.asarray(self.witnesses[int(np.argmax(fits))])
        wrong = fixed == 1 if self.strict else np.zeros(self.n, dtype=bool)
        rule, conflict = self.cell.solve(fixed == 0, wrong)
        if rule is None:
            self._learn(conflict)
            return None
        self.witnesses = np.vstack([rule, self.witnesses[: MOST_WITNESSES - 1]])
        return rule

    def _learn(self, conflict: Index) -> None:
        if not len(conflict) or len(conflict) > self.pool.shape[1] or self.n_conflicts >= MOST_CONFLICTS:
            return
        if self.n_conflicts == len(self.pool):
            self.pool = np.vstack([self.pool, np.full_like(self.pool, -1)])
        self.pool[self.n_conflicts, : len(conflict)] = conflict
        self.n_conflicts += 1

    def _decide_by_hulls(self, fixed: Decisions, changed: int | None) -> bool:
        """PROPAGATE-LOSS of the paper; in place; False for a conflict. `changed` None: both sides."""
        labels = self.data.labels
        called = np.where(fixed == FREE, 0.0, np.where(fixed == 0, labels, -labels))
        sides = (1.0, -1.0) if changed is None else (called[changed],)
        for side in sides:
            hull = called == side
            if not self.strict:
                hull &= fixed == 0
            found = self.hull.inside(hull, (called != side) & self._could_be(side, fixed))
            if (called[found] == -side).any():
                return False
            called[found] = side
            fixed[found] = (labels[found] != side).astype(np.int8)
        return True

    def _could_be(self, side: float, fixed: Decisions) -> Mask:
        """Points that every rule known to fit this node calls `side`; the others cannot be in that side's hull."""
        fits = self._fits(fixed)
        if self.is_paper or not fits.any():
            return np.ones(self.n, dtype=bool)
        scores = (self.rows * self.data.labels[:, None]) @ self.witnesses[fits].T
        return np.asarray((side * scores > 0).all(axis=1))


class BranchAndBound(PlainZeroOne):
    """Branch and bound over which points are errors; see the module's docstring."""

    name = "bnb"
    promise = "proven when its tree is done, in floating point; anytime otherwise"
    options = (
        COMMON_OPTIONS
        | VARIANT_OPTION
        | {
            "nodes": Option(None, "most nodes to visit; None: no limit", optional(number(1, integer=True))),
            "order": Option("depth", "'depth' first, as in the paper, or 'best' bound first", one_of("depth", "best")),
            "keep_tree": Option(
                False, "hand back the tree as a networkx DiGraph in extra['tree']", one_of(True, False)
            ),
        }
    )

    def search(self, task: LossSearch) -> Found:
        """The tree, from the start improved by a swap search (the start itself in the printed variant)."""
        run, data = task.run, task.data
        rules = LossRules(data, task.start, variant=run.options["variant"], seed=run.seed)
        start = task.start
        if not rules.is_paper:
            start = swap_search(data, start, task.rng, steps=FIRST_SWAPS, stop=run.stop).w
        first = _incumbent(data, start)
        task.tell(first.objective)

        def forward(event: Event) -> None:
            task.tell(event.objective, lower=event.bound, nodes=event.nodes)

        got = search(
            rules,
            run.inner(gap=run.gap, callback=forward),
            first=first,
            order=run.options["order"],
            node_limit=run.options["nodes"],
            keep_tree=run.options["keep_tree"],
            granularity=1.0,  # the prepared rows have whole weights
        )
        best = got.best or first
        extra: dict[str, Any] = {
            "conflicts": rules.n_conflicts,
            "cell_lps": rules.cell.solves,
            "hull_lps": rules.hull.solves,
        }
        if got.tree is not None:
            extra["tree"] = got.tree
        stopped = None if got.status is Status.OPTIMAL else run.stop() or got.status
        lower = min(max(got.bound, 0.0), best.objective)
        return Found(best.values["W"], lower, stopped, nodes=got.nodes, extra=extra, resolution=SEPARABLE)


def _incumbent(data: ZeroOneData, W: Array) -> Incumbent:
    return Incumbent(data.cost(W), {"W": W})


def indicator_hooks(problem: Model, *, seed: int = 0, steps: int = FIRST_SWAPS) -> Hooks:
    """The rules of bnb for the declared indicator model inside a MIP solver.

        solve(problem, solver="scip", options={"hooks": indicator_hooks(problem)})

    On SCIP they propagate, choose the branching point and propose incumbents; HiGHS takes the incumbents. All decisions are
    valid for the model as declared: they use points decided right alone, whose margin of eps every point of their hull
    shares. Plain models only (see `match_plain`).
    """
    from ...errors import UnsupportedProgramError

    form = match_plain(problem)
    if isinstance(form, Refusal):
        raise UnsupportedProgramError(f"the rules of 'bnb' do not fit model {problem.name!r}: {form.reason}")
    points = problem.points
    X = points.X.toarray() if hasattr(points.X, "toarray") else points.X
    data = prepare(X, points.y_pm1, points.weights, cancel=False)
    start = better_side(data, svm_rule(data, SVM_C, seed))
    best = swap_search(data, start, seed, steps=steps).w
    rules = LossRules(data, best, strict=False, seed=seed)
    program = problem.program()
    columns = np.arange(program.n_columns)[program.block("error").slice][np.argsort(data.group)]

    def encode(values: Any) -> Array:
        w, b = data.rule(values["W"])
        return problem.encode({"w": w, "b": np.asarray(b)})

    first = Incumbent(form.value(data, data.cost(best)), {"W": best})
    return as_hooks(rules, columns, encode, first=first)
