"""One set of features: prove that no rule over it costs less than a target, or find one that does.

The target is what the best rule over other features costs. It ends most searches long before the optimum over these features is
known: on pima the proof that a triple of features cannot do with fewer than 161 errors takes a hundred boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from ....arrays import Array
from ....protocol.result import Status
from ....protocol.run import Run
from ...zero_one.prepared import ZeroOneData
from ..answer import CLOSED
from ..box.search import MAX_RANK, BoxSearch
from ..box.tasks import CHUNK
from ..first_rules import first_rules
from ..form import ProofForm
from ..helping import help_of
from ..plain import BOX_AT_MOST, PlainProof, plain_proof
from ..priced import PricedSearch
from ..provers import IISProver, box_lower, trivial_lower
from ..race import Purpose, Race
from ..rational import StoppedError

SETUP_VISITS = 700
"""Visits of points by the box search that take as long as setting it up takes per row: about 25 microseconds."""


@dataclass
class Target:
    """What no rule over a set is to cost less than; None asks for the optimum. It falls when a better rule is found elsewhere, also while a
    search is under way."""

    cost: Fraction | None

    def of(self, form: ProofForm) -> Fraction:
        """The cost; without one, more than any rule costs."""
        return form.costs.total + 1 if self.cost is None else self.cost

    def counts(self, form: ProofForm, data: ZeroOneData) -> int:
        """The cost in units of the prepared rows, rounded up."""
        return max(0, ceil((self.of(form) - data.constant) / data.proof_counts.unit))


@dataclass(frozen=True, eq=False)
class SupportAnswer:
    """What is known about a set of features.

    bound, lower : no rule over them costs less; `lower` is the proof, the lower part of a certificate.
    rule : (w, b) over them that costs less than the target; None if none was found.
    nodes : of the searches.     work : effort, in visits of points by the box search.
    is_impossible : no rule over them keeps the limits, since the bound exceeds what all points cost together.
    """

    bound: Fraction
    lower: dict[str, Any]
    rule: Array | None
    nodes: int
    work: int
    is_impossible: bool = False

    def reaches(self, target: Fraction) -> bool:
        """Whether the bound is the target, up to what costs of many digits leave open, or there is no rule at all."""
        return self.is_impossible or target - self.bound <= CLOSED * target


def prove_support(
    form: ProofForm,
    target: Target,
    run: Run,
    start: Array,
    *,
    most_work: int | None = None,
    ends_at_rule: bool = False,
) -> SupportAnswer:
    """The answer of the search that suits the problem, which is one over a single set of features.

    start : any rule (w, b).     most_work : boxes give up beyond so many visits.
    ends_at_rule : they also give up once a rule costs less than the target.
    """
    if not form.statement.is_plain:
        return _constrained(form, target, run)
    data = form.data
    goal = target.counts(form, data)
    if goal == 0 or not len(data.Z):
        rule = None if goal == 0 else np.append(np.zeros(form.X.shape[1]), 1.0)
        return SupportAnswer(data.constant, trivial_lower(data), rule, 0, 0)
    work = SETUP_VISITS * len(data.Z)
    if form.X.shape[1] <= BOX_AT_MOST and data.map.shape[1] <= MAX_RANK:
        found = _by_boxes(form, target, run, most_work, ends_at_rule)
        work += 0 if found is None else found.work
        if found is not None and (most_work is not None or found.rule is not None or found.reaches(target.of(form))):
            return SupportAnswer(found.bound, found.lower, found.rule, found.nodes, work)
    return _by_race(form, target, run, start, work)


def _by_boxes(
    form: ProofForm, target: Target, run: Run, most_work: int | None, ends_at_rule: bool
) -> SupportAnswer | None:
    """Boxes; None where they cannot be set up or where some boxes stay undecided."""
    data = form.data
    limit = run.options.get("node_limit")
    try:
        helping = help_of(run) if most_work is None else None
        search = BoxSearch(data.Z, data.proof_counts.counts, M=data.map, stop=run.stop, help=helping)
    except StoppedError:
        return None
    if not search.reaches_all:
        return None
    goal = target.counts(form, data)
    first, is_cheap = search.best_W, search.total < goal
    search.look_below(goal)
    if most_work is not None:
        search.chunk = min(CHUNK, max(1, most_work // 4))

    def has_rule() -> bool:
        return is_cheap or search.best_W is not first

    def stop() -> bool:
        search.look_below(target.counts(form, data))
        if (most_work is not None and search.visits >= most_work) or (ends_at_rule and has_rule()):
            return True
        return run.stop() is not None or (limit is not None and search.nodes >= limit)

    done = search.advance(stop, goal=goal)
    if done and not search.finished and most_work is None:
        return None
    rule = np.append(*data.rule(search.best_W)) if has_rule() else None
    bound = data.constant + data.proof_counts.unit * search.lower
    return SupportAnswer(bound, box_lower(data, search), rule, search.nodes, search.visits)


def _by_race(form: ProofForm, target: Target, run: Run, start: Array, work: int) -> SupportAnswer:
    """Boxes and infeasible subsystems in turn, until the target is reached or the optimum is known."""
    purpose = Purpose(lambda race: race.lower >= target.counts(form, race.data), _say_nothing, 0)
    found = plain_proof(form, run, None, start, purpose)
    rule = np.append(*found.rule)
    data = form.data
    wanted = data.constant + data.proof_counts.unit * target.counts(form, data)
    costs_less = form.exact_loss(rule[:-1], float(rule[-1])) < wanted
    return SupportAnswer(
        Fraction(found.lower["bound"]), found.lower, rule if costs_less else None, found.nodes, work + found.nodes
    )


def _say_nothing(race: Race) -> None:
    """The bound of one set of features is none of the whole problem."""


def _constrained(form: ProofForm, target: Target, run: Run) -> SupportAnswer:
    """Boxes and prices for homogeneous rows and limits on errors in few dimensions, branch and cut for what these leave open and for other
    constraints."""
    lower: dict[str, Any] = {"kind": "trivial", "bound": "0"}
    rules: list[Array] = []
    nodes = 0
    if form.is_plain_in_a_cone and 0 < form.X.shape[1] <= BOX_AT_MOST and not form.statement.limits:
        found = _in_cone(form, target, run)
        lower, nodes, rules = found.lower, found.nodes, [np.append(*found.rule)]
        if found.stopped is not Status.NUMERICAL_ERROR or run.stop() is not None:
            return _cheap_enough(form, target, lower, rules, nodes)
    elif form.is_plain_in_a_cone and 0 < form.X.shape[1] <= BOX_AT_MOST:
        search = PricedSearch(form.unfolded, run)
        if target.cost is not None:
            search.pool.look_below(target.cost)
        search.look_for_prices()
        search.prove()
        if not search.is_closed and search.stopped is None:
            search.close_by_boxes()
        lower, nodes = search.lower, search.nodes
        rules = [] if search.pool.best_W is None else [search.pool.best_W]
        if search.is_closed or search.stopped is not None:
            return _cheap_enough(form, target, lower, rules, nodes)
    prover = IISProver(form.unfolded.cover(), run.seed, run)
    if target.cost is not None:
        prover.search.look_below(ceil((target.cost - prover.data.constant) / prover.data.unit))
    for W in rules or first_rules(form.unfolded, run):
        prover.offer(W)
    prover.advance(run.stop, lambda: None)
    if prover.rule is not None:
        rules = [prover.rule]
    own = prover.proof()
    lower = own if Fraction(own["bound"]) > Fraction(lower["bound"]) else lower
    return _cheap_enough(form, target, lower, rules, nodes + prover.nodes)


def _in_cone(form: ProofForm, target: Target, run: Run) -> PlainProof:
    """The race of provers among the rules that keep homogeneous rows, until the target is reached or the optimum is known."""

    def reached(race: Race) -> bool:
        return target.cost is not None and race.lower >= target.counts(form, race.data)

    return plain_proof(form, run, None, None, Purpose(reached, _say_nothing, 0))


def _cheap_enough(
    form: ProofForm, target: Target, lower: dict[str, Any], rules: list[Array], nodes: int
) -> SupportAnswer:
    """The answer, with the first rule that costs less than the target."""
    wanted = target.cost
    cheap = [W for W in rules if wanted is None or form.exact_loss(W[:-1], float(W[-1])) < wanted]
    return SupportAnswer(Fraction(lower["bound"]), lower, cheap[0] if cheap else None, nodes, nodes)
