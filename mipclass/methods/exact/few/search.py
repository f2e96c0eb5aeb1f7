"""The 0-1 loss with at most k features, or with a cost of each feature, proven set by set.

    minimise over (w, b)   loss(w, b) + c |w|_0     subject to   |w|_0 <= k        and to what else the problem asks for

Every set T of t <= k features needs a proof that its rules cost at least the incumbent less c t. What is proven about a set holds for
all sets inside it, so that the search tries larger sets (`_Reach`), as long as their proofs take less work than those of the sets that
they close. With c = 0 only the sets of k features matter. A pass closes every set at one share of the incumbent's cost; the passes
before the last one are there to have a bound when the time is up.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, comb
from typing import Any

import numpy as np

from ....arrays import Array
from ....certificates.certificate import fraction
from ....protocol.result import Outcome, Status
from ....protocol.run import Run
from ..answer import CLOSED, answer, stopper
from ..form import ProofForm
from ..plain import BOX_ALONE
from ..sums import Sums
from .first import first_rules_of_few, ranked_features
from .support import SupportAnswer, prove_support
from .supports import SupportSets, features_of, mask_of

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
    infeasible = search.best is None and stopped is None and search.bound > form.costs.total
    return answer(
        form,
        run,
        rule=search.finished_rule(),
        lower=search.lower(),
        stopped=stopped,
        nodes=search.nodes,
        infeasible=infeasible,
        extra={"sets_of_features": len(search.proofs)},
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
        self._sums = Sums(form.costs.whole.tolist())
        self.nodes = 0
        self._stop = stopper(run, lambda: self.nodes)
        self.bound = Fraction(0)
        self.proofs: dict[int, SupportAnswer] = {}  # of the pass that proved `bound`
        self._known: dict[int, SupportAnswer] = {}  # set of features -> the best that is known about it

    # -- rules --------------------------------------------------------------------------------------------------------

    def first_rules(self) -> None:
        """The caller's rule and those of a beam search; none under side constraints, which such rules may break."""
        given = self.run.warm_start
        if not self.form.is_plain_but_for_features:
            return
        if given is not None and "w" in given:
            used = np.flatnonzero(given["w"])
            if len(used) <= self.most:
                self._offer(mask_of(used.tolist()), np.append(np.asarray(given["w"])[used], given.get("b", 0.0)))
        for features, rule in first_rules_of_few(self.form, self.most, self.run):
            self._offer(mask_of(features), rule)
        self._tell()

    def _offer(self, mask: int, rule: Array) -> None:
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
        used: dict[int, SupportAnswer] = {}
        values: list[Fraction] = []  # what is proven about the sets that were closed
        reached = None if self.best is None else share * self.best
        for size in sizes:
            paid = self.feature_cost * size
            supports, reach = SupportSets(order, size), _Reach(self.d, size)
            for mask, known in self._known.items():
                goal = None if reached is None else reached - paid
                if goal is not None and known.reaches(goal) and supports.count_open(mask):
                    supports.close(mask)
                    used[mask] = known
                    values.append(_value(known, paid, reached))
            for mask in supports.open():
                if reached is not None and paid >= reached:
                    break
                goal = None if reached is None else reached - paid
                closing = self._closing(mask, goal, supports, reach)
                status = self._stop()
                if closing is None:
                    return status or Status.NUMERICAL_ERROR
                used[closing] = self._known[closing]
                values.append(_value(used[closing], paid, reached))
                supports.close(closing)
                if self.best is not None and (reached is None or share * self.best < reached):
                    reached = share * self.best
                self._tell()
        if reached is not None:
            values.append(reached)
        self.bound, self.proofs = min(values), used
        self._tell()
        return None

    def _closing(self, mask: int, goal: Fraction | None, supports: SupportSets, reach: _Reach) -> int | None:
        """A set around the given one that is proven to reach the goal, or the optimum of the given set; None when stopped."""
        by = reach.next() if goal is not None and self.form.is_plain_but_for_features else 0
        larger = supports.extended(mask, by)
        if goal is not None and larger != mask:
            gain = supports.count_open(larger)
            found = self._prove(larger, goal, most_work=reach.most_work(gain))
            reach.tell(by, found.work, gain if found.reaches(goal) else 0)
            if found.reaches(goal):
                return larger
        if self._stop() is not None:
            return None
        found = self._prove(mask, goal)
        reach.tell(0, found.work, 1)
        if found.rule is not None:
            self._offer(mask, found.rule)
        closed = found.rule is None if goal is None else found.reaches(goal)
        return mask if closed or self._is_settled(mask, found) else None

    def _is_settled(self, mask: int, found: SupportAnswer) -> bool:
        """Whether the best rule over the set is proven to be optimal there, or beyond every rule."""
        if found.rule is None:
            return False
        alone = self.form.on_features(features_of(mask))
        loss = alone.exact_loss(found.rule[:-1], float(found.rule[-1]))
        return loss - found.bound <= CLOSED * loss

    def _prove(self, mask: int, target: Fraction | None, most_work: int | None = None) -> SupportAnswer:
        alone = self.form.on_features(features_of(mask))
        start = np.zeros(alone.X.shape[1] + 1)
        start[-1] = 1.0
        found = self._rounded_up(prove_support(alone, target, self._inner(), start, most_work=most_work))
        self.nodes += found.nodes
        if mask not in self._known or found.bound > self._known[mask].bound:
            self._known[mask] = found
        return found

    def _rounded_up(self, found: SupportAnswer) -> SupportAnswer:
        """The answer with its bound raised to the next sum of costs, where sums are known and reach it: every loss is one."""
        unit = self.form.costs.unit
        if found.bound > self.form.costs.total:
            return replace(found, is_impossible=True)
        if not self._sums.known:
            return found
        reached = unit * self._sums.least_from(ceil(found.bound / unit))
        if reached == found.bound:
            return found
        return replace(found, bound=reached, lower={**found.lower, "bound": fraction(reached)})

    def _inner(self) -> Run:
        limit = self.run.options.get("node_limit")
        left = None if limit is None else max(1, limit - self.nodes)
        return self.run.inner(node_limit=left, local_steps=min(LOCAL_STEPS, self.run.options.get("local_steps", 0)))

    def _tell(self) -> None:
        best = None if self.best is None else float(self.best)
        self.run.report(objective=best, bound=float(self.bound), nodes=self.nodes)

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


