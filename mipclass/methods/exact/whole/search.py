"""The 0-1 loss with whole weights, proven by branch and bound over boxes of the lattice.

A box of weights is bounded by one sort of the points' best scores (`kernels.boxes`); boxes are split by the sign of a weight while the
number of features is limited, and halved otherwise (`kernels.tree`). First rules come from descents, weight by weight, from random
starts and from changes of the best rule. Passes at rising shares of the incumbent's cost give a bound before the last one ends.
The tree is the certificate (kind "lattice").
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....arrays import Index
from ....certificates.certificate import fraction, pack
from ....protocol.result import Outcome, Status
from ....protocol.run import Run
from ...base import Refusal
from ..answer import answer, stopper
from ..form import ProofForm
from .offsets import best_offset, is_allowed, least_loss
from .problem import WholeProblem, whole_problem

MOST_BITS = 20
"""Binary digits of the largest weight, at most: with scores of 58 digits this leaves 38 for the data."""

MOST_WEIGHTS = 126
"""Number of features, at most: a node of the tree is one byte."""

DESCENTS, FEWEST_DESCENTS, MOST_DESCENTS = 4e7, 4, 200
"""Points x features x values of weights that the descents for a first rule go through, about two seconds, and limits of their number."""

CHUNK = 3e6
"""Points x features that are looked at between two looks at the clock: about 0.1 s."""

SAME = 1e-9
"""Fraction by which two sums of the same costs may differ through rounding."""

SHARES = (Fraction(1, 2), Fraction(4, 5), Fraction(1))
"""Shares of the incumbent's cost that the passes prove."""

UNITS = (
    "the features have units so different that whole weights cannot be searched in 64 bits. Divide each feature by its unit, round "
    "the features to the digits that were measured, or use solver='highs'"
)
"""What to do where `whole_problem` has no answer."""


def refusal_of_whole(form: ProofForm) -> Refusal | None:
    """Why a problem with whole weights cannot be proven; None if it can."""
    statement = form.statement
    whole = statement.whole
    assert whole is not None
    if statement.intercept and any(a[-1] for a, _ in statement.rows):
        return Refusal(
            "with whole weights it takes rows on weights alone, and one of these rows is about the offset b; use solver='highs', whose "
            "bound has no certificate."
        )
    if max(abs(whole.lower), abs(whole.upper)).bit_length() > MOST_BITS:
        return Refusal(f"it takes whole weights up to {(1 << MOST_BITS) - 1:,}; use solver='highs'.")
    if form.X.shape[1] > MOST_WEIGHTS:
        return Refusal(f"with whole weights it takes up to {MOST_WEIGHTS} features; use solver='highs'.")
    return None


def prove_whole(form: ProofForm, run: Run) -> Outcome:
    """The best rule with whole weights, or the best rule and bound in the time there is."""
    problem = whole_problem(form)
    if problem is None:
        return Outcome(Status.NUMERICAL_ERROR, "none", None, None, None, raw_status=UNITS)
    search = WholeSearch(form, problem, run)
    search.first_rules()
    stopped = search.prove()
    infeasible = search.best is None and stopped is None and search.bound > form.costs.total
    return answer(
        form,
        run,
        rule=search.rule,
        lower=search.lower(),
        stopped=stopped,
        nodes=search.nodes,
        infeasible=infeasible,
    )


