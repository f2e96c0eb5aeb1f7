"""The 0-1 loss with whole weights, proven by branch and bound over boxes of the lattice.

A box of weights is bounded by one sort of the points' best scores (`kernels.boxes`); boxes are split by the sign of a weight while the
number of features is limited, and halved otherwise (`kernels.tree`). First rules come from descents, weight by weight, from random
starts and from changes of the best rule. Passes at rising shares of the incumbent's cost give a bound before the last one ends.
The tree is the certificate (kind "lattice").
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ....arrays import Index
from ....certificates.certificate import fraction, pack
from ....protocol.crew import Crew
from ....protocol.result import Outcome, Status
from ....protocol.run import Run
from ....protocol.tasks import TaskRecord
from ...base import Refusal
from ..answer import answer, stopper
from ..form import ProofForm
from .problem import WholeProblem, whole_problem
from .saved import LatticeSaver
from .tasks import MOST_BITS, Rule, WholeBox, WholeWork
from .tree_pass import TreePass

MOST_WEIGHTS = 126
"""Number of features, at most: a node of the tree is one byte."""

DESCENTS, FEWEST_DESCENTS, MOST_DESCENTS = 4e7, 4, 200
"""Points x features x values of weights that the descents for a first rule go through, about two seconds, and limits of their number."""

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
        extra={"tasks": tuple(search.log)} if run.crew() is not None else {},
    )


class WholeSearch:
    """One branch and bound over the lattice."""

    def __init__(self, form: ProofForm, problem: WholeProblem, run: Run) -> None:
        self.problem, self.run = problem, run
        self.work = WholeWork.of(form, problem)
        self.best: Fraction | None = None
        self.rule: Rule | None = None
        self.nodes = self.under_way = 0
        self._stop = stopper(run, lambda: self.nodes + self.under_way)
        self.target, self.ops = 0, np.zeros(1, dtype=np.uint8)  # the empty proof: costs are not negative
        self.log: list[TaskRecord] = []
        self._token: object = None
        self._saver = None if run.checkpoint is None else LatticeSaver(run.checkpoint)
        self._resumed: TreePass | None = None
        state = None if self._saver is None else self._saver.load()
        if state is not None:
            self._resume(state)

    def _resume(self, state: Mapping[str, Any]) -> None:
        """Go on from the state of an earlier process."""
        found = self.work.judged(state["weights"]) if len(state["weights"]) else None
        if found is not None:
            self.offer(*found)
        self.target, self.ops = int(state["target"]), state["proven"]
        self._resumed = TreePass.resumed(self, state)

    def keep(self, tree: TreePass, now: bool = False) -> None:
        """Write the state to disk, if it is kept there and the last one is old, or now."""
        if self._saver is not None and (now or self._saver.is_due):
            self._saver.save((self.target, self.ops), None if self.rule is None else self.rule[0], tree.state())

    @property
    def bound(self) -> Fraction:
        """What every rule costs at least."""
        return self.problem.constant + self.problem.unit * self.target

    # -- rules --------------------------------------------------------------------------------------------------------

    def offer(self, loss: Fraction, rule: Rule) -> None:
        """Make the rule the incumbent if it costs less."""
        if self.best is None or loss < self.best:
            self.best, self.rule = loss, rule
            self.tell()

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
                found = self.work.judged(w)
                if found is not None:
                    self.offer(*found)

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
            self.target = self.work.everything
            return None
        shares = SHARES if self.best is not None else SHARES[-1:]
        for share in [share for share in shares if self._resumed is None or share >= self._resumed.share]:
            better = True
            while better:
                before = self.best
                stopped = self._pass(share)
                if stopped is not None:
                    return stopped
                # Rules that rounding hides may have lowered the bound before a better rule closed their boxes.
                better = self.best != before and self.target < self.work.goal(share, self.best)
            if self.best is not None and self.best - self.bound <= Fraction(self.run.gap) * self.best:
                break
        return None

    def _pass(self, share: Fraction) -> Status | None:
        """Close every box at this share of the incumbent's cost; why it was stopped, if it was."""
        tree, self._resumed = self._resumed or TreePass(self, share), None
        in_pieces = self._saver is not None
        stopped = tree.run(WholeBox(self.problem.low, self.problem.high), self.run.crew(), in_pieces)
        if stopped is None:
            self.target, self.ops = tree.target, tree.ops()
        self.keep(tree, now=True)
        if stopped is not None:
            return stopped
        self.tell()
        return None

    def stop(self) -> Status | None:
        """The limit that is reached, if one is."""
        return self._stop()

    def seconds_left(self) -> float:
        """Until the time limit."""
        return self.run.seconds_left()

    def shared(self, crew: Crew) -> object:
        """The crew's token of what all tasks share."""
        if self._token is None:
            self._token = crew.share(self.work)
        return self._token

    def tell(self) -> None:
        """Report the state of the search."""
        best = None if self.best is None else float(self.best)
        self.run.report(objective=best, bound=float(self.bound), nodes=self.nodes + self.under_way)

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
