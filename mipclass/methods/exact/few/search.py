"""The 0-1 loss with at most k features, or with a cost of each feature, proven set by set.

    minimise over (w, b)   loss(w, b) + c |w|_0     subject to   |w|_0 <= k        and to what else the problem asks for

Every set T of t <= k features needs a proof that its rules cost at least the incumbent less c t. What is proven about a set holds for
all sets inside it, so that the search tries larger sets (`reach`), as long as their proofs take less work than those of the sets that
they close. With c = 0 only the sets of k features matter. A pass closes every set at one share of the incumbent's cost; the passes
before the last one are there to have a bound when the time is up.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from ....arrays import Array
from ....certificates.certificate import fraction
from ....protocol.crew import Crew
from ....protocol.result import Outcome, Status
from ....protocol.run import Run
from ....protocol.tasks import TaskRecord
from ..answer import CLOSED, answer, stopper
from ..form import ProofForm
from ..sums import Sums
from .at_once import SetsAtOnce
from .covering import Covering, Level
from .first import first_rules_of_few, ranked_features
from .reach import Reach
from .saved import AnswerSaver
from .support import SupportAnswer, Target
from .supports import SupportSets, features_of, mask_of
from .tasks import SetWork

MOST_SETS = 300_000
"""Sets of features that are listed, at most: with three milliseconds for each, this is a quarter of an hour."""

FEW_SETS = 300
"""Up to so many sets of features the first pass is the last one: it ends soon enough."""

SHARES = (Fraction(1, 2), Fraction(4, 5), Fraction(1))
"""Shares of the incumbent's cost that the passes prove."""

LOCAL_STEPS = 2_000
"""Line searches for the first rule of one set of features under side constraints, where no target is known yet."""


def most_features(form: ProofForm) -> int:
    """The number of features that a rule may use."""
    d, most = form.X.shape[1], form.statement.max_features
    return d if most is None else min(d, most)


def sizes_of_sets(form: ProofForm) -> list[int]:
    """Sizes of the sets of features that need a proof, largest first: smaller ones only where they cost less."""
    most = most_features(form)
    return list(range(most, -1 if form.statement.feature_cost else most - 1, -1))


def number_of_sets(form: ProofForm) -> int:
    """How many sets of features need a proof."""
    return sum(comb(form.X.shape[1], size) for size in sizes_of_sets(form))


def prove_few(form: ProofForm, run: Run) -> Outcome:
    """The optimum over all sets of features that the problem allows, or the best rule and bound in the time there is."""
    search = FewSearch(form, run)
    search.first_rules()
    stopped = search.prove()
    search.keep()
    infeasible = search.best is None and stopped is None and search.bound > form.costs.total
    return answer(
        form,
        run,
        rule=search.finished_rule(),
        lower=search.lower(),
        stopped=stopped,
        nodes=search.nodes,
        infeasible=infeasible,
        extra={
            "sets_of_features": len(search.proofs),
            **({"tasks": tuple(search.log)} if search.log else {}),
        },
    )


