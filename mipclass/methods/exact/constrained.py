"""A 0-1 problem with limits on errors, rows on (w, b), a margin or no offset, proven by branch and cut."""

from __future__ import annotations

from fractions import Fraction

from ...protocol.result import Outcome, Status
from ...protocol.run import Run
from .answer import answer, stopper
from .first_rules import first_rules
from .form import ProofForm
from .provers import IISProver


def prove_constrained(form: ProofForm, run: Run) -> Outcome:
    """Branch and cut from the first rules; infeasible when every leaf costs more than all points together."""
    data = form.cover
    prover = IISProver(data, run.seed, run)
    for W in first_rules(form, run):
        prover.offer(W)
        if prover.best == 0:
            break

    def tell() -> None:
        run.report(objective=data.cost(prover.best), bound=data.cost(prover.lower), nodes=prover.nodes)

    def close_enough() -> bool:
        return prover.best is not None and prover.best - prover.lower <= run.gap * max(1, prover.best) and run.gap > 0

    stop = stopper(run, lambda: prover.nodes, close_enough)
    tell()
    prover.advance(stop, tell)
    found = prover.widest_rule()
    stopped = None if prover.exhausted else stop() or Status.NUMERICAL_ERROR
    lower = prover.proof()
    everything = data.constant + data.unit * int(data.costs.sum())
    return answer(
        form,
        run,
        rule=found,
        lower=lower,
        stopped=stopped,
        nodes=prover.nodes,
        infeasible=prover.search.infeasible and Fraction(lower["bound"]) > everything,
        extra={"supports": len(prover.search.master.supports)},
    )