def _value(found: SupportAnswer, paid: Fraction, reached: Fraction | None) -> Fraction:
    """What a set whose features cost `paid` says about the whole: a set without rules says as much as is asked for."""
    value = found.bound + paid
    return value if reached is None or not found.is_impossible else max(value, reached)


def _without_margin(lower: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in lower.items() if name != "relative_margin"}


class _Reach:
    """By how many features a set is extended: by the number that has closed most sets per work so far.

    A number that was not tried yet is tried once the number below it has closed a set. An attempt may take as much work as the best
    number would take to close the same sets.
    """

    FIRST_WORK = 300_000
    """Work per set that is assumed at first: setting up a search over some hundred rows."""

    HOPE = 2
    """Sets per work of a number that was not tried yet, as a multiple of what the number below it has closed."""

    def __init__(self, d: int, size: int) -> None:
        self._closed, self._work = [1.0], [float(self.FIRST_WORK)]
        self._most = max(0, min(d, BOX_ALONE) - size)

    def _rate(self, by: int) -> float:
        return self._closed[by] / self._work[by]

    def next(self) -> int:
        """By how many features to extend the next set."""
        return max(range(len(self._closed)), key=self._rate)

    def most_work(self, gain: int) -> int:
        """The work that an attempt to close so many sets may take."""
        return int(gain / max(map(self._rate, range(len(self._closed)))))

    def tell(self, by: int, work: int, closed: int) -> None:
        """The work of an attempt and the number of sets that it closed."""
        self._closed[by] += closed
        self._work[by] += work
        if closed and by == len(self._closed) - 1 and by < self._most:
            self._closed.append(self.HOPE * self._closed[by] / self._work[by] * self.FIRST_WORK)
            self._work.append(float(self.FIRST_WORK))
