"""One task of a search over whole weights: branch and bound below one box, within a budget; what is left is handed back.

A task is a function of its arguments alone, so that any thread, process or machine can carry it out, twice if need be. When its budget
is used up it finishes the deepest boxes and hands back the shallowest ones that it did not get to, the largest subtrees.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array, Index
from ....protocol.tasks import Orders
from ..form import ProofForm
from .offsets import best_offset, is_allowed, least_loss
from .problem import WholeProblem

MOST_BITS = 20
"""Binary digits of the largest weight, at most: with scores of 58 digits this leaves 38 for the data."""

CHUNK = 3e6
"""Points x features that are looked at between two looks at the clock: about 0.1 s."""

SAME = 1e-9
"""Fraction by which two sums of the same costs may differ through rounding."""

HANDED_AT_ONCE = 4
"""Boxes that a task hands back each time that its budget is used up: the shallowest."""

FURTHER_BUDGET = 4
"""The deeper boxes get one in so many of the budget before the next shallowest are handed back as well."""

Rule = tuple[Array, float]


class WholeBox(NamedTuple):
    """The least and the largest value of each weight."""

    low: Index
    high: Index


@dataclass(frozen=True, eq=False)
class WholeWork:
    """What all tasks of a search share. `spread`: how much a weight changes the scores.     `everything`: more counts than any rule costs."""

    form: ProofForm
    problem: WholeProblem
    spread: Index
    everything: int

    @classmethod
    def of(cls, form: ProofForm, problem: WholeProblem) -> WholeWork:
        """The work that the problem takes."""
        sizes = np.abs(problem.rows.signed).sum(axis=0, dtype=np.float64)
        spread = np.ceil(sizes / max(1.0, float(sizes.max(initial=0.0))) * 2**40).astype(np.int64)
        features = Fraction(form.statement.feature_cost) * len(problem.low)
        return cls(form, problem, spread, problem.counts(form.costs.total + features) + 1)

    @property
    def chunk(self) -> int:
        """Boxes between two looks at the clock."""
        n, d = self.problem.rows.signed.shape
        return max(1, int(CHUNK / max(1, n * (d + 10))))

    def goal(self, share: Fraction, best: Fraction | None) -> int:
        """What a pass proves at this share of the incumbent's cost, in counts."""
        return self.everything if best is None else min(self.everything, self.problem.counts(share * best))

    def judged(self, w: Index) -> tuple[Fraction, Rule] | None:
        """The cost of these weights with their best offset, and the rule; None if they break limits or rows, or if predictions in float64
        have another cost: such a rule gets points right by rounding alone."""
        b = best_offset(self.problem, w)
        if b is None:
            return None
        rule = w.astype(np.float64), b
        loss = self.form.exact_loss(*rule)
        counted = self.form.problem.recount({"w": rule[0], "b": np.asarray(b)})
        if not is_allowed(self.form, *rule) or abs(counted - float(loss)) > SAME * float(loss):
            return None
        return loss, rule


class TreeOrders(Orders[Fraction | None]):
    """Orders of a task over boxes of whole weights."""

    def end(self, task: GrowingBox) -> bool:
        """Whether the task should end."""
        return self.is_over(time.monotonic() - task.began)


@dataclass(frozen=True, eq=False)
class GrownBox:
    """What a task brings back.

    ops : the tree of its box in preorder, up to the boxes `rest` that it did not get to, which come next, in this order.
    goal : what every leaf reaches, in counts.     least : the cost of the cheapest rule that rounding hides.
    rule : better than the incumbent that the task knew, with its cost `best`; None if it found none.     cpu : seconds of processor time.
    """

    ops: NDArray[np.uint8]
    rest: tuple[WholeBox, ...]
    goal: int
    least: int
    best: Fraction | None
    rule: Rule | None
    cpu: float
    is_over: bool = False

    @property
    def nodes(self) -> int:
        """Boxes visited."""
        return len(self.ops)