class WholeSearch:
    """One branch and bound over the lattice."""

    def __init__(self, form: ProofForm, problem: WholeProblem, run: Run) -> None:
        self.form, self.problem, self.run = form, problem, run
        self.best: Fraction | None = None
        self.rule: tuple[NDArray[np.float64], float] | None = None
        self.nodes = 0
        self._stop = stopper(run, lambda: self.nodes)
        self.target, self.ops = 0, np.zeros(1, dtype=np.uint8)  # the empty proof: costs are not negative
        rows = problem.rows
        n, d = rows.signed.shape
        # More than any rule costs.
        self._everything = problem.counts(form.costs.total + Fraction(form.statement.feature_cost) * d) + 1
        sizes = np.abs(rows.signed).sum(axis=0, dtype=np.float64)
        self._spread = np.ceil(sizes / max(1.0, float(sizes.max(initial=0.0))) * 2**40).astype(np.int64)
        self._chunk = max(1, int(CHUNK / max(1, n * (d + 10))))

    @property
    def bound(self) -> Fraction:
        """What every rule costs at least."""
        return self.problem.constant + self.problem.unit * self.target

    # -- rules --------------------------------------------------------------------------------------------------------

    def _offer(self, w: Index) -> Fraction | None:
        """The cost of these weights with their best offset, which become the incumbent if it is less; None if they break limits or rows, or
        if predictions in float64 have another cost: such a rule gets points right by rounding alone."""
        b = best_offset(self.problem, w)
        if b is None:
            return None
        rule = w.astype(np.float64), b
        loss = self.form.exact_loss(*rule)
        counted = self.form.problem.recount({"w": rule[0], "b": np.asarray(b)})
        if not is_allowed(self.form, *rule) or abs(counted - float(loss)) > SAME * float(loss):
            return None
        if self.best is None or loss < self.best:
            self.best, self.rule = loss, rule
            self._tell()
        return loss

    def first_rules(self) -> None:
        """The caller's weights if they are whole, zero weights, and descents."""
        from .kernels.boxes import EMPTY
        from .kernels.tree import descend

        problem, rows = self.problem, self.problem.rows
        if problem.is_empty:
            return
        n, d = rows.signed.shape
        starts = [np.clip(np.zeros(d, dtype=np.int64), problem.low, problem.high)]
        given = self.run.warm_start
        if given is not None and "w" in given:
            starts.append(np.clip(np.rint(given["w"]).astype(np.int64), problem.low, problem.high))
        width = int((problem.high - problem.low + 1).sum())
        count = int(np.clip(DESCENTS / max(1, n * d * width), FEWEST_DESCENTS, MOST_DESCENTS))
        rng = np.random.default_rng(self.run.seed)
        best, cheapest = starts[0], EMPTY
        for step in range(len(starts) + count):
            if step >= len(starts) and self.run.stop() is not None:
                return
            w = starts[step].copy() if step < len(starts) else self._start(rng, best, step % 2 == 0)
            cost = int(descend(rows, w, problem.low, problem.high, rng.permutation(d)))
            if cost < cheapest:
                best, cheapest = w, cost
                self._offer(w)

    def _start(self, rng: np.random.Generator, best: Index, afresh: bool) -> Index:
        """Random weights for as many features as are allowed, or the best weights with some features exchanged."""
        low, high, most = self.problem.low, self.problem.high, self.problem.rows.most
        d = len(low)
        w = np.clip(np.zeros(d, dtype=np.int64), low, high) if afresh else best.copy()
        chosen = rng.permutation(d)[: most if afresh else 2]
        w[chosen] = rng.integers(low[chosen], high[chosen] + 1)
        for j in rng.permutation(d):
            if np.count_nonzero(w) > most and low[j] <= 0 <= high[j]:
                w[j] = 0
        return w

    # -- proof --------------------------------------------------------------------------------------------------------

    def prove(self) -> Status | None:
        """Pass by pass; the limit that stopped it, if one did."""
        if self.problem.is_empty:
            self.target = self._everything
            return None
        for share in SHARES if self.best is not None else SHARES[-1:]:
            better = True
            while better:
                before = self.best
                stopped = self._pass(share)
                if stopped is not None:
                    return stopped
                # Rules that rounding hides may have lowered the bound before a better rule closed their boxes.
                better = self.best != before and self.target < self._goal(share)
            if self.best is not None and self.best - self.bound <= Fraction(self.run.gap) * self.best:
                break
        return None

    def _goal(self, share: Fraction) -> int:
        """What a pass proves, in counts."""
        if self.best is None:
            return self._everything
        return min(self._everything, self.problem.counts(share * self.best))

    def _pass(self, share: Fraction) -> Status | None:
        """Close every box at this share of the incumbent's cost; why it was stopped, if it was."""
        from .kernels.tree import BETTER, EXACT, FINISHED, FULL, Stack, search

        problem, d = self.problem, len(self.problem.low)
        room = 3 * d * (2 + MOST_BITS) + 4
        stack = Stack(np.zeros((room, d), dtype=np.int64), np.zeros((room, d), dtype=np.int64))
        stack.low[0], stack.high[0] = problem.low, problem.high
        ops, state = np.zeros(1 << 16, dtype=np.uint8), np.array([1, 0], dtype=np.int64)
        goal, least = self._goal(share), self._everything
        while True:
            before = int(state[1])
            status = search(problem.rows, self._spread, stack, ops, state, goal, self._chunk)
            self.nodes += int(state[1]) - before
            if status == FINISHED:
                break
            if status == FULL:
                ops = np.concatenate([ops, np.zeros_like(ops)])
            elif status == BETTER:
                top = int(state[0]) - 1
                w = np.where((stack.low[top] <= 0) & (stack.high[top] >= 0), 0, stack.low[top])
                self._offer(w)
                if self._goal(share) < goal:
                    goal = self._goal(share)
                else:
                    loss = least_loss(self.form, w)
                    least = least if loss is None else min(least, int((loss - problem.constant) // problem.unit))
                    ops[state[1]] = EXACT
                    state[1] += 1
                    state[0] -= 1
                    self.nodes += 1
            stopped = self._stop()
            if stopped is not None:
                return stopped
        self.target, self.ops = min(goal, least), ops[: state[1]].copy()
        self._tell()
        return None

    def _tell(self) -> None:
        best = None if self.best is None else float(self.best)
        self.run.report(objective=best, bound=float(self.bound), nodes=self.nodes)

    def lower(self) -> dict[str, Any]:
        """The lower part of a certificate."""
        return {
            "kind": "lattice",
            "bound": fraction(self.bound),
            "relative_margin": fraction(self.problem.relative_margin),
            **self.problem.content(),
            "target": self.target,
            "tree": pack(self.ops),
        }