class FewSearch:
    """Rules and proofs of one problem, set of features by set of features."""

    def __init__(self, form: ProofForm, run: Run) -> None:
        self.form, self.run = form, run
        self.d = form.X.shape[1]
        self.most = most_features(form)
        self.feature_cost = Fraction(form.statement.feature_cost)
        self.best: Fraction | None = None
        self._rule: tuple[int, Array] | None = None  # set of features, (w, b) over them
        self._work = SetWork(form, Sums(form.costs.whole.tolist()))
        self._token: object = None
        self.log: list[TaskRecord] = []
        self.nodes = 0
        self._stop = stopper(run, lambda: self.nodes)
        self.bound = Fraction(0)
        self.proofs: dict[int, SupportAnswer] = {}  # of the pass that proved `bound`
        self._known: dict[int, SupportAnswer] = {}  # set of features -> the best that is known about it
        self._saver = None if run.checkpoint is None else AnswerSaver(run.checkpoint)
        if self._saver is not None:
            self._known, incumbent = self._saver.load()
            if incumbent is not None:
                self.offer(*incumbent)

    # -- rules --------------------------------------------------------------------------------------------------------

    def first_rules(self) -> None:
        """The caller's rule and those of a beam search; none under side constraints, which such rules may break."""
        given = self.run.warm_start
        if not self.form.is_plain_but_for_features:
            return
        if given is not None and "w" in given:
            used = np.flatnonzero(given["w"])
            if len(used) <= self.most:
                self.offer(mask_of(used.tolist()), np.append(np.asarray(given["w"])[used], given.get("b", 0.0)))
        for features, rule in first_rules_of_few(self.form, self.most, self.run):
            self.offer(mask_of(features), rule)
        self.tell()

    def offer(self, mask: int, rule: Array) -> None:
        """Take a rule over a set of features as incumbent if it costs less."""
        alone = self.form.on_features(features_of(mask))
        loss = alone.exact_loss(rule[:-1], float(rule[-1]))
        loss += self.feature_cost * int(np.count_nonzero(rule[:-1]))
        if self.best is None or loss < self.best:
            self.best, self._rule = loss, (mask, rule)

    def finished_rule(self) -> tuple[Array, float] | None:
        """The incumbent over all features; in the middle of its cell, if the run's time is not up and it costs no more there."""
        if self._rule is None:
            return None
        mask, rule = self._rule
        features = list(features_of(mask))
        alone = self.form.on_features(tuple(features))
        candidates = [(rule[:-1], float(rule[-1]))]
        if alone.statement.is_plain and len(alone.data.Z):
            candidates.append(alone.finished_rule(alone.data, rule, self.run))
        found = []
        for part, b in candidates:
            w = np.zeros(self.d)
            w[features] = part
            found.append((w, b))
        return min(reversed(found), key=lambda pair: self.form.exact_loss(*pair))

    # -- proofs -------------------------------------------------------------------------------------------------------

    def prove(self) -> Status | None:
        """Pass by pass; the limit that stopped it, if one did."""
        sizes = sizes_of_sets(self.form)
        order = ranked_features(self.form, self.run) if self.form.is_plain_but_for_features else list(range(self.d))
        for share in SHARES if number_of_sets(self.form) > FEW_SETS and self.best is not None else SHARES[-1:]:
            stopped = self._pass(share, sizes, order)
            if stopped is not None:
                return stopped
            if self._is_within_gap():
                break
        return None

    def _is_within_gap(self) -> bool:
        return self.best is not None and self.best - self.bound <= Fraction(self.run.gap) * self.best

    def _pass(self, share: Fraction, sizes: list[int], order: list[int]) -> Status | None:
        """Close every set of features at this share of the incumbent's cost; why it was stopped, if it was."""
        covering = Covering(share, None if self.best is None else share * self.best)
        crew = self.run.crew()
        for size in sizes:
            level = Level(covering, SupportSets(order, size), Reach(self.d, size), self.feature_cost * size)
            for mask, known in self._known.items():
                if level.goal is not None and known.reaches(level.goal) and level.supports.count_open(mask):
                    level.close(mask, known)
            stopped = self._one_by_one(level) if crew is None else SetsAtOnce(self, level, crew).close_all()
            if stopped is not None:
                return stopped
        self.bound, self.proofs = covering.bound(), covering.used
        self.tell()
        return None

    def _one_by_one(self, level: Level) -> Status | None:
        """Close every set of one size; why it was stopped, if it was."""
        for mask in level.supports.open():
            if level.is_paid:
                break
            if not self._close_larger(mask, level) and not (self.stop() is None and self.settle(mask, level)):
                return self.stop() or Status.NUMERICAL_ERROR
            self.tell()
        return None

    def _close_larger(self, mask: int, level: Level) -> bool:
        """Whether a larger set around the given one was tried and is proven to reach the goal."""
        goal, reach = level.goal, level.reach
        if goal is None or not self.form.is_plain_but_for_features:
            return False
        by = reach.next()
        larger = level.supports.extended(mask, by)
        if larger == mask:
            return False
        gain = level.supports.count_open(larger)
        found = self._work.prove(larger, Target(goal), self.inner(), most_work=reach.most_work(gain), ends_at_rule=True)
        known = self.take(larger, found)
        reach.tell(by, found.work, gain if found.reaches(goal) else 0)
        if found.reaches(goal):
            level.close(larger, known)
        return found.reaches(goal)

    def settle(self, mask: int, level: Level) -> bool:
        """Prove that a set reaches the goal, or its optimum; False when stopped."""
        found = self._work.prove(mask, Target(level.goal), self.inner())
        known = self.take(mask, found)
        level.reach.tell(0, found.work, 1)
        if found.rule is not None:
            self.offer(mask, found.rule)
        is_settled = self.is_settled(mask, found, level.goal)
        if is_settled:
            level.close(mask, known)
        level.covering.lower(self.best)
        return is_settled

    def is_settled(self, mask: int, found: SupportAnswer, goal: Fraction | None) -> bool:
        """Whether the goal is proven, or the best rule over the set is proven to be optimal there, or that there is none."""
        if found.rule is None if goal is None else found.reaches(goal):
            return True
        if found.rule is None:
            return False
        alone = self.form.on_features(features_of(mask))
        loss = alone.exact_loss(found.rule[:-1], float(found.rule[-1]))
        return loss - found.bound <= CLOSED * loss

    def take(self, mask: int, found: SupportAnswer) -> SupportAnswer:
        """Count the nodes of an answer; the best that is known about its set, which is remembered."""
        self.nodes += found.nodes
        if mask not in self._known or found.bound > self._known[mask].bound:
            self._known[mask] = found
            if self._saver is not None:
                self._saver.note(mask, found)
        return self._known[mask]

    def shared(self, crew: Crew) -> object:
        """The crew's token of what all tasks share."""
        if self._token is None:
            self._token = crew.share(self._work)
        return self._token

    def stop(self) -> Status | None:
        """The limit that is reached, if one is."""
        return self._stop()

    def inner(self) -> Run:
        """A Run for the proof of one set."""
        limit = self.run.options.get("node_limit")
        left = None if limit is None else max(1, limit - self.nodes)
        return self.run.inner(node_limit=left, local_steps=min(LOCAL_STEPS, self.run.options.get("local_steps", 0)))

    def tell(self) -> None:
        """Report the state of the search."""
        best = None if self.best is None else float(self.best)
        self.run.report(objective=best, bound=float(self.bound), nodes=self.nodes)
        if self._saver is not None:
            self._saver.save_if_due(self._rule)

    def keep(self) -> None:
        """Write what is known to disk, if it is kept there."""
        if self._saver is not None:
            self._saver.save(self._rule)

    def lower(self) -> dict[str, Any]:
        """The lower part of a certificate."""
        margins = [Fraction(proof.lower.get("relative_margin", 0)) for proof in self.proofs.values()]
        return {
            "kind": "supports",
            "bound": fraction(self.bound),
            "relative_margin": fraction(max(margins, default=Fraction(0))),
            "proofs": [
                {"features": list(features_of(mask)), "proof": _without_margin(proof.lower)}
                for mask, proof in self.proofs.items()
            ],
        }


def _without_margin(lower: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in lower.items() if name != "relative_margin"}