def grow_box(work: WholeWork, box: WholeBox, share: Fraction, budget: int | None, orders: TreeOrders) -> GrownBox:
    """Close every box below the given one at this share of the incumbent's cost, within a budget of about so many boxes."""
    return GrowingBox(work, box, share, orders).run(budget)


class GrowingBox:
    """One task under way; `nodes` boxes are visited so far."""

    def __init__(self, work: WholeWork, box: WholeBox, share: Fraction, orders: TreeOrders) -> None:
        from .kernels.tree import Stack

        self.work, self.share, self.orders = work, share, orders
        d = len(box.low)
        room = 3 * d * (2 + MOST_BITS) + 4
        self.stack = Stack(np.zeros((room, d), dtype=np.int64), np.zeros((room, d), dtype=np.int64))
        self.stack.low[0], self.stack.high[0] = box
        self.ops, self.state = np.zeros(1 << 12, dtype=np.uint8), np.array([1, 0], dtype=np.int64)
        self.best = orders.best
        self.rule: Rule | None = None
        self.goal, self.least = work.goal(share, self.best), work.everything
        self.handed: list[WholeBox] = []  # the last in preorder first
        self.began = time.monotonic()

    @property
    def nodes(self) -> int:
        """Boxes visited so far."""
        return int(self.state[1])

    def run(self, budget: int | None) -> GrownBox:
        """Until the box is done, the rest of it is handed back, or the task should end."""
        from .kernels.tree import BETTER, FINISHED, FULL, search

        cpu, work, state, limit = time.thread_time(), self.work, self.state, budget
        is_over = False
        while True:
            self._hear()
            chunk = work.chunk if limit is None else max(1, min(work.chunk, limit - self.nodes))
            status = search(work.problem.rows, work.spread, self.stack, self.ops, state, self.goal, chunk)
            if status == FINISHED:
                break
            if status == FULL:
                self.ops = np.concatenate([self.ops, np.zeros_like(self.ops)])
            elif status == BETTER:
                self._judge()
            if self.orders.end(self):
                self._hand_back(int(state[0]))
                is_over = True
                break
            if limit is not None and budget is not None and self.nodes >= limit:
                limit = self.nodes + max(1, budget // FURTHER_BUDGET)
                self._hand_back(min(HANDED_AT_ONCE, int(state[0]) - 1))
        ops, rest = self.ops[: self.nodes].copy(), tuple(self.handed[::-1])
        best = None if self.rule is None else self.best
        return GrownBox(ops, rest, self.goal, self.least, best, self.rule, time.thread_time() - cpu, is_over)

    def _hear(self) -> None:
        """Of a better incumbent found elsewhere."""
        told = self.orders.best
        if told is not None and (self.best is None or told < self.best):
            self.best, self.rule = told, None
            self.goal = self.work.goal(self.share, told)

    def _judge(self) -> None:
        """The box on top is a single rule that seems to cost less than the goal: a new incumbent, or one that rounding hides."""
        from .kernels.tree import EXACT

        top = int(self.state[0]) - 1
        low, high = self.stack.low[top], self.stack.high[top]
        w = np.where((low <= 0) & (high >= 0), 0, low)
        found = self.work.judged(w)
        if found is not None and (self.best is None or found[0] < self.best):
            self.best, self.rule = found
            self.orders.lower(self.best)
        goal = self.work.goal(self.share, self.best)
        if goal < self.goal:
            self.goal = goal
            return
        loss, problem = least_loss(self.work.form, w), self.work.problem
        if loss is not None:
            self.least = min(self.least, int((loss - problem.constant) // problem.unit))
        self.ops[self.state[1]] = EXACT
        self.state[1] += 1
        self.state[0] -= 1

    def _hand_back(self, count: int) -> None:
        """Take so many of the shallowest boxes off the stack."""
        left = int(self.state[0])
        for k in range(count):
            self.handed.append(WholeBox(self.stack.low[k].copy(), self.stack.high[k].copy()))
        self.stack.low[: left - count] = self.stack.low[count:left].copy()
        self.stack.high[: left - count] = self.stack.high[count:left].copy()
        self.state[0] = left - count
