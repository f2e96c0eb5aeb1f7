"""A 0-1 problem with limits on errors, rows on (w, b), a margin or no offset, proven by branch and cut."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ...arrays import Array
from ...protocol.result import Outcome, Status
from ...protocol.run import Run
from ..zero_one.prepared import ROUNDING_SHOWS
from .answer import answer, stopper
from .first_rules import first_rules
from .form import ProofForm
from .plain import plain_proof
from .provers import IISProver


def prove_constrained(
    form: ProofForm, run: Run, known: Array | None = None, floor: Mapping[str, Any] | None = None, nodes: int = 0
) -> Outcome:
    """Branch and cut from the first rules; infeasible when every leaf costs more than all points together.

    known : the best rule of a search before this one; None looks for first rules.   floor : the proof of a bound that is known already.
    nodes : those of searches before this one.
    """
    prover = IISProver(form.unfolded.cover(), run.seed, run)
    for W in first_rules(form.unfolded, run) if known is None else [known]:
        prover.offer(W)
        if prover.best == 0:
            break
    outcome = _proven(form, run, prover, floor, nodes)
    finer = finer_prover(form, run, prover)
    while finer is not None and run.stop() is None:
        prover = finer
        outcome = _proven(form, run, prover, floor, nodes)
        finer = finer_prover(form, run, prover)
    return outcome


def prove_in_cone(form: ProofForm, run: Run) -> Outcome:
    """A problem that is plain but for homogeneous rows: the race of provers in the cone, then branch and cut for what it leaves open."""
    found = plain_proof(form, run, None)
    if found.stopped is Status.NUMERICAL_ERROR and run.stop() is None:
        return prove_constrained(form, run, np.append(*found.rule), found.lower, found.nodes)
    return answer(
        form, run, rule=found.rule, lower=found.lower, stopped=found.stopped, nodes=found.nodes, extra=found.extra
    )


def finer_prover(form: ProofForm, run: Run, prover: IISProver) -> IISProver | None:
    """A prover that counts on a finer grid, from the incumbent, when the rounding of costs shows in its loss; else None."""
    W = prover.rule
    if W is None or prover.data.is_exact:
        return None
    loss = form.exact_loss(W[:-1], float(W[-1]))
    if prover.data.n * prover.data.unit <= ROUNDING_SHOWS * loss:
        return None
    data = form.unfolded.cover(at_most=loss)
    if data.unit >= prover.data.unit:
        return None
    finer = IISProver(data, run.seed, run)
    finer.offer(W)
    return finer


def _proven(form: ProofForm, run: Run, prover: IISProver, floor: Mapping[str, Any] | None, nodes: int) -> Outcome:
    """What branch and cut by this prover gives, or the floor where that is higher."""
    data = prover.data

    def tell() -> None:
        run.report(objective=data.cost(prover.best), bound=data.cost(prover.lower), nodes=nodes + prover.nodes)

    def close_enough() -> bool:
        if prover.best is None or run.gap <= 0:
            return False
        missing = data.unit * (prover.best - prover.lower)
        return missing <= Fraction(run.gap) * (data.constant + data.unit * prover.best)

    stop = stopper(run, lambda: nodes + prover.nodes, close_enough)
    tell()
    prover.advance(stop, tell)
    found = prover.widest_rule()
    stopped = None if prover.exhausted else stop() or Status.NUMERICAL_ERROR
    lower: Mapping[str, Any] = prover.proof()
    if floor is not None and Fraction(floor["bound"]) > Fraction(lower["bound"]):
        lower = floor
    everything = data.constant + data.unit * int(data.costs.sum())
    return answer(
        form,
        run,
        rule=found,
        lower=lower,
        stopped=stopped,
        nodes=nodes + prover.nodes,
        infeasible=prover.search.infeasible and Fraction(lower["bound"]) > everything,
        extra={
            "supports": len(prover.search.master.supports),
            **({"tasks": tuple(prover.log)} if prover.log else {}),
        },
    )
